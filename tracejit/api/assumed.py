"""Programs for some values of conditions and integers: what a trace takes for known, and which program is next.

    def f(x):                      traced for x = 2.0: `x > 1` is taken to be true, which the program checks
        if x > 1:                  at x = 0.5 the check fails, and f is traced again for "not x > 1"
            return [x]             from then on there are two programs; the check that fails says which one is next
        return None

A program's *path* has the values that it takes for known, in the order in which tracing needed them. Programs of one
signature form a tree: where the check of value `n` fails, the next program has the same values before it and the one
that the check has met. Only calls that Python may do over have such programs, and where there would be too many, Python
runs the function.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops
from tracejit.api.fallback import failed_check
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.api.jit.sizes import LOOPS, sizes_needed
from tracejit.errors import refusals, user_location
from tracejit.interpreters import generators
from tracejit.interpreters.budget import Work
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.jit import MISS, Compiled, element_strides, operand
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import Eqn, Jaxpr, Var, can_be_done_over, sub_jaxprs
from tracejit.numpy.assumed import TAKEN
from tracejit.ops.indexing.index_check import fail_where
from tracejit.records import record
from tracejit.tracing import use_trace

#: Values that one program takes for known, and programs of a signature that do so.
MOST_VALUES, MOST_PROGRAMS = 16, 12
#: Values that are needed at one line, as in the steps of a loop.
MOST_AT_ONE = 8
#: Operations between known values and one that follows from them, and values of a program that are known.
MOST_IMPLIED, MOST_KNOWN = 32, 256
#: Operations for each second of the compile budget: that tracing may have recorded when a value is taken for known,
#: and that all such programs of a signature may have taken. Where Python runs the function in the end, that work is
#: lost. It is counted, so that the same programs are native on every machine.
TRACING, ALL = 500, 1000
#: Of the compile budget, what they may take at most, however few operations are recorded.
LONGEST, ALL_LONGEST = 0.5, 1.0
_BOOL, _I64 = np.dtype(bool), np.dtype(np.int64)


class OtherwiseError(Exception):
    """A program's assumption of this number does not hold: the value is another one. No user sees it."""

    def __init__(self, number: int, value: Any) -> None:
        super().__init__(number, value)
        self.number = number
        self.value = value


@record(frozen=True)
class Otherwise:
    """Makes the exception of a check of an assumption; the value of an integer is in the check's details."""

    number: int
    value: bool | None = None

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return OtherwiseError(self.number, details[0] if self.value is None else self.value)


