"""Eager code takes what compiled code takes: the type rule decides for evaluation, jvp, vjp and vmap too.

NumPy and SciPy compute with dtypes that an operation does not have, and cast them silently, so that a complex number
could lose its imaginary part. Each case of `tests/cases` is converted to every dtype; nothing is compiled here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.test_rules_dtypes import BFLOAT16, CASES, converted, has_a_value, listed, takes
from tracejit import dtypes
from tracejit.errors import NotDifferentiableError
from tracejit.ir.avals import aval_of
from tracejit.tracing import to_raw, wrap

DTYPES = [
    *map(np.dtype, ["bool", "int32", "uint8", "float16", "float64", "complex64", "complex128"]),
    BFLOAT16,
]
#: A tape alone holds it; it has no derivative of its own.
NO_JVP = {"custom_vjp", "custom_vjp_linear"}


def ways(fn: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[Callable[[], Any]]:
    """Evaluation, forward mode, reverse mode, batching."""

    def boxed(*xs: Any) -> Any:
        return [wrap(o) for o in listed(fn(*map(to_raw, xs)))]

    yield lambda: fn(*args)
    zeros = tuple(np.zeros(np.shape(a), aval_of(a).tangent().dtype) for a in args)
    yield lambda: tj.jvp(boxed, args, zeros)[0]
    if all(dtypes.is_inexact(np.asarray(a).dtype) for a in args):
        yield lambda: tj.vjp(boxed, *args)[0]
    if args:
        yield lambda: tj.vmap(boxed)(*(np.stack([a, a]) for a in args))


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", sorted(CASES.keys() - NO_JVP))
def test_the_type_rule_decides(name: str) -> None:
    case = CASES[name][0]
    for d in DTYPES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = converted(case.args(), d)
            want = takes(case, args)
            if want is not None and not has_a_value(case, args):
                continue
            for way in ways(case.fn, args):
                if want is None:
                    with pytest.raises((TypeError, ValueError)):
                        way()
                    continue
                try:
                    got = [np.asarray(o).dtype for o in tj.tree.leaves(way())]
                except NotDifferentiableError:
                    continue
                assert got == [a.dtype for a in want], (name, d)


def test_dates_are_refused() -> None:
    dates = np.array(["2020-01-01"], "datetime64[D]")
    for name in ("add", "exp", "erfc", "reduce_sum", "sort"):
        fn = CASES[name][0].fn
        with pytest.raises((TypeError, ValueError)):
            fn(*[dates for _ in CASES[name][0].makers])
