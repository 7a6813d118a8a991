"""States of generators in traced code: what `get_state()` gives is a value of the program, which `set_state` takes."""

from __future__ import annotations

from typing import Any, NoReturn

from tracejit.control.generators.states import RESTORE, SAVE
from tracejit.frontend.drawing.arguments import drawn
from tracejit.frontend.drawing.sources import Source
from tracejit.tracing import Box


class State:
    """Stands for the state `tj_value` of a generator of `tj_source`, which nobody looks into."""

    __slots__ = ("tj_source", "tj_value")

    def __init__(self, source: Source, value: Box) -> None:
        self.tj_source, self.tj_value = source, value

    def __getattr__(self, name: str) -> NoReturn:
        raise self.tj_source.refuse(name, "it is asked of its state")

    @property
    def __class__(self) -> Any:
        raise self.tj_source.refuse("its state", "its class is asked for")

    def _refuse(self, *_: Any) -> NoReturn:
        raise self.tj_source.refuse("its state", "more is done with it than to set it again")

    __getitem__ = __setitem__ = __delitem__ = __iter__ = __len__ = __contains__ = __eq__ = __bool__ = _refuse
    __repr__ = __str__ = __format__ = __reduce_ex__ = __copy__ = __deepcopy__ = __hash__ = _refuse


class Bits:
    """Stands for the bit generator of a generator of NumPy's: has its state."""

    __slots__ = ("tj_source",)

    def __init__(self, source: Source) -> None:
        object.__setattr__(self, "tj_source", source)

    def __getattribute__(self, name: str) -> Any:
        source = object.__getattribute__(self, "tj_source")
        if name == "__class__":
            return source.classes.bits
        if name != "state":
            raise _refusal(source, name)
        return _save(source)

    def tj_example(self) -> Any:
        """A bit generator, for those who ask for its class."""
        return object.__getattribute__(self, "tj_source").classes.bits(0)

    def __setattr__(self, name: str, value: Any) -> None:
        source = object.__getattribute__(self, "tj_source")
        if name != "state":
            raise _refusal(source, name)
        _restore(source, value)


def bits_of(source: Source) -> Bits:
    """What stands for the bit generator, the same one each time."""
    if source.bits is None:
        source.bits = Bits(source)
    return source.bits


def _refusal(source: Source, name: str) -> Exception:
    return source.refuse(f"bit_generator.{name}", "it shows or changes more than the numbers to come")


def _save(source: Source, **given: Any) -> State:
    """What gives a state: NumPy's in one form or another, which is not seen."""
    if source.known is not None:
        raise source.refuse("its state", "its numbers are known, and it is asked for")
    return State(source, drawn(source, SAVE, {}))


def _restore(source: Source, state: Any) -> None:
    if type(state) is not State or state.tj_source.classes != source.classes or source.known is not None:
        raise source.refuse(
            "its state", "it is set to something else than a state that the function has asked for"
        )
    drawn(source, RESTORE, {"state": state.tj_value})


METHODS = {
    ("RandomState", "get_state"): _save,
    ("RandomState", "set_state"): _restore,
    ("Random", "getstate"): _save,
    ("Random", "setstate"): _restore,
}
