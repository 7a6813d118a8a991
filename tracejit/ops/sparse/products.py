"""The three products of a sparse matrix in compressed rows (CSR), which are each other's derivatives.

A matrix of M rows has `indptr` (M + 1,), `indices` (nnz,) and `data` (nnz,): row i has the elements data[k] in the
columns indices[k], for k from indptr[i] to indptr[i + 1]. Dense operands are (rows,) or (rows, K).

    dot            out[i, c] = sum of data[k] * x[indices[k], c] over the k of row i
    dot_transposed out[j, c] = sum of data[k] * x[i, c] over all k of all rows i with indices[k] == j
    sampled_dot    out[k]    = sum of x[i, c] * y[indices[k], c] over c, i the row of k

Batched, the operands have lanes: data (P, nnz), x (Q, rows, K), where P and Q are the number of lanes, or 1 where all
share the operand. `dot` is linear in data and in x; its transposes are `sampled_dot` and `dot_transposed`, and so on
around. Native code looks whether `indptr` and `indices` are in their ranges where the ops have a `failure`, which
makes what is raised if they are not. Who binds one without knows that they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import Routine
from tracejit.ir.primitive import FROM_JVP, NO_BOUNDS, NO_IDENTITIES, NO_INPLACE, Op
from tracejit.ops._lazy import scipy_module
from tracejit.ops.building.values import common_dtype
from tracejit.ops.sparse import rules
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)


def _matrix(indptr: Any, indices: Any, data: Any, columns: int, transposed: bool = False) -> Any:
    sparse, rows = scipy_module("sparse"), len(indptr) - 1
    if transposed:
        return sparse.csc_array((data, indices, indptr), shape=(columns, rows))
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


def _look(indptr: np.ndarray, indices: np.ndarray, columns: int, failure: Any) -> None:
    """What native code does along the way."""
    if failure is not None:
        used = indices[indptr[0] : indptr[-1]]
        for x, size in ((indptr, len(indices) + 1), (used, columns)):
            if x.size and not 0 <= x.min() <= x.max() < size:
                raise failure((0, size), None)


class _Rows:
    """What native code needs of a matrix: the loops over its rows and their elements."""

    def __init__(self, k: Any, ins: Any, avals: Any, columns: int, failure: Any) -> None:
        self.k, self.indptr, self.indices = k, ins[0], ins[1]
        self.rows, self.stored, self.columns = avals[0].shape[0] - 1, avals[1].shape[0], columns
        self.looks = failure is not None

    def elements(self, row: Any) -> Any:
        """A loop over the positions of a row's elements."""
        k = self.k
        return k.loop(self.position(row), self.position(k.add(row, 1)))

    def position(self, row: Any) -> Any:
        return self._inside(self.k.load(self.indptr, row), self.stored + 1)

    def column(self, at: Any) -> Any:
        return self._inside(self.k.load(self.indices, at), self.columns)

    def _inside(self, x: Any, size: int) -> Any:
        x = self.k.cast(x, _I64)
        return self.k.index(x, size, self.k.fail_code, wraps=False) if self.looks else x


class _Lanes:
    """Where the lanes of the last two operands begin, and how many columns there are."""

    def __init__(self, k: Any, name: str, x: Aval, y: Aval) -> None:
        self.k, self.avals = k, (x, y)
        self.has = y.ndim == 3
        self.count = rules.lanes_of(name, x, y) if self.has else 1
        self.columns = y.shape[-1] if y.ndim > 1 else 1

    def starts(self, lane: Any) -> list[Any]:
        """The positions in the operands' buffers at which a lane begins; all share an operand of one."""
        return [self._start(lane, a) for a in self.avals]

    def _start(self, lane: Any, aval: Aval) -> Any:
        if not self.has or aval.shape[0] == 1:
            return self.k.const(0, _I64)
        return self.k.mul(lane, int(np.prod(aval.shape[1:])))


#: So many columns or less are summed in registers.
_FEW = 8


def _sum_columns(
    k: Any, count: int, dtype: np.dtype, elements: Any, term: Callable[[Any, Any], Any]
) -> list[Any]:
    """The sums of `term(n, c)` over the positions n of `elements`, for each of few columns c."""
    totals = [k.slot(k.const(0, dtype), "sum") for _ in range(count)]
    with elements as n:
        for c, total in enumerate(totals):
            k.set(total, k.add(k.get(total), term(n, c)))
    return [k.get(total) for total in totals]


# ---------------------------------------------------------------- dot


def _dot_type(indptr: Aval, indices: Aval, data: Aval, x: Aval, *, failure: Any) -> Aval:
    lanes = rules.check("csr_dot", indptr, indices, data, (x,))
    return rules.result("csr_dot", indptr.shape[0] - 1, data, x, lanes)


def _dot_eval(indptr: Any, indices: Any, data: Any, x: Any, *, failure: Any) -> Any:
    _look(indptr, indices, x.shape[x.ndim == 3], failure)
    return rules.each_lane(lambda d, y: _matrix(indptr, indices, d, len(y)) @ y, data, x)


