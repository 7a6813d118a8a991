"""jit: functions that are traced once a signature, compiled, and guarded."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import frontend, tree
from tracejit.api.common import argument_names, is_weak, name_of
from tracejit.api.introspect import ShapeDtypeStruct, leaf_aval
from tracejit.api.programs import JitCapture, Program, const_sources
from tracejit.api.running import jit_session, our_errors, run_user
from tracejit.config import config
from tracejit.errors import StaticArgumentError, UnhashableStaticError
from tracejit.interpreters import jit as native
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import StageTrace, make_args
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import Value
from tracejit.tracing import Box, box, current_trace, is_tracing, new_trace, to_raw, use_trace

#: Signatures of a function with a fast path.
MAX_FAST = 256
#: Programs kept for one signature, told apart by their guards.
MAX_VARIANTS = 8


class _Bounded:
    """Evicts the programs that were made first when there are more than `config.cache_size` in the process."""

    def __init__(self) -> None:
        self._order: OrderedDict[tuple[int, Any], Any] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, owner: Jitted, key: Any) -> None:
        with self._lock:
            self._order[(id(owner), key)] = owner
            while len(self._order) > config.cache_size:
                (_, old), victim = self._order.popitem(last=False)
                victim.forget(old)


_bounded = _Bounded()


class Jitted:
    """A compiled function. See `jit`. `trace_count` and `compile_seconds` count what it cost."""

    def __init__(self, fun: Callable[..., Any], options: Options) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.options = options
        self.trace_count = 0
        self._programs: dict[Any, list[Program]] = {}
        self._fast: dict[Any, FastCall] = {}
        self._lock = threading.RLock()
        self._last_reason: str | None = None

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    def __repr__(self) -> str:
        return f"<jitted {name_of(self.fun)}>"

    # -- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and self._fast and not is_tracing() and not config.disable_jit:
            key = fast_key(args)
            fast = self._fast.get(key) if key is not None else None
            if fast is not None:
                consts = fast.constants()
                if consts is not None:
                    return fast.run(consts, args)
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if config.disable_jit or jit_session() is not None:
            return run_user(self.fun, args, kwargs)
        call = Call(self, args, kwargs)
        program, consts = self._program(call)
        if is_tracing() or any(isinstance(x, Value) for x in (*call.raw, *map(_raw_const, consts))):
            return program.bind(consts, call.raw, call.leaves, self.options.inline)
        if program.written and program.overlaps([*consts, *call.raw]):
            return self.fun(*args, **kwargs)
        out = program.run(consts, call.leaves)
        if program.simple and not kwargs and not call.static:
            self._remember(program, args)
        return out

    def _remember(self, program: Program, args: tuple[Any, ...]) -> None:
        """Let the next call with such arguments skip flattening and layout."""
        key = fast_key(args)
        if key is not None:
            if len(self._fast) >= MAX_FAST:
                self._fast.clear()
            self._fast[key] = FastCall(program, args)

    def _program(self, call: Call) -> tuple[Program, list[Any]]:
        """The program for the call's signature whose guards hold, traced if there is none."""
        key = call.key()
        found = self._find(key)
        if found is None:
            with self._lock:
                found = self._find(key) or self._trace(call, key)
        return found

    def _find(self, key: Any) -> tuple[Program, list[Any]] | None:
        for program in self._programs.get(key, ()):
            consts = program.constants()
            if consts is not None:
                return program, consts
        return None

    def _trace(self, call: Call, key: Any) -> tuple[Program, list[Any]]:
        variants = self._programs.get(key, [])
        if variants and config.debug >= 1:
            print(f"tracejit: {name_of(self.fun)} is traced again: {variants[0].guards.why()}", file=sys.stderr)
        program, consts = trace_program(self, call)
        self.trace_count += 1
        if not any(isinstance(c, Value) for c in map(_raw_const, consts)):
            self._programs[key] = [program, *variants][:MAX_VARIANTS]
            _bounded.add(self, key)
        self._fast.clear()
        return program, consts

    def forget(self, key: Any) -> None:
        """Drop the programs of one signature."""
        self._programs.pop(key, None)
        self._fast.clear()

    def clear_cache(self) -> None:
        """Drop everything that was traced and compiled."""
        self._programs.clear()
        self._fast.clear()

    # -- ahead of time

    def lower(self, *args: Any, **kwargs: Any) -> Lowering:
        """Trace for the types of the arguments (arrays or `ShapeDtypeStruct`s) without running."""
        call = Call(self, args, kwargs)
        program, _ = self._program(call)
        return Lowering(self, call, program)

    def trace(self, *args: Any, **kwargs: Any) -> Lowering:
        """The same as `lower`: tracing and lowering are one step here."""
        return self.lower(*args, **kwargs)


