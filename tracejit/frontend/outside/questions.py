"""Code of the user's that runs as it is, and asks what values are, which what stands for a traced one would answer.

    class Length(NamedTuple):
        value: float

        def __add__(self, other):
            return Length(self.value + (other if type(other) is float else other.value))

Most such code is never called with traced values: special methods by Python's own code, and in derivatives outside of
jit the methods of classes that keep their objects. So it is refused when it begins to run, and is given what is traced,
or has it in it. A profile function notices that, which is there only while a function is traced that has met such code.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import operator
import sys
import types
import weakref
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.origins import is_generated, is_library_class, is_library_function, why_not
from tracejit.frontend.rewrite.source.asking import asked
from tracejit.frontend.shadows import behind, cached, containers, functions, objects
from tracejit.frontend.shadows.growing import Growing
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.frontend.text.deferred import Text
from tracejit.frontend.variants.node import Variant
from tracejit.numpy.captured.array import CapturedArray
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


_TRACED = frozenset((Box, Text, Variant, Growing))
_ITEMS = (list, tuple, set, frozenset, collections.deque)
#: So many objects are looked through for traced values, at most.
_MOST = 10_000


class _Listener:
    """Notices which code begins to run. `codes`: code that asks, by identity, and what it asks. `function`: the profile
    function; `outer`: the one before."""

    def __init__(self, session: Run, outer: Any) -> None:
        self.session, self.outer = session, outer
        self.codes: dict[int, tuple[types.CodeType, str]] = {}
        self.function = self._made()

    def _made(self) -> Any:
        codes, outer, enter = self.codes, self.outer, self._enter

        def told(frame: types.FrameType, event: str, arg: Any) -> None:  # at every call: it must be quick
            if event == "call" and id(frame.f_code) in codes:
                enter(frame, *codes[id(frame.f_code)])
            if outer is not None:
                outer(frame, event, arg)

        return told

    def _enter(self, frame: types.FrameType, code: types.CodeType, what: str) -> None:
        if active.session() is not self.session or type(frame.f_globals) is GuardedGlobals:
            return
        # An array that is captured is one of a subclass: only its very type is another.
        kinds = _TRACED | {CapturedArray} if what[1:5] == "type" else _TRACED
        named = [frame.f_globals[name] for name in code.co_names if name in frame.f_globals]
        if sees(kinds, [*frame.f_locals.values(), *named]):
            error = _unanswered(code, what)  # is written down, and ends the trace
            if not (self.session.guarded and self.session.rewrites):
                raise error


def sees(kinds: Collection[type], values: Iterable[Any]) -> bool:
    """Whether a value of one of `kinds` can be reached from values, those that a function can name; also if there is
    too much to say."""
    left, met = [*values], set()
    for x in left:
        cls = type(x)
        if cls in kinds or issubclass(cls, Columns) or len(left) > _MOST:
            return True
        if id(x) not in met and cls not in containers.PLAIN and not issubclass(cls, (type, types.ModuleType)):
            met.add(id(x))
            left += (part for part in _inside(x, cls) if type(part) not in containers.PLAIN)
    return False


cached.looking.sees = sees


def _inside(x: Any, cls: type) -> Iterator[Any]:
    """What an object holds, past what its class says."""
    if behind.is_shadow(x):
        state = behind.state_of(x)
        yield from (*state.cache.values(), *state.writes.values())
        return
    if issubclass(cls, dict):
        yield from (*dict.keys(x), *dict.values(x))
    for base in _ITEMS:
        if issubclass(cls, base):
            yield from base.__iter__(x)
    if cls is types.MethodType:
        yield x.__self__
    yield from behind.instance_dict(x).values()
    for name in behind.slots(cls):
        with contextlib.suppress(AttributeError):
            yield object.__getattribute__(x, name)


def _unanswered(code: types.CodeType, what: str) -> UnfollowedError:
    reason = "Python runs this code as it is, and it would see what stands for a traced value"
    return UnfollowedError(what=f"{what} in `{code.co_qualname}`", reason=reason)


@contextlib.contextmanager
def noticed(session: Run) -> Iterator[None]:
    """Let the run notice when code that asks begins to run, for a `with` block. Other profile functions are none of
    our business: they are left where they are."""
    try:
        yield
    finally:
        if session.listener is not None and sys.getprofile() in (session.listener.function, None):
            sys.setprofile(session.listener.outer)
        session.listener = None


def expect(session: Run, cls: type) -> None:
    """The run has met a class of the user's whose methods may run as they are."""
    for code, what in code_in(cls).questions:
        _expect(session, code, what)


