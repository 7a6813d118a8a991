"""Whether a jitted program can be told from the plain one: everything that can be observed of three calls.

A program is a function that makes one from scratch, decorated with `program`:

    @program
    def counts_calls():
        seen = []

        def f(x):
            seen.append(x)
            return len(seen)

        return f, [(1.0,), (2.0,), (3.0,)], lambda: seen

It returns the function to be jitted, the arguments of each call, and what gives the state to look at afterwards (all
that can be reached from there). A fourth value, if given, is called with the number of each call before it, and may
change the state. The maker runs once for the plain function and once for the jitted one.
"""

from __future__ import annotations

import array
import contextlib
import io
import linecache
import logging
import random
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tracejit.api.fallback import INSIDE
from tracejit.api.regions import copies
from tracejit.api.regions.gain import rules
from tracejit.config import config
from tracejit.errors import FallbackWarning
from tracejit.frontend.rewrite.regions.fit import limits

#: Sums may be rounded in another order: what is computed may differ in the last bits.
RTOL, ATOL = 1e-11, 1e-13

Maker = Callable[[], tuple[Any, ...]]
PROGRAMS: dict[str, Maker] = {}


def program(maker: Maker) -> Maker:
    """Enter a program under the name of its maker."""
    name = f"{maker.__module__.rpartition('.')[2]}.{maker.__name__}"
    assert name not in PROGRAMS, name
    PROGRAMS[name] = maker
    return maker


def define(source: str, names: dict[str, Any], name: str) -> None:
    """Run a source text whose lines can be found, as those of a file are."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), names)


class Seen(NamedTuple):
    """What was seen of all calls, and why Python ran some of them."""

    calls: list[Any]
    fallback: list[str]


def observe(maker: Maker, transform: Callable[[Any], Any], count: int | None = None) -> Seen:
    """Make the program, transform its function, call it, and write down what can be seen. `count`: of so many calls."""
    np.random.seed(7)
    random.seed(7)
    with _told() as told, np.errstate():
        f, calls, state, *rest = maker()
        before = rest[0] if rest else None
        g = transform(f)
        seen = [_call(g, args, state, told, before, n) for n, args in enumerate(calls[:count])]
    return Seen(seen, told.fallback)


def refused(maker: Maker, transform: Callable[[Any], Any]) -> tuple[Seen, str, str | None]:
    """The calls before the first one that is refused, the refusal ('' if there is none), and what it has changed."""
    refusal, changed = "", None

    def watched(f: Any) -> Any:
        g, state = transform(f), made[2]

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal refusal, changed
            if refusal:
                return None
            was = _of_state(state, args)
            try:
                return g(*args, **kwargs)
            except tj.TracejitError as e:
                if (now := _of_state(state, args)) != was:
                    changed = f"a refusal has changed\n  from {was}\n  to   {now}\n  {e}"
                refusal = str(e)

        return call

    made: tuple[Any, ...] = ()

    def kept() -> tuple[Any, ...]:
        nonlocal made
        made = maker()
        return made

    seen = observe(kept, watched)
    return seen, refusal, changed


def _of_state(state: Any, args: Any) -> Any:
    return Described((args, None if state is None else state())).found


class _Told:
    """What a program prints, logs and warns."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.logged: list[str] = []
        self.warned: list[Any] = []
        self.fallback: list[str] = []

    def take(self) -> Any:
        """All of it since the last time."""
        caught = [w for w in self.warned if w.category is not FallbackWarning]
        self.fallback += [str(w.message) for w in self.warned if w.category is FallbackWarning]
        numeric = (
            "overflow",
            "invalid value",
            "divide by zero",
            "underflow",
        )  # compiled code does not look for these
        texts = [(w.category.__name__, str(w.message)) for w in caught]
        found = self.out.getvalue(), list(self.logged), [t for t in texts if not t[1].startswith(numeric)]
        self.out.seek(0)
        self.out.truncate()
        self.logged.clear()
        self.warned.clear()
        return found


@contextlib.contextmanager
def _told() -> Iterator[_Told]:
    told = _Told()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if (
                record.name.partition(".")[0] != "tracejit"
            ):  # which says that tracing takes long, on a busy machine
                told.logged.append(f"{record.levelname} {record.getMessage()}")

    handler, root = Handler(), logging.getLogger()
    root.addHandler(handler)
    with contextlib.redirect_stdout(told.out), warnings.catch_warnings(record=True) as told.warned:
        warnings.simplefilter("always")
        try:
            yield told
        finally:
            root.removeHandler(handler)


def _call(g: Any, args: Any, state: Any, told: _Told, before: Any, n: int) -> Any:
    if before is not None:
        before(n)
    kwargs = args[-1] if args and type(args[-1]) is Keywords else {}
    args = args[:-1] if kwargs else args
    try:
        out = "gave", g(*args, **kwargs)
    except Exception as e:
        held = None if isinstance(e, tj.TracejitError) else vars(e)  # ours may hold traced values
        out = "raised", type(e), str(e), e.args, type(e.__cause__), held
    try:
        left = None if state is None else state()
    except Exception as e:  # what a refused trace made of it
        left = type(e), str(e)
    held = (*out, args, dict(kwargs), left)
    draws = hash((np.random.get_state()[1].tobytes(), np.random.get_state()[2], random.getstate()))
    return Described(held).found, draws, told.take()


