"""What conditions say of numbers, against all numbers there are, and loops that rely on it, against Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracejit as tj
from tracejit import lax
from tracejit.errors import IndexOutOfRangeError
from tracejit.lowering.emit.regions.implied import implied
from tracejit.ops.elementwise import compare

COMPARISONS = [compare.eq, compare.ne, compare.lt, compare.le, compare.gt, compare.ge]
SMALL = st.integers(-4, 4)
RANGES = st.tuples(SMALL, SMALL).map(lambda r: (min(r), max(r)))


@given(st.sampled_from(COMPARISONS), RANGES, RANGES, st.booleans())
def test_comparisons_leave_out_no_number(op: Any, x: Any, y: Any, result: bool) -> None:
    spans = op.op.implied(result, [x, y])
    for pair in itertools.product(range(x[0], x[1] + 1), range(y[0], y[1] + 1)):
        if bool(op.op.eval(*pair)) is result:
            assert all(s is None or s[0] <= n <= s[1] for n, s in zip(pair, spans, strict=True))


@pytest.mark.parametrize("op", COMPARISONS, ids=lambda op: op.op.name)
@pytest.mark.parametrize("result", [True, False])
def test_comparisons_with_a_constant_say_all_there_is_to_say(op: Any, result: bool) -> None:
    """Of all numbers from -9 to 9, and 2."""
    span, _ = op.op.implied(result, [None, (2, 2)])
    told = [n for n in range(-9, 10) if span is None or span[0] <= n <= span[1]]
    right = [n for n in range(-9, 10) if bool(op.op.eval(n, 2)) is result]
    assert told == right or set(right) == set(range(-9, 10)) - {2}


def _read(f: Any, truth: int = 1) -> Any:
    """The range of f's argument where its result is `truth`."""
    jaxpr = tj.make_jaxpr(f)(np.int64(0)).jaxpr
    found = implied(jaxpr, [(jaxpr.outs[0], (truth, truth))], jaxpr.invars)
    return found and found[0]


FAR = 2**64
PREDICATES = [
    (lambda n: (n >= 3) & (n < 8), 1, (3, 7)),
    (lambda n: (n < 3) | (n > 8), 0, (3, 8)),
    (lambda n: ~(n > 3), 1, (-FAR, 3)),
    (lambda n: n > 3, 0, (-FAR, 3)),
    (lambda n: lax.cond(n > 0, lambda n: n < 5, lambda n: n != n + 0 * n, n), 1, None),
    (lambda n: lax.cond(n > 0, lambda n: n < 5, lambda n: False, n), 1, (1, 4)),
    (lambda n: lax.cond(n > 0, lambda n: True, lambda n: n < -5, n), 0, (-5, 0)),
    (lambda n: lax.cond(n > 0, lambda n: n < 5, lambda n: n < 7, n), 1, None),
]


@pytest.mark.parametrize("case", range(len(PREDICATES)))
def test_what_follows_through_branches(case: int) -> None:
    f, truth, span = PREDICATES[case]
    assert _read(f, truth) == span


def test_what_cannot_be() -> None:
    assert _read(lambda n: (n > 3) & (n < 2)) is None


def insertion(a: Any) -> Any:
    for i in range(1, len(a)):
        v, j = a[i], i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v
    return a


def sift(a: Any, n: Any) -> Any:
    """A heap's newest element to its place."""
    x = a[n]
    while n > 0:
        above = (n - 1) >> 1
        if a[above] <= x:
            break
        a[n] = a[above]
        n = above
    a[n] = x
    return a


@pytest.mark.parametrize(("f", "more"), [(insertion, ()), (sift, (60,))])
def test_indices_that_the_condition_bounds_are_not_wrapped(f: Any, more: Any) -> None:
    x = np.random.default_rng(0).permutation(64).astype(float)
    text = tj.jit(f).lower(x.copy(), *more).as_text("loops")
    _, _, loop = text.partition("while:")
    inside = [line for line in loop.splitlines() if "wrapped" in line and "fail" in line]
    # what is left is after the loop, or in a branch whose condition LLVM itself turns to account
    assert len(inside) <= 1
    got, want = tj.jit(f)(x.copy(), *more), f(x.copy(), *more)
    np.testing.assert_array_equal(got, want)


WALKS = """
def walk(a, j, n):
    s = 0.0 * a[0]
    while {condition}:
        s = s * 0.5 + a[j + {ahead}]
        j {step}
    return s, j
"""
CONDITIONS = [
    "j >= 0",
    "j > -3",
    "j < n",
    "j != n",
    "not j <= 0",
    "-5 <= j <= 5",
    "j >= 0 and a[j] > 0",
    "j < 6 and s < 9",
    "j > 1 or j < -1",
    "0 < j < n and not a[j] == 3",
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize(("step", "ahead"), [("-= 1", 0), ("+= 1", -1), ("-= 3", 0)])
def test_walks_over_an_array_are_those_of_python(
    condition: str, step: str, ahead: int, tmp_path: Any
) -> None:
    file = tmp_path / "walk.py"
    file.write_text(WALKS.format(condition=condition, step=step, ahead=ahead))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)
    walk, a = names["walk"], np.array([1.0, 4.0, -1.0, 3.0, 2.0, 5.0, 0.5, 7.0])
    jitted = tj.jit(walk)

    def run(f: Any, j: int, n: int) -> Any:
        try:
            s, end = f(a, j, n)
        except (IndexError, IndexOutOfRangeError):
            return "outside"
        return float(s), int(end)

    for j, n in itertools.product([-9, -4, 0, 1, 5, 7, 8], [-2, 0, 6, 20]):
        assert run(jitted, j, n) == run(walk, j, n)


def test_conds_that_depend_on_each_other_do_not_take_exponential_time() -> None:
    """Each may have given its value by either branch, and each branch leads to the one before."""

    def f(n: Any) -> Any:
        found = n > 100
        for k in range(40):
            found = lax.cond(
                found, lambda n, b, k=k: (n < 1000 + k) | b, lambda n, b, k=k: (n > k) & ~b, n, found
            )
        return found

    assert _read(f) is None
