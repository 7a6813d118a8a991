"""Classes and simulations as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def iterator_object() -> Any:
    class Countdown:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    c = Countdown(5)

    def f(x):
        for k in c:
            x = x + k
            if k == 3:
                break
        return x, c.n

    return f, _vectors(0, 1, 2), lambda: c.n


@program
def running_statistics() -> Any:
    class Running:
        n = 0
        mean = m2 = 0.0

        def push(self, x):
            self.n += 1
            d = x - self.mean
            self.mean += d / self.n
            self.m2 += d * (x - self.mean)

        @property
        def variance(self):
            return self.m2 / (self.n - 1) if self.n > 1 else float("nan")

    r = Running()

    def f(xs):
        for x in xs:
            r.push(x)
        return r.variance

    def before(n):
        if n == 2:
            del r.n

    return f, [(np.array([1.0]),), (np.array([4.0, 2.0]),), (np.array([3.0]),)], lambda: vars(r), before


@program
def running_statistics_of_a_list() -> Any:
    class Ema:
        def __init__(self, alpha):
            self.alpha, self.value, self.history = alpha, None, []

        def __call__(self, x):
            self.value = x if self.value is None else self.alpha * x + (1 - self.alpha) * self.value
            self.history.append(self.value)
            if len(self.history) > 4:
                self.history.pop(0)
            return self.value

    e = Ema(0.3)
    return (lambda xs: [e(x) for x in xs]), [([1.0, 2.0],), ([3.0, 4.0],), ([5.0, 6.0],)], lambda: e


@program
def game_with_rules() -> Any:
    class Board:
        def __init__(self):
            self.cells = np.zeros((3, 3), int)
            self.turn = 1
            self.moves = []

        def winner(self):
            lines = [*self.cells, *self.cells.T, self.cells.diagonal(), self.cells[:, ::-1].diagonal()]
            for line in lines:
                s = line.sum()
                if abs(s) == 3:
                    return int(np.sign(s))
            return 0

        def play(self, i, j):
            if self.cells[i, j]:
                raise ValueError(f"cell {i}, {j} is taken by {self.cells[i, j]}")
            self.cells[i, j] = self.turn
            self.moves.append((i, j))
            self.turn = -self.turn
            return self.winner()

    b = Board()
    return b.play, [(0, 0), (1, 1), (0, 0), (0, 1), (2, 2), (0, 2)], lambda: b


@program
def linked_list() -> Any:
    class Node:
        def __init__(self, v, rest=None):
            self.v, self.rest = v, rest

    class Stack:
        def __init__(self):
            self.head, self.size = None, 0

        def push(self, v):
            self.head = Node(v, self.head)
            self.size += 1

        def __iter__(self):
            n = self.head
            while n is not None:
                yield n.v
                n = n.rest

    s = Stack()

    def f(x):
        s.push(x * 2)
        total = 0
        for v in s:
            total = total + v
        return total

    return f, _vectors(0, 1, 2), lambda: s


@program
def tree_insert() -> Any:
    class Tree:
        def __init__(self, key):
            self.key, self.left, self.right = key, None, None

        def insert(self, key):
            side = "left" if key < self.key else "right"
            child = getattr(self, side)
            if child is None:
                setattr(self, side, Tree(key))
            else:
                child.insert(key)

        def keys(self):
            if self.left:
                yield from self.left.keys()
            yield self.key
            if self.right:
                yield from self.right.keys()

    root = Tree(5.0)

    def f(k):
        root.insert(k)
        return list(root.keys())

    return f, [(3.0,), (7.0,), (4.0,), (3.5,)], lambda: root


@program
def observer_pattern() -> Any:
    class Subject:
        def __init__(self):
            self.listeners = []
            self._value = 0.0

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, v):
            old, self._value = self._value, v
            for listener in self.listeners:
                listener(old, v)

    class Recorder:
        def __init__(self):
            self.seen = []

        def on_change(self, old, new):
            self.seen.append((old, new, new - old))

    s, r = Subject(), Recorder()
    s.listeners.append(r.on_change)

    def f(x):
        s.value = x.sum()
        s.value *= 2
        return len(r.seen)

    def before(n):
        if n == 1:
            s.listeners.append(lambda old, new: r.seen.append("also"))
        if n == 2:
            s.listeners.clear()

    return f, _vectors(0, 1, 2), lambda: (s.value, r.seen), before


@program
def failed_method_half_done() -> Any:
    class Account:
        def __init__(self):
            self.total, self.items = 0.0, []

        def add(self, xs):
            for x in xs:
                self.items.append(x)
                self.total += x
                if self.total > 10:
                    raise OverflowError("too much")
            return self.total

    a = Account()
    return a.add, [([1.0, 2.0],), ([4.0, 5.0, 6.0],), ([1.0],)], lambda: a


@program
def parts_swapped() -> Any:
    class Buffers:
        def __init__(self):
            self.front, self.back = np.zeros(4), np.ones(4)

        def step(self, k):
            self.back[1:-1] = self.front[:-2] + self.front[2:] + k
            self.front, self.back = self.back, self.front
            return self.front

    b = Buffers()
    first = b.front
    return b.step, [(1.0,), (2.0,), (3.0,)], lambda: (first, b, b.front is first)


@program
def object_returned_is_kept() -> Any:
    class Result:
        def __init__(self, x, parent):
            self.x, self.parent = x, parent

    last: list[Any] = [None]

    def f(x):
        r = Result(x * 2, last[0])
        last[0] = r
        return r

    return f, _vectors(0, 1, 2), lambda: last


@program
def equality_by_identity() -> Any:
    class Key:
        def __init__(self, name):
            self.name = name

    a, b = Key("a"), Key("b")
    table = {a: 1.0, b: 2.0}

    def f(k, x):
        table[k] = table.get(k, 0.0) + x
        return k in table, k == a, k != b, len(table)

    return f, [(a, 1.0), (b, 2.0), (Key("a"), 3.0), (a, 4.0)], lambda: list(table.values())
