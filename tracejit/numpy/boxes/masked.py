"""x[mask] with a traced mask: the elements, kept in place in an array of the full shape.

Their number is not known, so a `MaskedArray` only offers what does not need it:
elementwise functions with values of the same mask, reductions, and being
written back under the same mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import TracedMaskError
from tracejit.interpreters.stage import StageTrace
from tracejit.interpreters.vmap import BatchTracer
from tracejit.ir.jaxpr import Literal, Var
from tracejit.ir.values import Value
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, cast, dtype_of, raw, shape_of
from tracejit.tracing import wrap


def spread(mask: Any, first: int, ndim: int) -> Any:
    """The mask over dimensions `first` … as one over `ndim` dimensions, size 1 elsewhere."""
    rank = len(shape_of(mask))
    new = tuple(d for d in range(ndim) if not first <= d < first + rank)
    return ops.shape.expand_dims(mask, new) if new else mask


def same_value(a: Any, b: Any, depth: int = 8) -> bool:
    """Whether two raw values are known to be equal, so that `y[x > 0] = x[x > 0]` is understood:
    the same value, equal arrays, or the same operations recorded twice."""
    if a is b:
        return True
    if not isinstance(a, Value) and not isinstance(b, Value):
        return dtype_of(a) == dtype_of(b) and np.array_equal(a, b)
    if type(a) is not type(b) or a.aval != b.aval or a.trace is not b.trace or not depth:
        return False
    if isinstance(a, BatchTracer) and isinstance(b, BatchTracer):
        return a.dim == b.dim and same_value(a.value, b.value, depth)
    if isinstance(a, Var) and isinstance(b, Var) and isinstance(a.trace, StageTrace):
        return _same_equation(a, b, depth)
    return False


def _same_equation(a: Var, b: Var, depth: int) -> bool:
    made = {v: e for e in a.trace.eqns for v in e.outvars if v is a or v is b}
    if len(made) < 2:
        return False
    e, f = made[a], made[b]
    return (
        e.op is f.op
        and not e.op.multi
        and not e.effects
        and e.params == f.params
        and all(_same_atom(x, y, depth - 1) for x, y in zip(e.invars, f.invars, strict=True))
    )


def _same_atom(a: Any, b: Any, depth: int) -> bool:
    if type(a) is Literal or type(b) is Literal:
        return type(a) is type(b) and a.value == b.value and a.aval == b.aval
    return same_value(a, b, depth)


class MaskedArray:
    """The elements of `part` where `mask` holds. `full` has `part`'s shape; it is 1 elsewhere,
    so that functions and their derivatives are defined there."""

    __slots__ = ("first", "full", "mask")
    __array_priority__ = 1000

    def __init__(self, part: Any, first: int, mask: Any, full: Any = None) -> None:
        self.first = first
        self.mask = mask
        if full is None:
            wide = ops.shape.broadcast_to(spread(mask, first, len(shape_of(part))), shape_of(part))
            full = ops.compare.select(wide, part, dtype_of(part).type(1))
        self.full = full

    def refuse(self, what: str) -> Any:
        """Raises TracedMaskError: the operation needs the number of elements."""
        raise TracedMaskError(what=what)

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.full)

    @property
    def ndim(self) -> int:
        return len(shape_of(self.full)) - len(shape_of(self.mask)) + 1

    @property
    def size(self) -> Any:
        """The number of elements, a traced integer if each mask element stands for one."""
        if self.ndim != 1:
            return self.refuse("size")
        return NUMPY_TO_TRACEJIT[np.sum](wrap(self.mask))

    @property
    def real(self) -> Any:
        return self._like(NUMPY_TO_TRACEJIT[np.real](wrap(self.full)))

    @property
    def imag(self) -> Any:
        return self._like(NUMPY_TO_TRACEJIT[np.imag](wrap(self.full)))

    def astype(self, dtype: Any, **_: Any) -> MaskedArray:
        return MaskedArray(None, self.first, self.mask, cast(self.full, dtypes.canonical(dtype)))

    def copy(self) -> MaskedArray:
        return self

    def _like(self, full: Any) -> MaskedArray:
        return MaskedArray(None, self.first, self.mask, raw(full))

    def _operand(self, x: Any) -> Any:
        if type(x) is MaskedArray:
            if x.first != self.first or not same_value(x.mask, self.mask):
                self.refuse("an operation with another mask's elements")
            return wrap(x.full)
        if len(shape_of(raw(x))):
            return wrap(align(raw(x), self.first, self.mask, shape_of(self.full)))
        return x

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.nout > 1:
            self.refuse(f"np.{ufunc.__name__}.{method}")
        fn = NUMPY_TO_TRACEJIT.get(ufunc)
        return self.apply(fn, *inputs) if fn is not None else self.refuse(f"np.{ufunc.__name__}")

    def apply(self, fn: Any, *inputs: Any) -> MaskedArray:
        """An elementwise function of masked arrays of one mask and of values that broadcast with them."""
        return self._like(fn(*(self._operand(x) for x in inputs)))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _REDUCTIONS and args and type(args[0]) is MaskedArray:
            return self.reduce(func, *args[1:], **kwargs)
        return self.refuse(f"np.{func.__name__}")

    def reduce(self, func: Any, axis: Any = None, **kwargs: Any) -> Any:
        """A reduction over all elements (or over axis 0 of one-dimensional ones)."""
        if not (axis is None or (axis in (0, -1) and self.ndim == 1)) or "where" in kwargs:
            self.refuse(f"np.{func.__name__} along an axis")
        shape = shape_of(self.full)
        wide = ops.shape.broadcast_to(spread(self.mask, self.first, len(shape)), shape)
        fn = NUMPY_TO_TRACEJIT[func]
        if func in (np.max, np.min) and "initial" not in kwargs:
            return fn(wrap(ops.compare.select(wide, self.full, worst(self.dtype, func is np.max))), **kwargs)
        return fn(wrap(self.full), where=wrap(wide), **kwargs)

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.refuse("a real ndarray")

    def __len__(self) -> int:
        return self.refuse("len()")

    def __iter__(self) -> Any:
        return self.refuse("iteration")

    def __getitem__(self, index: Any) -> Any:
        return self.refuse("indexing")

    def __bool__(self) -> bool:
        return self.refuse("bool()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.refuse(f"its attribute {name!r}")

    def __repr__(self) -> str:
        return f"Traced<{dtypes.short_name(self.dtype)}[?] of {wrap(self.full)!r}>"


def worst(dtype: np.dtype, least: bool) -> Any:
    if dtypes.is_inexact(dtype):
        return dtype.type(-np.inf if least else np.inf)
    if dtype.kind == "b":
        return np.bool_(not least)
    info = np.iinfo(dtype)
    return dtype.type(info.min if least else info.max)


_REDUCTIONS = {np.sum, np.prod, np.mean, np.max, np.min, np.any, np.all, np.std, np.var}


def _binary(ufunc: Any, swapped: bool) -> Any:
    def method(self: MaskedArray, other: Any) -> Any:
        if other is NotImplemented:
            return NotImplemented
        fn = NUMPY_TO_TRACEJIT[ufunc]
        return self.apply(fn, other, self) if swapped else self.apply(fn, self, other)

    return method


_OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
for _name, _ufunc in _OPERATORS.items():
    setattr(MaskedArray, f"__{_name}__", _binary(_ufunc, False))
    setattr(MaskedArray, f"__r{_name}__", _binary(_ufunc, True))
for _name, _ufunc in _COMPARISONS.items():
    setattr(MaskedArray, f"__{_name}__", _binary(_ufunc, False))
for _name, _ufunc in {
    "neg": np.negative,
    "abs": np.absolute,
    "invert": np.invert,
    "pos": np.positive,
}.items():
    setattr(MaskedArray, f"__{_name}__", lambda self, _u=_ufunc: self.apply(NUMPY_TO_TRACEJIT[_u], self))
for _func in _REDUCTIONS:
    setattr(MaskedArray, _func.__name__, lambda self, axis=None, _f=_func, **kw: self.reduce(_f, axis, **kw))
MaskedArray.__hash__ = None  # type: ignore[assignment]


def align(value: Any, first: int, mask: Any, shape: Any) -> Any:
    """A value that fits the selected elements (size 1 along them) as one that fits the full shape."""
    have = shape_of(value)
    rank = len(shape_of(mask))
    after = len(shape) - first - rank
    if len(have) > after:
        spot = len(have) - after - 1
        if have[spot] != 1:
            raise TracedMaskError(what=f"a value of shape {have} for its elements")
        value = ops.shape.squeeze(value, dimensions=(spot,))
        value = ops.shape.expand_dims(value, tuple(range(spot, spot + rank)))
    return value


def masked_write(part: Any, first: int, mask: Any, value: Any) -> Any:
    """`part` with `value` where the mask holds: x[mask] = value."""
    shape, dtype = shape_of(part), dtype_of(part)
    wide = ops.shape.broadcast_to(spread(mask, first, len(shape)), shape)
    if type(value) is MaskedArray:
        if value.first != first or not same_value(value.mask, mask):
            value.refuse("an assignment under another mask")
        new = value.full
    else:
        new = align(raw(value), first, mask, shape)
    new = cast(new, dtype)
    return ops.compare.select(wide, ops.shape.broadcast_to(new, shape) if shape_of(new) else new, part)
