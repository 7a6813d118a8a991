"""Faults: whichever line of tracejit raises, once, the user's state is Python's, and the next call is right.

A line is any that runs in tracejit while a function is traced, compiled and run for the first time, but for those
that restore something (the end of a `with` block, `__enter__` and `__exit__`, `finally`): Python has nothing that would
restore it after a fault there. What a line raises is KeyboardInterrupt, MemoryError or RuntimeError. `make test` has a
sample of lines, `-m exhaustive` many more.
"""

from __future__ import annotations

import ast
import dis
import functools
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import Described
from tracejit import tracing
from tracejit.config import config
from tracejit.errors import refusals

HOME = os.path.dirname(tj.__file__) + os.sep
KINDS = (KeyboardInterrupt, MemoryError, RuntimeError)
SAMPLE, LATER, MORE = 5, 3, 200
#: Lines in the end of a call.
LAST = 400

Maker = Callable[[], tuple[Any, tuple[Any, ...], Any]]
PROGRAMS: dict[str, Maker] = {}


def program(maker: Maker) -> Maker:
    """A maker gives (the function, its arguments, what it can reach besides)."""
    PROGRAMS[maker.__name__] = maker
    return maker


@program
def in_place() -> Any:
    def f(x, y):
        x += y
        x[1:] *= 0.5
        y[0] = x.sum()
        return x, y.max()

    return f, (np.arange(4.0), np.ones(4)), None


@program
def loop() -> Any:
    weights = np.array([1.0, 0.5, 0.25])

    def f(x, n):
        s = 0.0
        for i in range(n):
            s += float((weights * x).sum()) / (i + 1)
            weights[0] = s
        return s

    return f, (np.array([1.0, 2.0, 3.0]), 40), weights


