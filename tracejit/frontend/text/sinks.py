"""`print`, and streams of text: what traced code writes into them is written when the program is there."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tracejit.control.callbacks import journal
from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.text.deferred import Text, concatenated, is_text, join, known, length, recipe_of
from tracejit.frontend.text.places import by_a_solver, here
from tracejit.frontend.text.recipes import PYTHON, Known, Made, Recipe, Slot, joined, listed
from tracejit.frontend.text.shown import str_
from tracejit.tracing import box, to_raw

#: What writing into a stream may raise.
RAISES = (OSError, ValueError)


def is_recording() -> bool:
    """Whether what acts becomes part of a program: a function is traced for one."""
    session = active.session()
    return session is not None and session.guarded


def enter(name: str, act: Any, parts: list[tuple[Recipe, tuple[Any, ...]]], **options: Any) -> None:
    """Let the program do `act(*parts)` at this place; `name` is for people.

    Raises UnfollowedError where the function itself has redirected what is printed, and in functions with a cache."""
    _check(name, options.pop("stream", None))
    places = options.pop("places", None) or here()
    where = str(places[0]) if places else None
    make = Made(listed, tuple([recipe for recipe, _ in parts]))
    values = [to_raw(v) for _, found in parts for v in found]
    journal.enter(journal.Entry(name, act, make, where, ours=by_a_solver(), **options), values)


def asked(name: str, read: Callable[[], Any], dtype: np.dtype) -> Any:
    """A Python number that the program asks `read()` for at this place."""
    _check(name)
    places = here()
    return box(
        journal.read(journal.Reading(name, read, dtype, str(places[0]) if places else None)), weak=True
    )


#: The streams of a process, as `session.streams` has them.
_NAMES = ("stdout", "stderr")


def _check(name: str, stream: Standard | Outside | None = None) -> None:
    """Raises UnfollowedError where an entry, which writes into `stream` if it does, would not be what Python does."""
    session = active.session()
    names = (stream.name,) if type(stream) is Standard else () if stream is not None else _NAMES
    if any(getattr(sys, n) is not session.streams[_NAMES.index(n)] for n in names):
        raise UnfollowedError(
            what=f"`{name}`", reason="`sys.stdout` or `sys.stderr` is redirected in the function"
        )
    if session.in_cached:
        raise UnfollowedError(
            what=f"`{name}`", reason="a function with a cache does it, which is called once more"
        )


# ---------------------------------------------------------------- streams


class Standard(NamedTuple):
    """`sys.stdout` or `sys.stderr`, whatever that is when something is written."""

    name: str

    def __call__(self) -> Any:
        return getattr(sys, self.name)


class Outside:
    """A stream of outside."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.name = f"<{type(stream).__name__}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outside) and other.stream is self.stream

    def __hash__(self) -> int:
        return id(self.stream)

    def __call__(self) -> Any:
        return self.stream


class Printed(NamedTuple):
    """Prints by Python's own `print`."""

    stream: Standard | Outside
    flush: bool

    def __call__(self, sep: Any, end: Any, *texts: str) -> None:
        builtins.print(*texts, sep=sep, end=end, file=self.stream(), flush=self.flush)

    def whole(self, make: Made) -> Callable[..., Any] | None:
        """What prints texts of numbers by one call (`journal.keeping`), into streams of which nobody sees in how many
        pieces it is written."""
        if self.flush or type(self.stream) is not Standard or not all(map(_is_ascii, make.parts)):
            return None
        if not all(type(part) is Known for part in make.parts[:2]):
            return None
        names: dict[str, Any] = {"sys": sys, "text": io.TextIOWrapper, "memory": io.StringIO}
        arguments = [f"a{n}" for n, _ in enumerate(make.slots())]
        slots = iter([slot.of_number(a, names) for slot, a in zip(make.slots(), arguments, strict=True)])
        sep, end, *texts = make.parts
        names |= {"sep": _end(sep, " "), "end": _end(end, "\n")}
        shown = "{sep}".join(f"{{{_shown(text, slots, names)}}}" for text in texts)
        given = ", ".join(arguments)
        first = f"""stream = sys.{self.stream.name}
            if (type(stream) is not text and type(stream) is not memory) or thread.collected is not None:
                return of_numbers({given})"""
        return journal.keeping(first, f"stream.write(f'{shown}{{end}}')", given, names)


def _is_ascii(recipe: Recipe) -> bool:
    """Whether a text has no characters that a stream may refuse: then those before it would have been written."""
    if type(recipe) is Known:
        return recipe.value is None or (type(recipe.value) is str and recipe.value.isascii())
    if type(recipe) is Made:
        return recipe.fn in _SIMPLE and all(type(p) is Slot or _is_ascii(p) for p in recipe.parts)
    return False


#: Functions of recipes that make texts of numbers, by themselves.
_SIMPLE = (str, repr, format, joined)


def _end(recipe: Recipe, default: str) -> str:
    """What stands between texts, or behind them."""
    value = recipe.value  # type: ignore[attr-defined]
    return default if value is None else value


def _shown(recipe: Recipe, given: Iterator[str], names: dict[str, Any]) -> str:
    """The expression of a text in an f-string, which shows Python's numbers itself."""
    if (
        type(recipe) is Made
        and recipe.fn is str
        and type(recipe.parts[0]) is Slot
        and recipe.parts[0].kind == PYTHON
    ):
        return recipe.parts[0].source(given, names)
    return recipe.source(given, names)


