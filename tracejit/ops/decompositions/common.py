"""What the records of matrix factorizations share: type checks, batching, small matrix algebra on raw values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, MatrixDtypeError, MatrixShapeError, ShapeError
from tracejit.ir.avals import Aval, Dim, Shape, aval_of
from tracejit.ir.kernel import Composite, Opaque
from tracejit.ir.primitive import (
    NO_EFFECTS,
    NONLINEAR,
    Op,
    Rule,
    Sentinel,
)
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import plain, to_batch_axis
from tracejit.tracing import bind

I32, I64 = np.dtype(np.int32), np.dtype(np.int64)
#: How BLAS and LAPACK call their functions of real numbers.
LETTERS = {"float32": "s", "float64": "d"}
_ALONE = 1 << 18  # multiplications up to which OpenBLAS does not call for its threads
_DTYPES = {np.dtype(c) for c in "fdFD"}

# ---------------------------------------------------------------- types


def check_matrix(name: str, x: Aval, square: bool = False) -> None:
    """Raises unless `x` is a stack of (square) matrices of float32, float64, complex64 or complex128."""
    check_dtype(name, x.dtype)
    if x.ndim < 2:
        raise MatrixShapeError(
            op=name, problem=f"{x.ndim}-dimensional array given, at least two dimensions are needed"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise MatrixShapeError(
            op=name, problem=f"the last 2 dimensions of the array must be square, not {x.shape}"
        )


def check_dtype(name: str, dtype: np.dtype) -> None:
    """Raises MatrixDtypeError unless LAPACK has the dtype."""
    if dtype not in _DTYPES:
        raise MatrixDtypeError(op=name, dtype=dtype)


def check_same(name: str, *avals: Aval, lead: bool = True) -> None:
    """Raises unless operands have one dtype and (`lead`) the same leading axes."""
    if len({a.dtype for a in avals}) > 1:
        raise MatrixDtypeError(op=name, dtype=" and ".join(str(a.dtype) for a in avals))
    if lead and len({a.shape[:-2] for a in avals}) > 1:
        raise ShapeError(op=name, problem=f"operands of different leading axes, {', '.join(map(str, avals))}")


def least(name: str, m: Any, n: Any) -> Any:
    """min(m, n) of two sizes, which must be static unless they are the same."""
    if m == n:
        return m
    if isinstance(m, Dim) or isinstance(n, Dim):
        raise DynamicExtentError(op=name, problem=f"the sizes {m} and {n} of the matrix are traced integers")
    return min(m, n)


def real_of(dtype: np.dtype) -> np.dtype:
    """The dtype of absolute values."""
    return dtypes.real_part_dtype(dtype)


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype of the same precision."""
    return np.dtype(np.result_type(dtype, np.complex64))


# ---------------------------------------------------------------- records


def batch_leading(get_op: Callable[[], Op]) -> Rule:
    """The batch rule of an op that keeps leading axes: the new axis comes first, in all operands."""

    def batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        op = get_op()
        xs = [to_batch_axis(x, d, 0, size) for x, d in zip(args, dims, strict=True)]
        out = bind(op, *xs, **params)
        return out, [0] * len(out) if op.multi else 0

    return batch


def check_effects(params: dict[str, Any]) -> frozenset[str]:
    """The effects slot of ops that raise LinAlgError where `check` says so."""
    return frozenset({"error"} if params["check"] else ())


def is_many(lanes: int, n: int) -> bool:
    """Whether stacks of matrices of size n are worked on step by step, all at once, and not one by one."""
    return lanes > 1 and lanes >= n


def is_called(a: Any) -> bool:
    """Whether routines are called for stacks of matrices like `a`: square ones of real numbers, not many."""
    *lead, m, n = dims = dims_of(a)
    if any(isinstance(d, Dim) for d in dims) or aval_of(a).dtype.name not in LETTERS or 0 in dims:
        return False
    return m == n and not is_many(math.prod(lead), n)


def place(k: Any, x: int | str) -> Any:
    """Where a routine of BLAS or LAPACK finds a size, of 64 bits (`lowering.runtime.blas` says why), or a letter."""
    return k.slot(k.const(x, I64) if isinstance(x, int) else k.const(ord(x), np.dtype(np.int8)))


def work_of_call(multiplications: int) -> int:
    """The work of a routine's call, 0 where it may have threads of its own."""
    return multiplications if multiplications <= _ALONE else 0