def _dot_routine(k: Any, ins: Any, outs: Any, avals: Any, *, failure: Any) -> bool:
    (_, _, data, x), (out,), size = ins, outs, avals[3].shape[avals[3].ndim == 3]
    matrix = _Rows(k, ins, avals, size, failure)
    lanes = _Lanes(k, "csr_dot", *avals[2:])
    count, dtype = lanes.columns, avals[2].dtype
    with k.loop(0, lanes.count) as b:
        at_data, at_x = lanes.starts(b)

        def term(n: Any, c: Any) -> Any:
            place = k.add(at_x, k.add(k.mul(matrix.column(n), count), c))
            return k.mul(k.load(data, k.add(at_data, n)), k.load(x, place))

        with k.loop(0, matrix.rows, independent=True) as i:
            at_out = k.mul(k.add(k.mul(b, matrix.rows), i), count)
            if count <= _FEW:
                for c, total in enumerate(_sum_columns(k, count, dtype, matrix.elements(i), term)):
                    k.store(out, k.add(at_out, c), total)
            else:
                with k.loop(0, count, vector=True) as c:
                    k.store(out, k.add(at_out, c), k.const(0, dtype))
                with matrix.elements(i) as n:
                    value = k.load(data, k.add(at_data, n))
                    _add_row(k, out, at_out, value, x, k.add(at_x, k.mul(matrix.column(n), count)), count)
    return True


def _add_row(k: Any, out: Any, at_out: Any, value: Any, x: Any, at_x: Any, count: int) -> None:
    """out[at_out:][:count] += value * x[at_x:][:count]."""
    with k.loop(0, count, vector=True) as c:
        term = k.mul(value, k.load(x, k.add(at_x, c)))
        k.store(out, k.add(at_out, c), k.add(k.load(out, k.add(at_out, c)), term))


dot_op = Op(
    name="csr_dot",
    doc="a sparse matrix in compressed rows times dense columns",
    multi=False,
    type=_dot_type,
    eval=_dot_eval,
    inplace=NO_INPLACE,
    jvp=rules.bilinear_jvp(lambda: dot_op),
    linearize=FROM_JVP,
    transpose=rules.bilinear_transpose(
        lambda ct, indptr, indices, _, x, failure: sampled_dot(indptr, indices, ct, x, failure=failure),
        lambda ct, indptr, indices, data, x, failure: dot_transposed(
            indptr, indices, data, ct, columns=x.shape[x.ndim == 3], failure=failure
        ),
    ),
    batch=rules.batch_rule(lambda: dot_op, has_data=True),
    simplify=NO_IDENTITIES,
    effects=rules.effects,
    bounds=NO_BOUNDS,
    kernel=Routine(_dot_routine),
)


def dot(indptr: Any, indices: Any, data: Any, x: Any, *, failure: Any = None) -> Any:
    """(M,) or (M, K): the matrix (M, N) of `data` times `x` (N,) or (N, K)."""
    return bind(dot_op, indptr, indices, data, x, failure=failure)


# ---------------------------------------------------------------- dot_transposed


def _transposed_type(indptr: Aval, indices: Aval, data: Aval, x: Aval, *, columns: int, failure: Any) -> Aval:
    lanes = rules.check("csr_dot_transposed", indptr, indices, data, (x,))
    return rules.result("csr_dot_transposed", columns, data, x, lanes)


def _transposed_eval(indptr: Any, indices: Any, data: Any, x: Any, *, columns: int, failure: Any) -> Any:
    _look(indptr, indices, columns, failure)
    return rules.each_lane(lambda d, y: _matrix(indptr, indices, d, columns, transposed=True) @ y, data, x)


def _transposed_routine(k: Any, ins: Any, outs: Any, avals: Any, *, columns: int, failure: Any) -> bool:
    matrix, (_, _, data, x), (out,) = _Rows(k, ins, avals, columns, failure), ins, outs
    lanes = _Lanes(k, "csr_dot_transposed", *avals[2:])
    count, dtype = lanes.columns, avals[2].dtype
    with k.loop(0, lanes.count * columns * count, vector=True, independent=True) as i:
        k.store(out, i, k.const(0, dtype))
    with k.loop(0, lanes.count) as b:
        at_data, at_x = lanes.starts(b)
        at_out = k.mul(b, columns * count)
        with k.loop(0, matrix.rows) as i:
            row = k.add(at_x, k.mul(i, count))
            with matrix.elements(i) as n:
                value = k.load(data, k.add(at_data, n))
                to = k.add(at_out, k.mul(matrix.column(n), count))
                if count == 1:
                    k.store(out, to, k.add(k.load(out, to), k.mul(value, k.load(x, row))))
                else:
                    _add_row(k, out, to, value, x, row, count)
    return True


