"""Products of matrices and tensors: all of them one `dot_general`, with axes arranged around it."""

from __future__ import annotations

import functools
import operator
import string
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ShapeError
from tracejit.numpy.boxes import members
from tracejit.numpy.boxes.members import indexed_copy
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.functions.arrays.shaping import box_of, expand_dims, moveaxis, placed, rank, reshape
from tracejit.numpy.functions.statistics.reductions import axes_of, sum_
from tracejit.numpy.operands import (
    array_type,
    broadcast_shapes,
    cast,
    convert,
    dtype_of,
    raw,
    result_type,
    shape_of,
)
from tracejit.tracing import caller, wrap


def operands(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as raw values of their common dtype."""
    d = array_type(a, b)
    return convert(a, d), convert(b, d)


def general(x: Any, y: Any, contract: Any, batch: Any = ((), ())) -> Any:
    """`dot_general`; booleans multiply by `and` and add by `or`, as in NumPy."""
    if dtype_of(x).kind == "b":
        out = ops.linalg.dot_general(
            cast(x, dtypes.int64), cast(y, dtypes.int64), dimension_numbers=(contract, batch)
        )
        return ops.compare.ne(out, np.int64(0))
    return ops.linalg.dot_general(x, y, dimension_numbers=(contract, batch))


def _check(name: str, x: Any, y: Any, i: int, j: int) -> None:
    m, n = shape_of(x)[i], shape_of(y)[j]
    if m != n:
        raise ShapeError(
            op=name,
            problem=f"shapes {shape_of(x)} and {shape_of(y)} not aligned: {m} (dim {i}) != {n} (dim {j})",
        )


@implements(np.dot, "dot")
def dot(a: Any, b: Any) -> Any:
    """Over the last axis of `a` and the second-to-last of `b`."""
    x, y = operands(a, b)
    m, n = len(shape_of(x)), len(shape_of(y))
    if not m or not n:
        return NUMPY_TO_TRACEJIT[np.multiply](wrap(x), wrap(y))
    axis = max(n - 2, 0)
    _check("dot", x, y, m - 1, axis)
    return wrap(general(x, y, ((m - 1,), (axis,))))


@implements(np.matmul, "matmul")
def matmul(x1: Any, x2: Any, /, **kwargs: Any) -> Any:
    """The matrix product; leading axes broadcast."""
    x, y = operands(x1, x2)
    given = kwargs.get("dtype")
    d = _loop_dtype(np.matmul, dtype_of(x)) if given is None else dtypes.canonical(given)
    x, y = cast(x, d), cast(y, d)
    m, n = len(shape_of(x)), len(shape_of(y))
    if not m or not n:
        raise ShapeError(op="matmul", problem="operands must have at least one dimension; use * for scalars")
    _check("matmul", x, y, m - 1, max(n - 2, 0))
    if m <= 2 and n <= 2:
        return wrap(general(x, y, ((m - 1,), (max(n - 2, 0),))))
    return wrap(_batched_matmul(x, y, m, n))


def _loop_dtype(ufunc: np.ufunc, dtype: np.dtype) -> np.dtype:
    """What NumPy's ufunc computes products of this dtype in: bfloat16, for which it has no code, in float32."""
    return ufunc.resolve_dtypes((dtype, dtype, None))[-1]  # type: ignore[arg-type]


def _batched_matmul(x: Any, y: Any, m: int, n: int) -> Any:
    lead_x, lead_y = shape_of(x)[: max(m - 2, 0)], shape_of(y)[: max(n - 2, 0)]
    if not lead_y:  # one matrix for all: the batch axes are free axes
        return general(x, y, ((m - 1,), (max(n - 2, 0),)))
    if not lead_x and m == 1:
        return general(y, x, ((n - 2,), (0,)))
    lead = broadcast_shapes("matmul", [lead_x, lead_y])
    k = len(lead)
    x = (
        ops.shape.broadcast_to(x, (*lead, *shape_of(x)[-2:]))
        if m > 1
        else ops.shape.broadcast_to(x, (*lead, *shape_of(x)))
    )
    y = ops.shape.broadcast_to(y, (*lead, *shape_of(y)[-2:]))
    batch = tuple(range(k))
    return general(x, y, ((len(shape_of(x)) - 1,), (k,)), (batch, batch))


@implements(np.vdot, "vdot")
def vdot(a: Any, b: Any, /) -> Any:
    """The dot product of the flattened arrays, the first one conjugated."""
    x, y = (reshape(v, (-1,)) for v in (a, b))
    return dot(x.conj() if x.dtype.kind == "c" else x, y)


@implements(np.vecdot, "vecdot")
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Dot products along an axis, the first operand conjugated; the other axes broadcast."""
    d = _loop_dtype(np.vecdot, result_type(x1, x2))
    x, y = (moveaxis(wrap(convert(v, d)), axis, -1) for v in (x1, x2))
    both = (x.conj() if x.dtype.kind == "c" else x) * y
    return NUMPY_TO_TRACEJIT[np.any](both, -1) if both.dtype.kind == "b" else sum_(both, -1, both.dtype)


@implements(np.matvec, "matvec")
def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrices times vectors, over broadcast leading axes."""
    _has_rank("matvec", x1, 2)
    return matmul(x1, wrap(raw(x2))[..., None])[..., 0]


@implements(np.vecmat, "vecmat")
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Vectors, conjugated, times matrices, over broadcast leading axes."""
    _has_rank("vecmat", x2, 2)
    v = wrap(raw(x1))
    return matmul((v.conj() if dtype_of(raw(v)).kind == "c" else v)[..., None, :], x2)[..., 0, :]


def _has_rank(name: str, x: Any, n: int) -> None:
    if len(shape_of(raw(x))) < n:
        raise ArgumentError(name=name, problem=f"an operand needs {n} dimensions")


@implements(np.inner, "inner")
def inner(a: Any, b: Any, /) -> Any:
    """Over the last axes."""
    x, y = operands(a, b)
    m, n = len(shape_of(x)), len(shape_of(y))
    if not m or not n:
        return NUMPY_TO_TRACEJIT[np.multiply](wrap(x), wrap(y))
    _check("inner", x, y, m - 1, n - 1)
    return wrap(general(x, y, ((m - 1,), (n - 1,))))


@implements(np.outer, "outer")
def outer(a: Any, b: Any) -> Any:
    """All products of elements of the flattened arrays."""
    x, y = (reshape(v, (-1,)) for v in (a, b))
    return x[:, None] * y[None, :]


@implements(np.tensordot, "tensordot", arrays=True)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Over `axes`: a number of them, or a pair of sequences."""
    x, y = operands(a, b)
    m, n = len(shape_of(x)), len(shape_of(y))
    if isinstance(axes, int):
        pair: Any = (tuple(range(m - axes, m)), tuple(range(axes)))
    else:
        pair = tuple(
            axes_of("tensordot", s if isinstance(s, (tuple, list)) else (s,), k)
            for s, k in zip(axes, (m, n), strict=True)
        )
    for i, j in zip(*pair, strict=True):
        if shape_of(x)[i] != shape_of(y)[j]:
            raise ShapeError(op="tensordot", problem="shape-mismatch for sum")
    return wrap(general(x, y, pair))


@implements(np.kron, "kron")
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    x, y = box_of(a), box_of(b)
    n = max(x.ndim, y.ndim)
    x, y = (v[(None,) * (n - v.ndim) + (Ellipsis,)] for v in (x, y))
    wide = expand_dims(x, tuple(range(1, 2 * n, 2))) * expand_dims(y, tuple(range(0, 2 * n, 2)))
    out = reshape(wide, tuple(i * j for i, j in zip(x.shape, y.shape, strict=True)))
    return out if n else wrap(raw(out))


_OF_TWO = (
    "Arrays of 2-dimensional vectors are deprecated. "
    "Use arrays of 3-dimensional vectors instead. (deprecated in NumPy 2.0)"
)


@implements(np.cross, "cross", arrays=True)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """The cross product of 3-vectors (2-vectors have 0 as third component)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    axisa, axisb, axisc = map(operator.index, (axisa, axisb, axisc))
    x, y = moveaxis(box_of(a), axisa, -1), moveaxis(box_of(b), axisb, -1)
    if 2 in (x.shape[-1], y.shape[-1]):
        caller.warn(_OF_TWO, DeprecationWarning)
    if x.shape[-1] == 2 and y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x0, x1, x2 = _components(x)
    y0, y1, y2 = _components(y)
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    return moveaxis(NUMPY_TO_TRACEJIT[np.stack](parts, -1), -1, axisc)


def _components(x: Any) -> tuple[Any, Any, Any]:
    if x.shape[-1] not in (2, 3):
        raise ArgumentError(name="cross", problem="incompatible dimensions (dimension must be 2 or 3)")
    return x[..., 0], x[..., 1], x[..., 2] if x.shape[-1] == 3 else x[..., 0] * 0


# ---------------------------------------------------------------- einsum


@implements(np.einsum, "einsum")
def einsum(subscripts: Any, *xs: Any, optimize: Any = True, dtype: Any = None, **_: Any) -> Any:
    """Einstein summation; several operands are contracted pairwise in a greedy order."""
    if not isinstance(subscripts, str):
        subscripts, xs = _from_lists((subscripts, *xs))
    ins, out = _subscripts(subscripts, [rank(x) for x in xs])
    if len(xs) == 1 and out and set(out) == set(ins[0]) and (dtype is None or dtype_of(raw(xs[0])) == dtype):
        return _rearranged(box_of(xs[0]), ins[0], out)
    d = array_type(*xs) if dtype is None else dtypes.canonical(dtype)
    terms = [
        _single(convert(x, d), s, _needed(ins, out, n)) for n, (x, s) in enumerate(zip(xs, ins, strict=True))
    ]
    while len(terms) > 1:
        i, j = _best_pair(terms, out)
        rest = [t for n, t in enumerate(terms) if n not in (i, j)]
        needed = set(out).union(*(s for _, s in rest))
        terms = [*rest, _contract(terms[i], terms[j], needed)]
    r, labels = _single(*terms[0], set(out))
    if sorted(labels) != sorted(out):
        raise ArgumentError(
            name="einsum", problem=f"output subscripts {out!r} that are not among the inputs'"
        )
    return (
        indexed_copy(ops.shape.transpose(r, permutation=tuple(labels.index(c) for c in out)))
        if out
        else wrap(r)
    )


def _rearranged(x: Any, labels: str, out: str) -> Any:
    """A view of one operand of which nothing is summed."""
    if len(labels) == len(out):
        return members.transposed(x, tuple(labels.index(c) for c in out))[...]

    def read(value: Any) -> Any:
        r, kept = _single(value, labels, set(out))
        return ops.shape.transpose(r, permutation=tuple(kept.index(c) for c in out))

    if not x.aval.is_static:
        return indexed_copy(read(raw(x)))
    text = f"{_letters(labels)}->{_letters(out)}"
    return placed(x, read, functools.partial(np.einsum, text))


def _letters(labels: str) -> str:
    """Labels as NumPy knows them, which are those of ellipses no more."""
    greek = sorted({c for c in labels if not c.isascii()})
    free = [c for c in string.ascii_letters if c not in labels]
    return labels.translate({ord(c): free[n] for n, c in enumerate(greek)})


def _from_lists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The other calling form: operand, its labels, operand, its labels …, output labels."""

    def text(labels: Any) -> str:
        return "".join("..." if c is Ellipsis else chr(97 + c) if c < 26 else chr(39 + c) for c in labels)

    pairs = len(args) // 2
    ins = ",".join(text(args[2 * n + 1]) for n in range(pairs))
    return ins + (f"->{text(args[-1])}" if len(args) % 2 else ""), tuple(args[0 : 2 * pairs : 2])


def _subscripts(text: str, ranks: list[int]) -> tuple[list[str], str]:
    """Labels of the operands and of the result, ellipses spelled out with capital Greek letters."""
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    ins = left.split(",")
    if len(ins) != len(ranks):
        raise ArgumentError(name="einsum", problem=f"{len(ranks)} operands for the subscripts {text!r}")
    letters = [s.replace("...", "", 1) for s in (*ins, right)]
    if not all(s.isascii() and (s.isalpha() or not s) for s in letters):
        problem = f"the subscripts {text!r} have more than letters and an ellipsis for each operand"
        raise ArgumentError(name="einsum", problem=problem)
    extra = [r - len(s.replace("...", "")) for s, r in zip(ins, ranks, strict=True)]
    if any(e < 0 or (e and "..." not in s) for s, e in zip(ins, extra, strict=True)):
        raise ArgumentError(
            name="einsum", problem=f"the subscripts {text!r} do not fit the operands' dimensions"
        )
    dots = "".join(
        chr(0x391 + n)
        for n in range(max((e for s, e in zip(ins, extra, strict=True) if "..." in s), default=0))
    )
    ins = [s.replace("...", dots[len(dots) - e :] if e else "") for s, e in zip(ins, extra, strict=True)]
    if arrow:
        return ins, right.replace("...", dots)
    joined = "".join(ins)
    once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots)
    return ins, dots + "".join(once)