class Keywords(dict):
    """Keyword arguments, as the last of a call's arguments."""


class Described:
    """A value as a nested list that compares: classes, dtypes, layouts, values, and which parts are the same object or
    share memory."""

    def __init__(self, x: Any) -> None:
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self.found = self.of(x)

    def of(self, x: Any) -> Any:
        kind = type(x)
        if kind is types.BuiltinFunctionType and not isinstance(x.__self__, (types.ModuleType, type(None))):
            return "method", x.__name__, self.of(x.__self__)
        if kind is types.ModuleType and x.__spec__ is not None:
            return kind.__name__, x.__name__
        if x is None or kind in (bool, int, str, bytes, type, types.FunctionType, types.BuiltinFunctionType):
            return kind.__name__, x if kind not in (type, types.FunctionType) else getattr(x, "__name__", "")
        if kind in (float, complex) or isinstance(x, np.generic):
            return Number(kind.__name__, np.asarray(x))
        if id(x) in self.numbers:
            return "again", self.numbers[id(x)]
        self.numbers[id(x)] = len(self.numbers)
        self.alive.append(x)
        if isinstance(x, np.ndarray):
            return self._array(x)
        if isinstance(x, dict):
            return kind.__name__, [(self.of(k), self.of(v)) for k, v in x.items()], self._attributes(x)
        if isinstance(x, (set, frozenset)):
            return kind.__name__, sorted(map(repr, x))
        if isinstance(x, (list, tuple)) or kind.__name__ == "deque":
            return kind.__name__, [self.of(v) for v in x], self._attributes(x)
        if isinstance(x, (np.random.Generator, np.random.RandomState)):
            return kind.__name__, repr(
                (getattr(x, "bit_generator", None) and x.bit_generator.state) or x.get_state()
            )
        if isinstance(x, (bytearray, array.array)):
            return kind.__name__, repr(x), self._attributes(x)
        if isinstance(x, random.Random):
            return kind.__name__, repr(x.getstate())
        return kind.__name__, self._attributes(x)

    def _attributes(self, x: Any) -> Any:
        slots = [s for c in type(x).__mro__ for s in getattr(c, "__slots__", ()) if hasattr(x, s)]
        names = [*getattr(x, "__dict__", {}), *slots]
        return [(n, self.of(getattr(x, n, None))) for n in names if not n.startswith("__")]

    def _array(self, x: np.ndarray) -> Any:
        shares = [n for n, other in enumerate(self.arrays) if np.may_share_memory(x, other)]
        self.arrays.append(x)
        layout = x.flags.c_contiguous, x.flags.f_contiguous, x.flags.writeable
        listed = repr(x.tolist()) if x.dtype.kind == "V" else x.tolist()  # records may hold arrays
        plain = listed if x.dtype.kind not in "biufc" else Number(x.dtype.name, np.array(x))
        return type(x).__name__, x.shape, layout, shares, plain


class Number:
    """Numbers that compare within the last bits; exactly, if they are no floats."""

    def __init__(self, kind: str, value: np.ndarray) -> None:
        self.kind, self.value = kind, value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Number) or self.kind != other.kind or self.value.shape != other.value.shape:
            return False
        if self.value.dtype.kind not in "fc":
            return bool(np.array_equal(self.value, other.value))
        single = self.value.real.dtype.itemsize < 8
        rtol, atol = (1e-4, 1e-5) if single else (RTOL, ATOL)
        return bool(np.allclose(self.value, other.value, rtol, atol, equal_nan=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.kind}({self.value.tolist()})"


@contextlib.contextmanager
def all_parts() -> Iterator[None]:
    """Parts of functions that fall back are compiled before they run, however small they are and however long that
    takes; what was measured of them before, by other rules, is forgotten."""
    wanted = {
        rules: {"first": 0.0, "line": 0.0, "small": 0.0, "lost": 1e9, "share": 1e9, "attempt": 60.0},
        limits: {"outside": 1, "inside": 1},
    }
    before = [(x, name, getattr(x, name)) for x, values in wanted.items() for name in values]
    copies.forget()
    try:
        for x, values in wanted.items():
            vars(x).update(values)
        with config.override(regions=True, compile_budget=0.0):
            yield
    finally:
        for x, name, value in before:
            setattr(x, name, value)


def difference(plain: Seen, other: Seen, name: str) -> str | None:
    """The first call in which two runs differ, and both as they were seen there."""
    for n, (want, got) in enumerate(zip(plain.calls, other.calls, strict=True)):
        if want != got:
            return f"call {n}:\n  plain  {want}\n  {name:6} {got}"
    return None


def verdict(maker: Maker) -> tuple[str, str]:
    """('native' | 'fallback' | 'different', the difference or why Python ran it). An error inside tracejit is a
    difference, though Python gives the right result then."""
    plain = observe(maker, lambda f: f)
    with config.override(fallback=True):
        fast = observe(maker, tj.jit)
    found = difference(plain, fast, "jitted")
    if found is not None:
        return "different", found
    for reason in fast.fallback:
        if INSIDE in reason:
            return "different", reason
    return ("fallback", fast.fallback[0]) if fast.fallback else ("native", "")
