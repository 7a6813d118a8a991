"""Objects that steps and branches replace by others of their class."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

THREE = [(1.0, 30), (2.0, 50), (-1.5, 30)]


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, s):
        return Vector(self.x * s, self.y * s)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    __hash__ = None

    @property
    def length(self):
        return (self.x * self.x + self.y * self.y) ** 0.5


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x):
        self.x = x

    def moved(self, by):
        return Slotted(self.x + by)


@program
def a_vector_is_replaced_in_each_step() -> Any:
    def f(x, n):
        p, v = Vector(x, 0.0), Vector(1.0, x)
        for _ in range(n):
            p, v = p + v * 0.1, v * 0.99
        return p, v.length, p is v

    return f, THREE, None


@program
def a_vector_is_replaced_until_it_is_long() -> Any:
    def f(x, n):
        p, steps = Vector(x, 1.0), 0
        while p.length < n:
            p, steps = p + p * 0.25, steps + 1
        return p.x, p.y, steps

    return f, THREE, None


@program
def vectors_in_lists_and_attributes() -> Any:
    class Body:
        def __init__(self, x):
            self.place, self.speed, self.path = Vector(x, 0.0), Vector(0.5, x), []

        def step(self, dt):
            self.place = self.place + self.speed * dt
            self.path.append(self.place)

    def f(x, n):
        bodies = [Body(x), Body(x * 2)]
        for _ in range(n):
            for b in bodies:
                b.step(0.1)
        return [b.place for b in bodies], bodies[0].path[-1] is bodies[0].place, [v.x for v in bodies[1].path]

    return f, THREE, None


@program
def other_names_of_a_vector_that_is_replaced() -> Any:
    def f(x, n):
        first = p = Vector(x, 0.0)
        seen = []
        for i in range(n):
            if i == 3:
                seen.append(p)
            p = p + Vector(1.0, x)
        first.x = 7.0
        return first.x, p.x, first is p, len(seen), seen[0].y

    return f, THREE, None


@program
def a_vector_is_written_and_then_replaced() -> Any:
    def f(x, n):
        p = q = Vector(x, 0.0)
        for _ in range(n):
            p.y = p.y + 1.0
            p = p * 1.01
        return p.x, p.y, q.x, q.y, p is q

    return f, THREE, None


@program
def two_names_take_turns() -> Any:
    def f(x, n):
        a, b = Vector(x, 1.0), Vector(2.0, x)
        for _ in range(n):
            a, b = b, a * 1.01
        a.x = -1.0
        return a, b, a is b

    return f, THREE, None


@program
def one_object_by_two_names_after_each_step() -> Any:
    def f(x, n):
        a = b = Vector(x, 1.0)
        for _ in range(n):
            a = a + Vector(0.5, x)
            b = a
        b.y = -3.0
        return a, a is b

    return f, THREE, None


@program
def a_branch_chooses_the_object() -> Any:
    def f(x, n):
        p = Vector(x, float(n))
        q = p if x > 1.5 else p * 2.0
        r = Vector(0.0, x) if q.length > 40 else q
        r.x = r.x + 1.0
        return p, q.x, r.x, r is q

    return f, THREE, None


@program
def objects_with_slots_some_of_which_are_empty() -> Any:
    def f(x, n):
        s = Slotted(x)
        for i in range(n):
            s = s.moved(0.5 * i)
        t = Slotted(x)
        for i in range(n):
            t = t.moved(1.0)
            t.y = i * x
        return s.x, hasattr(s, "y"), t.x, t.y

    return f, THREE, None


@program
def a_ring_of_objects_in_a_loop() -> Any:
    class Node:
        def __init__(self, v):
            self.v, self.next = v, self

    def f(x, n):
        a, b = Node(x), Node(x * 2)
        a.next, b.next = b, a
        now = a
        for i in range(n):
            now.v = now.v + i
            now = now.next
        return a.v, b.v, now is a, a.next is b

    return f, THREE, None


@program
def an_array_in_an_object_that_is_replaced() -> Any:
    class State:
        def __init__(self, values, t):
            self.values, self.t = values, t

        def stepped(self, dt):
            return State(self.values - dt * self.values, self.t + dt)

    def f(x, n):
        start = State(np.array([x, 2.0, 3.0]), 0.0)
        s = start
        for _ in range(n):
            s = s.stepped(0.01)
            s.values[0] += 1.0
        return start.values, s.values, s.t

    return f, THREE, None


@program
def state_of_an_object_is_replaced_in_each_call() -> Any:
    class Body:
        def __init__(self):
            self.place = Vector(1.0, 2.0)

        def step(self, dt, n):
            for _ in range(n):
                self.place = self.place + Vector(dt, 1.0) * 0.5
            return self.place.length

    b = Body()
    return b.step, THREE * 2, lambda: b


@program
def equal_vectors_by_their_own_comparison() -> Any:
    def f(x, n):
        p, same = Vector(x, 1.0), 0
        for i in range(n):
            q = p * 1.0 if i % 2 else p * 1.5
            if p == q:
                same += 1
            p = q
        return p.x, same

    return f, THREE, None
