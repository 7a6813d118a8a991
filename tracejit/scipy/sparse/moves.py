"""Functions that put elements elsewhere: conversions, slices, sums of duplicates, scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import UnfollowedError
from tracejit.scipy.sparse.forms import FORMS, Form, forms, known, rows_of, write
from tracejit.scipy.sparse.operations import keep_all


def _moved(data: int, *into: int) -> Form:
    """The form of a function that puts the elements that are argument `data` into argument `into` (the same, if
    none is given), each in one place: shown by the positions that it puts there for positions."""

    def form(function: Any, *args: Any) -> None:
        _, shown = _shown(function, list(args), data, into[0] if into else data)
        source = tnp.reshape(args[data], (-1,))
        out = args[into[0] if into else data]
        taken = source[np.maximum(shown, 1) - 1].astype(out.dtype)
        out[...] = tnp.reshape(
            taken if shown.all() else tnp.where(shown > 0, taken, out.dtype.type(0)), out.shape
        )

    return form


def _shown(function: Any, args: list[Any], data: int, into: int | None) -> tuple[Any, np.ndarray]:
    """What `function` gives where each element is its position, from 1, and the positions that it puts into argument
    `into` (None: the last array that it gives); known arrays are written as it writes them.

    Raises UnfollowedError where it adds elements up."""
    size = int(np.prod(args[data].shape))
    results, written = [], []
    for power in (1, 2):
        given = list(args)
        given[data] = np.reshape(np.arange(1.0, size + 1) ** power, args[data].shape)
        if into is not None and into != data:
            given[into] = np.zeros(args[into].shape)
        copies = [np.array(known(x)) if isinstance(known(x), np.ndarray) else known(x) for x in given]
        out = function(*copies)
        results.append((out, np.ravel(out[-1] if into is None else copies[into])))
        if power == 1:
            written = copies
    (out, shown), (_, squares) = results
    if not np.array_equal(shown * shown, squares):
        raise UnfollowedError(
            what="a sparse array with several elements in one place", reason="they are traced"
        )
    others = [n for n in range(len(args)) if n not in (data, into)]
    write([args[n] for n in others], [written[n] for n in others])
    return out, shown.astype(np.int64)


FORMS.update(
    csr_tocsc=_moved(4, 7),
    coo_tocsr=_moved(5, 8),
    csr_row_index=_moved(4, 6),
    csr_row_slice=_moved(5, 7),
    csr_column_index2=_moved(4, 6),
    csr_sample_values=_moved(4, 8),
    csr_sort_indices=_moved(3),
    csr_diagonal=_moved(5, 6),
    csr_hstack=_moved(5, 8),
    bsr_tocsr=_moved(6, 9),
    bsr_transpose=_moved(6, 9),
    csr_tobsr=_moved(6, 9),
    bsr_sort_indices=_moved(6),
    bsr_diagonal=_moved(7, 8),
)


@forms("dia_tocsr")
def _dia_tocsr(function: Any, *args: Any) -> int:
    """Diagonals as compressed rows: elements that are zero are dropped."""
    count, shown = _shown(function, list(args), 5, 7)
    values = tnp.reshape(args[5], (-1,))[shown[:count] - 1]
    keep_all(values, "an element of a diagonal")
    args[7][:count] = values
    return count


@forms("get_csr_submatrix")
def _submatrix(function: Any, *args: Any) -> Any:
    (indptr, indices, _), shown = _shown(function, list(args), 4, None)
    return tnp.array(indptr), tnp.array(indices), args[4][shown - 1]


@forms("csr_todense")
def _csr_todense(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any, out: Any) -> None:
    rows = rows_of(indptr)
    tnp.add.at(out, (rows, known(indices)[: len(rows)]), data[: len(rows)].astype(out.dtype))


@forms("coo_todense")
def _coo_todense(
    _: Any, m: int, n: int, nnz: int, rows: Any, columns: Any, data: Any, out: Any, fortran: Any
) -> None:
    rows, columns = known(rows)[:nnz].astype(np.int64), known(columns)[:nnz].astype(np.int64)
    place = columns * m + rows if known(fortran) else rows * n + columns
    tnp.add.at(out, place, data[:nnz].astype(out.dtype))


@forms("coo_todense_nd")
def _coo_todense_nd(
    _: Any, strides: Any, nnz: int, ndim: int, coords: Any, data: Any, out: Any, fortran: Any
) -> None:
    places = known(coords).reshape(ndim, -1).astype(np.int64)[:, :nnz]
    tnp.add.at(out, known(strides).astype(np.int64) @ places, data[:nnz].astype(out.dtype))


@forms("csr_scale_rows")
def _scale_rows(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any, x: Any) -> None:
    rows = rows_of(indptr)
    data[: len(rows)] = data[: len(rows)] * tnp.asarray(x)[rows]


@forms("csr_scale_columns")
def _scale_columns(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any, x: Any) -> None:
    used = int(known(indptr)[-1])
    data[:used] = data[:used] * tnp.asarray(x)[known(indices)[:used]]


@forms("csr_sum_duplicates")
def _sum_duplicates(_: Any, m: int, n: int, indptr: Any, indices: Any, data: Any) -> None:
    pointers, columns, rows = known(indptr), known(indices), rows_of(indptr)
    used = len(rows)
    new = np.ones(used, bool)
    new[1:] = (rows[1:] != rows[:-1]) | (columns[1:used] != columns[: used - 1])
    place = np.cumsum(new) - 1
    total = tnp.zeros(data.shape, data.dtype)
    tnp.add.at(total, place, data[:used])
    data[...] = total
    kept = np.array(columns)
    kept[: new.sum()] = columns[:used][new]
    indices[...] = kept
    indptr[...] = np.concatenate([[0], np.cumsum(new)])[pointers]
