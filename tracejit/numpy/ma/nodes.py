"""Masked arrays as nodes of trees: the data and the mask are children, all else belongs to the structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import ArraySubclassError
from tracejit.ir.values import Value
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.dispatch import Adopted
from tracejit.numpy.ma.array import Array, held
from tracejit.numpy.ma.copies import copy_of
from tracejit.numpy.operands import SINGLETONS, raw
from tracejit.tracing import STATE, Box, new_array

#: What a masked array has besides its data and its mask.
_FLAGS = ("_hardmask", "_sharedmask", "_isfield")


def masked_class() -> Any:
    """The class of masked arrays that hold boxes."""
    return copy_of(np.ma.MaskedArray)


def enter() -> None:
    """Make nodes of masked arrays."""
    tree.register(np.ma.MaskedArray, _parts, _together)
    tree.register(masked_class(), _parts, _together)
    SINGLETONS.append(np.ma.masked)


def _parts(x: Any) -> tuple[Any, Any]:
    """The data and the mask (None, if there is none), and the rest.

    Raises:
        ArraySubclassError: its data is of a class of its own, or it has attributes of its own.
    """
    known = vars(x)
    if known.get("_optinfo") or known.get("_basedict") or known["_baseclass"] not in (np.ndarray, Array):
        raise ArraySubclassError(what="a leaf", type="masked array with attributes, or of a subclass")
    if x.dtype.kind in "mM":
        raise ArraySubclassError(what="a leaf", type="masked array of dates or times")
    mask = known["_mask"]
    data = x._tj_box if type(x) is masked_class() else x._data
    fill = known["_fill_value"]
    text = None if fill is None else (fill.dtype.str, fill.shape, fill.tobytes())
    flags = tuple(bool(known[name]) for name in _FLAGS)
    owns = type(x) is masked_class() and x._tj_owns
    return (data, None if mask is np.ma.nomask else mask), (text, flags, owns)


def _together(aux: Any, children: Iterable[Any]) -> Any:
    """The masked array of its parts: NumPy's own, unless a part is traced or no array at all."""
    data, mask = children
    text, flags, owns = aux
    fill = None if text is None else np.frombuffer(text[2], text[0]).reshape(text[1]).copy()
    more = {**dict(zip(_FLAGS, flags, strict=True)), "_fill_value": fill, "_optinfo": {}, "_basedict": {}}
    mask = np.ma.nomask if mask is None else mask
    if type(data) is np.ndarray and isinstance(mask, (np.ndarray, np.bool_)):
        x: Any = data.view(np.ma.MaskedArray)
        x = np.ndarray.copy(x, "K") if owns else x
        vars(x).update(more, _mask=mask, _baseclass=np.ndarray)
        return x
    x = object.__new__(masked_class())
    x._tj_box = held(data) if type(data) is Box or isinstance(data, (Value, np.ndarray, np.generic)) else data
    x._tj_memory, x._tj_owns = object(), owns
    vars(x).update(more, _mask=mask, _baseclass=Array)
    return x


def adopted(value: Any) -> Adopted | None:
    """How the counterpart of a masked array that traced code captures is made. None for those of other classes."""
    if type(value) is not np.ma.MaskedArray or value.dtype.kind not in "biufc":
        return None
    _parts(value)
    fill = "_fill_value" if vars(value)["_fill_value"] is None else "fill_value"

    def make(data: Any, mask: Any, fill: Any, *flags: bool) -> Any:
        text = None if fill is None else (fill.dtype.str, (), fill.tobytes())
        known = None if mask is np.ma.nomask else mask
        new = _together((text, flags, False), (_own(data), known))
        new._tj_outside = True
        return new

    return Adopted(("_data", "_mask"), (fill, *_FLAGS), make, write_back)


def _own(data: Any) -> Box:
    """The data of a masked array of outside as a box, which is written back."""
    if not isinstance(data, CapturedArray) or data.is_traced():
        return held(data)
    if STATE.written is not None:
        STATE.written.freeze(data.plain)
    return new_array(raw(data.plain))


def write_back(value: Any, ours: Any, own: Callable[[Any], Any]) -> None:
    """Let a masked array of the user's have the data that was written into its counterpart `ours`, in an eager
    transformation; the mask is the same memory. `own` gives the values of traced arrays."""
    if ours._tj_box.storage.version:
        np.asarray(value._data)[...] = own(ours._tj_box)