def _needed(ins: list[str], out: str, n: int) -> set[str]:
    return set(out).union(*(s for k, s in enumerate(ins) if k != n))


def _single(r: Any, labels: str, needed: set[str]) -> tuple[Any, str]:
    """Repeated labels replaced by diagonals, labels that nothing else needs summed."""
    for c in sorted(set(labels)):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            sizes = shape_of(r)[i], shape_of(r)[j]
            if sizes[0] != sizes[1]:
                problem = f"dimensions in operand for collapsing index {c!r} don't match"
                raise ShapeError(op="einsum", problem=f"{problem} ({sizes[0]} != {sizes[1]})")
            r = raw(NUMPY_TO_TRACEJIT[np.diagonal](box_of(wrap(r)), 0, i, j))
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    gone = tuple(n for n, c in enumerate(labels) if c not in needed)
    r = ops.reduce.reduce_sum(r, axes=gone) if gone else r
    return r, "".join(c for c in labels if c in needed)


def _best_pair(terms: list[Any], out: str) -> tuple[int, int]:
    """The pair whose product is smallest."""
    sizes = {
        c: d if isinstance(d, int) else d.bound or 1
        for r, s in terms
        for c, d in zip(s, shape_of(r), strict=True)
    }

    def cost(i: int, j: int) -> tuple[int, int]:
        rest = set(out).union(*(s for n, (_, s) in enumerate(terms) if n not in (i, j)))
        all_ = set(terms[i][1]) | set(terms[j][1])
        kept = int(np.prod([sizes[c] for c in all_ & rest], dtype=float))
        return kept, int(np.prod([sizes[c] for c in all_], dtype=float))

    pairs = [(i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))]
    return min(pairs, key=lambda p: cost(*p))


