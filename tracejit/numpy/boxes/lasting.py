"""Traced arrays as the arrays that they will have been: what a run leaves behind when its trace ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import ConcreteValueError, LeakedTracerError
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.values import Value
from tracejit.numpy.boxes.memory import order_of_strides
from tracejit.numpy.boxes.placed import Bits, Placed, ReadOnly
from tracejit.numpy.boxes.views import ImagPart, RealPart, Region, Reshaped
from tracejit.tracing import Box, Frozen, Storage, View


class Lasting:
    """The values of boxes, one array for what shares one storage, so that views are views of it.

    `given`: the boxes of arguments. What was not written into is the caller's array; all else is a copy, since linear
    programs and other storages may still hold the values."""

    def __init__(self, given: list[Any]) -> None:
        self.given = {id(x.storage) for x in given if type(x) is Box and x.storage.version == 0}
        self.bases: dict[int, tuple[Storage, Any]] = {}
        self.seen: dict[int, tuple[Box, Any]] = {}
        self.views: dict[int, tuple[Any, Any]] = {}  # by what tells views of the same elements apart

    def of(self, x: Box) -> Any:
        """What `x` stands for: an array, or a number of Python's or NumPy's. `x` itself if its value is not known."""
        if id(x) not in self.seen:
            try:
                self.seen[id(x)] = x, self._value(x)  # the box is held, so that its id stays its own
            except (ConcreteValueError, LeakedTracerError):  # a lane of vmap, or part of a staged program
                return x
        return self.seen[id(x)][1]

    def _value(self, x: Box) -> Any:
        if type(x.storage) is not Storage:  # what a mask selects
            return _copy(primal(x.read()))
        if x.chain and type(x.chain[0]) is Frozen and type(x.storage.value) is np.ndarray:
            part = view_of(x.storage.value, x.chain)  # of an array of outside
            if part is not None:
                return part
        base = self._base(x.storage)
        if is_elsewhere(base):
            return _copy(primal(x.read())) if x.chain else base
        if not x.aval.shape and not x.chain and x.scalar and base is not self._given(x.storage):
            return base.item() if x.weak is True else base[()]
        found = view_of(base, x.chain)
        if found is base and x.identity is not None:  # another array than the one that it shows all of
            found = self.views.setdefault(id(x.identity), (x.identity, base.view()))[1]
        return _copy(primal(x.read())) if found is None else found

    def _given(self, storage: Storage) -> Any:
        """The caller's array that an argument still is; None if it is none."""
        value = primal(storage.value) if id(storage) in self.given else None
        return value if type(value) is np.ndarray else None

    def _base(self, storage: Storage) -> Any:
        if id(storage) not in self.bases:
            given = self._given(storage)
            made = _copy(primal(storage.value), storage.layout) if given is None else given
            self.bases[id(storage)] = storage, made
        return self.bases[id(storage)][1]


def primal(raw: Any) -> Any:
    """The array at which a derivative is taken. Raises ConcreteValueError where it is not known."""
    while isinstance(raw, Value):
        found = getattr(raw, "primal", None)
        raw = raw.concrete() if found is None else found
    return raw


def _copy(x: Any, layout: tuple[int, ...] | None = None) -> Any:
    """A copy whose axes lie in memory as those of NumPy's array would, of which these are the strides."""
    if is_elsewhere(x):
        return x.copy()
    order = order_of_strides(layout, np.shape(x))
    if order is None:
        return np.array(x, order="C")
    return np.array(x.transpose(order), order="C").transpose(sorted(range(len(order)), key=order.__getitem__))


def view_of(array: np.ndarray, chain: tuple[View, ...]) -> np.ndarray | None:
    """What a chain of views shows of an array, as a view of it; None where it depends on traced numbers, or where
    NumPy would not have a view."""
    for view in chain:
        if isinstance(view, Reshaped):
            try:
                array = np.reshape(array, view.shape, copy=False)
            except (ValueError, TypeError):
                return None
        elif isinstance(view, Region) and _is_known(view):
            array = _part(array, view)
        elif isinstance(view, (Placed, ReadOnly)) and view.places is not None and not view.sizes:
            array = view.places(array)
        elif isinstance(view, Bits):
            array = array.view(view.dtype)
        elif isinstance(view, (RealPart, ImagPart)):
            array = np.real(array) if isinstance(view, RealPart) else np.imag(array)
        elif not isinstance(view, Frozen):
            return None
    return array


def _is_known(r: Region) -> bool:
    return r.is_static and all(type(s) is int for s in r.starts) and all(r.steps)


def _part(x: np.ndarray, r: Region) -> np.ndarray:
    """The part of an array that a region is."""
    index: list[Any] = list(r.starts)
    for a in r.axes:
        if a is not None:
            stop = r.starts[a] + r.sizes[a] * r.steps[a]
            index[a] = slice(r.starts[a], stop if stop >= 0 else None, r.steps[a]) if r.sizes[a] else slice(0)
    kept = sorted(a for a in r.axes if a is not None)
    part = x[(*index, ...)].transpose([kept.index(a) for a in r.axes if a is not None])
    return np.expand_dims(part, [d for d, a in enumerate(r.axes) if a is None])