def _raw_const(c: Any) -> Any:
    return c.read() if type(c) is Box else c


class FastCall:
    """A program and its machine code for flat arguments of one layout."""

    __slots__ = ("arrays", "convert", "direct", "native", "program", "scalar")

    def __init__(self, program: Program, args: tuple[Any, ...]) -> None:
        self.program = program
        self.arrays = program.guards.arrays
        self.convert = any(type(a) is not np.ndarray for a in args)
        operands = [native.operand(a) for a in args]
        # Captured arrays may change their layout between calls; arguments have it in the key.
        self.direct = not program.const_sources and program.single and all(map(_same, operands, args))
        self.native = program.compiled(tuple(map(native.element_strides, operands))).run.call if self.direct else None
        self.scalar = self.direct and program.jaxpr.outs[0].aval.shape == ()

    def constants(self) -> list[Any] | None:
        if not self.direct:
            return self.program.constants()
        return [] if self.arrays() is not None else None

    def run(self, consts: list[Any], args: tuple[Any, ...]) -> Any:
        if not self.direct:
            return self.program.run(consts, args)
        out = self.native(*(map(np.asarray, args) if self.convert else args))[0]
        return out[()] if self.scalar else out


def _same(operand: Any, arg: Any) -> bool:
    return operand is arg or type(arg) is not np.ndarray


