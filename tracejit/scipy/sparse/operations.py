"""Elementwise operations of two sparse arrays, and their products.

SciPy does not store results that are zero. Then Python does the call, since the structure of the result depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import UnfollowedError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.sparse.forms import FORMS, Form, forms, known, rows_of
from tracejit.tracing import to_raw


def keep_all(values: Any, what: str) -> None:
    """SciPy drops what is zero; then Python does the call, since the structure of the result depends on it."""
    leave_if(to_raw(tnp.any(values == 0)), f"{what} of a sparse array is zero, and is not stored")


@forms("csr_eliminate_zeros")
def _eliminate_zeros(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any) -> None:
    keep_all(data[: int(known(indptr)[-1])], "an element")


def _binary(compute: Callable[[Any, Any], Any], both: bool = False) -> Form:
    """An operation of two arrays: `compute` on the elements of each place that is stored in one, or in both."""

    def form(_: Any, *args: Any) -> None:
        m, n, ap, aj, ax, bp, bj, bx, cp, cj, cx = args
        structure = [known(x) for x in (ap, aj, bp, bj)]
        left = np.arange(1, ax.size + 1) + 0j
        right = np.arange(1, bx.size + 1) * 1j
        pointers, columns = np.array(known(cp)), np.array(known(cj))
        shown = np.zeros(cx.size, complex)
        tools = scipy_module("sparse._sparsetools")
        if not all(tools.csr_has_canonical_format(m, *structure[k : k + 2]) for k in (0, 2)):
            what = "an operation of sparse arrays with several elements in one place, or in another order"
            raise UnfollowedError(what=what, reason="they are traced")
        tools.csr_plus_csr(
            m,
            n,
            structure[0],
            structure[1],
            left,
            structure[2],
            structure[3],
            right,
            pointers,
            columns,
            shown,
        )
        count = int(pointers[-1])
        at = np.real(shown[:count]).astype(np.int64), np.imag(shown[:count]).astype(np.int64)
        if both:
            stored = (at[0] > 0) & (at[1] > 0)
            at = at[0][stored], at[1][stored]
            columns[: stored.sum()] = columns[:count][stored]
            pointers = np.concatenate([[0], np.cumsum(stored)])[pointers]
            count = int(stored.sum())
        values = compute(_taken(ax, at[0]), _taken(bx, at[1])).astype(cx.dtype)
        keep_all(values, "a result")
        cx[:count], cj[...], cp[...] = values, columns, pointers

    return form


def _taken(x: Any, at: np.ndarray) -> Any:
    """The elements at these positions, from 1; zeros where it is 0."""
    if not x.size:
        return tnp.zeros(at.shape, x.dtype)
    values = tnp.asarray(x)[np.maximum(at, 1) - 1]
    return values if at.all() else tnp.where(at > 0, values, x.dtype.type(0))


FORMS.update(
    csr_plus_csr=_binary(tnp.add),
    csr_minus_csr=_binary(tnp.subtract),
    csr_elmul_csr=_binary(tnp.multiply, both=True),
    csr_maximum_csr=_binary(tnp.maximum),
    csr_minimum_csr=_binary(tnp.minimum),
)


@forms("csr_matmat")
def _matmat(function: Any, *args: Any) -> None:
    m, n, ap, aj, ax, bp, bj, bx, cp, cj, cx = args
    ap, aj, bp, bj = map(known, (ap, aj, bp, bj))
    pointers, columns = np.array(known(cp)), np.array(known(cj))
    ones = np.ones(ax.size), np.ones(bx.size)
    function(m, n, ap, aj, ones[0], bp, bj, ones[1], pointers, columns, np.zeros(cx.size))
    counts = np.diff(bp)[aj[: ap[-1]]]
    left = np.repeat(np.arange(len(counts)), counts)
    starts = np.repeat(bp[:-1][aj[: ap[-1]]] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    right = starts + np.arange(len(left))
    key = rows_of(ap)[left].astype(np.int64) * n + bj[right]
    stored = rows_of(pointers).astype(np.int64) * n + columns[: pointers[-1]]
    order = np.argsort(stored)
    place = order[np.searchsorted(stored[order], key)]
    tnp.add.at(cx, place, (tnp.asarray(ax)[left] * tnp.asarray(bx)[right]).astype(cx.dtype))
    cj[...], cp[...] = columns, pointers
