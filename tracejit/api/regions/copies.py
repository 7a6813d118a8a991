"""Copies of functions that Python runs, with places for what may be run natively, and what stands at these places.

A copy has the function's globals, cells, defaults, lines and names; only its code is another. There is one table for
all functions of a code object, so that closures and methods share what was measured and compiled.
"""

from __future__ import annotations

import builtins
import functools
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

from tracejit.api.fallback import Python, Refusal
from tracejit.api.regions.gain import Gain
from tracejit.api.regions.native import MISSED, Native
from tracejit.api.regions.region import Region
from tracejit.frontend.origins import is_library_function
from tracejit.frontend.rewrite.regions.emit import Cut, Known, Part, Spot, cuts, split
from tracejit.frontend.rewrite.regions.fit import looks
from tracejit.frontend.rewrite.source.code import NoSource
from tracejit.frontend.rewrite.source.transform import Unchanged

#: Code objects of which there are records.
_MOST = 1024
Compiled = Callable[[Any, Python], Any]


class Table:
    """What stands at the places of a copy: an attribute for each, None where nothing does."""

    #: What a copy catches where a name that a region reads is not bound.
    unbound = NameError


class Place:
    """A call in a copy: the user's function that is called becomes one that is run natively, or by a copy of it."""

    def __init__(self, part: Part, compiled: Compiled, ended: Callable[[Place], None]) -> None:
        self.part = part
        self.entries = [part.entry]
        self.compiled = compiled
        self.ended = ended
        self.gone = False
        self.callee: Callee | None = None

    def __call__(self, f: Any) -> Any:
        """What is called in the place of `f`."""
        callee = self.callee = callee_of(f, self.compiled)
        if callee is None or callee.off:
            self.gone = True
            self.ended(self)
            return f
        return functools.partial(callee.call, f)

    @property
    def fate(self) -> str | None:
        return "small" if self.gone else None


