"""The comparison of a random program with plain Python, in everything that can be observed."""

from __future__ import annotations

import linecache
import signal
import sys
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tests.programs.observe import Seen, observe
from tracejit.config import config

#: Seconds after which a program is none: its numbers or lists grow without end. Without Python to take over, no budget
#: ends the unrolling of a loop.
LIMIT_PLAIN, LIMIT, LIMIT_ALONE = 2.0, 20.0, 60.0


sys.modules.setdefault("storm", types.ModuleType("storm"))  # dataclasses look for the module of a class


class Invalid(BaseException):
    """A program that does not end. No handler of the program's, and no fallback, takes it for an exception."""


class Outcome(NamedTuple):
    """`kind`: native, fallback, refused, different, crash or invalid; `why`: the difference, or the reason."""

    kind: str
    why: str = ""

    @property
    def fails(self) -> bool:
        return self.kind in ("different", "crash")


def maker_of(source: str) -> Callable[[], tuple[Any, ...]]:
    """What `observe` calls: the module is run anew each time, so that no run sees another's state."""
    name = f"<storm {zlib.crc32(source.encode()):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(source, name, "exec")

    def maker() -> tuple[Any, ...]:
        space: dict[str, Any] = {"__name__": "storm"}
        exec(code, space)
        return space["program"]()

    return maker


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `Invalid` in the main thread if the block takes longer, by its own processor time."""

    def late(*_: Any) -> None:
        raise Invalid(f"longer than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seen(source: str, transform: Callable[[Any], Any], seconds: float) -> Seen:
    with within(seconds), np.errstate(all="ignore"):
        return observe(maker_of(source), transform)


def check(source: str) -> Outcome:
    """Plain against jitted, with Python to take over, and without."""
    try:
        plain = seen(source, lambda f: f, LIMIT_PLAIN)
    except (Invalid, Exception) as e:  # the latter of the maker, which the minimiser may have broken
        return Outcome("invalid", str(e))
    try:
        with config.override(fallback=True):
            fast = seen(source, tj.jit, LIMIT)
        for n, (want, got) in enumerate(zip(plain.calls, fast.calls, strict=True)):
            if want != got:
                return Outcome("different", difference(n, want, got))
        alone = without_python(source, plain)
    except Invalid:
        return Outcome("different", f"jit takes longer than {LIMIT} s, or {LIMIT_ALONE} s without fallback")
    except Exception as e:
        return Outcome("crash", f"{type(e).__name__}: {e}")
    if alone is not None:
        return alone
    return Outcome("fallback", fast.fallback[0]) if fast.fallback else Outcome("native")


def without_python(source: str, plain: Seen) -> Outcome | None:
    """What plain Python does, until a call raises: an error of tracejit's own, or one where Python raises one too. It
    may come before what the function did has happened. None if that is so."""
    with config.override(fallback=False):
        strict = seen(source, tj.jit, LIMIT_ALONE)
    for n, (want, got) in enumerate(zip(plain.calls, strict.calls, strict=True)):
        if got[0][1][0] == RAISED:
            if want[0][1][0] == RAISED or is_ours(got):
                return None
            return Outcome("different", "without fallback, " + difference(n, want, got))
        if want != got:
            return Outcome("different", "without fallback, " + difference(n, want, got))
    return None


def is_ours(call: Any) -> bool:
    """Whether a call that raised did so with an error of tracejit's."""
    return "[TJ" in call[0][1][2][1]


def difference(n: int, want: Any, got: Any) -> str:
    where, a, b = first_difference(want, got)
    return f"call {n}, at {where}:\n  plain  {_text(a)}\n  jitted {_text(b)}"


def _text(part: Any) -> str:
    try:
        return str(part)[:400]
    except ValueError:  # a number that is too long for Python to write
        return f"<{type(part).__name__} with a number of thousands of digits>"


def first_difference(want: Any, got: Any, where: str = "") -> tuple[str, Any, Any]:
    """The path to the first part that differs, and both parts."""
    if isinstance(want, (list, tuple)) and type(want) is type(got) and len(want) == len(got):
        for n, (a, b) in enumerate(zip(want, got, strict=True)):
            if a != b:
                name = PARTS.get(where, {}).get(n, str(n))
                return first_difference(a, b, f"{where}.{name}" if where else name)
    return where, want, got


#: Names of the parts of a call that `observe` describes.
PARTS = {"": {0: "held", 1: "draws", 2: "told"}, "held.1": {0: "outcome", 1: "result"}}
RAISED = ("str", "raised")
