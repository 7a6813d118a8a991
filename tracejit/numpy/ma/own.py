"""What copies of `numpy.ma` have instead of its own code: what asks a mask whether anything is masked, only to do less.

A program would have to be made for either answer, and a block of a native loop and `vmap` have no answer to give.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import UnsupportedFunctionError
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.ma.array import Array
from tracejit.tracing import Box, unbox

#: Name of a function or method of `numpy.ma.core` -> ours, which is given the globals of copied code.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def instead(name: str) -> Any:
    """Decorator: the function stands for that of `numpy.ma.core` with this qualified name."""

    def register(fn: Any) -> Any:
        FUNCTIONS[name] = fn
        return fn

    return register


def _is_batched(x: Any) -> bool:
    """Whether `vmap` has a value of its own for each example."""
    raw: Any = unbox(x)
    while isinstance(raw, Value) and type(raw) is not Var and hasattr(raw, "primal"):
        raw = getattr(raw, "primal")  # noqa: B009
    return isinstance(raw, Value) and type(raw) is not Var


@instead("_shrink_mask")
def _shrink_mask(scope: Any, m: Any) -> Any:
    """No mask if nothing is masked; under `vmap`, whose examples have one mask together, it stays."""
    some = m.any()
    if type(some) is Box and _is_batched(some):
        return m
    return m if some else np.ma.nomask


@instead("MaskedArray.filled")
def _filled(scope: Any, self: Any, fill_value: Any = None) -> Any:
    """The data with the fill value where it is masked. If nothing is, it is the data itself, which must be known where
    others are given the result; `numpy.ma` only computes with it."""
    m = self._mask
    if m is np.ma.nomask:
        return self._data
    if fill_value is None:
        fill_value = self.fill_value
    elif type(fill_value) is not Box:
        fill_value = scope["_check_fill_value"](fill_value, self.dtype)
    elif fill_value.dtype != self.dtype:
        raise UnsupportedFunctionError(name="a traced fill value of another dtype")
    if _is_handed_on(type(scope)) and not m.any():
        return self._data
    result = self._data.copy("K")
    NUMPY_TO_TRACEJIT[np.copyto](result, fill_value, where=m)
    return result


def _is_handed_on(scope: type) -> bool:
    """Whether the result of `filled` is given to others than copied code: `np.ma.filled` gives it to its caller,
    and `make_mask` may."""
    frame: Any = sys._getframe(3)  # that of who calls the method
    if frame.f_code is np.ma.filled.__code__:
        frame = frame.f_back
    return type(frame.f_globals) is not scope or frame.f_code is np.ma.make_mask.__code__


@instead("MaskedArray._update_from")
def _update_from(scope: Any, self: Any, obj: Any) -> None:
    """Take over what `obj` has besides its elements."""
    known = {} if type(obj) is Box else getattr(obj, "__dict__", {})
    more = dict(known.get("_optinfo") or {})
    names = {"_fill_value": None, "_hardmask": False, "_sharedmask": False, "_isfield": False}
    found = {name: known.get(name, default) for name, default in names.items()}
    vars(self).update(found, _baseclass=known.get("_baseclass", Array), _optinfo=more, _basedict=more)


@instead("_MaskedBinaryOperation.__call__")
def _binary(scope: Any, self: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    """A binary operation: under a mask lies what lies under that of the first operand."""
    getmask, getmaskarray, cls = scope["getmask"], scope["getmaskarray"], scope["MaskedArray"]
    da, db = scope["getdata"](a), scope["getdata"](b)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = self.f(da, db, *args, **kwargs)
    ma, mb = getmask(a), getmask(b)
    m: Any = np.ma.nomask
    if ma is not m or mb is not m:
        either = NUMPY_TO_TRACEJIT[np.logical_or]
        m = either(getmaskarray(a) if ma is m else ma, getmaskarray(b) if mb is m else mb)
    if not result.ndim:
        return np.ma.masked if m else result
    if m is not np.ma.nomask:
        NUMPY_TO_TRACEJIT[np.copyto](result, da, casting="unsafe", where=m)
    made = result.view(scope["get_masked_subclass"](a, b))
    made._mask = m
    if isinstance(a, cls):
        made._update_from(a)
    elif isinstance(b, cls):
        made._update_from(b)
    return made


@instead("_check_fill_value")
def _check_fill_value(scope: Any, fill_value: Any, ndtype: Any) -> Any:
    """NumPy's own, of fill values that are known: these belong to the structure of a masked array."""
    known = unbox(fill_value)
    if isinstance(known, Value):
        raise UnsupportedFunctionError(name="a traced fill value of a masked array")
    return np.ma.core._check_fill_value(known, ndtype)  # type: ignore[attr-defined]


def with_known_mask(method: Any) -> Any:
    """A method that takes a mask, of which a single truth value has to be known: NumPy's False is no mask."""
    parameters = inspect.signature(method).parameters
    place = list(parameters).index("mask")

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        mask = args[place] if len(args) > place else kwargs.get("mask")
        if type(mask) is not Box or class_of(mask) is not np.bool_:
            return method(*args, **kwargs)
        known = np.bool_(bool(mask))
        if len(args) > place:
            return method(*args[:place], known, *args[place + 1 :], **kwargs)
        return method(*args, **{**kwargs, "mask": known})

    return call


#: Methods of `numpy.ma.core` that take a mask.
TAKING_MASKS = frozenset(("MaskedArray.__new__", "MaskedArray.__setmask__"))


def type_of(*args: Any) -> Any:
    """`type`: that of a box is the one that it stands for."""
    if len(args) != 1 or type(args[0]) not in (Box, np.ndarray):
        return type(*args)  # type: ignore[misc]
    cls = class_of(args[0]) if type(args[0]) is Box else np.ndarray
    return Array if cls is np.ndarray else cls


def is_instance(x: Any, cls: Any) -> bool:
    """`isinstance`, for numbers that are traced as well."""
    if type(x) is Box and (own := class_of(x)) is not np.ndarray:
        return issubclass(own, cls)
    return isinstance(x, cls)