def fast_key(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A cheap signature for flat array arguments; None for anything else."""
    key: list[Any] = []
    for a in args:
        t = type(a)
        if t is np.ndarray:
            key.append(a.dtype)
            key.append(a.shape)
            key.append(a.strides)
        elif t is float or t is int or t is bool:
            key.append(t)
        else:
            return None
    return tuple(key)


class Options:
    """jit's options, positions resolved against the function's signature."""

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: Any,
        static_argnames: Any,
        donate_argnums: Any,
        donate_argnames: Any,
        inline: bool,
        keep_unused: bool,
    ) -> None:
        self.static_nums, self.static_names = _resolve(fun, static_argnums, static_argnames, "static_argnums")
        self.donate_nums, self.donate_names = _resolve(fun, donate_argnums, donate_argnames, "donate_argnums")
        self.inline = inline
        self.keep_unused = keep_unused


def _resolve(fun: Any, nums: Any, names: Any, option: str) -> tuple[frozenset[int], frozenset[str]]:
    """Argument numbers and names, each implied by the other where the signature tells."""
    number_set = {nums} if isinstance(nums, int) else set(nums or ())
    name_set = {names} if isinstance(names, str) else set(names or ())
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return frozenset(number_set), frozenset(name_set)
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for n in list(number_set):
        if not variadic and not -len(positional) <= n < len(positional):
            problem = f"takes {len(positional)} positional arguments"
            raise StaticArgumentError(option=option, value=n, function=name_of(fun), problem=problem)
        if n < 0:
            number_set = {*number_set - {n}, n + len(positional)}
    for name in name_set:
        if name not in {p.name for p in parameters} and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            problem = "has no such parameter"
            raise StaticArgumentError(
                option=option.replace("nums", "names"), value=name, function=name_of(fun), problem=problem
            )
    number_set |= {positional.index(n) for n in name_set if n in positional}
    name_set |= {positional[n] for n in number_set if n < len(positional)}
    return frozenset(number_set), frozenset(name_set)


class Call:
    """One call's arguments, sorted into dynamic leaves and static values."""

    def __init__(self, jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        options = jitted.options
        self.jitted = jitted
        self.num_args = len(args)
        self.static = {n: args[n] for n in options.static_nums if n < len(args)}
        self.static_kwargs = {k: v for k, v in kwargs.items() if k in options.static_names}
        self.dynamic = tuple([a for n, a in enumerate(args) if n not in self.static])
        self.kwargs = {k: v for k, v in kwargs.items() if k not in self.static_kwargs}
        self.leaves, self.structure = tree.flatten((self.dynamic, self.kwargs))
        self.weak = [is_weak(x) for x in self.leaves]
        self.raw = [x if isinstance(x, ShapeDtypeStruct) else to_raw(x, "an argument") for x in self.leaves]

    def key(self) -> tuple[Any, ...]:
        """The signature; Raises UnhashableStaticError."""
        items = [*self.static.items(), *sorted(self.static_kwargs.items())]
        for name, value in items:
            try:
                hash(value)
            except TypeError as e:
                fun = self.jitted.fun
                label = argument_names(fun, name + 1)[name] if isinstance(name, int) else f"`{name}`"
                raise UnhashableStaticError(
                    argument=label, function=name_of(fun), type=type(value).__name__
                ) from e
        statics = tuple((name, type(value), value) for name, value in items)
        avals = tuple([_signature(x) for x in self.raw])
        aliasing = _aliasing(self.leaves)
        return self.structure, statics, avals, tuple(self.weak), self.num_args, aliasing

    def rebuild(self, boxes: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with the dynamic leaves replaced by `boxes`."""
        dynamic, kwargs = tree.unflatten(self.structure, boxes)
        it = iter(dynamic)
        args = tuple(self.static[n] if n in self.static else next(it) for n in range(self.num_args))
        return args, {**kwargs, **self.static_kwargs}

    def avals(self) -> list[Aval]:
        return [leaf_aval(x) if isinstance(x, ShapeDtypeStruct) else aval_of(x) for x in self.raw]

    def names(self) -> list[str]:
        """How messages call each leaf."""
        positions = [n for n in range(self.num_args) if n not in self.static]
        all_names = argument_names(self.jitted.fun, self.num_args)
        out = [
            f"{all_names[n]}{path}"
            for n, a in zip(positions, self.dynamic, strict=True)
            for path, _ in tree.flatten_with_paths(a)[0]
        ]
        return out + [f"`{k}`{p}" for k in sorted(self.kwargs) for p, _ in tree.flatten_with_paths(self.kwargs[k])[0]]

    def donated(self) -> tuple[int, ...]:
        """Positions among the leaves of donated arrays."""
        options = self.jitted.options
        if not options.donate_nums and not options.donate_names:
            return ()
        positions = [n for n in range(self.num_args) if n not in self.static]
        flags = [n in options.donate_nums for n, a in zip(positions, self.dynamic, strict=True) for _ in tree.leaves(a)]
        flags += [k in options.donate_names for k in sorted(self.kwargs) for _ in tree.leaves(self.kwargs[k])]
        return tuple(n for n, f in enumerate(flags) if f)


def _signature(x: Any) -> Any:
    a = leaf_aval(x) if isinstance(x, ShapeDtypeStruct) else aval_of(x)
    return a.shape, a.dtype


def _aliasing(leaves: list[Any]) -> tuple[int, ...]:
    """For boxes given twice (inside another trace): which leaves are the same object."""
    if not any(type(x) is Box for x in leaves):
        return ()
    first: dict[int, int] = {}
    return tuple(first.setdefault(id(x), n) if type(x) is Box else n for n, x in enumerate(leaves))


def trace_program(jitted: Jitted, call: Call) -> tuple[Program, list[Any]]:
    """Run the user's function on boxes and record the program; its constants' present values too."""
    fun = jitted.fun
    trace = StageTrace(current_trace(), name_of(fun), eager_constants=True)
    capture = JitCapture()
    capture.trace = trace
    session = frontend.Session(capture)
    args = make_args(trace, call.avals())
    boxes: list[Any] = []
    with new_trace(trace):
        for n, (v, w) in enumerate(zip(args, call.weak, strict=True)):
            boxes.append(box(v, w, origin=n))
        positional, kwargs = call.rebuild(boxes)
        with our_errors():
            out = session.run(fun, positional, kwargs)
        leaves, out_tree = tree.flatten(out)
        results, outs = _sort_results(leaves, boxes, name_of(fun))
        guards = session.guards()
        captured = [(p, b) for p, b in capture.boxes if b.storage.version > 0]
        changed = [n for n, b in enumerate(boxes) if b.storage.version > 0 and _is_array(call.leaves[n])]
        news = [*(b.storage.value for _, b in captured), *(boxes[n].storage.value for n in changed)]
        jaxpr, consts = trace.freeze(args, [*outs, *news])
    arrays = guards.arrays()
    assert arrays is not None, "guards hold right after tracing"
    sources = const_sources(consts, arrays)
    written = _written_inputs(captured, changed, consts, len(consts))
    donated = tuple(len(consts) + n for n in call.donated() if _is_array(call.leaves[n]))
    program = Program(
        fun, jaxpr, sources, guards, out_tree, results, written, call.names(), donated, capture.snapshots
    )
    return program, [arrays[s] if type(s) is int else s.value for s in sources]


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, Box, ShapeDtypeStruct))


def _written_inputs(captured: list[Any], changed: list[int], consts: list[Any], offset: int) -> list[int]:
    """Positions among the program's inputs of what was written."""
    position = {id(c): n for n, c in enumerate(consts)}
    return [*(position[id(to_raw(p.read()))] for p, _ in captured), *(offset + n for n in changed)]


def _sort_results(leaves: list[Any], boxes: list[Any], name: str) -> tuple[list[tuple[str, Any]], list[Any]]:
    """What each leaf of the result is, and the raw outputs among them."""
    by_id = {id(b): n for n, b in enumerate(boxes)}
    results: list[tuple[str, Any]] = []
    outs: list[Any] = []
    for x in leaves:
        if id(x) in by_id:
            results.append(("arg", by_id[id(x)]))
        elif type(x) in (bool, int, float, complex):
            results.append(("value", x))
        else:
            results.append(("out", len(outs)))
            outs.append(to_raw(x, f"the result of {name}"))
    return results, outs


class Lowering:
    """A traced function, not yet compiled: `.compile()`, `.as_text(stage)`, `.jaxpr`."""

    def __init__(self, jitted: Jitted, call: Call, program: Program) -> None:
        self.jitted = jitted
        self.program = program
        self._call = call

    @property
    def jaxpr(self) -> Any:
        """The program as it was traced, before passes."""
        return self.program.jaxpr

    def compile(self) -> CompiledFunction:
        """Compile for C-contiguous arguments."""
        strides = tuple(native.c_strides(v.aval.shape) for v in self.program.jaxpr.invars)
        with use_trace(ROOT):
            return CompiledFunction(self, self.program.compiled(strides))

    def as_text(self, stage: str = "jaxpr") -> str:
        """The program at a stage: 'jaxpr', 'loops', 'source', 'llvm' or 'asm'. Raises ValueError for another."""
        return self.compile().as_text(stage)


class CompiledFunction:
    """A function compiled ahead of time: call it with arguments of the same types.

    Raises TypeError when called with other types or another structure.
    """

    def __init__(self, lowering: Lowering, compiled: native.Compiled) -> None:
        self._lowering = lowering
        self._compiled = compiled
        self.compile_seconds = compiled.compile_seconds

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jitted, expected = self._lowering.jitted, self._lowering._call
        call = Call(jitted, args, kwargs)
        if call.key() != expected.key():
            raise TypeError(
                f"{name_of(jitted.fun)} was compiled for {expected.avals()}, but called with {call.avals()} "
                "(or another structure, or other static arguments); compile it for these or call the jitted function"
            )
        return jitted(*args, **kwargs)

    def as_text(self, stage: str = "llvm") -> str:
        """The compiled program at a stage: 'jaxpr', 'loops', 'source', 'llvm' or 'asm'."""
        return self._compiled.as_text(stage)

    @property
    def jaxpr(self) -> Any:
        """The program after the passes."""
        return self._compiled.jaxpr

    def callbacks(self) -> list[str]:
        """The operations that the native program runs in Python."""
        return [c.name for c in self._compiled.lowered.callbacks]

    def memory_analysis(self) -> dict[str, int]:
        """Bytes: arguments, outputs, and temporary memory at its peak."""
        program = self._compiled.lowered.program
        jaxpr = self._compiled.jaxpr
        size = lambda avals: sum(a.size * a.dtype.itemsize for a in avals)  # noqa: E731
        return {
            "argument_bytes": size(jaxpr.in_avals),
            "output_bytes": size(jaxpr.out_avals),
            "temporary_bytes": program.arena_bytes,
        }


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    inline: bool = False,
    keep_unused: bool = False,
) -> Any:
    """Compile `fun`, a function of arrays (or trees of them) written against NumPy or tracejit.numpy.

    The function is traced once for each combination of structure, shapes, dtypes and static values, and
    again when something it reads through names (a global, a cell, an attribute) has changed. Arrays it
    captures are read at every call. Arguments that it updates in place are updated in the caller's arrays.

    `static_argnums`, `static_argnames`: arguments whose values are compiled in; they must be hashable.
    `donate_argnums`, `donate_argnames`: arrays whose memory the results may take.
    `inline`: inside another jit, leave no trace of the call in the program. `keep_unused` is accepted
    for compatibility: unused arguments are never read.

    Works as `jit(f)`, `@jit` and `@jit(static_argnums=1)`.

    Raises:
        UnhashableStaticError, StaticArgumentError, DonatedArgumentError, ReadOnlyArgumentError.
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            inline=inline,
            keep_unused=keep_unused,
        )
    if not callable(fun):
        raise TypeError(f"jit takes a function, not {type(fun).__name__}")
    options = Options(
        fun, static_argnums, static_argnames, donate_argnums, donate_argnames, inline, keep_unused
    )
    return Jitted(fun, options)
