"""Programs that evaluate formulas given as text, and that catch what they print."""

from __future__ import annotations

import contextlib
import io
import math
import sys
from typing import Any

import numpy as np

from tests.programs.observe import program

X = np.linspace(0.1, 1.3, 5)
SCALE = 3.0


@program
def a_formula_of_the_caller() -> Any:
    def f(x, formula):
        return eval(formula)

    return f, [(X, "np.sin(x) * np.exp(-x)"), (X + 1, "np.sin(x) * np.exp(-x)"), (X, "x**2 - 1")], None


@program
def a_formula_with_names_of_its_own() -> Any:
    names = {"sin": np.sin, "exp": np.exp, "pi": math.pi}

    def f(x, formula):
        return eval(formula, {"__builtins__": {}}, {**names, "x": x})

    return f, [(X, "sin(pi * x)"), (2 * X, "exp(-x) + pi"), (X, "sin(pi * x)")], None


@program
def a_table_of_activations() -> Any:
    texts = {"relu": "lambda v: np.maximum(v, 0)", "swish": "lambda v: v / (1 + np.exp(-v))"}

    def f(x, name):
        activation = eval(texts[name])
        return activation(x - 0.5).sum(), activation(-x)

    return f, [(X, "relu"), (X, "swish"), (X + 1, "relu")], None


@program
def right_hand_sides_as_text() -> Any:
    system = ["y[1]", "mu * (1 - y[0] ** 2) * y[1] - y[0]"]

    def f(y, mu, n):
        def slopes(y):
            return np.array([eval(side, None, {"y": y, "mu": mu}) for side in system])

        for _ in range(n):
            y = y + 0.01 * slopes(y)
        return y

    return f, [(np.array([1.0, 0.0]), 1.5, 30), (np.array([0.5, 0.1]), 0.5, 30)], None


@program
def a_condition_as_text() -> Any:
    def f(x, rule):
        total = 0.0
        for v in x:
            if eval(rule):
                total += v
        return total

    return f, [(X, "v > 0.5"), (X + 1, "v > 0.5"), (X, "0.2 < v < 1 and v != 0.7")], None


@program
def a_formula_with_globals_and_a_conditional() -> Any:
    def f(x):
        y = x * 2  # noqa: F841 - the text takes it
        return eval("y * SCALE if y > 1 else -y"), eval("abs(y - x)")

    return f, [(0.2,), (0.9,), (-4.0,)], None


@program
def a_formula_that_is_none() -> Any:
    def f(x, formula):
        try:
            return eval(formula)
        except SyntaxError as e:
            return f"not a formula: {e.msg}"
        except NameError as e:
            return str(e)

    return f, [(1.0, "x +* 2"), (2.0, "x + 2"), (2.0, "z + 2")], None


@program
def functions_in_a_formula_do_not_see_names() -> Any:
    def f(x, formula):
        return eval(formula)

    return f, [(2.0, "[k * 2 for k in range(3)]"), (2.0, "sum(map(abs, [x, -x]))")], None


def report(x: Any, name: str) -> None:
    print(f"{name}: mean {x.mean():.3f}, max {x.max():.3f}")


@program
def what_a_helper_prints_is_kept() -> Any:
    kept: list[str] = []

    def f(x):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            report(x, "x")
            report(x**2, "squares")
        kept.append(out.getvalue())
        print("reported")
        return x.sum()

    return f, [(X,), (X + 1,), (X * 2,)], lambda: kept


@program
def a_quiet_solver() -> Any:
    def solve(x, verbose=True):
        for k in range(4):
            x = 0.5 * (x + 2 / x)
            if verbose:
                print(k, x)
        return x

    def f(x):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            y = solve(x)
        return y, out.getvalue().splitlines()[-1], len(out.getvalue())

    return f, [(1.0,), (2.5,), (1.0,)], None


@program
def one_of_two_messages_is_caught() -> Any:
    def f(x):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            if x.sum() > 4:
                print("large", x[0])
            else:
                print("small")
        return out.getvalue()

    return f, [(X,), (X + 1,), (X,)], None


@program
def errors_are_caught_beside_output() -> Any:
    def f(x):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            print("on the screen", x[0])
            print("warning:", x[1], file=sys.stderr)
            sys.stderr.write("done\n")
        return errors.getvalue()

    return f, [(X,), (X + 1,)], None


@program
def a_stream_of_outside_gets_what_is_printed() -> Any:
    log = io.StringIO()

    def f(x):
        with contextlib.redirect_stdout(log):
            print(f"{x:.2f}")
        return x * 2

    return f, [(1.0,), (2.5,), (1.0,)], log.getvalue


@program
def redirected_within_what_is_redirected() -> Any:
    def f(x):
        outer, inner = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(outer):
            print("before", x)
            with contextlib.redirect_stdout(inner):
                print("inside", x * 2)
            print("after")
        return outer.getvalue(), inner.getvalue()

    return f, [(1.0,), (2.5,), (1.0,)], None