class Assumptions:
    """What one trace takes for known: `path`, with the refusals that there would have been without."""

    def __init__(self, call: Call, trace: StageTrace, args: Sequence[Var], decisions: dict[Any, str]) -> None:
        self.call, self.trace, self.args = call, trace, args
        self.path: list[Any] = []
        self.reasons: list[Exception] = []
        self._decisions = decisions
        self._places: Counter[Any] = Counter()
        self._values: dict[int, Any] = {}  # of variables, by id
        self._known: dict[int, Any] = {}  # of these, what was taken for known
        self._held: list[Var] = []  # so that ids stay taken
        self._start = Work.now()
        trace.now = self._known_now
        if call.over:
            trace.assume = self._take

    def _take(self, var: Var, refusal: Callable[[], Exception]) -> Any:
        aval = var.aval
        if not aval.is_static or aval.size != 1 or aval.dtype.kind not in "biu" or aval.dtype == np.uint64:
            return None
        if (Work.now() - self._start).exceeds(TRACING, LONGEST):
            return None
        if (implied := self._implied(var)) is not None:
            return self._keep(var, implied)
        if len(self.path) >= MOST_VALUES or (self.trace.decides is not None and self.trace.decides([var])):
            return None  # arguments in the signature say more
        where = user_location()
        if self._places[where] >= MOST_AT_ONE:
            return None  # a loop that Python unrolls decides in each step
        known = len(self.path) < len(self.call.path)
        value = self.call.path[len(self.path)] if known else self._now(var)
        if value is None:
            return None
        with refusals.into(None):
            reason = refusal()
        if isinstance(reason, LOOPS) and sizes_needed(reason, self.call, self.trace.eqns, self.args):
            return None  # so they do
        self.reasons.append(reason)
        with use_trace(self.trace):
            self._check(var, value)
        self.path.append(value)
        self._tell(where, value)
        return self._keep(var, np.full(aval.shape, value, aval.dtype)[()])

    def _keep(self, var: Var, value: Any) -> Any:
        self._held.append(var)
        self._known[id(var)] = value
        return value

    def _implied(self, var: Var) -> Any:
        """The value that follows from those that are taken for known already, by a few operations; else None."""
        if id(var) in self._known or not self._known or len(self._known) >= MOST_KNOWN:
            return self._known.get(id(var))
        makers = {id(v): e for e in self.trace.eqns for v in e.outvars}
        inputs: dict[int, Var] = {}
        wanted: dict[int, Eqn] = {}
        left: list[Any] = [var]
        while left:
            v = left.pop()
            if type(v) is not Var or id(v) in inputs:
                continue
            if id(v) in self._known:
                inputs[id(v)] = v
                continue
            maker = makers.get(id(v))
            if maker is None or not maker.effects <= {"error"} or len(wanted) == MOST_IMPLIED:
                return None
            if id(maker) not in wanted:
                wanted[id(maker)] = maker
                left += maker.invars
        eqns = tuple(e for e in self.trace.eqns if id(e) in wanted)
        if not inputs or any(True for e in eqns for _ in sub_jaxprs(e.params)):
            return None
        jaxpr = Jaxpr(tuple(inputs.values()), eqns, (var,), self.trace.name)
        try:
            with refusals.into(None), use_trace(ROOT), np.errstate(all="ignore"):
                (out,) = eval_jaxpr(jaxpr, [self._known[id(v)] for v in inputs.values()])
        except Exception:  # a check fails: the program says so
            return None
        return np.asarray(out)[()]

    def _check(self, var: Var, value: Any) -> None:
        """Let the program fail where the variable has another value."""
        number = ops.shape.squeeze(var, dimensions=tuple(range(var.aval.ndim))) if var.aval.ndim else var
        if number.aval.dtype == _BOOL:
            fail_where(ops.compare.not_(number) if value else number, Otherwise(len(self.path), not value))
            return
        bad = ops.compare.ne(number, number.aval.dtype.type(value))
        fail_where(bad, Otherwise(len(self.path)), ops.create.convert(number, _I64))

    def _tell(self, where: str | None, value: Any) -> None:
        self._places[where] += 1
        if where is not None:
            kind = TAKEN if isinstance(value, bool) else "integer"
            self._decisions[where, kind] = f"taken to be {value}; other programs are for other values"

    def _now(self, var: Var) -> Any:
        """The value in this call, a Python number; for a condition of which it can't be found, True."""
        try:
            with refusals.into(None):
                value = self._computed(var)
        except Exception:
            value = None
        if value is None:
            return True if var.aval.dtype == _BOOL else None
        return np.asarray(value).item()

    def _known_now(self, var: Var) -> Any:
        """The value in this call; None where it can't be found."""
        try:
            with refusals.into(None):
                return self._computed(var)
        except Exception:
            return None

    def _computed(self, var: Var) -> Any:
        """What the program recorded so far computes; None where it draws random numbers or the like."""
        inputs, eqns = self._needed(var)
        if any(not e.effects <= {"error"} for e in eqns):
            return None
        given = [self._values[id(v)] for v in inputs]
        kept = [v for e in eqns for v in e.outvars]
        regions = any(True for e in eqns for _ in sub_jaxprs(e.params))
        jaxpr = Jaxpr(
            tuple(inputs), tuple(eqns), (var,) if regions else tuple(kept) or (var,), self.trace.name
        )
        if regions:  # loops are slow in Python
            arrays = [operand(x) for x in given]
            return Compiled(jaxpr, tuple(map(element_strides, arrays)))(*arrays)[0]
        with use_trace(ROOT), np.errstate(all="ignore"):  # the program warns
            out = eval_jaxpr(jaxpr, given)
        self._values |= {id(v): x for v, x in zip(jaxpr.outs, out, strict=True)}
        return self._values[id(var)]

    def _needed(self, var: Var) -> tuple[list[Var], list[Eqn]]:
        """The variables of known value, and the equations after these, that a variable is computed from."""
        makers = {id(v): e for e in self.trace.eqns for v in e.outvars}
        position = {id(v): n for n, v in enumerate(self.args)}
        inputs: dict[int, Var] = {}
        wanted: set[int] = set()
        left: list[Any] = [var]
        while left:
            v = left.pop()
            if type(v) is not Var or id(v) in inputs:
                continue
            if id(v) in position and id(v) not in self._values:
                self._values[id(v)] = operand(self.call.raw[position[id(v)]])
            elif id(v) not in makers and id(v) not in self._values:
                self._values[id(v)] = operand(self.trace.constant_of(v))
            if id(v) in self._values:
                inputs[id(v)] = v
            elif id(makers[id(v)]) not in wanted:
                wanted.add(id(makers[id(v)]))
                left += makers[id(v)].invars
        return list(inputs.values()), [e for e in self.trace.eqns if id(e) in wanted]

    def settle(self, program: Program) -> None:
        """Note the path in the program. Raises what was refused, where the program can't be done over."""
        if self.path:
            if not can_be_done_over(program.jaxpr.effects):
                raise self.reasons[0]
            program.path, program.reasons, program.over = tuple(self.path), self.reasons, True


class Turn(NamedTuple):
    """From `program`, of which a check has failed, to the program whose path begins like this."""

    program: Program
    path: tuple[Any, ...]


class _Turns(threading.local):
    """How many programs of one call have failed so far, in this thread."""

    count = 0


_turns = _Turns()


def otherwise(jitted: Any, program: Program, error: OtherwiseError, args: Any, kwargs: Any) -> Any:
    """The call done over by the program for what `error` has met, or by Python if that can't be or goes too far."""
    if not failed_check(error) or _turns.count > MOST_VALUES:
        return jitted.python.again(error, args, kwargs)
    generators.take_back(error)
    turn = Turn(program, (*program.path[: error.number], error.value))
    _turns.count += 1
    try:
        fast = program.turns.get(turn.path)
        if fast is not None and (out := fast(args, kwargs)) is not MISS:
            jitted.prefer(fast)
            return out
        return jitted.call_by(args, kwargs, turn)
    finally:
        _turns.count -= 1


def too_many(programs: Sequence[Program], call: Call) -> Exception | None:
    """Why there is no further program for this path: there are enough, or they have taken too long to make."""
    known = [p for p in programs if p.path]
    if not call.path or not known:
        return None
    compiled = sum(c.compile_seconds for p in known for c in p.machine_code.values())
    spent = sum((p.spent for p in known), Work(0, compiled))
    if len(known) < MOST_PROGRAMS and not spent.exceeds(ALL, ALL_LONGEST):
        return None
    number = min(len(call.path) - 1, len(known[0].reasons) - 1)
    return known[0].reasons[number]
