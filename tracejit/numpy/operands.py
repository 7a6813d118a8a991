"""Operands and results of NumPy's functions: raw values, shapes, dtypes, promotion, broadcasting, `out=`."""

from __future__ import annotations

import collections
import functools
import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    DynamicExtentError,
    OutputCastError,
    ShapeError,
    TracerArrayError,
    UnsupportedFunctionError,
)
from tracejit.ir.avals import Shape, aval_of
from tracejit.ir.jaxpr import Var
from tracejit.ir.seen import SeenArray
from tracejit.ir.values import Value
from tracejit.numpy import fitting, lengths
from tracejit.numpy.boxes import rows
from tracejit.numpy.boxes.extents import here, shape_here
from tracejit.numpy.times import units
from tracejit.tracing import Box, Storage, box, to_raw, wrap

#: Python's sequences that NumPy takes for arrays.
LISTS = (list, tuple, range, collections.deque)
_AS_LISTS: dict[type, Callable[[Any], Any]] = {range: list, collections.deque: list}
#: Classes of what stands for lists of traced numbers -> what gives the array of one.
SEQUENCES: dict[type, Callable[[Any], Box]] = {}
#: Classes of what stands for bytes, and for other objects that lend their memory -> what gives the array of one,
#: whether it can be written, and another object with as many bytes.
MEMORIES: dict[type, Callable[[Any], tuple[Box, bool, Any]]] = {}
#: Classes that stand for a subclass of NumPy's arrays -> what calls a function of NumPy's for objects of it:
#: `call(function, ours, args, kwargs)`.
SUBCLASSES: dict[type, Callable[..., Any]] = {}
#: The storages of columns of structured arrays in traced code -> the array, weakly, the name of the field, and the
#: array's dtype.
FIELDS: weakref.WeakKeyDictionary[Storage, tuple[Any, str, np.dtype]] = weakref.WeakKeyDictionary()
#: Arrays of which there is one only, such as `np.ma.masked`: as results they are themselves.
SINGLETONS: list[Any] = []


def is_subclassed(x: Any) -> bool:
    """Whether `x` stands for an array of a subclass. Of what users make the class may have no hash."""
    return any(type(x) is cls for cls in SUBCLASSES)


def rows_of(x: Any) -> Box | None:
    """An array of as many rows as an array of a subclass has, whose rows loops may run over; None if they may not."""
    return x.tj_rows()


def has_times(xs: Iterable[Any]) -> bool:
    """Whether a box of times is among the values, or in lists and tuples among them."""
    for x in xs:
        t = type(x)
        if (t is Box and x.aval.dtype.kind in "mM") or ((t is list or t is tuple) and has_times(x)):
            return True
    return False


def judge_times(name: str, xs: Iterable[Any]) -> None:
    """Raises UnsupportedFunctionError for a function that takes no dates and times, where they are among `xs`."""
    if dtypes.TIMES and has_times(xs):
        raise UnsupportedFunctionError(name=f"{name} of dates and times")


def has_box(xs: Iterable[Any]) -> bool:
    """Whether a box is among the values, or in lists, tuples and deques among them."""
    for x in xs:
        t = type(x)
        if (
            t is Box
            or t in SEQUENCES
            or t in SUBCLASSES
            or (t is not np.ndarray and isinstance(x, SeenArray) and x.is_traced())
            or ((t is list or t is tuple or t is collections.deque) and has_box(x))
        ):
            return True
    return False


def caller_of(args: Iterable[Any]) -> Any:
    """What calls NumPy's functions for arguments of which one is, or holds, an array of a subclass; None if none is."""
    if not SUBCLASSES:
        return None
    for x in args:
        t = type(x)
        found = SUBCLASSES.get(t)
        if found is None and (t is list or t is tuple):
            found = caller_of(x)
        if found is not None:
            return found
    return None


