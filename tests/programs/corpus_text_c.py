"""More programs that make text and print: the borders of what is compiled."""

# ruff: noqa: UP031, UP032, C417
from __future__ import annotations

import contextlib
import functools
import io
import logging
import math
import sys
import time
import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.arange(3.0)


class Foo:
    def __init__(self, x):
        self.x = x


foo = Foo(1)


@program
def text_with_an_address() -> Any:
    return lambda x: f"{foo}", [(A + 0,), (A + 1,), (A + 0,)], None


@program
def text_of_functions_and_classes() -> Any:
    return (
        lambda x: f"{text_of_functions_and_classes.__name__} {np.sin} {len} {Foo}",
        [(A + 0,), (A + 1,), (A + 0,)],
        None,
    )


@program
def prints_into_a_redirected_stream() -> Any:
    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stdout(b):
            print(x)
        return b.getvalue()

    return f, [(A + 0,), (A + 1,), (A + 0,)], None


@program
def returns_its_strings() -> Any:
    "".join(["a", "bc d"])

    def f(x, s):
        return s, x, {"k": s}

    return (
        f,
        [(A + 0, "".join(["q ", "w"])), (A + 1, "".join(["q ", "w"])), (A + 0, "".join(["q ", "e"]))],
        None,
    )


@program
def a_message_of_the_last_step() -> Any:
    def f(x, n):
        m = f"{x:.2f}"
        for i in range(n):
            x = x * 0.5
            m = f"{x:.2f}"
        return m

    return f, [(1.0, 30), (1.0, 0), (3.0, 3)], None


@program
def collects_pairs_with_text() -> Any:
    def f(x):
        lines = []
        for i in range(40):
            x = x * 0.9
            lines.append((i, f"{x:.3f}"))
        return lines

    return f, [(1.0,), (2.0,)], None


@program
def text_before_and_after_writes() -> Any:
    def f(x):
        d = {}
        for k in ("a", "b"):
            d[k] = f"{x[0]:.1f}{k}"
        x[0] = 9
        d["c"] = str(x)
        x[1] = 8
        print(d, x)
        x[2] = 7
        return d

    return f, [(A + 0,), (A + 1,)], None


@program
def logs_arrays_that_change() -> Any:
    log = logging.getLogger("p8")

    def f(x):
        y = x.copy()
        log.warning("%s %s %s %s", y, x.dtype, [y], "s")
        y[0] = 100
        log.warning("%(a)s", {"a": y[0]})
        return y

    return f, [(A + 0,), (A + 1,)], None


@program
def looks_at_an_exception() -> Any:
    def f(x):
        try:
            return np.zeros(3) + np.ones(4) * x
        except ValueError as e:
            return str(e)

    return f, [(1.0,), (2.0,)], None


@program
def catches_without_looking() -> Any:
    def f(x):
        try:
            return x.reshape(7)
        except ValueError:
            return "no"

    return f, [(A + 0,), (A + 0,)], None


@program
def suppresses_around_a_print() -> Any:
    def f(x):
        with contextlib.suppress(ZeroDivisionError):
            print("a", 1 / x)
            return "one"
        return "two"

    return f, [(1.0,), (0.0,)], None


@program
def recursive_text() -> Any:
    def g(x, depth):
        if depth == 0:
            return f"<{x:.1f}>"
        return "(" + g(x / 2, depth - 1) + g(x * 2, depth - 1) + ")"

    return lambda x: g(x, 3), [(1.0,), (2.0,)], None


@program
def parts_by_condition() -> Any:
    def f(x):
        parts = []
        if x.sum() > 2:
            parts.append("big")
        parts.append(f"{x.size}")
        return " ".join(parts)

    return f, [(A + 0,), (A - 5,)], None


@program
def looks_up_a_chosen_string() -> Any:
    def f(x):
        s = "yes" if x > 0 else "no"
        table = {"yes": 1, "no": 2}
        return table[s]

    return f, [(1.0,), (-1.0,)], None


@program
def prints_debug_fields() -> Any:
    def f(x):
        print(f"{x=}", f"{x.sum()=:.2f}", f"{x!r:>40}")
        print("%s" % (x,), "%r" % [x[0]], "%5s|%-5s" % (x[0], x[1]))
        print("{:>10} {!r:^20}".format(x[0], x[1]))
        return

    return f, [(A + 0,), (A + 1,)], None


