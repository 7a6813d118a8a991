"""`Raw`: what stands for bytes, a bytearray or an array of the module `array`. Its items are Python's numbers, which
lie in an array as the original has them in its memory."""

from __future__ import annotations

import array
import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.errors import DynamicExtentError, UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.origins import StandsFor
from tracejit.frontend.text.deferred import text_of
from tracejit.frontend.text.recipes import ARRAY, Known, Made, Recipe, Slot
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.pythons import OfArrays
from tracejit.numpy.boxes.rows import rows
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import MEMORIES, SEQUENCES, cast
from tracejit.ops.indexing.index_check import Raising, check_index
from tracejit.tracing import Box, Storage, box, current_trace

#: The classes that have such a stand-in, and those of them whose objects can be changed.
MUTABLE = (bytearray, array.array)
CLASSES = (bytes, *MUTABLE)
#: Types of numbers of the module `array`, of which every one is one of Python's numbers in 64 bits.
CODES = frozenset(c for c in "bBhHiIlLqQfd" if np.dtype(c).kind != "u" or np.dtype(c).itemsize < 8)


#: The memory of objects that may get longer as soon as no array of NumPy's sees it.
LENT: weakref.WeakSet[Storage] = weakref.WeakSet()


def judge_lent(x: Box, what: str) -> None:
    """Raises UnfollowedError for an array in such memory that leaves the program: Python's own keeps the object from
    getting longer."""
    if x.storage in LENT:
        raise UnfollowedError(what=what, reason="an array in it sees the memory of a bytearray or array")


def made_of(cls: Any, code: str, numbers: Any) -> Any:
    """One of Python's objects of an array of its numbers."""
    held = np.ascontiguousarray(numbers)
    return array.array(code, held.tobytes()) if cls is array.array else cls(held.tobytes())


def _refill(x: Any, code: str, numbers: Any) -> None:
    x[:] = made_of(type(x), code, numbers)


class Refilled(NamedTuple):
    """What a place holds in the end: the object that it held, with these numbers."""

    code: str
    numbers: Box

    def tj_change(self) -> tuple[Any, tuple[Any, ...]]:
        """What makes the change of the object, and is given these things besides."""
        return _refill, (self.code, self.numbers)


def _is_integer(x: Box) -> bool:
    """Whether C code takes a number for an integer: NumPy's booleans are none."""
    kind = x.aval.dtype.kind
    return not x.aval.shape and (kind in "iu" or (kind == "b" and class_of(x) is bool))


