"""Programs made of looks, run plain and jitted in two calls with changed values."""

from __future__ import annotations

import contextlib
import io
import itertools
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tj
from tests.door import names
from tests.door.entrances import LOOK
from tests.door.values import VALUES, line
from tests.programs.observe import Described, Keywords
from tests.sources import compiled
from tracejit.api.fallback import INSIDE
from tracejit.errors import FallbackWarning, TracejitError

_count = itertools.count()


def _is_statement(look: str) -> bool:
    try:
        compile(look, "<look>", "eval")
    except SyntaxError:
        return True
    return False


def function(look: str, kind: str, source: str = "argument", handled: bool = False) -> Callable[[Any], Any]:
    """A function of `x` that looks at it, with `handled` inside of a handler of all exceptions."""
    lines = look.split("\n") if _is_statement(look) else [f"out = ({look})"]
    if handled:
        lines = ["try:", *(f"    {s}" for s in lines), "except Exception:", "    out = 'caught'"]
    body = textwrap.indent("\n".join([line(source, kind), *lines]), "    ")
    held = dict(vars(names))
    exec(compiled(f"def f(x):\n{body}\n    return out\n", f"<door {next(_count)}>"), held)
    return held["f"]


@contextlib.contextmanager
def _quiet() -> Iterator[tuple[io.StringIO, list[Any]]]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield out, told


class Outcome:
    """What a call gave: described, with what it printed; `refused` where tracejit raised, `inside` its own faults."""

    def __init__(self, f: Callable[[Any], Any], x: Any) -> None:
        self.refused, self.raised = False, object
        with _quiet() as (out, told):
            try:
                gave = "gave", f(x)
            except BaseException as e:
                self.refused, self.raised = isinstance(e, TracejitError), type(e)
                gave = "raised", type(e), str(e), e.args
            try:
                self.seen: Any = Described((gave, x)).found, out.getvalue(), _texts(told)
            except Exception as e:
                self.seen = "not described", repr(e)
        self.native = not any(w.category is FallbackWarning for w in told)
        self.inside = [str(w.message) for w in told if INSIDE in str(w.message)]


_NUMERIC = ("overflow", "invalid value", "divide by zero", "underflow")


def _texts(told: list[Any]) -> list[str]:
    """The warnings but those of fallback and of NumPy's arithmetic, which compiled code does not give."""
    left = [w for w in told if w.category is not FallbackWarning and not str(w.message).startswith(_NUMERIC)]
    return [f"{w.category.__name__}: {w.message}" for w in left]


def _gave_none(got: Outcome) -> bool:
    """Whether it has raised. Without Python that may be another exception: C code raises it for stand-ins."""
    return issubclass(got.raised, (TypeError, ValueError, AttributeError, IndexError, ArithmeticError))


def _outcomes(f: Callable[[Any], Any], kind: str) -> list[Outcome]:
    np.random.seed(7)
    names.random.seed(7)
    return [Outcome(f, x) for x in VALUES[kind]()]


def difference(look: str, kind: str, source: str, mode: str) -> str | None:
    """What tells the jitted program of a look from the plain one; None if nothing does.

    Modes: "fallback", in which Python may do it; "alone", in which tracejit may refuse it; "handled", the same inside
    of a handler of all exceptions."""
    handled = mode == "handled"
    names.cached.cache_clear()
    want = _outcomes(function(look, kind, source, handled), kind)
    names.cached.cache_clear()
    jitted = tj.jit(function(look, kind, source, handled), fallback=mode == "fallback")
    got = _outcomes(jitted, kind)
    for n, (w, g) in enumerate(zip(want, got, strict=True)):
        if g.inside:
            return f"call {n}: {g.inside[0]}"
        if w.seen != g.seen and not (mode != "fallback" and (g.refused or _gave_none(g))):
            return f"call {n}:\n  plain  {w.seen}\n  jitted {g.seen}"
    return None


def entering(program: str, kind: str, mode: str) -> str | None:
    """What tells the jitted program of an entrance from the plain one in three calls, the last two of which see another
    value; None if nothing does."""
    want = _calls(program, kind, lambda f: f)
    got = _calls(program, kind, lambda f: tj.jit(f, fallback=mode == "fallback"))
    for n, (w, g) in enumerate(zip(want, got, strict=True)):
        if g.inside:
            return f"call {n}: {g.inside[0]}"
        if w.seen != g.seen and not (mode != "fallback" and (g.refused or _gave_none(g))):
            return f"call {n}:\n  plain  {w.seen}\n  jitted {g.seen}"
    return None


def _calls(program: str, kind: str, transform: Callable[[Any], Any]) -> list[Outcome]:
    first, second = VALUES[kind]()
    held = {**vars(names), "v": first, "Keywords": Keywords}
    exec(compiled(LOOK + program, f"<door {next(_count)}>"), held)
    f, given = transform(held["f"]), held.get("given", lambda v: ())
    found = []
    for value in (first, second, second):
        if found and "put" in held:
            held["put"](value)
        args = given(value)
        keywords = args[-1] if args and type(args[-1]) is Keywords else {}
        found.append(Outcome(lambda x, a=args, k=keywords: f(*(a[:-1] if k else a), **k), value))
    return found