@program
def an_object_with_all_texts() -> Any:
    class V:
        def __init__(self, v):
            self.v = v

        def __repr__(self):
            return f"V({self.v!r})"

        def __str__(self):
            return f"v={self.v:.1f}"

        def __format__(self, s):
            return s + str(self)

    def f(x):
        v = V(x[0])
        return (
            f"{v} {v!r} {v!s} {v:zz} {[v, (v,)]} {{'a': v}}",
            str({"k": v}),
            "%s" % x[1],
            " ".join(map(str, [v, v])),
            "{} {!r}".format(v, v),
        )

    return f, [(A + 0,), (A + 1,)], None


@program
def prints_on_one_line() -> Any:
    def f(x):
        start = time.perf_counter()
        for k in range(3):
            print("k", k, f"{x[k]:.2f}", end=" " if k < 2 else "\n")
        print(f"took {time.perf_counter() - start < 100}")
        return "ok"

    return f, [(A + 0,), (A + 1,)], None


@program
def digits_in_a_loop() -> Any:
    def f(n):
        s = ""
        for i in range(n):
            s += str(i % 10)
        return s

    return f, [(5,), (12,), (0,)], None


@program
def prints_in_branches_of_a_loop() -> Any:
    def f(n, x):
        print("n", n)
        while n > 0:
            if n % 3 == 0:
                print("three", n)
            elif n % 3 == 1:
                print(f"one {x:.1f}")
            n -= 1
        print("done", n)
        return n

    return f, [(10, 1.5), (3, 2.5), (0, 1.0)], None


@program
def prints_what_conversions_give() -> Any:
    def f(x):
        print(
            x,
            x > 0,
            bool(x > 0),
            int(x),
            float(x),
            complex(x),
            round(x),
            round(x, 1),
            abs(x),
            -x,
            x == 1,
            not x,
        )
        return f"{int(x)}/{x > 0}/{round(x)}/{math.floor(x)}/{divmod(x, 2)}"

    return f, [(1.25,), (-2.75,), (0.0,)], None


@program
def text_of_numbers_of_numpy() -> Any:
    def f(x):
        return [
            str(v)
            for v in (
                x.sum(),
                x.mean(),
                x.max(),
                x.argmax(),
                x.any(),
                x[0] > 1,
                x.astype(int)[0],
                x.astype(np.float32)[1],
                x[0] * 2,
                2 * x[0],
                x @ x,
                np.sqrt(x[1]),
                np.int8(3) + x.astype(np.int8)[1],
            )
        ]

    return f, [(A + 0,), (A + 1,)], None


@program
def text_of_views() -> Any:
    def f(x):
        return repr(
            (
                x[..., None],
                x[0, ...] if x.ndim else x,
                np.array(x[0]),
                x[:0],
                x[::2],
                x[None],
                np.asarray(x)[1:2],
            )
        )

    return f, [(A + 0,), (A + 1,)], None


@program
def prints_in_callbacks_and_comprehensions() -> Any:
    def f(x, verbose=True):
        if verbose:
            print("start")

        def cb(v):
            print("cb", v)

        for v in x:
            cb(v)
        [print("c", v) for v in x]
        any(print("g", v) for v in x)
        return list(map(lambda v: print("m", v), x))

    return f, [(A + 0,), (A + 1,)], None


@program
def another_stream_writes_its_own_way() -> Any:
    out = []

    class W(io.StringIO):
        def write(self, s):
            out.append(s)
            return len(s)

    def f(x):
        print("a", x[0], sep="-", end="!")
        return x

    def before(n):
        sys.stdout = W() if n == 1 else sys.__stdout__

    return f, [(A + 0,), (A + 1,)], lambda: list(out), before


@program
def questions_about_text() -> Any:
    def f(x):
        w = f"{x:.1f}"
        return (
            w == "1.5",
            w != "1.5",
            len(w),
            w.startswith("1"),
            w > "1",
            (w + "a") == "1.5a",
            w.isdigit(),
            w.find("."),
            w.count("5"),
        )

    return f, [(1.5,), (2.5,), (15.0,)], None


@program
def print_options_inside() -> Any:
    def f(x):
        with np.printoptions(precision=2):
            return str(x / 3)

    return f, [(A + 0,), (A + 1,)], None


@program
def sets_print_options() -> Any:
    def f(x):
        np.set_printoptions(precision=3)
        s = str(x / 3)
        np.set_printoptions(precision=8)
        return s

    return f, [(A + 0,), (A + 1,)], None


@program
def text_of_modules() -> Any:
    return lambda x: f"{np} {math}", [(A + 0,), (A + 1,)], None


@program
def text_of_types() -> Any:
    return (
        lambda x: (
            f"{type(x)} {type(x).__name__} {np.ndarray} {np.float64} {x.dtype.type} {type(x[0])} {float}"
        ),
        [(A + 0,), (A + 1,)],
        None,
    )


@program
def warns_into_a_redirected_stream() -> Any:
    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stderr(b):
            warnings.warn("a")
        return b.getvalue()

    return f, [(A + 0,), (A + 1,)], None


