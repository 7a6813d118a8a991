"""Traced programs of a jitted function: what one trace gave, and how to run it again."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import control, frontend, tree
from tracejit.api.common import name_of, plain
from tracejit.api.fallback import hides_values, may_be_done_over
from tracejit.api.jit import handed
from tracejit.api.jit.apart import Apart
from tracejit.api.jit.placing import Needed
from tracejit.api.jit.signature import Call
from tracejit.api.jit.stored import Store
from tracejit.config import config
from tracejit.control.callbacks import journal
from tracejit.errors import (
    CapturedWriteError,
    CompileBudgetError,
    DonatedArgumentError,
    ReadOnlyArgumentError,
)
from tracejit.frontend.text import observed, warned
from tracejit.interpreters import jit as native
from tracejit.interpreters.budget import Work
from tracejit.ir.jaxpr import JOURNAL, Jaxpr, Var
from tracejit.lazily import LazyModule
from tracejit.numpy.boxes.memory import overlap
from tracejit.numpy.boxes.sharing.either import storages_of
from tracejit.numpy.captured.written import current
from tracejit.timeline import span
from tracejit.tracing import LOCK, Box, to_raw

_printed: Any = LazyModule("tracejit.interpreters.jit_printed")


class Program:
    """One trace of a function: the jaxpr, where its constants come from, what its outputs mean.

    jaxpr: (*constants, *argument leaves) -> (*results, *new values of what was written).
    `const_sources`: for each constant an index into `guards.arrays()` or the value itself.
    `results`: for each leaf of the result ('out', n), ('array', n) for an array of no dimensions, ('arg', n) for an
    argument handed back as it is, ('given', path) for a container of the caller's, ('found', node) for a generator of
    the caller's, ('new', make) for one that is made, ('const', n) for a captured array that is handed back, or
    ('value', x) for a Python scalar or what is captured.
    `written`: inputs (constant or argument position) whose new values are the last outputs.
    `python`: the outputs that are results and Python's numbers. `parts`: what ('part', n) among the results is made by.
    `store`: makes the result of `results`, where these alone do not say it, and changes what the function changes of
    outside; None where there is no need.
    """

    def __init__(
        self,
        function: Any,
        jaxpr: Jaxpr,
        const_sources: list[Any],
        guards: Any,
        out_tree: Any,
        results: list[tuple[str, Any]],
        written: list[int],
        arg_names: list[str],
        donated: tuple[int, ...],
        decisions: dict[tuple[str, str], str],
        python: frozenset[int],
        parts: list[Any],
        store: Store | None = None,
    ) -> None:
        self.function = function
        self.jaxpr = jaxpr
        self.const_sources = const_sources
        self.guards = guards
        self.out_tree = out_tree
        self.results = results
        self.written = written
        self.arg_names = arg_names
        self.donated = donated
        self.decisions = decisions
        self.python = python
        self.parts = parts
        self.store = store
        self.num_outs = len(jaxpr.outs) - len(written)
        self.fastmath, self.backend, self.device = False, "llvm", None
        self.kept = True  # for later calls
        self.room = 0  # of lists that it lets grow; 0: there are none
        self.over: bool | None = None  # whether it is for calls that Python may do over; None: for all calls
        self.path: tuple[Any, ...] = ()  # what it takes for known (`api.assumed`), and
        self.reasons: list[Exception] = []  # the refusals without that
        self.turns: dict[tuple[Any, ...], Any] = {}  # functions for calls in which something else is met
        self.spent = Work(0, 0.0)  # what tracing it has taken
        self.cached: tuple[Callable[[], Any], ...] = ()  # calls of cached functions: their caches see each
        self.needed: dict[int, Needed] = {}  # how inputs have to lie in memory
        self.apart: Apart | None = None  # what must not be among the arguments
        self.distinct: list[tuple[int, int]] = []  # inputs that must not be one array
        self.machine_code: dict[Any, native.Compiled] = {}  # by the strides of the inputs
        self.single = (
            store is None
            and len(results) == 1
            and results[0][0] == "out"
            and out_tree == _LEAF
            and not written
        )
        self.simple = not written and not donated
        self.repeats = may_be_done_over(jaxpr)  # Python can do a call over in which a check failed
        self.hides = self.repeats and hides_values(jaxpr)  # and has to, for the text of an exception
        self.acts = JOURNAL in jaxpr.effects  # it prints or the like
        self.warns = self.acts and warned.warns(jaxpr)
        self.changes = store is not None and store.writes
        self.chooses = False  # whether a result is of one of several types
        self.stores = self.acts and self.changes
        self.fast: dict[Any, Any] = {}  # functions for calls with objects, which calls with others share

    def constants(self, objects: Sequence[Any]) -> list[Any] | None:
        """The constants as they are now, in a call with these objects; None if a guard fails: it is traced again."""
        arrays = self.guards.arrays(*objects)
        if arrays is None:
            return None
        return current([arrays[s] if type(s) is int else s.value for s in self.const_sources])

    def fits(self, call: Call, consts: list[Any]) -> bool:
        """Whether the program, whose guards hold, is for this call: how its inputs lie, and which objects they are."""
        if self.needed and self.misplaced([*consts, *call.leaves]):
            return False
        return self.apart is None or self.apart.are(call.taken_apart, call.objects)

    def misplaced(self, inputs: Sequence[Any]) -> list[int]:
        """The inputs that do not lie in memory as the program was traced for."""
        return [n for n, needed in self.needed.items() if not needed.holds(inputs[n])]

    # -- running

    def run(self, consts: list[Any], leaves: Sequence[Any], call: Call) -> Any:
        """The function's result on concrete values: natively compiled for their layout. What it does besides is done
        at once."""
        if not self.acts:
            return self._run(consts, leaves, call)
        with journal.collected(False):
            return self._run(consts, leaves, call)

    def _run(self, consts: list[Any], leaves: Sequence[Any], call: Call) -> Any:
        inputs = [*consts, *leaves]
        arrays = [native.operand(x) for x in inputs]
        compiled = self.running(tuple([native.element_strides(a) for a in arrays]))
        if not self.simple:
            self._check_written(inputs)
            self._check_donated(inputs)
        given = [a.copy() for a in arrays] if config.checks and not self.simple else arrays
        outs = compiled(*arrays)
        self.call_cached()
        if config.checks:
            native.check_finite(self.jaxpr, given, outs)
        for n in self.written:
            if arrays[n] is not inputs[n]:
                np.copyto(inputs[n], arrays[n])
        if self.single:
            return self._number(0, outs[0])
        return self._assemble([self._number(n, o) for n, o in enumerate(outs)], leaves, consts, call)

    def caller(self, consts: Sequence[Any], leaves: Sequence[Any], asks: bool) -> Callable[..., Any] | None:
        """The native function of inputs like these, which it checks: it gives its outputs, or MISS for others; of one
        output that itself. None if there can be none. `asks`: for NumPy's settings of floating-point errors."""
        if self.backend != "llvm":
            return None
        written, given = {*self.written, *self.donated}, (*consts, *leaves)
        inputs: Any = [native.Input.of(x, n in written) for n, x in enumerate(given)]
        if None in inputs:
            return None
        strides = tuple([native.element_strides(np.asarray(x)) for x in given])
        return self.running(strides).caller(inputs, len(self.jaxpr.outs) == 1, self.python, asks)

    def call_cached(self) -> None:
        """Call the cached functions that the traced function calls, as a call that has succeeded does."""
        for call in self.cached:
            call()

    def _number(self, n: int, out: Any) -> Any:
        """Output `n`, a number if it has no dimensions."""
        return out.item() if n in self.python else native.scalar(out)

    def prepare(self, consts: list[Any], leaves: Sequence[Any]) -> None:
        """Compile for these values, if that was not done."""
        self.running(tuple([native.operand_strides(x) for x in (*consts, *leaves)]))

    def run_or_fail(
        self, consts: list[Any], leaves: Sequence[Any], call: Call
    ) -> tuple[Any, Exception | None]:
        """The result, or else the exception."""
        try:
            with journal.collected(self.acts):
                return self._run(consts, leaves, call), None
        except Exception as e:
            return None, e

    def acting(self, native: Callable[..., Any], may_repeat: Callable[[], bool]) -> Callable[..., Any]:
        """The native function with what it does besides; at its end, if the call may be done over by Python."""
        if not self.acts:
            return native
        repeats = self.repeats

        def call(*arrays: Any) -> Any:
            with journal.collected(repeats and (self.room > 0 or self.hides or may_repeat())):
                return native(*arrays)

        return call

    def leaves_to_python(self) -> bool:
        """Whether this call is Python's: what it does besides may raise an exception on its way, or calls code of the
        user's, that would see when places of outside are stored."""
        return (self.warns and warned.are_errors()) or (self.stores and observed.by_users_code())

    def compiled(self, strides: Any) -> native.Compiled:
        return self._machine_code(strides, strides)

    def running(self, strides: Any) -> native.Compiled:
        """The program as calls run it: while a profile is on, its twin, which measures itself."""
        return self._machine_code(strides, native.measured(strides))

    def _machine_code(self, strides: Any, key: Any) -> native.Compiled:
        found = self.machine_code.get(key)
        if found is None:
            with LOCK:
                if key not in self.machine_code:
                    self.machine_code[key] = self._compile(strides, key)
                found = self.machine_code[key]
        return found

    def machine(self, strides: Any) -> native.Compiled:
        """The program by the default backend, whatever its own is: what C calls, and what files keep."""
        if self.backend == "llvm" and self.device is None:
            return self.compiled(strides)
        return native.Compiled(self.jaxpr, strides, self._aliases(), self.fastmath)

    def without_warnings(self) -> Program:
        """The program without warnings of empty parts, which neither files nor C give."""
        made = copy.copy(self)
        made.jaxpr, made.machine_code = warned.silent(self.jaxpr), {}
        return made if self.warns or control.callbacks.counted.occurs(self.jaxpr) else self

    def _compile(self, strides: Any, key: Any) -> native.Compiled:
        """Raises CompileBudgetError, whose `program_rest` puts the machine code into its place."""
        again = span("twin") if key != strides and strides in self.machine_code else contextlib.nullcontext()
        try:
            made = native.maker(key) if self.backend == "llvm" else _printed.CompiledByNumba
            with again:
                return made(self.jaxpr, strides, self._aliases(), self.fastmath)
        except CompileBudgetError as e:
            if (rest := e.rest) is not None:
                e.program_rest = lambda: self.machine_code.setdefault(key, rest())
            raise

    def _aliases(self) -> dict[int, int]:
        """Output -> input whose memory it takes: written inputs, then donated ones that fit."""
        out = {self.num_outs + k: n for k, n in enumerate(self.written)}
        free = [n for n in self.donated if n not in self.written]
        for k in range(self.num_outs):
            fit = next((n for n in free if self._fits(k, n)), None)
            if fit is not None:
                out[k] = fit
                free.remove(fit)
        return out

    def _fits(self, out: int, n: int) -> bool:
        a = self.jaxpr.outs[out]
        return type(a) is Var and a not in self.jaxpr.invars and a.aval == self.jaxpr.invars[n].aval

    def _assemble(self, outs: list[Any], leaves: Sequence[Any], consts: Sequence[Any], call: Call) -> Any:
        given: dict[str, Any] = {"out": outs, "arg": leaves, "const": consts}
        arrays = {n for kind, n in self.results if kind == "array"}
        given["array"] = [as_array(x) if n in arrays else x for n, x in enumerate(outs)]
        given["part"] = []
        for p in self.parts:  # of which some are parts of those before
            given["part"].append(p.of(given))
        picked = [given[kind][x] if kind in given else self._other(kind, x, call) for kind, x in self.results]
        return tree.unflatten(self.out_tree, picked) if self.store is None else self.store.run(picked, call)

    @staticmethod
    def _other(kind: str, x: Any, call: Call) -> Any:
        """A result that is no array of the program's."""
        if kind == "given":
            return handed.find(x, call.argument(x[0]))
        if kind == "found":
            return x.read(call.objects)
        return x() if kind == "new" else x

    def input_name(self, n: int) -> str:
        """How messages call the program's input `n`."""
        args = n - len(self.const_sources)
        if args >= 0:
            return self.arg_names[args]
        source = self.const_sources[n]
        return str(self.guards.nodes[source]) if type(source) is int else "a captured array"

    def read_only(self, inputs: list[Any]) -> int | None:
        """The first input that is written, but can't be."""
        arrays = ((n, inputs[n]) for n in self.written)
        return next((n for n, x in arrays if isinstance(x, np.ndarray) and not x.flags.writeable), None)

    def _check_written(self, inputs: list[Any]) -> None:
        n = self.read_only(inputs)
        if n is not None:
            raise ReadOnlyArgumentError(function=name_of(self.function), argument=self.input_name(n))

    def _check_donated(self, inputs: list[Any]) -> None:
        for n, x in [(n, inputs[n]) for n in self.donated if isinstance(inputs[n], np.ndarray)]:
            problem = None if x.flags.writeable else "its array is read-only"
            for m, y in enumerate(inputs):
                if m != n and isinstance(y, np.ndarray) and overlap(x, y):
                    problem = f"its memory is also passed as {self.input_name(m)}"
            if problem:
                raise DonatedArgumentError(
                    function=name_of(self.function), argument=self.input_name(n), problem=problem
                )

    def is_pythons(self, inputs: list[Any], allowed: bool) -> bool:
        """Whether only Python does what is to be seen of writes into these inputs: into memory of several of them,
        or (if it is `allowed`) into read-only arrays, which raises NumPy's exception, that may be caught."""
        if self.overlaps(inputs) or any(_may_be_one(inputs[n], inputs[m]) for n, m in self.distinct):
            return True
        return allowed and self.read_only(inputs) is not None

    def overlaps(self, inputs: list[Any]) -> bool:
        """Whether an array or box that is written shares memory with another input."""
        return any(_share(inputs[n], y) for n in self.written for m, y in enumerate(inputs) if m != n)

    # -- inside another transformation

    def bind(self, consts: list[Any], call: Call, inline: bool) -> Any:
        """One `call` equation in the current trace; writes reach the caller's boxes.

        Raises CapturedWriteError: it changes something of outside that is no array."""
        if self.changes:
            raise CapturedWriteError(what=self.store.changes[0].what)  # type: ignore[union-attr]
        holders = [*consts, *call.leaves]
        inputs = [*(to_raw(c) for c in consts), *call.raw]
        outs = control.call.op.call(self.jaxpr, inputs, name=self.jaxpr.name, inline=inline)
        for k, n in enumerate(self.written):
            write_back(holders[n], outs[self.num_outs + k])
        outer = frontend.current_session()
        if outer is not None and outer.guarded:
            outer.cached_calls += self.cached
        else:
            self.call_cached()
        results = [plain(o, n in self.python) for n, o in enumerate(outs[: self.num_outs])]
        return self._assemble(results, call.leaves, consts, call)