@program
def while_and_branch() -> Any:
    def f(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps, n

    return f, (27,), None


class Counter:
    def __init__(self) -> None:
        self.count, self.total, self.seen = 0, 0.0, []

    def add(self, x: Any) -> Any:
        self.count += 1
        self.total += x.sum()
        self.seen.append(self.count)
        return self.total / self.count


@program
def state() -> Any:
    counter = Counter()
    return counter.add, (np.arange(3.0),), counter


@program
def containers() -> Any:
    log: list[Any] = []
    memo = {"calls": 0}

    def f(x, k):
        memo["calls"] += 1
        log.append(k)
        x[k] = len(log)
        return {"x": x, "n": memo["calls"]}

    return f, (np.zeros(3), 1), (log, memo)


@program
def draws() -> Any:
    rng = np.random.default_rng(5)

    def f(x):
        x += rng.normal()
        return x.sum()

    return f, (np.ones(3),), rng


@program
def draws_of_numpy() -> Any:
    def f(x):
        return x * np.random.rand() + random.random()

    return f, (np.ones(3),), None


@program
def raises() -> Any:
    def f(x, d):
        x[0] = 7
        return 1 / d + x[1]

    return f, (np.ones(2), 0), None


@program
def catches() -> Any:
    seen: dict[str, Any] = {}

    def f(x, i):
        try:
            return x[i]
        except IndexError:
            x[0] = -1
            return x.sum()
        finally:
            seen["last"] = i

    return f, (np.ones(3), 5), seen


@program
def errstate() -> Any:
    def f(x):
        with np.errstate(all="ignore"):
            x /= x - 1
        return x.sum()

    return f, (np.array([2.0, 3.0]),), None


@program
def derivative() -> Any:
    w = np.array([0.5, -1.0])

    def loss(x):
        y = np.tanh(w * x)
        for _ in range(30):
            y = y * 0.5 + w
        return (y**2).sum()

    return tj.grad(loss), (np.array([1.0, 2.0]),), w


# ---------------------------------------------------------------- one fault


@functools.cache
def restoring_lines(path: str) -> set[int]:
    """The lines of a file that are in `finally` or in `__enter__` or `__exit__`."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.Try):
            parts: list[ast.stmt] = node.finalbody
        else:
            parts = (
                [node] if isinstance(node, ast.FunctionDef) and node.name in ("__enter__", "__exit__") else []
            )
        for part in parts:
            found.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return found


@functools.cache
def ends_of_with(code: CodeType) -> set[int]:
    """Where instructions begin that leave a `with` block: its line is met a second time."""
    entered: set[int] = set()
    found: set[int] = set()
    line = 0
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None:
            line = instruction.starts_line
            if line in entered:
                found.add(instruction.offset)
        if instruction.opname == "BEFORE_WITH":
            entered.add(line)
    return found


def _ends_a_run(frame: Any) -> bool:
    """Whether arrays have been written and what else the program changes has not: docs/jit.md says so of Ctrl-C."""
    while frame is not None and frame.f_code.co_filename.startswith(HOME):
        if frame.f_code.co_name in ("_run", "_assemble") and frame.f_code.co_filename.endswith("programs.py"):
            return True
        frame = frame.f_back
    return False


def restores(frame: Any) -> bool:
    code, at = frame.f_code, frame.f_lasti
    # `try:` itself is an instruction that does nothing, which no handler covers: nothing is raised there but by us.
    nothing = code.co_code[at] == dis.opmap["NOP"]
    return nothing or at in ends_of_with(code) or frame.f_lineno in restoring_lines(code.co_filename)


class Fault:
    """`with Fault(n, kind):` the n-th line of tracejit that is run raises `kind`; `lines`: how many were run."""

    def __init__(self, n: int, kind: type[BaseException] = RuntimeError) -> None:
        self.n, self.kind, self.lines = n, kind, 0
        self.where = ""

    def __enter__(self) -> Fault:
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOME) or self.where or _ends_a_run(frame):
            return None
        return self._line

    def _line(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line" and not self.where and not restores(frame):
            self.lines += 1
            if self.lines == self.n:
                self.where = f"{frame.f_code.co_filename.removeprefix(HOME)}:{frame.f_lineno}"
                raise self.kind("injected")
        return self._line


def run(g: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return "gave", g(*args)
    except (Exception, KeyboardInterrupt) as e:
        return "raised", type(e), str(e)


def of_process() -> Any:
    """What a call must leave alone, besides what the program can reach."""
    return np.geterr(), list(warnings.filters), tracing.is_tracing(), refusals.met(), config.fallback


def drawn() -> Any:
    return np.random.get_state()[1].tobytes(), np.random.get_state()[2], random.getstate()


def seed() -> None:
    np.random.seed(3)
    random.seed(3)


def held(maker: Maker, calls: int) -> tuple[list[Any], list[Any]]:
    """What plain Python gives at each call, and what the program holds before and after each."""
    seed()
    f, args, state = maker()
    outs, states = [], [(Described((args, state)).found, drawn())]
    for _ in range(calls):
        out = run(f, args)
        outs.append(Described(out).found)
        states.append((Described((args, state)).found, drawn()))
    return outs, states


def lines_of(maker: Maker, earlier: int = 0) -> int:
    f, args, _ = maker()
    g = tj.jit(f)
    for _ in range(earlier):
        run(g, args)
    with Fault(0) as fault:
        run(g, args)
    return fault.lines


def check(maker: Maker, n: int, kind: type[BaseException], earlier: int = 0) -> None:
    """A call with a fault, after so many `earlier` ones and before two without."""
    outs, states = held(maker, earlier + 3)
    seed()
    f, args, state = maker()
    g = tj.jit(f)
    for _ in range(earlier):
        run(g, args)
    before = of_process()
    with Fault(n, kind) as fault:
        out = run(g, args)
    what = f"{kind.__name__} at line {n} ({fault.where}) of {maker.__name__}, call {earlier}"
    assert of_process() == before, what
    now = Described((args, state)).found, drawn()
    if out[0] == "raised" and out[2] == "injected":
        met = states[earlier : earlier + 2]
        assert now in met, f"{what}: {now}, not {met}"
    else:
        assert Described(out).found == outs[earlier] and now == states[earlier + 1], (
            f"{what}: {out}, {now}, not {outs[earlier]}, {states[earlier + 1]}"
        )
    done = states.index(now, earlier)
    for k in range(done, done + 2):
        out = run(g, args)
        assert Described(out).found == outs[k], f"{what}, next call: {out}, not {outs[k]}"
        assert (Described((args, state)).found, drawn()) == states[k + 1], what


@pytest.fixture(autouse=True)
def _python_takes_over() -> Iterator[None]:
    with config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fault_leaves_no_trace(name: str) -> None:
    many_faults(name, SAMPLE, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_faults_leave_no_trace(name: str) -> None:
    many_faults(name, MORE, 1)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fault_in_a_later_call_leaves_no_trace(name: str) -> None:
    later_faults(name, LATER)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_faults_in_a_later_call_leave_no_trace(name: str) -> None:
    later_faults(name, MORE)


def later_faults(name: str, count: int) -> None:
    """Faults in the second call, which has the program already, or makes another one."""
    lines = lines_of(PROGRAMS[name], 1)
    for k, n in enumerate(sorted({1 + lines * i // count for i in range(min(count, lines))})):
        check(PROGRAMS[name], n, KINDS[k % len(KINDS)], 1)


def many_faults(name: str, count: int, seed: int) -> None:
    maker = PROGRAMS[name]
    lines = lines_of(maker)
    rng = random.Random(seed)
    for k in range(count):  # every other one in the end, where the program runs and its results are made
        first = max(1, lines - LAST) if k % 2 else 1
        check(maker, rng.randint(first, lines), KINDS[k % len(KINDS)])


def test_a_fault_is_raised() -> None:
    fault = Fault(5, MemoryError)
    with pytest.raises(MemoryError, match="injected"), fault:
        tj.jit(lambda x: x + 1)(np.ones(2))
    assert fault.where
