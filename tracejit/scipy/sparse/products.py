"""Products of sparse arrays with dense ones, in each of SciPy's formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import UnfollowedError
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import Literal
from tracejit.ir.values import Value
from tracejit.ops.building.values import dtype_of
from tracejit.ops.creation.create import full
from tracejit.ops.indexing.index_check import Raising
from tracejit.ops.shapes.broadcast import broadcast_in_dim_op
from tracejit.ops.sparse import products
from tracejit.ops.sparse.places import as_inputs
from tracejit.scipy.sparse.forms import forms, known, rows_of
from tracejit.tracing import to_raw, wrap

#: What a program raises that follows row pointers and columns which are its inputs.
_OUTSIDE = Raising(IndexError, "row pointer or column index of a sparse array out of range")
#: How many equations back it is looked for what made an array.
_LOOKED_AT = 16


def _compressed(indptr: Any, indices: Any, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers and columns that native code may follow without looking. Raises IndexError."""
    indptr, indices = known(indptr), known(indices)
    used = indices[: indptr[-1]]
    if (np.diff(indptr) < 0).any() or indptr[0] < 0 or len(used) < indptr[-1]:
        raise IndexError("row pointers of a sparse array that do not increase")
    if used.size and (used.min() < 0 or used.max() >= columns):
        raise IndexError("column index of a sparse array out of range")
    return indptr, indices


def _common(*operands: Any) -> list[Any]:
    """Raw values of one dtype, one that sums of products are made in."""
    dtype = np.result_type(*[dtype_of(to_raw(x)) for x in operands])
    if dtype.kind not in "iufc" or dtype.itemsize < 4:
        what = f"a product of sparse arrays in {dtype}"
        raise UnfollowedError(what=what, reason="it has no traced form")
    return [to_raw(tnp.asarray(x).astype(dtype)) for x in operands]


def _add(out: Any, product: Any) -> None:
    """Into `out`, as the functions do: most often it holds zeros, and sums of products are no negative zeros."""
    product = tnp.reshape(product, out.shape).astype(out.dtype)
    out[...] = product if _is_zeros(out) else out + product


def _is_zeros(x: Any) -> bool:
    """Whether an array is known to hold nothing else."""
    raw = to_raw(x)
    if not isinstance(raw, Value):
        return not np.any(raw)
    eqns = raw.trace.eqns[-_LOOKED_AT:] if isinstance(raw.trace, StageTrace) else ()
    made = next((e for e in reversed(eqns) if raw in e.outvars), None)
    if made is None or made.op not in (full.op, broadcast_in_dim_op):
        return False
    return isinstance(made.invars[0], Literal) and not made.invars[0].value


def _product(transposed: bool, indptr: Any, indices: Any, data: Any, x: Any, columns: int) -> Any:
    """The matrix in compressed rows of so many columns, or its transpose, times x (..., K)."""
    inputs = as_inputs(indptr, indices)
    failure = None if inputs is None else _OUTSIDE
    indptr, indices = inputs or _compressed(indptr, indices, columns)
    data, x = _common(data, x)
    if transposed:
        return wrap(products.dot_transposed(indptr, indices, data, x, columns=columns, failure=failure))
    return wrap(products.dot(indptr, indices, data, x, failure=failure))


@forms("csr_matvec")
def _csr_matvec(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any, x: Any, out: Any) -> None:
    _add(out, _product(False, indptr, indices, data, tnp.reshape(x, (n,)), n))


@forms("csr_matvecs")
def _csr_matvecs(
    _: Any, m: int, n: int, k: int, indptr: Any, indices: Any, data: Any, x: Any, out: Any
) -> None:
    _add(out, _product(False, indptr, indices, data, tnp.reshape(x, (n, k)), n))


@forms("csc_matvec")
def _csc_matvec(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any, x: Any, out: Any) -> None:
    _add(out, _product(True, indptr, indices, data, tnp.reshape(x, (n,)), m))


@forms("csc_matvecs")
def _csc_matvecs(
    _: Any, m: int, n: int, k: int, indptr: Any, indices: Any, data: Any, x: Any, out: Any
) -> None:
    _add(out, _product(True, indptr, indices, data, tnp.reshape(x, (n, k)), m))


def _scattered(out: Any, rows: Any, terms: Any) -> None:
    """out[rows] += terms, in the order of the elements."""
    tnp.add.at(out, known(rows), terms.astype(out.dtype))


@forms("coo_matvec")
def _coo_matvec(_: Any, nnz: int, rows: Any, columns: Any, data: Any, x: Any, out: Any) -> None:
    _scattered(out, rows, data * tnp.asarray(x)[known(columns)])


@forms("coo_matmat_dense")
def _coo_matmat(_: Any, nnz: int, k: int, rows: Any, columns: Any, data: Any, x: Any, out: Any) -> None:
    terms = data[:, None] * tnp.reshape(x, (-1, k))[known(columns)]
    total = tnp.zeros((out.size // k, k), out.dtype)
    _scattered(total, rows, terms)
    _add(out, total)


def _bands(m: int, n: int, offsets: Any, length: int) -> list[tuple[int, slice, slice]]:
    """For each diagonal its number, its rows and its columns, which are where its elements lie."""
    out = []
    for number, offset in enumerate(known(offsets).tolist()):
        start, stop = max(0, offset), min(m + offset, n, length)
        if stop > start:
            out.append((number, slice(start - offset, stop - offset), slice(start, stop)))
    return out


@forms("dia_matvec")
def _dia_matvec(
    _: Any, m: int, n: int, count: int, length: int, offsets: Any, data: Any, x: Any, out: Any
) -> None:
    x = tnp.reshape(x, (n,))  # SciPy gives vectors, and matrices of one column
    total = tnp.zeros(m, out.dtype)
    for number, rows, columns in _bands(m, n, offsets, length):
        total[rows] = total[rows] + data[number, columns] * x[columns]
    _add(out, total)


@forms("dia_matvecs")
def _dia_matvecs(
    _: Any, m: int, n: int, count: int, length: int, offsets: Any, data: Any, k: int, x: Any, out: Any
) -> None:
    x = tnp.reshape(x, (n, k))
    total = tnp.zeros((m, k), out.dtype)
    for number, rows, columns in _bands(m, n, offsets, length):
        total[rows] = total[rows] + data[number, columns][:, None] * x[columns]
    _add(out, total)


@forms("bsr_matvec")
def _bsr_matvec(
    f: Any, m: int, n: int, r: int, c: int, indptr: Any, indices: Any, data: Any, x: Any, out: Any
) -> None:
    _bsr_matvecs(f, m, n, 1, r, c, indptr, indices, data, x, out)


@forms("bsr_matvecs")
def _bsr_matvecs(
    _: Any, m: int, n: int, k: int, r: int, c: int, indptr: Any, indices: Any, data: Any, x: Any, out: Any
) -> None:
    indptr, indices = _compressed(indptr, indices, n)
    used = int(indptr[-1])
    blocks = tnp.reshape(data, (-1, r, c))[:used]
    terms = tnp.matmul(blocks, tnp.reshape(x, (n, c, k))[indices[:used]])
    total = tnp.zeros((m, r, k), out.dtype)
    _scattered(total, rows_of(indptr), terms)
    _add(out, total)