def _contract(a: Any, b: Any, needed: set[str]) -> tuple[Any, str]:
    (x, s), (y, t) = a, b
    x, s = _drop_ones(x, s, y, t)
    y, t = _drop_ones(y, t, x, s)
    shared = [c for c in s if c in t]
    batch = [c for c in shared if c in needed]
    summed = [c for c in shared if c not in needed]
    for c in shared:
        if shape_of(x)[s.index(c)] != shape_of(y)[t.index(c)]:
            raise ShapeError(op="einsum", problem=f"operands disagree about the size of {c!r}")
    x, s = _single(x, s, needed | set(shared))
    y, t = _single(y, t, needed | set(shared))
    contract = (tuple(map(s.index, summed)), tuple(map(t.index, summed)))
    r = general(x, y, contract, (tuple(map(s.index, batch)), tuple(map(t.index, batch))))
    labels = batch + [c for c in s if c not in shared] + [c for c in t if c not in shared]
    return r, "".join(labels)


def _drop_ones(x: Any, s: str, y: Any, t: str) -> tuple[Any, str]:
    """Axes of size 1 that the other operand has with another size: they broadcast."""
    ones = tuple(
        n
        for n, (c, d) in enumerate(zip(s, shape_of(x), strict=True))
        if d == 1 and c in t and shape_of(y)[t.index(c)] != 1
    )
    return (
        (ops.shape.squeeze(x, dimensions=ones), "".join(c for n, c in enumerate(s) if n not in ones))
        if ones
        else (x, s)
    )
