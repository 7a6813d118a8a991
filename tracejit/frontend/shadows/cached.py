"""Functions with `functools.cache`: what they give is as from the cache, which is filled and counts as in Python."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import behind
from tracejit.frontend.shadows.functions import EMPTY, codes_in, contents
from tracejit.interpreters.stage import StageTrace
from tracejit.tracing import Box, current_trace

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

LRU = type(functools.lru_cache(len))
_CONSTANTS = (int, float, complex, str, bytes, type(None), types.ModuleType, range)
_KEYS = (int, float, complex, bool, str, bytes, type(None))


class _Looking:
    """Whether a value of one of some classes can be reached from values; `outside.questions` says it."""

    sees: Callable[[Any, Any], bool] = staticmethod(lambda kinds, values: True)


looking = _Looking()


def wrap_cached(session: Run, node: Node, value: Any) -> Any:
    """`functools.cache`: the function without its cache, which must not keep traced values."""
    here = session.hold(node, value)
    inner = value.__wrapped__
    copy = session.wrap(here.attr("__wrapped__"), inner)
    if copy is inner:
        return value
    if not isinstance(inner, types.FunctionType):
        return copy
    if not session.guarded:
        return session.known(value) or session.remember(
            value, _cached_eagerly(session, value, inner, copy), here
        )
    changing = next(_changing(inner), None)
    if changing is not None:
        session.note(str(node), value, f"its cache may hold what it read of `{changing}` before")
    return _remembering(session, node, value, copy)


def _cached_eagerly(session: Run, value: Any, fn: types.FunctionType, copy: Any) -> Any:
    """The cached function itself where nothing traced comes into it, its copy elsewhere."""

    @functools.wraps(fn)
    def cached(*args: Any, **kwargs: Any) -> Any:
        known = all(map(_is_key, (*args, *kwargs.values()))) and not _reads_traced(session, fn)
        return (value if known else copy)(*args, **kwargs)

    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(cached, name, getattr(value, name))
    return cached


def _reads_traced(session: Run, fn: types.FunctionType) -> bool:
    """Whether a function may read something traced of outside, or what the run has written to a variable: the
    function itself has the user's own."""
    reached, known = [fn], []
    for f in reached:
        cells = f.__closure__ or ()
        for before, now in [(contents(c), contents(session.known(c) or c)) for c in cells]:
            same = now, session.original(now), session.original_of(now), behind.of_library(now)
            if all(x is not before for x in same):
                return True
            known.append(before)
        known += [
            f.__globals__[n] for code in codes_in(f.__code__) for n in code.co_names if n in f.__globals__
        ]
        called = [x.__wrapped__ if type(x) is LRU else x for x in known]
        reached += [g for g in called if type(g) is types.FunctionType and g not in reached]
    return looking.sees({Box}, [x for x in known if type(x) not in (types.FunctionType, LRU)])


def _is_key(x: Any) -> bool:
    """Whether an argument of a cached function is nothing but a constant."""
    return all(map(_is_key, x)) if type(x) is tuple else type(x) in _KEYS


def _changing(fn: types.FunctionType) -> Iterator[str]:
    """The names of what a function reads of outside, if that may change without being assigned."""
    names = {n for code in codes_in(fn.__code__) for n in code.co_names if n in fn.__globals__}
    read = {n: fn.__globals__[n] for n in sorted(names)}
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    for name, value in (*read.items(), *((n, contents(c)) for n, c in cells)):
        if not (callable(value) or isinstance(value, _CONSTANTS) or value is EMPTY):
            yield name


def _remembering(session: Run, node: Node, value: Any, copy: Any) -> Any:
    """The copy of a cached function: as from the cache, the same arguments give the same object. What it gives must
    not be changed, since the cache would keep that. Each call of the program calls the function itself as often as
    the traced function does, so that the cache is filled and counts (`Program.cached`)."""
    known: dict[Any, Any] = {}

    @functools.wraps(value.__wrapped__)
    def cached(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(_asked, args)), {k: _asked(x) for k, x in kwargs.items()}
        leaves = [*args, *kwargs.values()]
        trace = current_trace()
        root = getattr(session.capture, "trace", None)
        if root is not None and not session.in_cached:
            if not all(map(_is_key, leaves)):
                session.refuse(
                    str(node), value, "its cache keeps what it is called with, which is not known yet"
                )
            if _is_staged(trace, root):
                session.refuse(str(node), value, "a loop or branch calls it, and its cache counts the calls")
            session.cached_calls.append(functools.partial(value, *args, **kwargs))
        key = id(trace), args, tuple(kwargs.items()), tuple(map(_kind, leaves))
        if key not in known:
            session.in_cached += 1
            try:
                known[key] = copy(*args, **kwargs), trace
            finally:
                session.in_cached -= 1
            session.cached(node, known[key][0])
        return known[key][0]

    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(cached, name, functools.partial(_refuse_questions, session, node, value, name))
    return cached


def _refuse_questions(session: Run, node: Node, value: Any, name: str) -> None:
    """What asks for, or forgets, what a cache holds."""
    session.refuse(f"{node}.{name}", value, "what a cache holds may be something else at the next call")


def _asked(x: Any) -> Any:
    """An argument of a cached function; the value of an integer must be known (and becomes part of the signature)."""
    if type(x) is Box and x.weak and x.aval.dtype.kind == "i":
        return operator.index(x)  # type: ignore[arg-type]
    return x


def _kind(x: Any) -> Any:
    return tuple(map(_kind, x)) if type(x) is tuple else type(x)


def _is_staged(trace: Any, root: Any) -> bool:
    """Whether what is traced now is a part of a loop or branch in the program of `root`."""
    while trace is not None and trace is not root:
        if isinstance(trace, StageTrace):
            return True
        trace = trace.parent
    return False
