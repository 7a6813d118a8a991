"""Arrays whose lengths only the program knows: joined, and taken to be equally long where that is checked.

A traced length is a dimension with a bound (`Dim`), whose number the program computes. Where NumPy asks for equal
lengths, they are equal if they are one number of the program; otherwise the program compares them when it runs.
Python's integers among the arguments of a jitted function come first: a function whose lengths they decide is
traced for their values instead, after the refusal that `extents.decided_outside` allows for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, DynamicExtentError, ShapeError
from tracejit.ir.avals import Dim, DimSize, Shape, aval_of
from tracejit.numpy.boxes import extents, linear
from tracejit.numpy.boxes.extents import operand
from tracejit.records import record
from tracejit.tracing import wrap


def judge(name: str, problem: str, dims: Sequence[DimSize]) -> None:
    """Raise DynamicExtentError where arguments decide these lengths, so that the function is traced for them."""
    values = tuple(map(extents.of_dim, dims))
    if extents.decided_outside(values):
        error = DynamicExtentError(op=name, problem=problem)
        error.traced = tuple(linear.outermost(v) for v in values if type(v) is not int)
        raise error


# ---------------------------------------------------------------- equal lengths


@record(frozen=True)
class LengthFailure:
    """Makes the exception of two lengths that are not equal, from the check of the one against the other plus one."""

    name: str

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        text = f"operands could not be broadcast together: {details[0]} and {details[1] - 1} elements along an axis"
        return ShapeError(op=self.name, problem=text, where=where)


def _same(name: str, a: Any, b: Any) -> Any:
    """The lesser of two lengths, which the program checks to be equal."""
    for x, y in ((a, b), (b, a)):
        above = ops.arithmetic.add(y, np.int64(1))
        ops.index_check.check_index(x, size=above, axis=0, failure=LengthFailure(name))
    return ops.arithmetic.minimum(a, b)


def common(name: str, dims: Sequence[DimSize]) -> DimSize | None:
    """The length of axes that have to be equally long, checked when the program runs; None where they can't be.

    It is the least of them, so that reading so many elements of each is right even before the check."""
    found = list(dict.fromkeys(dims))
    if len(found) == 1:
        return found[0]
    known = [d for d in found if type(d) is int]
    least = min((b for b in map(extents.capacity, found) if b is not None), default=None)
    sizes = [extents.of_dim(d) for d in found]
    too_short = bool(known) and least is not None and least < known[0]
    if len(known) > 1 or too_short or extents.decided_outside(sizes):
        return None
    size, *others = sizes
    for n in others:
        size = extents.memo("same", lambda a, b: _same(name, a, b), operand(size), operand(n))
    return extents.to_dim(size, least)


def alike(name: str, raws: list[Any]) -> list[Any]:
    """Operands with the axes cut to common lengths that broadcasting needs to be equal, and that are traced."""
    shapes = [aval_of(r).shape for r in raws]
    new = [list(s) for s in shapes]
    for back in range(1, max(map(len, shapes)) + 1):
        own = [n for n, s in enumerate(shapes) if len(s) >= back and s[-back] != 1]
        dims = [shapes[n][-back] for n in own]
        if len(set(dims)) < 2:
            continue
        size = common(name, dims)
        if size is not None:
            for n in own:
                new[n][-back] = size
    return [cut(r, tuple(s)) for r, s in zip(raws, new, strict=True)]


def cut(x: Any, shape: Shape) -> Any:
    """The first elements of a raw array along each axis, which has at least so many."""
    if aval_of(x).shape == shape:
        return x
    dyn, sizes, bounds = ops.dims.split_dynamic(shape)
    return ops.index.dynamic_slice(x, *_origin(shape), *dyn, sizes=sizes, bounds=bounds)


def fitted(name: str, x: Any, shape: Shape) -> Any:
    """A raw array of which each axis is checked to be as long as in `shape`, as an array of that shape.

    None where that cannot be."""
    have = aval_of(x).shape
    sizes = [a if a == b or a == 1 else common(name, [a, b]) for a, b in zip(have, shape, strict=True)]
    if None in sizes:
        return None
    target = tuple(a if a == 1 else b for a, b in zip(have, shape, strict=True))
    return padded(cut(x, tuple(sizes)), target)


def padded(x: Any, shape: Shape) -> Any:
    """A raw array in the corner of one of `shape`, into which it fits; zeros elsewhere."""
    if aval_of(x).shape == shape:
        return x
    return ops.index.dynamic_update_slice(_zeros(shape, aval_of(x).dtype), x, *_origin(shape))


def _origin(shape: Shape) -> tuple[Any, ...]:
    return (np.int64(0),) * len(shape)


def _zeros(shape: Shape, dtype: np.dtype) -> Any:
    return ops.shape.broadcast_to(dtypes.element(dtype, 0), shape)


# ---------------------------------------------------------------- joined


def joined(xs: Sequence[Any], axis: int) -> Any:
    """Raw arrays of one dtype side by side along an axis along which some of them have traced lengths.

    They are written one after the other into an array of the sum of their bounds, of which the first part is taken."""
    dims = [aval_of(x).shape[axis] for x in xs]
    judge("concatenate", f"the size along axis {axis} is a traced integer", dims)
    xs = _beside(xs, axis)
    total: Any = 0
    starts = []
    for d in dims:
        starts.append(total)
        total = extents.add(total, extents.of_dim(d))
    bounds = [extents.capacity(d) for d in dims]
    most = None if None in bounds else sum(b for b in bounds if b is not None)
    size = extents.to_dim(total, most)
    shape = list(aval_of(xs[0]).shape)
    shape[axis] = size if most is None else most
    out = _zeros(tuple(shape), aval_of(xs[0]).dtype)
    for x, start in zip(xs, starts, strict=True):
        at = list(_origin(tuple(shape)))
        at[axis] = operand(start)
        out = ops.index.dynamic_update_slice(out, x, *at)
    shape[axis] = size
    return cut(out, tuple(shape))


def _beside(xs: Sequence[Any], axis: int) -> list[Any]:
    """The arrays with common lengths along all other axes. Raises ShapeError."""
    shapes = [list(aval_of(x).shape) for x in xs]
    for n in range(len(shapes[0])):
        if n != axis and all(len(s) == len(shapes[0]) for s in shapes):
            size = common("concatenate", [s[n] for s in shapes])
            for s in shapes:
                s[n] = s[n] if size is None else size
    rest = {(*s[:axis], *s[axis + 1 :]) for s in shapes}
    if len(rest) > 1:
        text = ", ".join(str(aval_of(x)) for x in xs)
        raise ShapeError(op="concatenate", problem=f"{text} differ in other axes than {axis}")
    return [cut(x, tuple(s)) for x, s in zip(xs, shapes, strict=True)]


# ---------------------------------------------------------------- repeated

_NEGATIVE = ops.index_check.Raising(ValueError, "repeats may not contain negative values.")


def repeated(counts: Any, size: DimSize) -> Any:
    """The index that takes each of `size` elements as often as the traced `counts` say: one, or one for each.

    Raises ValueError when the program runs where a count is negative, and ArgumentTypeError for no integers."""
    dtype = aval_of(counts).dtype
    if dtype.kind not in "biu" or dtype == np.uint64:
        problem = f"Cannot cast array data from {dtype!r} to dtype('int64') according to the rule 'safe'"
        raise ArgumentTypeError(name="repeat", problem=problem)
    counts = ops.create.convert(counts, np.dtype(np.int64))
    ops.index_check.fail_where(ops.compare.lt(counts, np.int64(0)), _NEGATIVE)
    shape = aval_of(counts).shape
    if shape in ((), (1,)):
        return _repeated_alike(ops.shape.reshape(counts, shape=()), extents.of_dim(size))
    if len(shape) > 1:
        raise ArgumentError(name="repeat", problem="object too deep for desired array")
    if shape != (size,):
        found = fitted("repeat", counts, (size,))
        if found is None:
            raise ShapeError(
                op="repeat", problem=f"operands could not be broadcast together with shapes ({size},) {shape}"
            )
        counts = found
    ends = ops.cumulative.cumsum(counts, axis=0, reverse=False)
    total = ops.reduce.reduce_sum(counts, axes=(0,))
    judge("repeat", "the counts are traced", [Dim(total, None)])
    # Where an element's repetitions end, the next one's begin: ones are added there, and summed up.
    numbers = ops.scatter.ScatterDimensionNumbers((), (0,), (0,))
    steps = ops.scatter.scatter_add(
        _zeros((Dim(total, None),), np.dtype(np.int64)),
        ops.shape.expand_dims(ends, (1,)),
        ops.shape.broadcast_to(np.int64(1), aval_of(ends).shape),
        dimension_numbers=numbers,
        mode="fill",
    )
    return wrap(ops.cumulative.cumsum(steps, axis=0, reverse=False))


def _repeated_alike(count: Any, size: Any) -> Any:
    total = ops.arithmetic.mul(count, operand(size))
    judge("repeat", "the count is traced", [Dim(total, None)])
    most = extents.greatest(count), extents.greatest(size)
    bound = None if None in most else extents.room(np.int64(most[0] * most[1]))  # type: ignore[operator]
    dyn, sizes, bounds = ops.dims.split_dynamic((Dim(total, bound),))
    places = ops.create.iota(*dyn, shape=sizes, dtype=np.int64, bounds=bounds)
    return wrap(ops.arithmetic.floor_divide(places, ops.arithmetic.maximum(count, np.int64(1))))


# ---------------------------------------------------------------- reshaped


def reshape_target(old: Shape, new: Sequence[DimSize]) -> Shape:
    """A new shape with traced sizes, -1 replaced by what is left of the old one. Where it is not known to hold as many
    elements, the program checks it. Raises ShapeError."""
    known = [d for d in new if not _is_open(d)]
    left = list(old)
    wanted = _product([d for d in known if not _taken(left, d)])
    there = _product(left)
    sizes = [extents.of_dim(d) for d in known]
    sure = all((extents.least(n) or 0) >= 0 and extents.least(n) is not None for n in sizes)
    if sure and not extents.decided_outside(sizes):
        if len(new) - len(known) == 1 and (rest := _rest(known, left, there, wanted)) is not None:
            return tuple(rest if _is_open(d) else d for d in new)
        if len(new) == len(known) and _are_equal(there, wanted):
            return tuple(known)
    error = ShapeError(op="reshape", problem=f"cannot reshape an array of shape {old} into {tuple(new)}")
    error.traced = tuple(linear.outermost(n) for n in sizes if type(n) is not int)
    raise error


def _is_open(d: DimSize) -> bool:
    return type(d) is int and d == -1


def _taken(left: list[DimSize], d: DimSize) -> bool:
    """Whether a size was among those that are left, from which it is taken."""
    found = d in left
    if found:
        left.remove(d)
    return found


def _product(sizes: Sequence[DimSize]) -> Any:
    """A product of sizes as a number, the known ones first."""
    total: Any = math.prod(d for d in sizes if type(d) is int)
    for n in (extents.of_dim(d) for d in sizes if type(d) is not int):
        total = 0 if type(total) is int and total == 0 else _times(n, total)
    return total


def _times(a: Any, b: Any) -> Any:
    return extents.mul(a, b) if type(b) is int else extents.memo("mul", ops.arithmetic.mul, operand(a), b)


def _rest(known: Sequence[DimSize], left: list[DimSize], there: Any, wanted: Any) -> DimSize | None:
    """The size that -1 stands for beside the `known` ones; None where there is none."""
    total = _product(known)
    if (extents.least(total) or 0) < 1:  # nothing says how often nothing goes into nothing

        def checked(n: Any) -> Any:
            ops.index_check.fail_where(ops.compare.eq(n, np.int64(0)), _OTHER_SIZE)
            return n

        extents.memo("filled", checked, operand(total))
    if type(wanted) is int and wanted == 1 and len(left) == 1:
        return left[0]
    size = _quotient(there, wanted)
    return None if size is None else extents.to_dim(size, None)


def _quotient(there: Any, wanted: Any) -> Any:
    """How often so many elements go into those that are there, as a number: the program checks that none remains. None
    where that can't be."""
    if type(there) is int and type(wanted) is int:
        return there // wanted if wanted and there % wanted == 0 else None
    if type(wanted) is int:
        if wanted == 0:
            return None
        size = extents.floordiv(there, wanted)
    else:
        most = extents.maximum(wanted, 1)
        size = extents.memo("floor_divide", ops.arithmetic.floor_divide, operand(there), operand(most))
    return size if _are_equal(there, _times(size, wanted)) else None


_OTHER_SIZE = ops.index_check.Raising(ValueError, "cannot reshape an array into a shape of another size")


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two numbers of elements are equal, as far as that is known; if it is not, the program checks it."""
    if a is b or (type(a) is int and type(b) is int):
        return a is b or a == b

    def checked(x: Any, y: Any) -> Any:
        ops.index_check.fail_where(ops.compare.ne(x, y), _OTHER_SIZE)
        return x

    extents.memo("equal sizes", checked, operand(a), operand(b))
    return True