def arrays_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with arrays for what stands for lists, and lists for ranges and deques."""
    for x in args:
        if type(x) in _AS_LISTS or type(x) in SEQUENCES:
            made = _AS_LISTS | SEQUENCES
            return tuple([made[type(y)](y) if type(y) in made else y for y in args])
    return args


def raw(x: Any) -> Any:
    """The raw value of an operand: box, array, scalar, or nested sequence of these."""
    t = type(x)
    if t is Box:
        return _value(x)
    if t is np.ndarray or isinstance(x, np.generic):
        return to_raw(x)
    if t is list or t is tuple:
        return nested(x)
    return nested(list(x)) if t in LISTS else to_raw(x)


def _value(x: Box) -> Any:
    """The raw value of a box; one of an outer trace with extents that are computed as the constant it is here."""
    value = x.storage.read(x.chain) if x.chain else x.storage.value
    return here(value) if type(value) is Var and not value.aval.is_static else value


def nested(xs: Any, dtype: np.dtype | None = None) -> Any:
    """A sequence of operands along a new axis, in a dtype that all must fit, or that they promote to."""
    if not has_box(xs):
        return to_raw(np.asarray(xs, dtype))
    columns = _columns(xs)
    if columns is not None:
        raw_columns = nested(columns, dtype)
        rank = len(shape_of(raw_columns))
        return ops.shape.transpose(raw_columns, permutation=(1, 0, *range(2, rank)))
    parts = [_part(x, dtype) for x in xs]
    pieces = rows.runs(parts) or [(False, p) for p in parts]
    target = promote(*(dtype_of(p) for _, p in pieces)) if dtype is None else dtype
    take = convert if dtype is None else element
    raws = [(joined, take(p, target)) for joined, p in pieces]
    shapes = {shape_of(r)[joined:] for joined, r in raws}
    if len(shapes) > 1:
        raise ShapeError(op="array", problem=f"elements of different shapes, {', '.join(map(str, shapes))}")
    raws = [r if joined else ops.shape.expand_dims(r, dimensions=(0,)) for joined, r in raws]
    return ops.concat.concatenate(*raws, dimension=0) if len(raws) > 1 else raws[0]


def element(x: Any, dtype: np.dtype) -> Any:
    """The raw value of what becomes an element in `dtype`: a number that does not fit raises as in NumPy."""
    if type(x) is Box:
        return fitting.stored(x, dtype)
    if isinstance(x, Value):
        return cast(x, dtype)
    return fitting.converted(x, dtype) if np.ndim(x) == 0 else cast(raw(x), dtype)


def _part(x: Any, dtype: np.dtype | None) -> Any:
    """An item of a sequence: an array or number."""
    if type(x) is Box or not isinstance(x, LISTS):
        return x
    whole = rows.run(x)
    return wrap(nested(x, dtype)) if whole is None else whole


def _columns(xs: Any) -> list[Any] | None:
    """The columns of a long sequence of short ones, if they are rows of arrays: [(t, x), (t, x), ...]."""
    if len(xs) < rows.SHORTEST or not all(isinstance(x, (list, tuple)) for x in xs):
        return None
    if len({len(x) for x in xs}) > 1 or not 0 < len(xs[0]) < len(xs):
        return None
    columns = [rows.run(column) for column in zip(*xs, strict=True)]
    return None if any(c is None for c in columns) else columns


def shape_of(x: Any) -> Shape:
    """The shape of a box or raw value; dynamic dimensions are Dims."""
    if type(x) is Box or isinstance(x, Value):
        return x.aval.shape
    return x.shape if isinstance(x, (np.ndarray, np.generic)) else np.shape(x)


def dtype_of(x: Any) -> np.dtype:
    """The dtype of a box, raw value or Python scalar."""
    if type(x) is Box or isinstance(x, Value):
        return x.aval.dtype
    return x.dtype if isinstance(x, (np.ndarray, np.generic)) else aval_of(x).dtype


_WEAK: dict[str, type] = {"i": int, "f": float, "c": complex}
_EXAMPLE: dict[type, Any] = {int: 0, float: 0.0, complex: 0j}


def kind_of(x: Any) -> Any:
    """What promotion sees: an np.dtype, or int, float, complex for Python scalars and their boxes."""
    t = type(x)
    if t is Box:
        return _WEAK.get(x.aval.dtype.kind, x.aval.dtype) if x.weak else x.aval.dtype
    if t is int or t is float or t is complex:
        return t
    return dtype_of(x) if isinstance(x, (Value, np.ndarray, np.generic)) else dtype_of(raw(x))


@functools.lru_cache(maxsize=4096)
def promote(*kinds: Any) -> np.dtype:
    """NumPy's result type of dtypes and Python scalar types."""
    return np.dtype(np.result_type(*(_EXAMPLE.get(k, k) if isinstance(k, type) else k for k in kinds)))


def result_type(*xs: Any) -> np.dtype:
    """The dtype that operands promote to, weak scalars as NumPy has them (NEP 50)."""
    return promote(*map(kind_of, xs))


def array_type(*xs: Any) -> np.dtype:
    """The dtype that operands promote to of which NumPy makes arrays first: Python's numbers are not weak then."""
    return promote(*(dtype_of(raw(x)) for x in xs))


def convert(x: Any, dtype: np.dtype) -> Any:
    """The raw value of `x` as `dtype`. Python's numbers that don't fit raise as in NumPy, traced ones later."""
    t = type(x)
    if t is Box:
        value = _value(x)
        if x.aval.dtype is dtype:
            return value
        if x.weak:
            fitting.judge_number(value, dtype)
        fitting.judge_loss(x.aval.dtype, dtype)
        return cast(value, dtype)
    if t is float and dtype is dtypes.float64:
        return dtype.type(x)
    if t is int or t is float or t is complex or t is bool:
        return np.asarray(x, dtype)[()]
    value = raw(x)
    fitting.judge_loss(dtype_of(value), dtype)
    return cast(value, dtype)


def cast(r: Any, dtype: np.dtype) -> Any:
    """A raw value as `dtype`; of complex numbers the real part."""
    if dtypes.TIMES and (dtype.kind in "mM" or dtype_of(r).kind in "mM"):
        return units.fitted(r, dtype)
    if isinstance(r, np.generic) and r.dtype.kind != "c":
        return r.astype(dtype)
    return r if dtype_of(r) == dtype else ops.create.convert(r, dtype)


