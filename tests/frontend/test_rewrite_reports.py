"""What jit says of loops and branches: decisions, refusals with the user's line, and how often it traces."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import (
    BranchLeavesError,
    ChosenArrayError,
    FallbackWarning,
    LoopTypeError,
    TracedIterationError,
    TracedLoopError,
    TracerBoolError,
    TracerIntegerError,
    VariableTypeError,
)
from tracejit.frontend.rewrite.blocks.staged import Stager


def line_of(f: Any, text: str) -> str:
    """`file:line` of the line of `f` that has `text`."""
    lines, first = inspect.getsourcelines(f)
    n = next(n for n, line in enumerate(lines) if text in line)
    return f"{inspect.getsourcefile(f)}:{first + n}"


def decisions(f: Any, *args: Any, **options: Any) -> list[str]:
    report = tj.explain(tj.jit(f, **options))(*args)
    assert all(text in str(report) for text in report.loops_and_branches)
    return report.loops_and_branches


X = np.arange(1.0, 9.0)

# ---------------------------------------------------------------- decisions


def test_explain_names_each_loop_and_branch():
    def f(x, n):
        for i in range(3):
            x = x + i
        for i in range(20):
            x = x * 1.5
        for i in range(n):
            x = x - 1
        for w in [1.0, 2.0]:
            x = x * w
        while x.sum() > 100:
            x = x / 2
        if x[0] > 1:
            x = -x
        return x

    found = decisions(f, X, 4)
    wanted = [
        ("range(3)", "for: unrolled: 3 times, which is short"),
        ("range(20)", "for: native loop of 20 steps"),
        ("range(n)", "for: native loop of a traced number of steps"),
        ("for w", "for: unrolled: it runs over a list"),
        ("while", "while: native loop"),
        ("if x", "if: native branch"),
    ]
    assert found == [f"{line_of(f, text)}: {what}" for text, what in wanted]


def test_explain_says_why_a_loop_is_unrolled():
    def f(x):
        out = []
        for i in range(6):
            out.insert(0, [x * i])
        return out

    assert decisions(f, X) == [
        f"{line_of(f, 'range')}: for: unrolled: 6 times, because it changes the Python container or object `out`"
    ]


def test_explain_says_which_variable_changes():
    def f(x):
        for _ in range(6):
            x = np.concatenate([x, x[:1]])
        return x

    assert re.search(r"because `x` is f64\[\d+\] before a step and f64\[\d+\] after it", decisions(f, X)[0])


def test_functions_without_source_run_as_they_are():
    scope: dict[str, Any] = {}
    exec("def f(x):\n    for i in range(9):\n        x = x + i\n    return x", scope)
    report = decisions(scope["f"], 1.0)
    assert report == ["<string>:1: f: the function runs as it is: it has no source"]
    assert tj.jit(scope["f"])(1.0) == 37.0


def test_capture_can_be_turned_off():
    def f(x):
        for i in range(9):
            x = x + i
        if x > 3:
            return x
        return -x

    assert tj.jit(f)(1.0) == 37.0
    with pytest.raises(TracerBoolError):
        tj.jit(f, capture=False)(1.0)
    assert decisions(lambda x: [x + i for i in range(9)], 1.0, capture=False) == []


def test_the_length_that_is_unrolled_is_a_setting():
    def f(x):
        for i in range(6):
            x = x * i
        return x

    with tj.config.override(unroll=6):
        assert "unrolled: 6 times" in decisions(f, 1.0)[0]
    assert "native loop of 6 steps" in decisions(f, 1.0)[0]


# ---------------------------------------------------------------- tracing


@pytest.fixture
def stagings(monkeypatch):
    """The lines of the loops whose bodies were staged, one after the other."""
    seen: list[int] = []
    once = Stager._once

    def counted(self, position):
        seen.append(self.spec.line)
        return once(self, position)

    monkeypatch.setattr(Stager, "_once", counted)
    return seen


@pytest.mark.parametrize("n", [1000, 1_000_000])
def test_bodies_are_traced_once_at_any_length(n, stagings):
    def f(x, out):
        for _ in range(n):
            for j in range(len(x)):
                out[j] = out[j] * 0.5 + x[j]

    tj.jit(f).lower(X, np.zeros(8))
    assert len(stagings) == 2


def test_a_start_of_another_type_costs_one_more_trace(stagings):
    def f(x):
        s = 0
        for v in x:
            s += v
        return s

    assert tj.jit(f)(X) == 36.0
    assert len(stagings) == 2


# ---------------------------------------------------------------- refusals


def refused(error: type[Exception], f: Any, at: str, *args: Any) -> str:
    with pytest.raises(error) as caught:
        tj.jit(f)(*args)
    text = str(caught.value)
    assert f"at {line_of(f, at)}" in text
    return text


def test_a_list_that_grows_in_a_traced_loop():
    def f(n):
        out = []
        for i in range(n):
            out.append(i)
        return out

    jitted = tj.jit(f)
    for n in (np.int64(3), np.int64(0), np.int64(5)):
        assert jitted(n) == f(n)
    assert jitted.trace_count == 1


def test_a_shape_that_grows_in_a_traced_loop():
    def f(x, n):
        for _ in range(n):
            x = np.concatenate([x, x])
        return x

    text = refused(LoopTypeError, f, "range(n)", X, np.int64(3))
    assert re.search(r"`x` of the `for` loop is f64\[8\] before a step and f64\[.*16\] after it", text)


def test_a_structure_that_changes_in_a_while_loop():
    def f(x):
        y = None
        while x > 1:
            x = x / 2
            y = [x]
        return y

    text = refused(LoopTypeError, f, "while", 8.0)
    assert "`y` of the `while` loop is None before a step and [*] of a Python float after it" in text


def test_branches_that_leave_different_types():
    def f(x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x.reshape(2, 4) * 2
        return y

    assert "`y` would be f64[8] in one branch and f64[2,4] in the other" in refused(
        VariableTypeError, f, "if", X
    )


def test_branches_that_leave_parts_of_different_lengths():
    """Which part of the caller's array this is can't be handed back."""
    f = lambda x: x if x.sum() > 0 else x[:2]
    with pytest.raises(ChosenArrayError):
        tj.jit(f)(X)
    with pytest.warns(FallbackWarning):
        assert tj.jit(f, fallback=True)(X) is X


def test_returned_values_of_different_structure():
    def f(x):
        if x > 0:
            return [x, x]
        return x

    assert "the returned value would be" in refused(VariableTypeError, f, "if", 2.0)


def test_a_branch_that_changes_a_container():
    def f(x):
        found = {}
        if x > 0:
            found["x"] = x
        return len(found)

    assert "`found`" in refused(BranchLeavesError, f, "if", 2.0)


def test_state_behind_pythons_back_in_branches():
    def draws(x):
        rng = np.random.default_rng(0)
        return (x + rng.normal() if x > 0 else x - rng.normal() * rng.normal()), rng.normal()

    def takes(x):
        held = [iter(range(5))]
        return x + next(held[0]) if x > 0 else x

    compiled = tj.jit(draws)
    for x in (2.0, -2.0):  # only the branch that runs draws, and what follows goes on from there
        assert compiled(x) == draws(x)
    assert compiled.trace_count == 1
    assert "iterator `held[0]`" in refused(BranchLeavesError, takes, "if", 2.0)


def test_a_traced_range_outside_of_for():
    refused(TracedIterationError, lambda n: list(range(n)), "list(range(n))", np.int64(3))


def test_a_python_integer_needed_in_a_traced_loop():
    def f(x, n):
        s = 0.0
        for i in range(n):
            s += np.zeros((i,)).sum() + float(["1", "2", "3"][i])
        return s

    with pytest.raises((TracedLoopError, TracerIntegerError)) as caught:
        tj.jit(f)(X, np.int64(3))
    assert line_of(f, "zeros") in str(caught.value)


# ---------------------------------------------------------------- exceptions


def test_exceptions_of_the_users_own():
    def f(x):
        if x < 0:
            raise ValueError("negative")
        assert x != 3, "three"
        return np.sqrt(x)

    jitted = tj.jit(f)
    assert jitted(4.0) == 2.0
    with pytest.raises(ValueError, match=r"^negative$"):
        jitted(-1.0)
    with pytest.raises(AssertionError, match=r"^three$"):
        jitted(3.0)
    assert jitted(9.0) == 3.0


def test_exceptions_in_loops():
    def f(x):
        total = 0.0
        for i in range(len(x)):
            if x[i] < 0:
                raise ArithmeticError
            total += np.sqrt(x[i])
        return total

    jitted = tj.jit(f)
    assert jitted(X) == f(X)
    with pytest.raises(ArithmeticError):
        jitted(X - 3)


def test_a_name_that_is_not_assigned():
    def f(x):
        for _ in range(9):
            x = x + missing
        if x is None:
            missing = 1.0
        return x

    with pytest.raises(NameError, match="missing"):
        tj.jit(f)(1.0)


def test_a_loop_that_makes_text_leaves_nothing_behind():
    def f(x, out):
        names = []
        for i in range(7):
            out[0] += x
            names.append(f"step {i}")
        return len(names)

    out = np.zeros(2)
    assert tj.jit(f)(2.0, out) == 7
    np.testing.assert_array_equal(out, [14.0, 0.0])


# ---------------------------------------------------------------- inside other transformations


def test_derivatives_and_lanes_of_loops():
    def f(x, n):
        y = x
        for i in range(n):
            if y > 10:
                break
            y = y * x
        return y

    assert tj.jit(tj.grad(f))(1.5, 4) == pytest.approx(5 * 1.5**4)
    assert tj.grad(tj.jit(f))(3.0, 10) == pytest.approx(27.0)
    xs = np.array([1.5, 3.0, 20.0])
    np.testing.assert_allclose(tj.jit(tj.vmap(f, in_axes=(0, None)))(xs, 4), [f(x, 4) for x in xs])
    np.testing.assert_allclose(tj.vmap(tj.grad(tj.jit(f)), in_axes=(0, None))(xs, 4), [5 * 1.5**4, 27.0, 1.0])
    assert tj.jit(tj.grad(tj.grad(f)))(1.5, 2) == pytest.approx(6 * 1.5)


def test_eager_transformations_capture_nothing():
    seen = []

    def f(x):
        for i in range(50):
            seen.append(i)
            x = x * 1.01 if x > 0 else x
        return x

    assert tj.grad(f)(2.0) == pytest.approx(1.01**50)
    assert seen == list(range(50))


# ---------------------------------------------------------------- Python's integers


def test_integers_that_may_outgrow_64_bits_stay_pythons():
    def powers(x):
        p = 1
        for _ in range(80):
            x = x + p
            p = p * 2
        return x

    def fibonacci(x):
        a, b = 0, 1
        for _ in range(100):
            a, b = b, a + b
            x = x * 0.5 + a
        return x

    def branches(x):
        p = 3
        for i in range(70):
            if i % 2 == 0:
                p = p * 5
            x = x + p
        return x

    def halves(x):
        total = 0.0
        for k in range(100):
            total += x / 2**k
        return total

    def shifted(x):
        for k in range(70):
            x = 0.5 * x + 1 / (1 << k)
        return x

    def series(x):
        total = 0.0
        for k in range(1, 400):
            total += x / k**8
        return total

    def products(x):
        for k in range(1, 100):
            x = x - k * 10**17 + k * 10**18 * k
        return x

    def fourth_powers(x):
        for k in range(100_000, 100_050):
            if k % 2:
                x = x + k * k * k * k
        return x

    for f in (powers, fibonacci, branches, halves, shifted, series, products, fourth_powers):
        assert tj.jit(f)(1.0) == f(1.0)
        assert "64 bits" in decisions(f, 1.0)[0]


def test_integers_that_fit_are_native():
    def congruence(x):
        seed = 12345
        for i in range(len(x)):
            seed = (seed * 1103515245 + 12345) % 2147483648
            x[i] = x[i] * seed / 2147483648
        return x

    def counting(x):
        count = 0
        for v in x:
            count += 2
            x[0] += v * count
        return x, count

    def small_powers(x):
        total = 0.0
        for k in range(8):
            total += x[k] / 2**k + k**8 - (1 << k) * k
        return x, total

    for f in (congruence, counting, small_powers):
        got, wanted = tj.jit(f)(X.copy()), f(X.copy())
        np.testing.assert_array_equal(got[0], wanted[0])
        assert "native loop of 8 steps" in decisions(f, X)[0]


# ---------------------------------------------------------------- exceptions that the function catches


def test_an_exception_that_the_function_may_catch_is_refused():
    def f(x):
        try:
            if x < 0:
                raise ValueError
            return x
        except ValueError:
            return -x

    assert "ValueError" in refused(BranchLeavesError, f, "if x", 2.0)


def test_refusals_cannot_be_caught():
    def f(x):
        found = []
        try:
            if x < 0:
                x = found[3]
        except Exception:
            return -x
        return x

    refused(BranchLeavesError, f, "if x", 2.0)


def test_steps_of_ranges_may_be_traced():
    def sieve(n):
        prime = np.ones(50, dtype=bool)
        for i in range(2, n):
            if prime[i]:
                for j in range(i * i, 50, i):
                    prime[j] = False
        return prime

    np.testing.assert_array_equal(tj.jit(sieve)(50), sieve(50))

    def unknown(n, step):
        s = 0
        for i in range(0, n, step):
            s += i
        return s

    for n, step in ((7, 2), (7, -2), (-7, -2), (0, 1)):
        assert tj.jit(unknown)(n, step) == unknown(n, step)


def test_short_loops_in_each_other_are_not_all_unrolled():
    """Only the innermost are: otherwise a program would grow exponentially with their number."""

    def f(x):
        out = np.zeros(3)
        for i in range(2):
            for j in range(3):
                for k in range(2):
                    for m in range(3):
                        for n in range(2):
                            if i >= k:
                                out[m] += x[i, j] * x[k, n]
        return out

    x = np.arange(6.0).reshape(2, 3)
    assert [d.rpartition(": for: ")[2] for d in decisions(f, x)][:2] == [
        "native loop of 2 steps",
        "native loop of 3 steps",
    ]
    assert np.array_equal(tj.jit(f)(x), f(x))
    few = tj.jit(f).lower(x).compile().as_text("loops")
    assert few.count("in0[") < 40  # 144 unrolled