def factorization(
    name: str,
    doc: str,
    *,
    type: Rule,
    eval: Rule,
    jvp: Rule | Sentinel,
    multi: bool = True,
    transpose: Rule | Sentinel = NONLINEAR,
    batch: Rule | None = None,
    effects: Rule | Sentinel = NO_EFFECTS,
    formula: Rule | None = None,
    routine: Rule | None = None,
    spelled: Rule | None = None,
    on_device: str = "",
) -> Op:
    """Register an op on stacks of matrices that runs a library routine; `formula` and `routine` as in `Composite`,
    `spelled` and `on_device` as in `Opaque`."""

    def get_op() -> Op:
        return op

    op = plain(
        name=name,
        doc=doc,
        multi=multi,
        type=type,
        eval=eval,
        jvp=jvp,
        transpose=transpose,
        batch=batch or batch_leading(get_op),
        effects=effects,
        kernel=Composite(formula, None, routine, spelled=spelled, on_device=on_device)
        if formula
        else Opaque(spelled=spelled, on_device=on_device),
    )
    return op


def zeros_like_outputs(outs: Any) -> Any:
    """Known-zero tangents of an output, or of a list of them."""
    if isinstance(outs, (list, tuple)):
        return [Zero(aval_of(o).tangent()) for o in outs]
    return Zero(aval_of(outs).tangent())


def per_matrix(fn: Callable[..., Any], avals: list[tuple[Shape, np.dtype]], *xs: Any, cores: Any) -> Any:
    """`fn` of every lane of `xs`, stored into new arrays of these shapes and dtypes.

    `cores[n]` is the number of trailing axes of operand n that one call takes.
    """
    lead = xs[0].shape[: xs[0].ndim - cores[0]]
    if not lead:
        return [np.ascontiguousarray(v, d) for v, (_, d) in zip(fn(*xs), avals, strict=True)]
    outs = [np.empty(shape, dtype) for shape, dtype in avals]
    for index in np.ndindex(lead):
        for out, value in zip(outs, fn(*(x[index] for x in xs)), strict=True):
            out[index] = value
    return outs


def finite(x: Any) -> Any:
    """`x`, to be decomposed by singular values: LAPACK raises for NaN, but never ends for some infinities."""
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError("SVD did not converge")
    return x


def spelled(function: str, *more: str, of: str = "{0}") -> Callable[..., str | None]:
    """`Opaque.spelled` of a function of `numpy.linalg` that raises for what it fails at, as the op does only where it
    `check`s. Its operand is `of`, its other arguments are `more`, in which {name} is a param."""

    def text(*, check: bool = True, **params: Any) -> str | None:
        if not check:
            return None
        return f"numpy.linalg.{function}({', '.join([of, *(m.format(**params) for m in more)])})"

    return text


#: The first operand as `finite` has it: what NumPy raises for, too.
FINITE = "({0} if numpy.isfinite({0}).all() else {0} * numpy.nan)"


def nan_where_failing(fn: Callable[[Any], Any], x: Any, error: Any) -> Any:
    """`fn(x)`, which raises for the whole stack; matrix by matrix with NaN where it raises, if it does."""
    try:
        return fn(x)
    except error:
        pass
    if x.ndim == 2:
        like = fn(np.eye(x.shape[-2], x.shape[-1], dtype=x.dtype))
        return _nan_of(like)
    parts = [nan_where_failing(fn, y, error) for y in x]
    if isinstance(parts[0], tuple):
        return tuple(np.stack(p) for p in zip(*parts, strict=True))
    return np.stack(parts)


def _nan_of(like: Any) -> Any:
    if isinstance(like, tuple):
        return tuple(_nan_of(x) for x in like)
    return np.full_like(like, np.nan)


# ---------------------------------------------------------------- algebra on raw values


def mT(x: Any) -> Any:
    """The last two axes exchanged."""
    n = len(dims_of(x))
    return ops.shape.swapaxes(x, n - 2, n - 1)


def conj(x: Any) -> Any:
    """The conjugate; real values unchanged."""
    return ops.complexes.conj(x) if is_complex(x) else x


def mH(x: Any) -> Any:
    """The conjugate transpose."""
    return conj(mT(x))


def is_complex(x: Any) -> bool:
    return aval_of(x).dtype.kind == "c"


def real(x: Any) -> Any:
    """The real part, in the real dtype."""
    return ops.complexes.real(x) if is_complex(x) else x


def to_complex(x: Any) -> Any:
    """`x` in the complex dtype of its precision."""
    return ops.create.convert(x, complex_of(aval_of(x).dtype))


def matmul(x: Any, y: Any) -> Any:
    """Products of stacks of matrices with the same leading axes."""
    n = len(dims_of(x))
    lead = tuple(range(n - 2))
    return ops.linalg.dot_general(x, y, dimension_numbers=(((n - 1,), (n - 2,)), (lead, lead)))


def _iota(shape: Shape, axis: int) -> Any:
    """The position along `axis` of a matrix of `shape`."""
    d = shape[axis]
    dyn, size, bounds = ([d.var], None, (d.bound,)) if isinstance(d, Dim) else ([], d, ())
    line = ops.create.iota(*dyn, shape=(size,), dtype=dtypes.int64, dimension=0, bounds=bounds)
    return ops.shape.broadcast_to(ops.shape.expand_dims(line, (1 - axis,)), shape)