class Called(NamedTuple):
    """Calls a method of a stream."""

    stream: Standard | Outside
    method: str

    def __call__(self, *args: Any) -> None:
        getattr(self.stream(), self.method)(*args)


class StandIn:
    """What traced code has in the place of an object that acts; of its class nothing is known."""


class Stream(StandIn):
    """What traced code has in the place of a stream: texts can be written into it, and no more."""

    def __init__(self, stream: Standard | Outside) -> None:
        self._tj_stream = stream

    def write(self, text: Any, /) -> Any:
        """Write a string; gives how many characters that are."""
        self._call("write", text)
        return length(text)

    def writelines(self, lines: Any, /) -> None:
        """Write strings."""
        for line in list(lines):
            self._call("write", line)

    def flush(self) -> None:
        """Flush what was written."""
        self._call("flush")

    def _call(self, method: str, *texts: Any) -> None:
        stream = self._tj_stream
        if not all(map(is_text, texts)):
            raise UnfollowedError(what=f"`{stream.name}.{method}`", reason="it is given no text")
        parts = [recipe_of(t) for t in texts]
        enter(f"{stream.name}.{method}", Called(stream, method), parts, raises=RAISES, stream=stream)

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(what=f"`{self._tj_stream.name}.{name}`", reason="only writing and flushing can")


class Buffer(StandIn):
    """`io.StringIO` made in traced code: the text that was written. Loops and branches carry it as they carry any
    attribute of an object."""

    def __init__(self, initial_value: Any = "", newline: Any = "\n") -> None:
        if newline != "\n" or not is_text(initial_value) or initial_value != "":
            raise UnfollowedError(what="`io.StringIO`", reason="only an empty one is made by a program")
        self._tj_text: Any = ""

    def write(self, text: Any, /) -> Any:
        """Write a string; gives how many characters that are."""
        if not is_text(text):
            raise TypeError(f"string argument expected, got {type(text).__name__!r}")
        self._tj_text = concatenated((self._tj_text, text))
        return length(text)

    def writelines(self, lines: Any, /) -> None:
        """Write strings."""
        for line in list(lines):
            self.write(line)

    def getvalue(self) -> Any:
        """All that was written."""
        return self._tj_text

    def flush(self) -> None:
        """Nothing is to be done."""

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(
            what=f"`{name}` of a buffer of text", reason="only writing and getting all of it can"
        )


Buffer.__module__ = "io"  # its attribute is followed as those of the user's objects are


class Read(io.StringIO):
    """`io.StringIO` of text that is known, made in traced code: it can be read only, since blocks do not know what is
    written into it."""

    def _tj_refuse(self, *_: Any) -> Any:
        raise UnfollowedError(what="a buffer that begins with text", reason="more is written into it")

    write = writelines = truncate = _tj_refuse


Read.__module__, Read.__name__, Read.__qualname__ = "io", "StringIO", "StringIO"


def string_io(*args: Any, **kwargs: Any) -> Any:
    """`io.StringIO`; one that begins with text is read, and has Python's own text, which is taken for known."""
    if is_recording() and len(args) == 1 and not kwargs and is_text(args[0]) and args[0] != "":
        return Read(known(args[0], "its lines"))
    return Buffer(*args, **kwargs) if is_recording() else io.StringIO(*args, **kwargs)


def is_stream(value: Any) -> bool:
    """Whether `value` is a stream of text of the standard library's own classes."""
    return type(value) in (io.StringIO, io.TextIOWrapper)


def of_outside(value: Any) -> Stream:
    """The stand-in of a stream."""
    return Stream(Outside(value))


def of_module(name: str) -> Stream | Buffer | None:
    """The stand-in of `sys.<name>`, if that is a stream to write to."""
    return _standard(name) if name in _NAMES and is_recording() else None


def _standard(name: str) -> Stream | Buffer:
    """`sys.<name>`: in `with contextlib.redirect_stdout(b)` of traced code it is `b`."""
    now = getattr(sys, name)
    return now if type(now) in (Buffer, Stream) else Stream(Standard(name))


def redirected() -> Iterator[tuple[str, Buffer]]:
    """The buffers of traced code that `sys.stdout` and `sys.stderr` are now, with names."""
    for name in _NAMES:
        if type(now := getattr(sys, name)) is Buffer:
            yield f"sys.{name}", now


# ---------------------------------------------------------------- print


def print_(*objects: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
    """`print`."""
    if not is_recording():
        builtins.print(*objects, sep=sep, end=end, file=file, flush=flush)
        return
    if not all(x is None or is_text(x) for x in (sep, end)):
        raise TypeError("sep and end must be None or a string")
    stream = _standard("stdout") if file is None else file
    if type(stream) is Buffer:
        ends = " " if sep is None else sep, "\n" if end is None else end
        stream.write(concatenated((join(ends[0], map(str_, objects)), ends[1])))
        return
    if type(stream) is not Stream:
        raise UnfollowedError(what="`print` to this file", reason="what it does with text is not known")
    texts = [_known(x) for x in (sep, end, *map(str_, objects))]
    act = Printed(stream._tj_stream, bool(flush))
    enter("print", act, texts, raises=RAISES, stream=stream._tj_stream)


def _known(x: Any) -> tuple[Recipe, tuple[Any, ...]]:
    return (x.recipe, x.values) if type(x) is Text else (Known(x), ())