class Raw(StandsFor):
    """The stand-in of an object of class `tj_class`; `tj_code` is the type of the numbers in `tj_box`."""

    __slots__ = ("__weakref__", "tj_box", "tj_class", "tj_code", "tj_is_lent", "tj_refill")
    #: What loops and branches carry, as attributes of an object.
    tj_followed = ("tj_box",)

    def __init__(self, cls: type, code: str, numbers: Box) -> None:
        self.tj_class, self.tj_code, self.tj_box = cls, code, numbers
        self.tj_is_lent = False  # an array sees its memory, so that it can't get longer
        self.tj_refill: Refilled | None = None

    @property
    def tj_kind(self) -> type:
        return self.tj_class

    def tj_example(self) -> Any:
        """Another object of this class, with as many numbers."""
        return made_of(self.tj_class, self.tj_code, np.zeros(len(self), self.tj_code))

    def tj_numbers(self) -> Box:
        """The array of its numbers that NumPy sees."""
        if not self.tj_is_lent and self.tj_class is not bytes:
            LENT.add(self.tj_box.storage)
        self.tj_is_lent = True
        return self.tj_box

    def tj_recipe(self) -> tuple[Recipe, tuple[Any, ...]]:
        """How Python's own is made, and of what: of its numbers as they are now."""
        slot = Slot(ARRAY, np.dtype(self.tj_code), 1)
        return Made(made_of, (Known(self.tj_class), Known(self.tj_code), slot)), (box(self.tj_box.read()),)

    def tj_refilled(self) -> Refilled:
        """That the object of outside gets these numbers: the same thing as long as they lie in one array."""
        if self.tj_refill is None or self.tj_refill.numbers is not self.tj_box:
            self.tj_refill = Refilled(self.tj_code, self.tj_box)
        return self.tj_refill

    def tj_refusal(self, what: str) -> UnfollowedError:
        """That Python is needed for `what`."""
        word = "bytes" if self.tj_class is bytes else f"a {self.tj_class.__name__}"
        return UnfollowedError(what=f"{what} of {word}", reason="what it holds is traced")

    def tj_item(self, k: extents.Number) -> Any:
        """The number at a position that is in it."""
        kind = np.dtype(self.tj_code)
        raw = cast(self.tj_box[k if type(k) is int else box(k, weak=True)].read(), self._pythons())
        if type(raw) is Var and kind.kind != "f" and kind.itemsize < 8 and raw.trace is current_trace():
            raw.bounds = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        return box(raw, weak=True) if isinstance(raw, Value) else raw.item()

    def _pythons(self) -> np.dtype:
        """The dtype of Python's numbers."""
        return dtypes.float64 if np.dtype(self.tj_code).kind == "f" else dtypes.int64

    def tj_list(self) -> list[Any]:
        """The numbers in a list."""
        return rows(cast(self.tj_box.read(), self._pythons()), weak=True, scalar=True)

    def __len__(self) -> int:
        count = self.tj_box.aval.shape[0]
        if type(count) is not int:
            raise self.tj_refusal("a traced length")
        return count

    def _position(self, i: Any, assigned: bool = False) -> extents.Number:
        """A position, which the program checks if only it knows it."""
        if type(i) is not Box:
            sample = self.tj_example()
            _ = operator.setitem(sample, i, 0) if assigned else sample[i]  # raises what Python raises
            return range(len(self))[i]
        if not _is_integer(i):
            raise self.tj_refusal("an index that is no integer")
        words = {
            bytes: "",
            bytearray: "bytearray ",
            array.array: f"array {'assignment ' if assigned else ''}",
        }
        message = f"{words[self.tj_class]}index out of range"
        if not len(self):
            raise IndexError(message)
        return check_index(i.read(), size=len(self), axis=0, failure=Raising(IndexError, message))

    def __getitem__(self, i: Any) -> Any:
        if type(i) is slice:
            return self._like(self.tj_box[i].copy())
        return self.tj_item(self._position(i))

    def _like(self, numbers: Box) -> Any:
        if type(numbers.aval.shape[0]) is not int:
            raise self.tj_refusal("a part of traced length")
        return raw_of(self.tj_class, self.tj_code, numbers)

    def __setitem__(self, i: Any, value: Any) -> None:
        if self.tj_class is bytes:
            self.tj_example()[i] = value  # raises
        if type(i) is slice:
            self._put(i, value)
            return
        k = self._position(i, assigned=True)
        element = self._element(value)
        place = k if type(k) is int else box(k, weak=True)
        self.tj_box[place] = box(element) if isinstance(element, Value) else element

    def _put(self, i: slice, value: Any) -> None:
        """`b[i:j] = value`, of as many numbers as there are."""
        given = self._given(value)
        place = self.tj_box[i]
        if given is None or type(place.aval.shape[0]) is not int or place.aval.shape != given.shape:
            raise self.tj_refusal("a part, assigned,")
        self.tj_box[i] = given

    def _given(self, value: Any) -> Any:
        """The numbers of another object that can be joined to this one; None for others."""
        cls = type(value)
        if array.array is self.tj_class is not getattr(value, "tj_class", cls):
            return None
        if cls is Raw or cls is RawBytes:
            fits = value.tj_code == self.tj_code if array.array in (self.tj_class, value.tj_class) else True
            return value.tj_box if fits else None
        if self.tj_class is array.array:
            return (
                np.array(value, self.tj_code)
                if cls is array.array and value.typecode == self.tj_code
                else None
            )
        return np.frombuffer(bytes(value), np.uint8) if cls in (bytes, bytearray) else None

    def _element(self, value: Any) -> Any:
        """A number as it lies in memory. Raises what Python raises for what it does not take."""
        sample, kind = made_of(self.tj_class, self.tj_code, np.zeros(1, self.tj_code)), np.dtype(self.tj_code)
        if type(value) is not Box:
            sample[0] = value
            return np.frombuffer(sample, kind)[0]
        if class_of(value) is np.ndarray or value.aval.shape:
            raise self.tj_refusal("an item that is an array")
        if not (_is_integer(value) or (kind.kind == "f" and value.aval.dtype.kind in "bf")):
            sample[0] = np.zeros((), value.aval.dtype)[()] if class_of(value) is not float else 0.0
            raise self.tj_refusal("an item of another type")
        raw = value.read()
        if kind.kind != "f":
            least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
            bounds = bounds_of(raw)
            if bounds is None or bounds[0] < least or bounds[1] > most:
                wide = cast(raw, dtypes.int64)
                if value.aval.dtype == np.uint64:
                    raise self.tj_refusal("an item of uint64")
                bad = ops.compare.or_(
                    ops.compare.lt(wide, np.int64(least)), ops.compare.gt(wide, np.int64(most))
                )
                leave_if(bad, f"a number that is no {kind.name}")
        return cast(raw, kind)

    def __iter__(self) -> Iterator[Any]:
        k = 0
        while k < len(self):  # each as it is when it is asked for
            yield self.tj_item(k)
            k += 1

    def _joined(self, parts: list[Any]) -> Box:
        return NUMPY_TO_TRACEJIT[np.concatenate](parts)

    def _longer(self, parts: list[Any]) -> None:
        if self.tj_class is bytes or self.tj_is_lent:
            raise self.tj_refusal("a change of the length")
        self.tj_box = self._joined([self.tj_box, *parts])

    def append(self, value: Any, /) -> None:
        """As of a bytearray or array."""
        if self.tj_class is bytes:
            raise AttributeError("'bytes' object has no attribute 'append'")
        element = self._element(value)
        one = box(element) if isinstance(element, Value) else element
        self._longer([NUMPY_TO_TRACEJIT[np.reshape](one, (1,))])

    def extend(self, values: Any, /) -> None:
        """The same, of numbers, or of another object of this class."""
        given = self._given(values)
        if given is not None and not isinstance(values, list):
            self._longer([given])
            return
        for value in values:
            self.append(value)

    def tolist(self) -> list[Any]:
        """As of an array."""
        if self.tj_class is not array.array:
            raise AttributeError(f"'{self.tj_class.__name__}' object has no attribute 'tolist'")
        return self.tj_list()

    def hex(self, *args: Any) -> Any:
        """As of bytes."""
        if self.tj_class is array.array:
            raise AttributeError("'array.array' object has no attribute 'hex'")
        recipe, values = self.tj_recipe()
        return text_of(Made(self.tj_class.hex, (recipe, *map(Known, args))), values)  # type: ignore[attr-defined]

    def tobytes(self) -> Any:
        """As of an array."""
        if self.tj_class is not array.array:
            raise AttributeError(f"'{self.tj_class.__name__}' object has no attribute 'tobytes'")
        return bytes_of(self)

    def __add__(self, other: Any) -> Any:
        given = self._given(other)
        if given is None:
            raise self.tj_refusal("a sum")
        return self._like(self._joined([self.tj_box, given]))

    def __radd__(self, other: Any) -> Any:
        given = self._given(other)
        if given is None or type(other) is not self.tj_class:
            raise self.tj_refusal("a sum")
        return self._like(self._joined([given, self.tj_box]))

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        given = self._given(other)
        if given is None or array.array in (self.tj_class, getattr(other, "tj_class", type(other))):
            raise self.tj_refusal("`==`")
        if given.shape != self.tj_box.shape:
            return False
        return box(NUMPY_TO_TRACEJIT[np.all](self.tj_box == given).read(), weak=True)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return box(ops.compare.not_(same.read()), weak=True) if type(same) is Box else not same

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("tj_"):
            setattr(self.tj_example(), name, value)  # raises
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name[:3] != "tj_" and hasattr(self.tj_class, name):
            raise self.tj_refusal(f"`{name}`")
        raise AttributeError(
            f"'{self.tj_class.__name__}' object has no attribute {name!r}", name=name, obj=self
        )