def expect_function(session: Run, fn: types.FunctionType, is_method: bool) -> None:
    """The run has met a function that may run as it is; whatever that calls is met for itself."""
    if (what := asked(fn, is_method, keeps_class)) is not None:
        _expect(session, fn.__code__, what)


def expect_partial(session: Run, cls: type) -> None:
    """The run has met a class of the user's of which it has copies of the methods, but not of those by `functools`."""
    if is_library_class(cls):
        return
    for x in _members(cls):
        if type(x) in (functools.partialmethod, functools.partial):
            found = _Code()
            found.look(x, is_method=True)
            for code, what in found.questions:
                _expect(session, code, what)


def _expect(session: Run, code: types.CodeType, what: str) -> None:
    if session.listener is None:
        outer = sys.getprofile()
        if outer is not None and getattr(outer, "__module__", None) != __name__:  # a profiler's
            raise _unanswered(code, what)
        session.listener = _Listener(session, outer)
        sys.setprofile(session.listener.function)
    session.listener.codes[id(code)] = code, what


def keeps_class(cls: type) -> bool:
    """Whether traced code has the objects of a class of the user's themselves."""
    return not is_library_class(cls) and (why_not(cls) is not None or objects.is_node(cls))


#: What holds functions.
_HOLDING = (
    *(staticmethod, classmethod, property),
    *(functools.cached_property, functools.partialmethod, functools.partial),
)
_HELD = ("__func__", "fget", "fset", "fdel", "func")


class _Code:
    """The code of a class, and what that calls. `questions`: code that asks, and what it asks; `names`: globals that it
    reads or assigns, other than functions, classes and modules."""

    def __init__(self) -> None:
        self.questions: list[tuple[types.CodeType, str]] = []
        self.names: list[tuple[dict[str, Any], str]] = []
        self._met: set[int] = set()

    def look(self, x: Any, is_method: bool = False) -> None:
        """Look at what a class has, or a function reads."""
        cls = x if issubclass(type(x), type) else type(x)
        if issubclass(type(cls), type) and not is_library_class(cls) and id(cls) not in self._met:
            self._met.add(id(cls))
            for member in _members(cls):
                self.look(member, not isinstance(member, staticmethod))
        for fn in _functions_of(x):
            if type(fn) is types.FunctionType and not (is_generated(fn) or is_library_function(fn)):
                self._function(fn, is_method)

    def _function(self, fn: types.FunctionType, is_method: bool) -> None:
        if id(fn) in self._met:
            return
        self._met.add(id(fn))
        if (what := asked(fn, is_method, keeps_class)) is not None:
            self.questions.append((fn.__code__, what))
        for cell in fn.__closure__ or ():
            self.look(functions.contents(cell))
        for name in functions.globals_of(fn.__code__):
            value = fn.__globals__.get(name)
            if not isinstance(value, (types.FunctionType, type, types.ModuleType)):
                self.names.append((fn.__globals__, name))
            self.look(value)


#: By identity, classes, the code that they had when they were looked at, and what was found. Functions are not held,
#: which may hold the class and arrays.
_known: dict[int, tuple[weakref.ref[type], list[types.CodeType], _Code]] = {}


def code_in(cls: type) -> _Code:
    """What the code of the user's class `cls`, and such as it calls, asks and names."""
    codes = [f.__code__ for x in _members(cls) for f in _functions_of(x) if type(f) is types.FunctionType]
    known = _known.get(id(cls))
    if known is None or known[0]() is not cls or len(known[1]) != len(codes):
        known = None
    if known is None or not all(map(operator.is_, known[1], codes)):
        key, found = id(cls), _Code()
        found.look(cls)
        known = _known[key] = weakref.ref(cls, lambda _: _known.pop(key, None)), codes, found
    return known[2]


def _members(cls: type) -> list[Any]:
    return [x for base in cls.__mro__ if not is_library_class(base) for x in vars(base).values()]


def _functions_of(x: Any) -> Iterator[Any]:
    yield x
    if type(x) in _HOLDING:
        yield from (getattr(x, name, None) for name in _HELD)