def as_asked(x: Any, dtype: Any, default: np.dtype) -> Any:
    """A raw value in the dtype that `dtype=` names, or in the default one."""
    if dtype is None:
        return cast(x, default)
    fitting.judge_loss(dtype_of(x), dtypes.canonical(dtype))
    return cast(x, dtypes.canonical(dtype))


def elements(name: str, shape: Shape) -> int:
    """The number of elements of a static shape. Raises DynamicExtentError for others."""
    if not all(type(d) is int for d in shape):
        raise DynamicExtentError(op=name, problem=f"the shape {shape} has a size that is a traced integer")
    return math.prod(shape)


def filled(value: Any, dtype: np.dtype, shape: Shape) -> Any:
    """A raw array with one value everywhere; dimensions may be Dims."""
    fill = dtypes.element(dtype, value)
    if all(type(d) is int for d in shape):
        return ops.create.full(fill, shape=shape)  # type: ignore[arg-type]
    return ops.shape.broadcast_to(fill, shape)


def inexact(x: Any) -> Any:
    """The raw value of `x`, integers and booleans as float64 (as NumPy's mean, var … do)."""
    r = raw(x)
    return r if dtypes.is_inexact(dtype_of(r)) else cast(r, dtypes.float64)


def broadcast_shapes(name: str, shapes: Iterable[Shape]) -> Shape:
    """The common shape. Raises ShapeError in NumPy's words."""
    shapes = list(shapes)
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    out: list[Any] = [1] * max(map(len, shapes))
    for s in shapes:
        for n, d in enumerate(s, len(out) - len(s)):
            if out[n] == 1:
                out[n] = d
            elif d != 1 and d != out[n]:
                text = " ".join(str(t).replace(" ", "") for t in shapes)
                raise ShapeError(
                    op=name, problem=f"operands could not be broadcast together with shapes {text}"
                )
    return tuple(out)


def broadcast_operands(name: str, raws: list[Any], full: bool = False) -> list[Any]:
    """Operands of a pointwise op: of one shape, or 0-d (not if `full`)."""
    shapes = [aval_of(r).shape for r in raws]
    first = shapes[0]
    if first == shapes[-1] and len(shapes) <= 2:
        return raws
    if any(type(d) is not int for s in shapes for d in s):
        raws = lengths.alike(name, raws)
        shapes = [aval_of(r).shape for r in raws]
    shape = broadcast_shapes(name, shapes)
    return [
        r if s == shape or (not s and not full) else ops.shape.broadcast_to(r, shape)
        for r, s in zip(raws, shapes, strict=True)
    ]


# ---------------------------------------------------------------- results


def store(
    out: Any, result: Any, name: str, casting: str = "same_kind", where: Any = None, fits: bool = False
) -> Any:
    """Write `result` (a box or raw value) into `out=`; gives `out`. `fits`: whether that has to have the result's
    shape, as everywhere but in calls of ufuncs, which broadcast into it."""
    if type(out) is tuple:
        (out,) = out
    seen = where is None and issubclass(type(out), SeenArray)  # of outside: it knows how it is written
    if not seen and type(out) is not Box:
        raise TracerArrayError(aval=str(aval_of(raw(result))))
    check_output(name, dtype_of(result), dtype_of(out), casting)
    shape = shape_here(shape_of(out))
    if shape_of(result) != shape:
        if fits and (seen or out.aval.is_static):
            raise ShapeError(op=name, problem=f"`out=` has the shape {shape}, and not {shape_of(result)}")
        if broadcast_shapes(name, [shape_of(result), shape]) != shape:
            raise ShapeError(
                op=name,
                problem=f"non-broadcastable output operand with shape {shape} doesn't match the "
                f"broadcast shape {shape_of(result)}",
            )
    if seen:
        out[...] = result if type(result) is Box else wrap(result)
        return out
    if where is not None or not (type(result) is Box or shape_of(result)):  # else the assignment does so
        fitting.judge_loss(dtype_of(result), out.aval.dtype)
    out[...] = result if where is None else select_where(where, raw(result), out.read())
    return out


def select_where(where: Any, new: Any, old: Any) -> Any:
    """`new` where the mask holds, else `old` (raw values), broadcast to `old`'s shape."""
    shape = shape_of(old)
    mask = convert(where, dtypes.bool_)
    new = cast(new, dtype_of(old))
    new = ops.shape.broadcast_to(new, shape) if shape_of(new) else new
    return ops.compare.select(ops.shape.broadcast_to(mask, shape) if shape_of(mask) else mask, new, old)


def check_output(name: str, source: np.dtype, target: np.dtype, casting: str = "same_kind") -> None:
    """Raises OutputCastError unless NumPy's casting rule allows the result in the output's dtype."""
    if source != target and not np.can_cast(source, target, casting):  # type: ignore[arg-type]
        raise OutputCastError(name=name, source=source, target=target, rule=casting)


def python_bool(x: Any) -> Any:
    """A truth value as Python's, which some of NumPy's functions give."""
    return box(x.read(), weak=True) if type(x) is Box else bool(x)
