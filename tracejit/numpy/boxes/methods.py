"""Box methods that are functions of the namespace: one line a method."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, RefusedFunctionError, UnfollowedError
from tracejit.numpy.boxes.indexing import view_of
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.masking import selected
from tracejit.numpy.boxes.members import indexed_copy
from tracejit.numpy.boxes.placed import Bits
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.fitting import judge_loss
from tracejit.numpy.operands import SUBCLASSES, cast, element, raw
from tracejit.numpy.options import order_of
from tracejit.numpy.times import units
from tracejit.numpy.ufuncs import TABLE, int_like
from tracejit.tracing import Box, is_tracing, wrap

#: Methods that take the function's own arguments: `x.sum(...)` is `np.sum(x, ...)`.
_SAME = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "max": np.max, "min": np.min,
    "argmax": np.argmax, "argmin": np.argmin, "any": np.any, "all": np.all, "cumsum": np.cumsum,
    "cumprod": np.cumprod, "swapaxes": np.swapaxes, "squeeze": np.squeeze, "dot": np.dot,
    "round": np.round, "repeat": np.repeat, "take": np.take, "argsort": np.argsort,
    "diagonal": np.diagonal, "trace": np.trace, "nonzero": np.nonzero, "ravel": np.ravel, "choose": np.choose,
    "searchsorted": np.searchsorted, "argpartition": np.argpartition,
    "put": np.put,
}  # fmt: skip


#: Orders of memory in which a copy of an array in C order may lie otherwise.
_OTHERS = frozenset("FfAa")


def _method(function: Any) -> Any:
    def method(x: Box, *args: Any, **kwargs: Any) -> Any:
        if "correction" in kwargs:  # which only the functions have
            raise TypeError(f"_{function.__name__}() got an unexpected keyword argument 'correction'")
        return NUMPY_TO_TRACEJIT[function](x, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"`np.{function.__name__}` of this array."
    return method


for _name, _function in _SAME.items():
    setattr(Box, _name, _method(_function))


def _clip(x: Box, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """Values limited to [min, max], one of which may be left out."""
    return NUMPY_TO_TRACEJIT[np.clip](x, min, max, out, **kwargs)


def _reshape(x: Box, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    """Another shape, given as one tuple or as integers."""
    if shape and shape[0] is None:
        raise ArgumentTypeError(name="reshape", problem="no shape is given")
    target = shape[0] if len(shape) == 1 else shape
    return NUMPY_TO_TRACEJIT[np.reshape](x, target, order, copy=copy)


def _transpose(x: Box, *axes: Any) -> Any:
    """Another order of the axes, given as one tuple or as integers."""
    one = len(axes) == 1 and (axes[0] is None or np.ndim(axes[0]) > 0)
    order = axes[0] if one else axes or None
    return NUMPY_TO_TRACEJIT[np.transpose](x, order)


def _flatten(x: Box, order: str = "C") -> Any:
    """A one-dimensional copy."""
    return indexed_copy(raw(NUMPY_TO_TRACEJIT[np.ravel](x, order)))


def _astype(
    x: Box, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """A copy in another dtype (complex to real: the real part)."""
    d = dtypes.canonical(dtype)
    order_of(order)
    if not copy and d == x.aval.dtype:
        return x
    if not np.can_cast(x.aval.dtype, d, casting):  # type: ignore[arg-type]
        raise ArgumentTypeError(
            name="astype", problem=f"cannot cast {x.aval.dtype} to {d} by the rule {casting!r}"
        )
    judge_loss(x.aval.dtype, d)
    change = units.cast if dtypes.is_time(d) or dtypes.is_time(x.aval.dtype) else cast
    kept = selected.elementwise(lambda y: wrap(change(y.read(), d)), (x,))
    made = _like(x, change(x.read(), d)) if kept is None else kept
    return as_numpys(np.ndarray.astype, (x, d, order), {}, made, order in _OTHERS)


def _like(x: Box, value: Any) -> Any:
    """A new box that is a scalar or an array as `x` is."""
    out = wrap(value)
    if type(out) is Box:  # a rule of a custom function may run where nothing is traced any more
        out.scalar = x.scalar
    return out


def _copy(x: Box, order: str = "C") -> Any:
    """A new array with the same values."""
    order_of(order)
    kept = selected.elementwise(lambda y: y, (x,))
    if kept is not None:
        return as_numpys(np.ndarray.copy, (x, order), {}, kept, order in _OTHERS)
    value = x.read()
    out = _like(x, value.copy() if type(value) is np.ndarray and not is_tracing() else value)
    return as_numpys(np.ndarray.copy, (x, order), {}, out, order in _OTHERS)


def _conjugate(x: Box, out: Any = None) -> Any:
    """The complex conjugate; the array itself if it is not complex."""
    if x.weak:
        return TABLE["conjugate"].operator(x) if x.aval.dtype.kind == "c" else int_like(x)
    if x.aval.dtype.kind == "c" or out is not None:
        return NUMPY_TO_TRACEJIT[np.conjugate](x, **({} if out is None else {"out": out}))
    return x


def _compress(x: Box, condition: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
    """Slices where a condition holds, as `np.compress`."""
    options |= {} if out is None else {"out": out}
    return NUMPY_TO_TRACEJIT[np.compress](condition, x, axis, **options)


def _to_device(x: Box, device: Any, /, *, stream: Any = None) -> Any:
    """The array itself: "cpu" is the only device that NumPy has. Raises ArgumentError for others."""
    if device != "cpu" or stream is not None:
        raise ArgumentError(name="to_device", problem=f"unsupported device {device!r}: only 'cpu' is")
    return x


def _fill(x: Box, value: Any) -> None:
    """Every element becomes `value`."""
    if np.ndim(value):
        raise ValueError("setting an array element with a sequence.")
    new = wrap(element(value, x.aval.dtype))
    if not x.scalar:  # of which NumPy fills a copy
        x[...] = new


def _sort(x: Box, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """Sorts in place."""
    x[...] = NUMPY_TO_TRACEJIT[np.sort](x, axis, kind, order, stable=stable)


def _partition(x: Box, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    """Sorts in place, which is a valid partition."""
    x[...] = NUMPY_TO_TRACEJIT[np.partition](x, kth, axis, kind, order)


def _is_array_class(x: Any) -> bool:
    """NumPy's class of arrays, or what stands for it in traced code. Raises UnfollowedError for one that derives from
    it."""
    if not isinstance(x, __builtins_type) or x is object:
        return False
    if x is not np.ndarray and issubclass(x, np.ndarray):
        raise UnfollowedError(
            what=f"an array as a {x.__name__}", reason="the class has operations of its own"
        )
    return issubclass(np.ndarray, x)


def _view(x: Box, dtype: Any = None, type: Any = None) -> Any:
    """The same memory, as elements of another dtype; another size of dtype changes the last axis."""
    cls = dtype if type is None else type
    if any(cls is c for c in SUBCLASSES):
        return x if x.scalar else cls.view(x if cls is dtype else _view(x, dtype), cls)  # type: ignore[attr-defined]
    if type is not None:
        _is_array_class(type)
    if dtype is None or _is_array_class(dtype):
        return x if x.scalar else x[...]
    d = dtypes.canonical(dtype)
    if d == x.aval.dtype:
        return x if x.scalar else x[...]
    if x.scalar:
        return wrap(ops.bitcasts.view_as(x.read(), dtype=d))
    return view_of(x, (*x.chain, Bits(d)))


__builtins_type = type
Box.clip = _clip
Box.reshape = _reshape
Box.transpose = _transpose
Box.flatten = _flatten
Box.astype = _astype
Box.copy = _copy
Box.conj = Box.conjugate = _conjugate
Box.compress = _compress
Box.to_device = _to_device
Box.device = property(lambda x: "cpu")
Box.__array_namespace__ = lambda x, *, api_version=None: np  # type: ignore[attr-defined]
Box.fill = _fill
Box.sort = _sort
Box.partition = _partition
Box.view = _view


_BYTES = (
    "it looks at an array's memory, and a traced value has none",
    "return the array, and call it outside",
)
_INPLACE = ("it changes the array's memory, which a traced value has not", "make a new array")
#: Method or attribute -> (why it is refused, what to do instead).
REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("tobytes", "tofile", "dump", "dumps", "getfield", "__dlpack__", "__dlpack_device__"), _BYTES
    ),
    **dict.fromkeys(("ctypes", "data"), _BYTES),
    "byteswap": (_BYTES[0], "swap with shifts: view the array as unsigned integers first"),
    "setfield": (_INPLACE[0], "assign to a view by dtype outside, or combine with shifts and masks"),
    "setflags": (
        _INPLACE[0],
        "leave the flags as they are: writes into arguments are allowed or refused as a whole",
    ),
    "resize": (_INPLACE[0], "use x = numpy.resize(x, shape), x.reshape(shape) or numpy.pad"),
}
_ATTRIBUTES = {"ctypes", "data"}


def _refused(name: str) -> Any:
    reason, remedy = REFUSED[name]

    def method(x: Box, *args: Any, **kwargs: Any) -> Any:
        raise RefusedFunctionError(name=f"ndarray.{name}", reason=reason, remedy=remedy)

    method.__name__ = name
    method.__doc__ = f"Refused for traced values: {reason}. Remedy: {remedy}."
    return method


for _name in REFUSED:
    setattr(Box, _name, property(_refused(_name)) if _name in _ATTRIBUTES else _refused(_name))