class Callee:
    """The functions of one code object that copies call: first copies of them are run and measured; if they take long
    they are compiled as wholes, and where that is refused their copies have regions."""

    def __init__(self, function: types.FunctionType, compiled: Compiled) -> None:
        code = function.__code__
        self.file = code.co_filename
        self.lines = code.co_firstlineno, last_line(code)
        self.copies = Copies(function, compiled)
        self.native = Native(_called, 8, compiled)
        self.busy = False
        if looks(code):
            self.native.gain.small, self.native.gain.off = True, "it looks at its frame or changes settings"

    @property
    def off(self) -> bool:
        """Whether only Python is left."""
        gain = self.native.gain
        return gain.off is not None and (gain.small or not self.copies.active)

    def measured(self) -> list[tuple[tuple[int, int], Gain]]:
        """The lines of the function as a whole, and of its regions, with what was measured of them."""
        regions = [x for x in self.copies.parts.values() if isinstance(x, Region)]
        found = [(self.lines, self.native.gain), *((r.part.lines, r.gain) for r in regions)]
        return [(lines, gain) for lines, gain in found if gain.runs or gain.traced or gain.off]

    def called(self) -> list[Callee]:
        """The records of functions that copies of this one have called, and of those that these called."""
        found: dict[int, Callee] = {}
        stack: list[Callee] = [self]
        while stack:
            for made in stack.pop().copies.parts.values():
                callee = made.callee if isinstance(made, Place) else None
                if callee is not None and id(callee) not in found:
                    found[id(callee)] = callee
                    stack.append(callee)
        found.pop(id(self), None)
        return list(found.values())

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What `f(*args, **kwargs)` gives. Calls inside of such a call are Python's: a recursion needs no more frames
        than it has."""
        if self.busy:
            return f(*args, **kwargs)
        self.busy = True
        try:
            gain = self.native.gain
            if gain.off is None and gain.due and not gain.sample:
                out = self.native((f, *args), kwargs)
                if gain.off is not None and self.native.refusals:
                    self.copies.learn(self.native.python.refusal)
                if out is not MISSED:
                    return out
            copy = self.copies.of(f)
            if gain.off is not None:
                return copy(*args, **kwargs)
            start = time.perf_counter()
            out = copy(*args, **kwargs)
            gain.ran(time.perf_counter() - start)
            return out
        finally:
            self.busy = False


def _called(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


class Copies:
    """The copies of the functions of one code object."""

    def __init__(self, function: types.FunctionType, compiled: Compiled) -> None:
        self.original = weakref.ref(function.__code__)
        self.globals = function.__globals__
        self.compiled = compiled
        self.table = Table()
        self.parts: dict[Spot, Region | Place] = {}
        self.lines: set[int] = set()  # that can't be compiled
        self.learned: Refusal | None = None
        self.code: types.CodeType | None = None
        self.calls = self.count = 0
        self.stale = True

    @property
    def active(self) -> bool:
        """Whether something stands, or may yet stand, at a place."""
        return self.stale or any(vars(self.table).values())

    def learn(self, refusal: Refusal | None) -> None:
        """Take note of where a function was refused."""
        code = self.original()
        if refusal is None or refusal is self.learned or code is None:
            return
        self.learned = refusal
        lines = refusal.lines(code.co_filename, code.co_firstlineno, last_line(code))
        if lines and lines[-1] not in self.lines:
            self.lines.add(lines[-1])
            self.stale = True

    def of(self, f: Any) -> Any:
        """The copy that is called in the place of `f`, or `f` itself."""
        self.calls += 1
        if self.stale and self.calls >= self.count:
            self._split()
        function, rebuilt = taken_apart(f)
        if self.code is None or function is None or function.__code__ is not self.original():
            return f
        if function.__globals__ is not self.globals or not self.active:
            return f
        copy = types.FunctionType(
            self.code, self.globals, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        return rebuilt(copy)

    def cuts(self) -> list[Cut]:
        """What ends the parts that the function would have at its next call."""
        code = self.original()
        if code is None:
            return []
        try:
            return cuts(code, self._known(0))
        except (NoSource, SyntaxError, RecursionError):
            return []

    def _known(self, first: int) -> Known:
        judged = {spot: made.fate for spot, made in self.parts.items() if made.fate is not None}
        return Known({**vars(builtins), **self.globals}, self.lines, first, judged)

    def _split(self) -> None:
        """Put parts into the code, and what is known of them into the table; seldom, if it was done often."""
        self.stale = False
        self.count = 2 * self.calls
        code = self.original()
        if code is None:
            return
        try:
            self.code, parts = split(code, self._known(len(vars(self.table))), self.table)
        except (NoSource, Unchanged, SyntaxError, RecursionError):
            self.code = None
            vars(self.table).clear()
            return
        for part in parts:
            made = self.parts.get(part.spot)
            if made is None:
                made = self.parts[part.spot] = self._made(part)
            made.entries.append(part.entry)
            made.part = part
            setattr(self.table, part.entry, made if part.inside is None else None)

    def _made(self, part: Part) -> Region | Place:
        if part.code is None:
            return Place(part, self.compiled, self._ended)
        return Region(part, self.globals, self.compiled, self._ended)

    def _ended(self, made: Region | Place) -> None:
        """What stood at a place is not run natively any more; if that is not since it is small, the parts in it may
        be."""
        self.stale = True
        for entry in made.entries:
            setattr(self.table, entry, None)
        if isinstance(made, Region) and not made.gain.small:
            for inner in self.parts.values():
                if inner.part.inside == made.part.entry and inner.fate is None:
                    setattr(self.table, inner.part.entry, inner)
            self.learn(made.native.python.refusal)


def taken_apart(f: Any) -> tuple[types.FunctionType | None, Callable[[Any], Any]]:
    """The user's Python function that a callable runs, and what makes such a callable of its copy."""
    if type(f) is types.FunctionType:
        return (None if is_library_function(f) else f), lambda copy: copy
    if type(f) is types.MethodType and type(f.__func__) is types.FunctionType:
        function, _ = taken_apart(f.__func__)
        return function, lambda copy: types.MethodType(copy, f.__self__)
    if type(f) is functools.partial:
        function, rebuilt = taken_apart(f.func)
        return function, lambda copy: functools.partial(rebuilt(copy), *f.args, **f.keywords)
    return None, lambda copy: copy


def last_line(code: types.CodeType) -> int:
    """The last line of a function, without those of functions in it."""
    return max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)


def known() -> list[Callee]:
    """The records that there are."""
    return [callee for _, callee in list(_callees.values())]


def forget() -> None:
    """Drop what was measured and compiled."""
    _callees.clear()


#: By identity: code objects of different files may be equal.
_callees: dict[int, tuple[weakref.ref[types.CodeType], Callee]] = {}


def callee_of(f: Any, compiled: Compiled) -> Callee | None:
    """The record of the functions of the code of `f`; None if it is no function of the user's."""
    function, _ = taken_apart(f)
    if function is None:
        return None
    code = function.__code__
    entry = _callees.get(id(code))
    if entry is None or entry[0]() is not code:
        key = id(code)
        if len(_callees) >= _MOST:
            _callees.pop(next(iter(_callees)), None)
        ref = weakref.ref(code, lambda _: _callees.pop(key, None))
        entry = _callees[key] = ref, Callee(function, compiled)
    return entry[1]