def raw_const(c: Any) -> Any:
    """The value of a constant."""
    return c.read() if type(c) is Box else c


def as_array(x: Any) -> Any:
    """An output without dimensions as the array that it was in the function; those of devices are arrays."""
    if hasattr(type(x), "__cuda_array_interface__"):
        return x
    if type(x) is not Box:
        return np.asarray(x)
    x.scalar = False
    return x


def _share(x: Any, y: Any) -> bool:
    """Whether a write into one of two inputs may be seen in the other."""
    if type(x) is Box and type(y) is Box:
        return x.storage is y.storage
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and overlap(x, y)


def _may_be_one(x: Any, y: Any) -> bool:
    """Whether two inputs may be one array, not only share memory."""
    if type(x) is Box and type(y) is Box:
        return not {id(s) for s in storages_of(x)}.isdisjoint(id(s) for s in storages_of(y))
    return x is y


def write_back(target: Any, raw: Any) -> None:
    """Replace the contents of the caller's array or box by `raw`."""
    target[...] = plain(raw)


class Constant:
    """A value that the program closes over and that no guard reads anew."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def const_sources(consts: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
    """For each constant its position among the captured arrays (by identity), or the value itself."""
    position = {id(raw): n for n, raw in enumerate(captured)}
    return [position[id(c)] if id(c) in position else Constant(c) for c in consts]


_LEAF = tree.structure(0)
