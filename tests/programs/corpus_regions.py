"""Programs in which one statement keeps the function from being compiled, before, between or in what takes long.

A line with the comment `# native` is run natively where all parts are compiled (`test_regions`).
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import logging
import os
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program

X = np.array([0.5, 1.5, -2.0, 3.0])
log = logging.getLogger("tests.regions")


@program
def prints_in_the_outer_loop() -> Any:
    def f(n, m):
        total = 0.0
        for k in range(n):
            for i in range(m):
                total += (i * 0.5 - k) ** 2  # native
            print(k, total)
        return total

    return f, [(3, 40), (2, 50), (3, 7)], None


@program
def writes_a_file_after_computing() -> Any:
    def f(n):
        u = np.zeros(n)
        u[n // 2] = 1.0
        for _ in range(20):
            u[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]  # native
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "u.txt")
            with open(path, "w", encoding="utf-8") as out:
                out.write(",".join(f"{v:.6f}" for v in u))
            with open(path, encoding="utf-8") as back:
                return back.read(), u

    return f, [(9,), (12,), (9,)], None


@program
def a_library_call_between_two_loops() -> Any:
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * i  # native
        text = json.dumps({"s": round(s, 6)})
        t = float(len(text))
        for i in range(30):
            t = 0.5 * t + s / (i + 1)  # native
        return text, t

    return f, [(X,), (X * 2,), (X[:3],)], None


class Walker:
    """One of its helpers prints."""

    def __init__(self) -> None:
        self.steps = 0
        self.seen: list[float] = []

    def move(self, x, n):
        for i in range(n):
            x = x + 0.1 * np.sin(x) - i * 1e-3  # native
        return x

    def tell(self, x):
        self.steps += 1
        self.seen.append(float(x[0]))
        print(self.steps, f"{x[0]:.9f}")

    def run(self, x, rounds):
        for _ in range(rounds):
            x = self.move(x, 12)
            self.tell(x)
        return x


@program
def a_class_with_a_helper_that_prints() -> Any:
    w = Walker()
    return w.run, [(X, 2), (X + 1, 3), (X, 2)], lambda: (w.steps, w.seen)


@program
def a_helper_that_is_refused_in_the_middle() -> Any:
    def step(x, k):
        for i in range(25):
            x = x * 0.9 + i * k  # native
        log.warning("step %d", k)
        return x

    def f(x):
        for k in range(3):
            x = step(x, k)
        return x

    return f, [(X,), (X + 1,), (X,)], None


@program
def draws_between_steps() -> Any:
    def f(x, n):
        for _ in range(n):
            noise = np.random.random()
            for i in range(10):
                x = x + 0.01 * noise * (i - x)  # native
        return x

    return f, [(X, 2), (X, 3), (X, 1)], None


@program
def stops_by_the_clock() -> Any:
    def f(x):
        start = time.perf_counter()
        rounds = 0
        while rounds < 3 and time.perf_counter() - start < 60:
            for _ in range(15):
                x = np.sqrt(np.abs(x) + 1.0) - 0.1 * x  # native
            rounds += 1
        return x, rounds

    return f, [(X,), (X + 1,), (X,)], None


@program
def hashes_what_it_computes() -> Any:
    def f(n):
        table = np.zeros(n, np.int64)
        for i in range(n):
            table[i] = (i * 2654435761) % 1000  # native
        digest = hashlib.sha256(table.tobytes()).hexdigest()
        return digest, table

    return f, [(20,), (21,), (20,)], None


@program
def a_handler_around_the_region() -> Any:
    def f(x, d):
        out = []
        for k in range(3):
            try:
                y = 0.0
                for i in range(8):
                    y += i / (d - k)  # native
                out.append(y)
            except ZeroDivisionError as e:
                out.append(str(e))
        return out

    return f, [(X, 5), (X, 1), (X, 7)], None


@program
def a_region_raises_after_a_write() -> Any:
    def f(x, n):
        print("begins")
        for i in range(n):
            x[i] = x[i] + i
        return x

    return f, [(X.copy(), 4), (X.copy(), 5), (X.copy(), 2)], None


@program
def a_name_that_the_region_may_not_bind() -> Any:
    def f(x, n):
        print(n)
        for i in range(n):
            last = x[i] * 2
        try:
            return last
        except UnboundLocalError as e:
            return str(e)

    return f, [(X, 3), (X, 0), (X, 1)], None


@program
def a_name_that_is_not_bound_before_the_region() -> Any:
    def f(x, c):
        if c:
            scale = 2.0
        print("ready")
        try:
            y = 0.0
            for i in range(4):
                y += x[i] * scale
        except UnboundLocalError as e:
            return str(e)
        return y

    return f, [(X, True), (X, False), (X, True)], None


@program
def closures_see_what_regions_bind() -> Any:
    def f(x):
        n = 1

        def scaled(v):
            return v * n

        a = scaled(x)
        for i in range(5):
            n = n + i
        b = scaled(x)
        print(n)
        return a, b

    return f, [(X,), (X + 1,), (X,)], None


@program
def nonlocal_counts_around_regions() -> Any:
    count = 0

    def f(x):
        nonlocal count
        count += 1
        y = x
        for i in range(10):
            y = y + i * count  # native
        return y.tolist(), count

    return f, [(X,), (X,), (X,)], lambda: count


_total = 0.0


@program
def a_global_is_assigned_between_regions() -> Any:
    global _total
    _total = 0.0

    def f(x):
        global _total
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[i]  # native
        _total += s
        r = 0.0
        for i in range(20):
            r += _total / (i + 1)  # native
        return r

    return f, [(X,), (X * 2,), (X,)], lambda: _total


@program
def arguments_are_written_and_told() -> Any:
    def f(a, b):
        for k in range(2):
            for i in range(len(a)):
                a[i] += b[i] * (k + 1)  # native
            print(a)
        return a is b, a

    y = X.copy()
    return f, [(X.copy(), X.copy()), (y, y), (X.copy(), X.copy()[::-1])], lambda: y


@program
def views_and_names_of_one_array() -> Any:
    def f(x):
        head = x[:2]
        same = x
        print(head)
        for i in range(6):
            x[i % 4] += i
        swapped, other = same, head
        return head, same is x, other is head, swapped

    return f, [(X.copy(),), (X.copy() + 1,), (X.copy(),)], None


@program
def jumps_around_regions() -> Any:
    def f(x, n):
        found = -1.0
        for k in range(n):
            s = 0.0
            for i in range(12):
                if i == 10:
                    break
                if i % 3 == 0:
                    continue
                s += x[i % 4] * k  # native
            if k == 1:
                continue
            print(k, s)
            if s < -5:
                found = s
                break
            if k == 4:
                return s, "returned"
        else:
            found = 7.0
        return found, "done"

    return f, [(X, 3), (X, 6), (-X, 6)], None


@program
def integers_that_outgrow_64_bits_in_a_region() -> Any:
    def f(n):
        print("n", n)
        p = 1
        for i in range(1, n):
            p = p * i  # native
        return p

    return f, [(10,), (30,), (12,)], None


class State(NamedTuple):
    x: Any
    k: int


@program
def a_named_tuple_goes_through_a_region() -> Any:
    def f(x):
        s = State(x, 0)
        for i in range(9):
            s = State(s.x * 0.5 + i, s.k + 1)  # native
        print(s.k)
        return s

    return f, [(X,), (X + 1,), (X,)], None


@program
def a_report_of_text_at_the_end() -> Any:
    def f(n):
        rows = np.zeros((n, 3))
        for i in range(n):
            rows[i, 0] = i
            rows[i, 1] = i * 0.5 - 1  # native
            rows[i, 2] = rows[i, 0] * rows[i, 1]
        lines = [f"{a:6.2f} {b:6.2f} {c:8.3f}" for a, b, c in rows]
        return "\n".join(lines)

    return f, [(4,), (6,), (4,)], None


@program
def a_helper_is_replaced_between_calls() -> Any:
    class Model:
        @staticmethod
        def rate(v):
            return v * 0.5

    def f(x):
        for i in range(8):
            x = x + Model.rate(x) * 0.1 - i * 0.01  # native
        print(x[0])
        return x

    def before(n):
        if n == 2:
            Model.rate = staticmethod(lambda v: -v)

    return f, [(X,), (X + 1,), (X,)], None, before


def told(g):
    """A decorator of the user's that prints."""

    @functools.wraps(g)
    def wrapper(*args, **kwargs):
        print("call", g.__name__)
        return g(*args, **kwargs)

    return wrapper