def grid(shape: Shape, keep: str, k: int = 0) -> Any:
    """A boolean matrix of `shape`: where column - row is <= k (`keep` is 'ge', the lower triangle), >= k ('le')
    or equal to it ('eq'). Made of iotas, since rules of jaxprs may not make arrays."""
    row, column = _iota(shape, 0), _iota(shape, 1)
    row = ops.arithmetic.add(row, np.int64(k)) if k else row
    return {"ge": ops.compare.ge, "le": ops.compare.le, "eq": ops.compare.eq}[keep](row, column)


def mask(x: Any, keep: str, k: int = 0) -> Any:
    """`grid` for every matrix of a stack."""
    shape = dims_of(x)
    return ops.shape.broadcast_to(grid(shape[-2:], keep, k), shape)


def select(where: Any, x: Any, y: Any = 0) -> Any:
    """`np.where(where, x, y)` of full operands or scalars."""
    return ops.compare.select(where, x, y)


def tril(x: Any, k: int = 0) -> Any:
    """The elements on and below the k-th diagonal."""
    return select(mask(x, "ge", k), x)


def triu(x: Any, k: int = 0) -> Any:
    """The elements on and above the k-th diagonal."""
    return select(mask(x, "le", k), x)


def eye_like(x: Any, dtype: np.dtype | None = None) -> Any:
    """Identity matrices (ones on the diagonal) of the shape of `x`."""
    d = aval_of(x).dtype if dtype is None else dtype
    return ops.create.convert_element_type(mask(x, "eq"), dtype=d)


def diagonal(x: Any) -> Any:
    """The diagonals of square matrices."""
    n = len(dims_of(x))
    return ops.reduce.reduce_sum(select(mask(x, "eq"), x), axes=(n - 1,))


def line(x: Any) -> Any:
    """The diagonals of square matrices of static shapes, as they lie in memory."""
    *lead, n, _ = dims_of(x)
    flat = ops.shape.reshape(x, shape=(*lead, n * n))
    ends: list[Any] = [*lead, n * n]
    return ops.slices.slice(
        flat, start_indices=[0] * len(ends), limit_indices=ends, strides=[1] * len(lead) + [n + 1]
    )


def columns(v: Any, shape: Shape) -> Any:
    """Vectors broadcast to matrices of `shape`: element j in column j."""
    n = len(dims_of(v))
    return ops.shape.broadcast_to(ops.shape.expand_dims(v, (n - 1,)), shape)


def rows(v: Any, shape: Shape) -> Any:
    """Vectors broadcast to matrices of `shape`: element i in row i."""
    n = len(dims_of(v))
    return ops.shape.broadcast_to(ops.shape.expand_dims(v, (n,)), shape)


def from_lower(x: Any, lower: bool = True) -> Any:
    """The Hermitian matrices that LAPACK sees in a triangle: the other one is ignored."""
    half = tril(x, -1) if lower else triu(x, 1)
    diag = select(mask(x, "eq"), x)
    if is_complex(x):
        diag = to_complex(ops.complexes.real(diag))
    return ops.arithmetic.add(ops.arithmetic.add(half, mH(half)), diag)


def reciprocal_gaps(low: Any, high: Any, scale: Any, n: int) -> Any:
    """1 / (high - low) of real matrices, 0 where the gap is not above rounding noise.

    `scale` holds the largest magnitude involved, `n` the size: below n ulps of it, eigenvalues count as
    repeated, and what the derivative of their vectors would be is not defined.
    """
    gap = ops.arithmetic.sub(high, low)
    eps = np.finfo(aval_of(gap).dtype).eps
    tiny = ops.compare.le(ops.arithmetic.abs(gap), ops.arithmetic.mul(scale, eps * max(n, 1)))
    return select(tiny, 0.0, ops.arithmetic.reciprocal(select(tiny, 1.0, gap)))


def largest(s: Any, shape: Shape) -> Any:
    """The largest magnitude of each vector, spread to `shape` (a stack of matrices); no derivative."""
    n = len(dims_of(s))
    s = ops.arithmetic.abs(ops.create.stop_gradient(s))
    if dims_of(s)[-1] == 0:
        return ops.shape.broadcast_to(aval_of(s).dtype.type(0), shape)
    top = ops.reduce.reduce_max(s, axes=(n - 1,))
    return ops.shape.broadcast_to(ops.shape.expand_dims(top, (n - 1, n)), shape)


def bound_of(d: Any) -> int:
    """The size of a dimension, or its bound."""
    return d if type(d) is int else d.bound or 1


def varies(tangents: Any) -> bool:
    """Whether some tangent is not a known zero."""
    return any(not is_zero(t) for t in tangents)
