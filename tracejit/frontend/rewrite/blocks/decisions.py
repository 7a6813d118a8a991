"""Whether loops and branches are captured now, what was done with each, for `explain`, and how loops are refused."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator
from typing import Any

from tracejit.errors import LoopTypeError, TracedLoopError, TracejitError, user_location
from tracejit.errors.refusals import may_number
from tracejit.frontend import active
from tracejit.frontend.rewrite.blocks.terms import NotNative, Spec, TypeChange
from tracejit.tracing import is_tracing

MOST_COUNTED = 1 << 32  # steps of loops that have an end


def capturing() -> Any:
    """The session whose loops and branches become native, or None: values are concrete, or it was turned off."""
    session = active.session()
    return session if session is not None and session.guarded and session.rewrites and is_tracing() else None


def place(block: Any, line: int) -> str:
    """`file:line` of a loop or branch, of which `block` is a part (or calls one: `of`)."""
    return f"{getattr(block, 'of', block).__code__.co_filename}:{line}"


def decide(session: Any, block: Any, spec: Spec, what: str) -> None:
    """Remember what was done with a loop or branch; what happened last counts."""
    session.decisions[place(block, spec.line), spec.kind] = what


def reason_of(e: BaseException) -> str:
    """An exception as a reason, in one line."""
    text = str(e).splitlines()[0] if str(e) else ""
    line = getattr(e, "where", None) or user_location()
    return f"{text or type(e).__name__}" + (
        f" (at {line})" if line and type(e).__module__ != "builtins" else ""
    )


def refusal(e: BaseException, body: Any, s: Spec) -> Any:
    """The error of a loop over traced values that can't be native; anything else as it is."""
    if not isinstance(e, NotNative):
        return e
    where = place(body, s.line)
    if isinstance(e, TypeChange):
        return LoopTypeError(kind=s.kind, name=e.name, before=e.before, after=e.after, where=where)
    error = TracedLoopError(kind=s.kind, reason=e.reason, where=where)
    return may_number(error) if e.numbers_tuples else error


@contextlib.contextmanager
def perhaps_never(body: Any, s: Spec) -> Iterator[None]:
    """A body is staged that may not run a single time: what it raises refuses the run, whoever catches it."""
    try:
        yield
    except (TracejitError, NotNative):
        raise
    except BaseException as e:
        if isinstance(e, Exception) or hasattr(e, "_tj_thrown"):
            problem = f"it raises {type(e).__name__} ({e}), which the function itself might catch"
            TracedLoopError(kind=s.kind, reason=problem, where=place(body, s.line))  # noted when it is made
        raise


@contextlib.contextmanager
def perhaps_numbered(numbers: bool) -> Iterator[None]:
    """The steps of a loop that is not native, but perhaps would be where tuples have numbers."""
    try:
        yield
    except TracejitError as e:
        if numbers:
            may_number(e)
        raise


def times(n: int) -> str:
    """How often something is done, for people."""
    return "once" if n == 1 else f"{n} times" if n < MOST_COUNTED else "until it ends"


@functools.lru_cache(1024)
def loops_inside(code: types.CodeType) -> int:
    """How many loops lie in each other in the body of a loop."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return max((c.co_name.startswith("_tj_body_") + loops_inside(c) for c in inner), default=0)


def asks_for_count(body: Any, s: Spec, count: Any) -> TracedLoopError:
    """That it is to be known how often a loop runs which fills lists: they have the length then."""
    error = TracedLoopError(kind=s.kind, reason="it fills lists", where=place(body, s.line))
    error.traced, error.fills_lists, error.by_count = (count,), True, True
    return error