@program
def a_decorator_that_prints() -> Any:
    @told
    def f(x, n=6):
        for i in range(n):
            x = x * 0.5 + np.cos(x) * i  # native
        return x

    return f, [(X,), (X, 9), (X + 1,)], None


@program
def a_partial_of_a_function_that_prints() -> Any:
    def g(scale, x, *, n):
        y = x * scale
        for i in range(n):
            y = y - 0.01 * y * y + i  # native
        print(n, scale)
        return y

    return functools.partial(g, 2.0, n=5), [(X,), (X + 1,), (X * 2,)], None


@program
def a_recursion_that_prints() -> Any:
    def f(x, depth):
        for i in range(6):
            x = x * 0.9 + i  # native
        print(depth)
        return x if depth == 0 else f(x + 1, depth - 1)

    return f, [(X, 2), (X, 3), (X, 0)], None


@program
def writes_text_step_by_step() -> Any:
    def f(x, out):
        for k in range(3):
            y = x * k
            for i in range(7):
                y = y + np.exp(-i * 0.1) * x  # native
            out.write(f"{k}: {y.sum():.6f}\n")
        return out.getvalue()

    return f, [(X, io.StringIO()), (X + 1, io.StringIO()), (X, io.StringIO())], None


@program
def the_error_state_of_numpy_is_set_by_a_helper() -> Any:
    def strictly():
        return np.seterr(divide="raise")

    def f(x, d):
        before = strictly()
        try:
            y = x
            for i in range(4):
                y = y + x / (d - i)
            return hashlib.sha256(y.tobytes()).hexdigest(), y
        finally:
            np.seterr(**before)

    return f, [(X, np.float64(9.0)), (X, np.float64(2.0)), (X, np.float64(8.0))], None


@program
def locals_are_looked_at() -> Any:
    def f(x):
        a = x * 2
        for i in range(3):
            a = a + i
        return sorted(locals()), a

    return f, [(X,), (X,), (X + 1,)], None


@program
def a_match_statement_steers() -> Any:
    def f(x, kind):
        for k in range(2):
            match kind:
                case "grow":
                    for i in range(11):
                        x = x * 1.01 + i  # native
                case _:
                    x = x - k
            print(kind, k)
        return x

    return f, [(X, "grow"), (X, "shrink"), (X + 1, "grow")], None


@program
def a_list_of_results_outside() -> Any:
    history: list[Any] = []

    def f(x):
        for k in range(3):
            for i in range(10):
                x = x + 0.1 * (k - x) * i  # native
            history.append(x.copy())
        return len(history)

    return f, [(X,), (X + 1,), (X,)], lambda: history