@program
def raises_with_text() -> Any:
    def f(x, n):
        if n > 3:
            raise ValueError(f"{x} and {n} and {x.sum():.1f}")
        print("fine", n)
        for k in range(n):
            if x[k] > 5:
                raise KeyError(f"k{k}", x[k], f"{x}")
        assert x.sum() < 100, f"sum {x.sum()}"
        return n

    return f, [(A + 0, 1), (A + 0, 7), (A + 5, 2), (A + 90, 1), (A + 0, 2)], None


@program
def an_exception_makes_its_text() -> Any:
    class E(Exception):
        def __init__(self, x):
            super().__init__(f"E of {x:.1f}")
            self.x = x

    def f(x):
        try:
            if x.ndim:
                raise E(x[0])
        except E as e:
            print(e, repr(e), f"{e}", e.args, e.x)
            return str(e), e.x

    return f, [(A + 0,), (A + 1,)], None


@program
def catches_its_own_message() -> Any:
    def f(x):
        try:
            if x[0] > 0:
                raise ValueError(f"v {x[0]}")
            print("none")
        except ValueError as e:
            return f"caught {e}"
        return "fine"

    return f, [(A + 0,), (A + 1,)], None


@program
def columns_as_wide_as_their_text() -> Any:
    def f(x):
        rows = [("a", x[0]), ("bb", x[1] * 10)]
        w = max(len(str(v)) for _, v in rows)
        return "\n".join(f"{n:<5}{v!s:>{w}}" for n, v in rows)

    return f, [(A + 0,), (A + 100,)], None


@program
def a_cached_function_prints() -> Any:
    from functools import lru_cache

    @lru_cache
    def g(k):
        print("computing", k)
        return k * 2

    return lambda x: g(1) + g(2) + g(1) + x, [(1.0,), (2.0,)], None


@program
def a_decorator_logs_calls() -> Any:
    def dec(fn):
        @functools.wraps(fn)
        def w(*a):
            print("call", fn.__name__, *a)
            r = fn(*a)
            print("->", r)
            return r

        return w

    @dec
    def g(x):
        return x.sum() * 2

    return lambda x: g(x) + 1, [(A + 0,), (A + 1,)], None


@program
def a_context_manager_prints() -> Any:
    @contextlib.contextmanager
    def section(name):
        print("begin", name)
        try:
            yield
        finally:
            print("end", name)

    def f(x):
        with section("s"):
            y = x * 2
            print(y)
        return y

    return f, [(A + 0,), (A + 1,)], None


@program
def a_timer() -> Any:
    class T:
        def __enter__(self):
            self.t = time.perf_counter()
            return self

        def __exit__(self, *a):
            self.dt = time.perf_counter() - self.t
            print("took", self.dt >= 0)

    def f(x):
        with T() as t:
            y = np.sin(x)
        return y, t.dt >= 0

    return f, [(A + 0,), (A + 1,)], None


@program
def text_by_names() -> Any:
    def f(x, names):
        return (
            {n: f"{n}={v:.1f}" for n, v in zip(names, x, strict=False)},
            ",".join(names),
            [n.upper() for n in names],
        )

    return f, [(A + 0, ("a", "b", "c")), (A + 1, ("a", "b", "c"))], None


@program
def empty_strings_decide() -> Any:
    def f(x):
        s = "neg" if x < 0 else ""
        t = s or "pos"
        u = s and s + "!"
        return s, t, u, bool(s), len(s)

    return f, [(1.0,), (-1.0,)], None


@program
def labels_by_mode() -> Any:
    def f(x, mode):
        label = {"a": "alpha", "b": "beta"}[mode]
        if mode == "a":
            print(label, x)
        else:
            print(f"{label}:", x)
        return label

    return f, [(1.0, "a"), (2.0, "b"), (3.0, "a")], None


@program
def percent_of_many_kinds() -> Any:
    def f(x):
        print(
            "%.3f %.3f" % (x[0], x[1]),
            "%s" % x.shape,
            "%d%%" % (x[0] * 100),
            "%s %s" % x.shape if x.ndim == 2 else "",
        )
        print("%c" % 65, "%5.1f|%-8.2e|%+d" % (x[0], x[1], int(x[0])))

    return f, [(A + 0,), (A + 1,)], None


@program
def prints_totals() -> Any:
    def f(x):
        total = 0
        for i, v in enumerate(x):
            total += v
            print(f"{i}: {v} {total}")
        print(total, sum(x), max(x), min(x), sorted(x), list(x), tuple(x), x.tolist())
        return total

    return f, [(A + 0,), (A + 1,)], None