dot_transposed_op = Op(
    name="csr_dot_transposed",
    doc="the transpose of a sparse matrix in compressed rows times dense columns",
    multi=False,
    type=_transposed_type,
    eval=_transposed_eval,
    inplace=NO_INPLACE,
    jvp=rules.bilinear_jvp(lambda: dot_transposed_op),
    linearize=FROM_JVP,
    transpose=rules.bilinear_transpose(
        lambda ct, indptr, indices, _, x, failure: sampled_dot(indptr, indices, x, ct, failure=failure),
        lambda ct, indptr, indices, data, _, failure: dot(indptr, indices, data, ct, failure=failure),
    ),
    batch=rules.batch_rule(lambda: dot_transposed_op, has_data=True),
    simplify=NO_IDENTITIES,
    effects=rules.effects,
    bounds=NO_BOUNDS,
    kernel=Routine(_transposed_routine),
)


def dot_transposed(indptr: Any, indices: Any, data: Any, x: Any, *, columns: int, failure: Any = None) -> Any:
    """(N,) or (N, K): the transpose of the matrix (M, N = `columns`) of `data` times `x` (M,) or (M, K)."""
    return bind(dot_transposed_op, indptr, indices, data, x, columns=columns, failure=failure)


# ---------------------------------------------------------------- sampled_dot


def _sampled_type(indptr: Aval, indices: Aval, x: Aval, y: Aval, *, failure: Any) -> Aval:
    lanes = rules.check("csr_sampled_dot", indptr, indices, None, (x, y))
    if x.shape[1 + lanes :] != y.shape[1 + lanes :]:
        raise ShapeError(op="csr_sampled_dot", problem=f"{x} and {y} differ in their columns")
    dtype, size = common_dtype("csr_sampled_dot", (x, y)), indices.shape[0]
    return Aval((rules.lanes_of("csr_sampled_dot", x, y), size) if lanes else (size,), dtype)


def _sampled_eval(indptr: Any, indices: Any, x: Any, y: Any, *, failure: Any) -> Any:
    _look(indptr, indices, y.shape[y.ndim == 3], failure)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    columns, unused = indices[: len(rows)], len(indices) - len(rows)

    def lane(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        products = p[rows] * q[columns]
        return np.pad(products if p.ndim == 1 else products.sum(1, dtype=p.dtype), (0, unused))

    return rules.each_lane(lane, x, y)


def _sampled_routine(k: Any, ins: Any, outs: Any, avals: Any, *, failure: Any) -> bool:
    (_, _, x, y), (out,), columns = ins, outs, avals[3].shape[avals[3].ndim == 3]
    matrix = _Rows(k, ins, avals, columns, failure)
    lanes = _Lanes(k, "csr_sampled_dot", *avals[2:])
    count, size, dtype = lanes.columns, avals[1].shape[0], avals[2].dtype
    with k.loop(0, lanes.count) as b:
        (at_x, at_y), at_out = lanes.starts(b), k.mul(b, size)
        with k.loop(matrix.position(k.const(matrix.rows, _I64)), size) as n:  # elements that belong to no row
            k.store(out, k.add(at_out, n), k.const(0, dtype))
        with k.loop(0, matrix.rows, independent=True) as i:
            left = k.add(at_x, k.mul(i, count))
            with matrix.elements(i) as n:
                right = k.add(at_y, k.mul(matrix.column(n), count))
                if count == 1:
                    k.store(out, k.add(at_out, n), k.mul(k.load(x, left), k.load(y, right)))
                else:
                    _store_product(k, out, k.add(at_out, n), (x, left), (y, right), count, dtype)
    return True


def _store_product(k: Any, out: Any, at: Any, x: Any, y: Any, count: int, dtype: np.dtype) -> None:
    """out[at] = the product of the rows that begin at the places `x` and `y`."""

    def term(n: Any, _: Any) -> Any:
        return k.mul(k.load(x[0], k.add(x[1], n)), k.load(y[0], k.add(y[1], n)))

    (total,) = _sum_columns(k, 1, dtype, k.loop(0, count), term)
    k.store(out, at, total)


sampled_dot_op = Op(
    name="csr_sampled_dot",
    doc="products of rows, at the elements of a sparse matrix in compressed rows only",
    multi=False,
    type=_sampled_type,
    eval=_sampled_eval,
    inplace=NO_INPLACE,
    jvp=rules.bilinear_jvp(lambda: sampled_dot_op),
    linearize=FROM_JVP,
    transpose=rules.bilinear_transpose(
        lambda ct, indptr, indices, _, y, failure: dot(indptr, indices, ct, y, failure=failure),
        lambda ct, indptr, indices, x, y, failure: dot_transposed(
            indptr, indices, ct, x, columns=y.shape[y.ndim == 3], failure=failure
        ),
    ),
    batch=rules.batch_rule(lambda: sampled_dot_op, has_data=False),
    simplify=NO_IDENTITIES,
    effects=rules.effects,
    bounds=NO_BOUNDS,
    kernel=Routine(_sampled_routine),
)


def sampled_dot(indptr: Any, indices: Any, x: Any, y: Any, *, failure: Any = None) -> Any:
    """(nnz,): the elements of `x` (M, K) times the transpose of `y` (N, K) where the matrix has some; or of vectors."""
    return bind(sampled_dot_op, indptr, indices, x, y, failure=failure)
