"""jit: functions that are traced once a signature, compiled, and guarded."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tracejit.api import assumed, timed
from tracejit.api.common import Attributed, name_of
from tracejit.api.device import places
from tracejit.api.fallback import Python, Refusal
from tracejit.api.jit import later
from tracejit.api.jit.aot import Lowering
from tracejit.api.jit.arguments import MoreNeeded, more
from tracejit.api.jit.bounded import BOUNDED
from tracejit.api.jit.fastpath import MISS, fast_call
from tracejit.api.jit.programs import Program, raw_const
from tracejit.api.jit.retraces import tell_sizes, tell_why
from tracejit.api.jit.signature import Call, Options, fast_key, is_dead
from tracejit.api.jit.varying import Varying
from tracejit.api.running import jit_session, run_user
from tracejit.api.tracebacks import hide
from tracejit.config import config
from tracejit.control.transformed import named
from tracejit.errors import CompileBudgetError, FunctionNeededError, ListRoomError, refusals
from tracejit.interpreters import budget, generators, messages
from tracejit.interpreters import jit as native
from tracejit.ir.values import Value
from tracejit.timeline import SWITCH
from tracejit.tracing import LOCK, caller, is_tracing

#: Signatures of a function with a fast path, and those of them that are tried first.
MAX_FAST, NEAR = 256, 4
#: Programs kept for one signature, told apart by their guards; where these begin at objects, of which each may have
#: settings of its own, there may be more.
MAX_VARIANTS, MAX_OF_OBJECTS = 8, 64
#: Reasons for tracing again that are remembered.
MAX_REASONS = 16


FastCall = Any  # a function of `args` and `kwargs`, with the attribute `direct`


class Jitted(Attributed):
    """A compiled function, made by `jit`. `trace_count` says how often it has been traced, `retraces` why
    it was traced again, the last times."""

    def __init__(self, fun: Callable[..., Any], options: Options, python: Python | None = None) -> None:
        functools.update_wrapper(self, fun)
        self.fun, self.options = fun, options
        self.python = python or places.python(fun, options, _part)
        self.trace_count = 0
        self.retraces: deque[str] = deque(maxlen=MAX_REASONS)
        self._varying = Varying()
        self._programs: dict[Any, list[Program]] = {}
        self._fast: dict[Any, FastCall] = {}
        self._near: tuple[FastCall, ...] = ()  # the last of them to be used
        self.elsewhere: dict[Any, Jitted] = {}  # by device: this function where it names none
        self._own: FastCall | None = None  # that of them which `__call__` is made of

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else types.MethodType(self, obj)

    def __repr__(self) -> str:
        return f"<jitted {name_of(self.fun)}>"

    def __reduce__(self) -> Any:
        """Pickled by name if it is what its name means, else as its function and options; programs stay behind."""
        return named(self, self.fun) or (Jitted, (self.fun, self.options))

    # -- calling

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._known(args, kwargs)

    def _known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            if config.fast and not is_tracing():
                near = self._near
                for fast in near:
                    out = fast(args, kwargs)
                    if out is not MISS:
                        if fast is near[0] and fast is not self._own and near is self._near:
                            self._go_by(fast)
                        return out
            return self.call_by(args, kwargs)
        except BaseException as e:
            hide(e)
            raise

    @timed.calls
    def call_by(self, args: tuple[Any, ...], kwargs: dict[str, Any], turn: assumed.Turn | None = None) -> Any:
        if config.disable_jit or jit_session() is not None or self.python.runs_in_derivatives():
            return run_user(self.fun, args, kwargs)
        given = args, kwargs
        there, args, kwargs = self.where_it_runs(args, kwargs)
        with places.handed_back(given, (args, kwargs)):
            return there._run(args, kwargs, given, turn)

    def _run(self, args: Any, kwargs: Any, given: Any, turn: assumed.Turn | None) -> Any:
        """Run where it was found that a call runs. `given`: its arguments as the caller has them."""
        if not is_tracing() and native.errors_are_seen() and self.python.allowed:
            return self.python.plain(args, kwargs)
        key = fast_key(self.options.in_key, args, kwargs) if config.fast and not is_tracing() else None
        fast = self._fast.get(key) if key is not None and turn is None else None
        if fast is not None and (out := fast(*given)) is not MISS:
            self._put_first(fast)
            return out
        prepared = self.prepare(args, kwargs, () if turn is None else turn.path)
        if isinstance(prepared, Refusal):
            return self.python.run(prepared, self._signature(args, kwargs), args, kwargs)
        call, program, consts = prepared
        if program.leaves_to_python() and self.python.allowed and not is_tracing():
            return self.python.plain(args, kwargs)
        asks = (program.written or program.distinct) and [*consts, *call.leaves]
        if self.python.runs_in_derivatives() or (asks and program.is_pythons(asks, self.python.allowed)):
            return run_user(self.fun, args, kwargs) if is_tracing() else self.python.plain(args, kwargs)
        if is_tracing() or any(isinstance(x, Value) for x in (*call.raw, *map(raw_const, consts))):
            return program.bind(consts, call, self.options.inline)
        if program.repeats and (program.room or program.hides or self.python.allowed):
            out, error = program.run_or_fail(consts, call.leaves, call)
            if error is not None:
                return self._again(program, error, args, kwargs)
        else:
            out = program.run(consts, call.leaves, call)
        if key is not None and program.kept:
            made = self._fast_of(program, call, args, kwargs)
            self._remember(key, made)
            if turn is not None and made is not None:
                turn.program.turns[turn.path] = made
        return out

    def where_it_runs(self, args: Any, kwargs: Any) -> tuple[Jitted, Any, Any]:
        """The function and the arguments of a call, for the device that it is for."""
        return (self, args, kwargs) if is_tracing() else places.moved(Jitted, self, args, kwargs)

    def _again(self, program: Program, error: Exception, args: Any, kwargs: Any) -> Any:
        """The call done over, as compiled code has raised `error`: by the program for other values, with more room for
        lists, or by Python."""
        if isinstance(error, assumed.OtherwiseError):
            return assumed.otherwise(self, program, error, args, kwargs)
        refusals.hide(error) if program.hides else None
        if not isinstance(error, ListRoomError) or not self._varying.make_room(program.room):
            return self.python.again(error, args, kwargs)
        generators.take_back(error)
        self.clear_cache()
        return self.call_by(args, kwargs)

    def prepare(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], path: tuple[Any, ...] = ()
    ) -> tuple[Call, Program, list[Any]] | Refusal:
        """The call's signature, its program and the program's constants; or a Refusal, if Python has to run it."""
        if is_tracing() or not self.python.allowed:
            return self.python.prepared(self._prepare, args, kwargs, self._signature)
        refused = self.python.refused
        if refused and (known := refused.get(key := self._signature(args, kwargs))) is not None:
            if known.later is None or not known.later.done:
                return known
            refused.pop(key, None)  # its program is complete now
        own = False
        try:
            with budget.within(config.compile_budget) as own:
                prepared = call, program, consts = self._prepare(args, kwargs, True, path)
                if not any(isinstance(x, Value) for x in (*call.raw, *map(raw_const, consts))):
                    program.prepare(consts, call.leaves)
            return prepared
        except BaseException as e:
            if not isinstance(e, Exception) and not hasattr(e, "_tj_thrown"):
                raise  # Ctrl-C
            refusal = Refusal.of(e)
            if refusal is None:
                raise
            if own and isinstance(e, CompileBudgetError) and e.program_rest is not None:
                refusal = replace(refusal, later=later.go_on(name_of(self.fun), e.program_rest))
            return refusal

    def _signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What tells calls apart that Python runs."""
        return self.python.key(lambda: Call(self.fun, self.options, args, kwargs).key())

    def _fast_of(
        self, program: Program, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> FastCall | None:
        """The function for calls like this one; calls with other objects share that of their program."""
        again = functools.partial(self._again, program) if program.repeats else None
        others = Jitted._known, again, lambda: self.python.allowed
        made = functools.partial(fast_call, program, call, args, kwargs, *others)
        if not call.objects:
            return made()
        key = SWITCH.epoch, fast_key(self.options.in_key, args, kwargs, type)
        if key not in program.fast:
            if len(program.fast) >= MAX_FAST:
                program.fast.clear()
            program.fast[key] = made()
        return program.fast[key]

    def _remember(self, key: Any, fast: FastCall | None) -> None:
        """Let calls like this one skip the general way."""
        if fast is not None:
            if len(self._fast) >= MAX_FAST:
                self._fast.clear()
            self._fast[key] = fast
            self._put_first(fast)

    def _put_first(self, fast: FastCall) -> None:
        self._near = (fast, *[f for f in self._near if f is not fast])[:NEAR]

    def prefer(self, fast: FastCall) -> None:
        """Try `fast` first, to which the check of another program has led; from the second time on before that."""
        if self._near and self._near[0] is fast:
            self._go_by(fast)
        self._put_first(fast)

    def _go_by(self, fast: FastCall) -> None:
        """Let the direct form of `fast` be what a call of this function runs: `__call__` of a class of its own."""
        self._own, direct = fast, fast.direct()
        if direct is None:
            return
        if type(self) is Jitted:
            self.__class__ = type(Jitted.__name__, (Jitted,), {"__call__": direct, "__module__": __name__})
        else:
            type(self).__call__ = direct

    def _prepare(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], over: bool = False, path: tuple[Any, ...] = ()
    ) -> tuple[Call, Program, list[Any]]:
        """The call's signature and its program, with the arguments in the signature that tracing needs there. `over`:
        Python may do the call over."""
        options = self.options
        while True:
            call = Call(self.fun, options, args, kwargs)
            if gone := self._varying.varying_counts(call.argument):
                options = self._keep(self.options.with_more(frozenset(), less=gone), call)
                continue
            call.path, call.over = path, over and not any(isinstance(x, Value) for x in call.raw)
            try:
                program, consts = self._program(call)
            except MoreNeeded as e:
                options = more(e, call, options, self._varying)
                continue
            if options is not self.options:
                self._keep(options, call)
            return call, program, consts

    def _keep(self, options: Options, call: Call) -> Options:
        """Later calls have the same sizes in their signature, and the same arguments are followed."""
        with LOCK:
            new, gone = options.sizes - self.options.sizes, self.options.sizes - options.sizes
            self.options = options = self.options.with_more(options.sizes, options.followed, gone)
            self.forget_fast()
        tell_sizes(call, new)
        return options

    def _program(self, call: Call) -> tuple[Program, list[Any]]:
        """The program for the call's signature whose guards hold, traced if there is none."""
        key = call.key()
        found = self._find(call, key)
        if found is None:
            with LOCK:
                found = self._find(call, key) or self._trace(call, key)
        return found

    def _find(self, call: Call, key: Any) -> tuple[Program, list[Any]] | None:
        for program in self._programs.get(key, ()):
            fits = program.over in (None, call.over) and program.path[: len(call.path)] == call.path
            consts = program.constants(call.objects) if fits else None
            if consts is not None and program.fits(call, consts):
                return program, consts
        return None

    def _trace(self, call: Call, key: Any) -> tuple[Program, list[Any]]:
        self._let_go()
        variants = self._programs.get(key, [])
        why = tell_why(call, key, self._programs)
        if why is not None:
            self.retraces.append(why)
        if variants:
            self._varying.retraced(variants[0].guards.failing(*call.objects))
        if (refusal := assumed.too_many(variants, call)) is not None:
            self.forget(key)
            raise refusal
        self.python.admit(call.dynamic, call.kwargs)
        start = budget.Work.now()
        program, consts = timed.trace(call, self._varying)
        self.python.accept(program)
        self.trace_count += 1
        program.spent = budget.Work.now() - start
        messages.debug(1, f"tracejit: traced {name_of(self.fun)}: {len(program.jaxpr.eqns)} equations")
        if program.kept and not any(isinstance(c, Value) for c in map(raw_const, consts)):
            self._programs[key] = [program, *variants][
                : MAX_OF_OBJECTS if call.objects or program.path else MAX_VARIANTS
            ]
            BOUNDED.add(self, key)
        self.forget_fast()
        return program, consts

    def _let_go(self) -> None:
        """Forget programs for objects that are gone."""
        for key, variants in list(self._programs.items()):
            alive = [] if is_dead(key) else [p for p in variants if not p.guards.dead()]
            if not alive:
                self.forget(key)
            elif len(alive) < len(variants):
                self._programs[key] = alive

    def forget(self, key: Any) -> None:
        """Drop the programs of one signature."""
        self._programs.pop(key, None)
        self.forget_fast()

    def clear_cache(self) -> None:
        """Drop everything that was traced and compiled."""
        for known in (self._programs, self.elsewhere, self.python.refused):
            known.clear()
        self.forget_fast()

    def forget_fast(self) -> None:
        """Let the next calls take the general way."""
        self._fast.clear()
        self._near = ()
        self._own = None
        self.__class__ = Jitted  # type: ignore[assignment]

    # -- ahead of time

    def lower(self, *args: Any, **kwargs: Any) -> Lowering:
        """Trace for the types of the arguments (arrays or `ShapeDtypeStruct`s) without running."""
        self, args, kwargs = self.where_it_runs(args, kwargs)
        return Lowering(self, *self._prepare(args, kwargs))

    def trace(self, *args: Any, **kwargs: Any) -> Lowering:
        """The same as `lower`: tracing and lowering are one step here."""
        return self.lower(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result's structure, with `ShapeDtypeStruct`s in the places of arrays and numbers; nothing runs."""
        return self.lower(*args, **kwargs).out_info


def _part(fun: Callable[..., Any], python: Python) -> Jitted:
    """A part of a function that fell back, with what it does where it has no program."""
    return Jitted(fun, Options(fun, None, None, None, None, False, False, False, True, True), python)


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Sequence[str] | None = None,
    inline: bool = False, keep_unused: bool = False, fastmath: bool = False, capture: bool = True,
    fallback: bool | None = None, backend: str = "llvm", device: Any = None,
) -> Any:  # fmt: skip
    """Compile `fun`, a function of arrays (or trees of them) written against NumPy or tracejit.numpy.

    The function is traced once for each combination of structure, shapes, dtypes and static values, and
    again when something it reads through names (a global, a cell, an attribute) has changed. Arrays it
    captures are read at every call. Arguments that it updates in place are updated in the caller's arrays.
    `static_argnums`, `static_argnames`: arguments whose values are compiled in; they must be hashable.
    `donate_argnums`, `donate_argnames`: arrays whose memory the results may take.
    `inline`: inside another jit, leave no trace of the call in the program. `keep_unused` is accepted
    for compatibility: unused arguments are never read.
    `fastmath`: what is computed may be rounded in another way than it is written: a product and a sum at once,
    products of several matrices in the order that multiplies least, factors of a product's features (batch
    normalisation) multiplied into its matrix. The outermost jit decides.
    Python's loops and branches over traced values, and long loops, become native ones where the function's
    source is known; `explain` says what was done with each. With `capture=False` Python runs them as they are
    while the function is traced: loops are unrolled, and conditions need known values.
    Python integers (and tuples of them) are traced, until tracing needs the value of one, as a size for instance:
    then that argument is part of the signature, as a static one, and the function is compiled for every value.
    What can't be compiled is run by Python on NumPy, with one FallbackWarning a function. `fallback=False` makes
    it an error, `fallback=None` leaves that to `config.fallback`. Inside another transformation it is an error.
    `backend`: "llvm", or "numba": Numba compiles the program as `export_numba` writes it, for one thread. It takes
    longer, and refuses what calls Python (docs/numba.md). `device`: "cuda", "cuda:1" or "cpu": the program runs there,
    with results there (docs/cuda.md); else where its arrays are, or `default_device`. The outermost jit decides both.

    Raises:
        UnhashableStaticError, StaticArgumentError, DonatedArgumentError, ReadOnlyArgumentError,
        BackendError, DeviceNameError, NoDeviceError.
        TracedLoopError, LoopTypeError, VariableTypeError, BranchLeavesError: a loop or branch can't be native.
    """
    if fun is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums,
            donate_argnames=donate_argnames, inline=inline, keep_unused=keep_unused, fastmath=fastmath,
            capture=capture, fallback=fallback, backend=backend, device=device,
        )  # fmt: skip
    FunctionNeededError.check("jit", fun)
    options = Options(
        fun, static_argnums, static_argnames, donate_argnums, donate_argnames, inline, keep_unused, fastmath, capture,
        fallback, backend, places.named(device),
    )  # fmt: skip
    return Jitted(fun, options)


_compiled = functools.cache(functools.partial(jit, fallback=False))
caller.compiled = lambda f: None if jit_session() is not None else _compiled(f)