def _repr(self: Raw) -> str:
    if active.session() is None:  # for people, in an error
        return f"Traced<{self.tj_class.__name__}>"
    raise self.tj_refusal("`__repr__`")


def _refuses(name: str) -> Callable[..., Any]:
    def method(self: Raw, *_: Any, **__: Any) -> Any:
        raise self.tj_refusal(f"`{name}`")

    return method


for _name in (
    *(
        "__hash__",
        "__contains__",
        "__delitem__",
        "__reversed__",
        "__str__",
        "__format__",
        "__bytes__",
    ),
    *("__lt__", "__le__", "__gt__", "__ge__", "__mul__", "__rmul__", "__imul__", "__mod__", "__rmod__"),
    *("__reduce_ex__", "__copy__", "__deepcopy__", "__dir__", "__iadd__", "__buffer__"),
):
    setattr(Raw, _name, _refuses(_name))


Raw.__repr__ = _repr


class RawBytes(Raw):
    """The stand-in of bytes, which is a node of trees as text is: nobody can tell which bytes it is."""

    __slots__ = ()


def raw_of(cls: type, code: str, numbers: Box) -> Raw:
    """What stands for a new object of these numbers."""
    return (RawBytes if cls is bytes else Raw)(cls, code, numbers)


def bytes_of(x: Any) -> Any:
    """The bytes of an array, in the order of C, or of what such a stand-in has in its memory; None for arrays of dates,
    and where an array may have its bytes in the other order.

    Raises DynamicExtentError where their number is traced."""
    numbers = x.tj_box if isinstance(x, Raw) else x
    session = active.session()
    if numbers.aval.dtype.kind not in "biufc" or (
        type(x) is Box and session is not None and session.swaps_bytes
    ):
        return None
    if not numbers.aval.is_static:
        raise DynamicExtentError(op="tobytes", problem="the length of the bytes is a traced integer")
    flat = NUMPY_TO_TRACEJIT[np.array](numbers).reshape(-1)
    return RawBytes(bytes, "B", flat.view(np.uint8).copy())


def _rebuilt(code: str, children: Any) -> Any:
    (numbers,) = children
    if isinstance(numbers, np.ndarray):
        return made_of(bytes, code, numbers)
    return RawBytes(bytes, code, box(numbers) if isinstance(numbers, Value) else numbers)


_refused: Any = vars(Box)["tobytes"].inner


def _tobytes(x: Box, order: Any = "C") -> Any:
    """The bytes of a traced array, where a program is made that gives them after it has run."""
    session = active.session()
    made = bytes_of(x) if session is not None and session.guarded and order in ("C", None) else None
    return _refused(x, order) if made is None else made


Box.tobytes = OfArrays("tobytes", _tobytes)
tree.register(RawBytes, lambda x: ((x.tj_box,), x.tj_code), _rebuilt)
SEQUENCES[Raw] = SEQUENCES[RawBytes] = Raw.tj_numbers
MEMORIES[Raw] = MEMORIES[RawBytes] = lambda x: (x.tj_numbers(), x.tj_class is not bytes, x.tj_example())
