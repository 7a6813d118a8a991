"""The user's arrays as traced code sees them that captures them by name in an eager transformation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import ConcreteValueError, TracerArrayError
from tracejit.ir.avals import aval_of
from tracejit.ir.seen import SeenArray
from tracejit.ir.values import Value
from tracejit.numpy.boxes.memory import new_of
from tracejit.numpy.captured import written
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import STATE, Box, Frozen, Storage, is_tracing, shown


class CapturedArray(SeenArray):
    """A real array as traced code sees it that captures it by name in an eager transformation.

    It is the user's memory, and NumPy computes with it; but where NumPy's own arrays ask for
    integers, it may be indexed by traced values too. What traced values are written into it is known beside
    (`written`).
    """

    def raw(self) -> Any:
        """Its raw value: the array itself, unless something traced was written into its memory."""
        found = written.find(self)
        if found is not None:
            return found.seen(self.plain).read()
        return self.plain if STATE.written is None else STATE.written.give(self.plain)

    def seen(self) -> Any:
        """A box, if something traced was written into its memory, else itself."""
        found = written.find(self)
        return self if found is None else found.seen(self.plain)

    def is_traced(self) -> bool:
        return written.find(self) is not None

    def expose(self) -> Any:
        _changes(self)
        return self.plain

    @property
    def flat(self) -> Any:
        """Its elements side by side. Traced ones can't be written through it."""
        box: Any = self.boxed() if self.is_traced() else self.expose()
        return box.flat

    @flat.setter
    def flat(self, value: Any) -> None:
        if self.is_traced() or _is_traced(value):
            self.change(lambda box: setattr(box, "flat", value))
        else:
            self.expose().flat = value

    def boxed(self) -> Box:
        """The array as a box, which is not to be written."""
        if (found := written.find(self)) is None:
            return shown(self.plain)
        seen = found.seen(self.plain)
        return Box(seen.storage, (*seen.chain, Frozen()), seen.aval)

    def frozen(self) -> Box:
        """A box over its memory for arrays of other classes, which see it as it is now: then neither they nor the
        function may write into it."""
        if self.is_traced() or STATE.written is None:
            return self.boxed()
        STATE.written.freeze(self.plain)
        value = STATE.written.give(self.plain)
        return Box(Storage(value, STATE.trace), (_Lent(),), aval_of(value))

    def change(self, by: Callable[[Box], Any]) -> Any:
        """Let `by` write into the array, which it gets as a box."""
        _changes(self)
        memory = written.take(self.plain)
        try:
            return by(memory.box(self.plain))
        finally:
            memory.settle()

    def __getitem__(self, index: Any) -> Any:
        if type(index) is not int and _has_unknown(index):
            return self.boxed()[index]
        result = super().__getitem__(index)
        if not STATE.written or (found := written.find(self)) is None or _is_view(result, self):
            return result
        copied = result.read() if type(result) is Box else result
        return written.agreeing(found.box(self.plain)[index], _plain(copied))

    def __setitem__(self, index: Any, value: Any) -> None:
        _changes(self)
        if not (STATE.written or _is_traced(value) or _is_traced(index)):
            super().__setitem__(index, value)
            return
        value = _boxed(value)
        raw = value.read() if type(value) is Box else value
        places, array = _known_index(index), self.plain
        if written.find(array) is None and not isinstance(raw, Value):
            array[places] = raw
            return
        new, memory = written.known(raw), written.take(array)
        array[places] = new  # as NumPy does it: it knows what to raise
        memory.box(array)[index] = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.plain if type(x) is CapturedArray else x for x in inputs]
        if STATE.written or Box in map(type, plain):
            seen = [_boxed(x) for x in inputs]
            function = NUMPY_TO_TRACEJIT.get(ufunc)
            if function is not None and Box in map(type, seen):
                return function.at(*inputs) if method == "at" else getattr(function, method)(*seen, **kwargs)
        if method == "__call__" and not kwargs:
            return ufunc(*plain)
        outs = kwargs.get("out", ())
        _changes(*outs, *inputs[: method == "at"])
        if outs:
            kwargs["out"] = tuple(map(_plain, outs))
        result = getattr(ufunc, method)(*plain, **kwargs)
        given = outs[0] if len(outs) == 1 else outs
        return given if outs and all(o is not None for o in outs) else result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _WRITERS or kwargs.get("out") is not None:
            _changes(*args, kwargs.get("out"))
        result = super().__array_function__(func, types, args, kwargs)
        if result is NotImplemented or not STATE.written or _is_said(result):
            return result
        seen, named = _boxed(args), {k: _boxed(x) for k, x in kwargs.items()}
        if not any(map(_is_traced, (*seen, *named.values()))) or _is_view(result, self):
            return result
        function = NUMPY_TO_TRACEJIT.get(func)
        if function is None:
            raise TracerArrayError(aval=str(aval_of(self.plain)))
        return function(*seen, **named)

    def __reduce__(self) -> Any:
        if self.is_traced():
            raise TracerArrayError(aval=str(aval_of(self.plain)))
        return super().__reduce__()

    def copied(self, array: np.ndarray) -> Any:
        """A copy is captured no more: while tracing it is a box, which may be assigned traced values."""
        return new_of(array) if is_tracing() and array.dtype.kind in "biufcmM" else array


