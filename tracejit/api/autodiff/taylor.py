"""`jet`: derivatives of any order along a curve, by arithmetic on power series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.api.common import FlatFunction, flatten_args, fresh, name_of, plain
from tracejit.errors import ArgumentTypeError, FunctionNeededError, TangentMismatchError
from tracejit.interpreters.autodiff.jet import jet_flat
from tracejit.interpreters.autodiff.series import times
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import to_raw


def jet(f: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> tuple[Any, Any]:
    """The derivatives of `f` along a curve, up to the order in which the curve is given.

    The argument n moves as x(h) with x(0) = `primals[n]` and k-th derivative `series[n][k - 1]` at h = 0.
    Gives `(f(*primals), out_series)`: the k-th derivative of f(x(h)) is entry k - 1 of the list at
    each leaf of the result. With series `[1.0, 0.0, 0.0]` these are f', f'' and f'''.

    The cost grows as the square of the order, where nested `jvp` doubles with each. Arguments may be
    trees of arrays; the entries of their series are trees like them.

    Raises:
        ValueError: the series have different lengths, or their number is not that of the primals.
        ArgumentTypeError: a series is no sequence.
        TangentMismatchError: an entry has not the shape and dtype of its primal.
    """
    FunctionNeededError.check("jet", f)
    if len(primals) != len(series):
        raise ValueError(f"jet: {len(series)} series for {len(primals)} primals")
    for n, s in enumerate(series):
        if not isinstance(s, Sequence | np.ndarray):
            problem = (
                f"series {n} is a sequence of derivatives, the first for h, the second for h**2 …, not {s!r}"
            )
            raise ArgumentTypeError(name="jet", problem=problem)
    orders = {len(s) for s in series}
    if len(orders) != 1:
        raise ValueError(f"jet: the series have different lengths, {sorted(orders)}")
    order = orders.pop()
    leaves, structure, weak = flatten_args(tuple(primals))
    terms = [_terms(f, k, [s[k] for s in series], structure, leaves) for k in range(order)]
    coefs = [
        [x, *(times(t[n], 1 / math.factorial(k + 1)) for k, t in enumerate(terms))]
        for n, x in enumerate(leaves)
    ]
    flat = FlatFunction(f, structure, {}, weak)
    outs = jet_flat(flat, coefs, order)
    value = tree.unflatten(flat.out_tree, [plain(o[0]) for o in outs])
    return value, tree.unflatten(flat.out_tree, [_derivatives(o) for o in outs])


def _terms(f: Any, k: int, entries: list[Any], structure: Any, leaves: list[Any]) -> list[Any]:
    """Entry `k` of all series, one raw value (or Zero) a leaf."""
    given = tree.flatten_up_to(structure, tuple(entries), "the series")
    out = []
    for n, (x, t) in enumerate(zip(leaves, given, strict=True)):
        want = aval_of(x).tangent()
        if want.dtype == dtypes.float0:
            out.append(Zero(want))
            continue
        raw = to_raw(t, "an entry of a series")
        if aval_of(raw) != want and not aval_of(raw).shape and not want.shape:
            raw = want.dtype.type(raw) if not hasattr(raw, "aval") else raw
        if aval_of(raw) != want:
            raise TangentMismatchError(
                transformation=f"jet of {name_of(f)}",
                argument=f"primal {n}, order {k + 1},",
                expected=want,
                got=aval_of(raw),
            )
        out.append(raw)
    return out


def _derivatives(coefs: list[Any]) -> list[Any]:
    return [fresh(helpers.instantiate(times(c, math.factorial(k + 1)))) for k, c in enumerate(coefs[1:])]