class _Lent(Frozen):
    """The view that such a box is of what may be a copy."""

    __slots__ = ()


def writes(fn: Any) -> Any:
    """A function that writes into its first argument, as one that writes into arrays of outside, too."""
    first = fn.__code__.co_varnames[0]

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> None:
        given = args[0] if args else kwargs.get(first)
        if type(given) is not CapturedArray:
            fn(*args, **kwargs)
            return
        rest = {k: x for k, x in kwargs.items() if k != first}
        given.change(lambda box: fn(box, *args[1:], **rest))

    return call


#: Functions of NumPy's that write into an array that they are given.
_WRITERS = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}


def _changes(*arrays: Any) -> None:
    """Something will be written into those of the values that are captured arrays."""
    if STATE.written is not None:
        for x in arrays:
            if type(x) is CapturedArray:
                STATE.written.change(x.plain)


def _is_view(result: Any, of: np.ndarray) -> bool:
    """Whether a result lies in the memory of an array."""
    parts = result if type(result) in (list, tuple) else [result]
    return bool(parts) and all(isinstance(x, CapturedArray) and np.may_share_memory(x, of) for x in parts)


def _is_said(result: Any) -> bool:
    """Whether a result only says something of arrays: shapes, types, whether they share memory."""
    parts = result if type(result) is tuple else (result,)
    return all(isinstance(x, (bool, int, str, np.dtype)) for x in parts)


def _is_traced(x: Any) -> bool:
    """Whether a box is among the values."""
    return type(x) is Box or (type(x) in (list, tuple) and any(map(_is_traced, x)))


def _boxed(x: Any) -> Any:
    """A value of which the parts that hold something traced are boxes; lists of them are arrays."""
    if type(x) is CapturedArray:
        return x.seen()
    if type(x) is tuple:
        return tuple(map(_boxed, x))
    if type(x) is list:
        parts = list(map(_boxed, x))
        return NUMPY_TO_TRACEJIT[np.asarray](parts) if any(map(_is_traced, parts)) else x
    return x


def _plain(x: Any) -> Any:
    return x.plain if isinstance(x, SeenArray) else x


def _known_index(index: Any) -> Any:
    """An index with the values that traced ones have in this run."""
    if type(index) is tuple:
        return tuple(map(_known_index, index))
    if type(index) is slice:
        return slice(*map(_known_index, (index.start, index.stop, index.step)))
    if type(index) is Box:
        return written.known(index.read())
    return _plain(index)


def _of_values(name: str) -> Any:
    """A method of NumPy's whose result is no view: of what is traced where that was written, or is given."""
    method = getattr(CapturedArray, name)

    @functools.wraps(method)
    def call(self: CapturedArray, *args: Any, **kwargs: Any) -> Any:
        if (STATE.written and written.find(self) is not None) or any(map(_is_traced, args)):
            return getattr(self.boxed(), name)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return call


def _of_views(name: str) -> Any:
    """A method of NumPy's that gives a view or, where there is none, a copy."""
    method = getattr(CapturedArray, name)

    @functools.wraps(method)
    def call(self: CapturedArray, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if not STATE.written or (found := written.find(self)) is None or _is_view(result, self):
            return result
        return getattr(found.seen(self.plain), name)(*args, **kwargs)

    return call


def _of_changes(name: str) -> Any:
    """A method of NumPy's that changes the array."""
    method = getattr(CapturedArray, name)

    @functools.wraps(method)
    def call(self: CapturedArray, *args: Any, **kwargs: Any) -> Any:
        if (STATE.written and written.find(self) is not None) or any(map(_is_traced, args)):
            return self.change(lambda box: getattr(box, name)(*args, **kwargs))
        _changes(self)
        return method(self, *args, **kwargs)

    return call


_VALUES = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress"),
    *(
        "conj",
        "conjugate",
        "copy",
        "cumprod",
        "cumsum",
        "dot",
        "flatten",
        "item",
        "max",
        "mean",
        "min",
        "nonzero",
    ),
    *("prod", "repeat", "round", "searchsorted", "std", "sum", "take", "tobytes", "tolist", "trace", "var"),
    *(
        "__bool__",
        "__complex__",
        "__contains__",
        "__copy__",
        "__deepcopy__",
        "__float__",
        "__index__",
        "__int__",
    ),
)
for _name in _VALUES:
    setattr(CapturedArray, _name, _of_values(_name))
for _name in ("ravel", "reshape"):
    setattr(CapturedArray, _name, _of_views(_name))
for _name in ("fill", "partition", "put", "sort"):
    setattr(CapturedArray, _name, _of_changes(_name))


def _has_unknown(index: Any) -> bool:
    """Whether an index holds a traced value that Python could not turn into an integer."""
    parts = (index.start, index.stop, index.step) if type(index) is slice else index
    if type(parts) is tuple or type(parts) is list:
        return any(map(_has_unknown, parts))
    if type(index) is not Box:
        return False
    if type(index.storage) is not Storage:  # what a traced mask selected
        return True
    value = index.read()
    if not isinstance(value, Value):
        return False
    try:
        value.concrete()
    except ConcreteValueError:
        return True
    return False
