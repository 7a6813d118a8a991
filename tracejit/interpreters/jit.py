"""The jit interpreter: the only door to passes and lowering. jaxpr -> machine code -> results."""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.config import config
from tracejit.interpreters import budget, generators, messages, nans
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.expand import expand
from tracejit.ir.jaxpr import DRAWN, Jaxpr, Var
from tracejit.ir.kernel import Entering, Unsupported
from tracejit.lazily import LazyModule
from tracejit.lowering import costs, fuse, source
from tracejit.lowering.costs import Nest
from tracejit.lowering.foreign import declarations, functions
from tracejit.lowering.foreign.functions import CFunction, Result
from tracejit.lowering.foreign.functions import Input as ForeignInput
from tracejit.lowering.llvm import cpu
from tracejit.lowering.loops import printer
from tracejit.lowering.loops.nodes import Program
from tracejit.lowering.notes import Note, Notes
from tracejit.lowering.outline import Outline, outline
from tracejit.lowering.runtime import apart, blas, cache, executable, floating, pool, shell
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime.arena import ARENA
from tracejit.ops.creation import times
from tracejit.passes import pipeline
from tracejit.passes.constants import lift
from tracejit.passes.early import early
from tracejit.timeline import SWITCH, span
from tracejit.tracing import LOCK, use_trace

_kernels: Any = LazyModule("tracejit.lowering.cuda.kernels")
#: Layouts of one eagerly executed jaxpr that are compiled before others are copied to C order.
MAX_LAYOUTS = 8

#: Programs that measure themselves, and those whose nests have names for others to see.
_perf: Any = LazyModule("tracejit.interpreters.jit_perf")
_profiled: Any = LazyModule("tracejit.interpreters.jit_profiled")

Strides = tuple[tuple[int, ...], ...]
#: What takes too long, in the words of CompileBudgetError.
GOES_ON = "compiling it, which goes on in the background,"
#: Whether NumPy was told to raise, print or hand on floating-point errors, which only Python does.
errors_are_seen = floating.errors_are_seen
#: What `Compiled.caller` takes, and what its functions give for other arguments.
Input, MISS, NEAR = shell.Input, shell.MISS, shell.NEAR


class Compiled:
    """A jaxpr compiled for given input strides: call it with ndarrays of exactly the right types.

    `constants` are arrays inside of the jaxpr, which `run`, the native function, takes first.
    `aliases` maps outputs to inputs whose memory they take. `fastmath` allows what changes roundings.
    """

    count: ClassVar[int] = 0  # made in this process

    def __init__(
        self,
        jaxpr: Jaxpr,
        in_strides: Strides,
        aliases: dict[int, int] | None = None,
        fastmath: bool = False,
    ) -> None:
        self._start = time.perf_counter()
        self.source_jaxpr, self.fastmath = jaxpr, fastmath
        with use_trace(ROOT), span("passes", jaxpr.name):
            simple = pipeline.run(expand(jaxpr), fastmath=fastmath)
            self.jaxpr, self.constants = lift(early(simple) if aliases else simple)
        messages.debug(2, self.jaxpr)
        n = len(self.constants)
        self._strides = [*(operand_strides(x) for x in self.constants), *in_strides]
        self._aliases = {out: n + arg for out, arg in (aliases or {}).items()}
        self.llvm = ""
        with messages.patience(jaxpr):
            budget.check(GOES_ON, self._finish)
            self._lower()
            budget.check(GOES_ON, self._finish)
            self._load(self._waited)

    def _lower(self) -> None:
        with use_trace(ROOT), span("lowering", self.source_jaxpr.name):
            self.lowered = fuse.lower(self.jaxpr, self._strides, self._aliases)
            self.lowered.out_avals = times.restored(self.lowered.out_avals, self.source_jaxpr.outs)
            self.lowered.program.fastmath = self.fastmath
            self.llvm = machine.as_set(self._emit(self.lowered.program))
        messages.debug(4, self.llvm)

    def _emit(self, program: Program) -> str:
        return cpu.emit(program)

    def _executable(self) -> executable.Executable:
        return executable.Executable(self.lowered, self.code)

    def _load(self, make: Callable[[str], bytes]) -> None:
        with LOCK:
            self.code = machine.compile_llvm(self.llvm, make=make)
            self.run = self._executable()
            self.direct: Callable[..., Any] = self._holding(self.run)
            Compiled.count += 1
        self.compile_seconds = time.perf_counter() - self._start
        messages.tell_compiled(self.source_jaxpr, self.compile_seconds)

    def _waited(self, text: str) -> bytes:
        """The object of a module, if it is made within the budget."""
        left = budget.left()
        module = apart.started(text, left)
        if module is None:
            return machine.object_of(text)
        if not module.wait(left):
            raise budget.over(GOES_ON, functools.partial(self._finish, module))
        return module.object or machine.object_of(text)

    def _finish(self, module: apart.Apart | None = None) -> Compiled:
        """Do in another thread what is left after the budget. Nothing of it runs code of the user's, and the lock is
        only held while the object is loaded. Raises OSError if no other process can make it."""
        if not self.llvm:
            self._lower()
        module = module or apart.Apart(machine.stripped(self.llvm))
        module.wait()
        made = module.object
        if made is None:
            raise OSError("the process that compiled has failed")
        self._load(lambda _: made)
        return self

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        """The results, in new arrays (0-d ones as NumPy scalars) or those that `aliases` names."""
        if self.constants:
            arrays = (*map(operand, self.constants), *arrays)
        return self.direct(*arrays)

    def _holding(self, native: Callable[..., Any]) -> Callable[..., Any]:
        """`native` as a function that holds the generators from which the program draws."""
        if DRAWN not in self.jaxpr.effects:
            return native
        places = {v: n for n, v in enumerate(self.jaxpr.invars)}
        entered = [e for e in self.jaxpr.eqns if isinstance(e.op.kernel, Entering)]
        handles = [places[v] for e in entered for v in e.invars if type(v) is Var and v in places]
        return generators.draws(native, handles, any(e.params["saves"] for e in entered))

    def caller(
        self, inputs: Sequence[shell.Input], single: bool, python: Collection[int] = (), asks: bool = False
    ) -> Callable[..., Any]:
        """A function of arguments like `inputs`, which it checks (see `Executable.caller`)."""
        fixed = [operand(c) for c in self.constants]
        native = self.run.caller([*(Input() for _ in fixed), *inputs], single, python, asks)
        native = self._holding(native)
        return functools.partial(native, *fixed) if fixed else native

    # -- without Python

    def foreign_inputs(self, fixed: Sequence[Any], layouts: Strides) -> list[ForeignInput]:
        """The inputs of the native function to one that is called without Python: the jaxpr's, of which the first are
        `fixed`, and the others have these layouts (strides in elements)."""
        given = [operand(x) for x in (*self.constants, *fixed)]
        written = set(self.lowered.aliases.values())
        avals = [v.aval for v in self.jaxpr.invars[len(given) :]]
        ours = [
            ForeignInput(a.dtype, a.shape, element_strides(a), a, n in written) for n, a in enumerate(given)
        ]
        return ours + [
            ForeignInput(a.dtype, a.shape, strides, None, n + len(given) in written)
            for n, (a, strides) in enumerate(zip(avals, layouts, strict=True))
        ]

    def c_function(
        self, inputs: Sequence[ForeignInput], results: Sequence[Result], declaration: str
    ) -> CFunction:
        """The C function of this declaration. Raises CDeclarationError."""
        return functions.c_function(self.run, inputs, results, declarations.parse(declaration), self)

    def rows_function(
        self, inputs: Sequence[ForeignInput], name: str, places: Sequence[int] | None, count: int | None
    ) -> CFunction:
        """The C function `int32_t f(void **rows)`: see `functions.rows_function`. Messages call it `name`."""
        return functions.rows_function(self.run, inputs, self, places, count, name)

    def costs(self) -> list[Nest]:
        """What each nest of loops and call of the program does."""
        return costs.nests(self.lowered.program)

    def notes(self) -> list[Note]:
        """What the lowering decided about loops, memory, threads and libraries, and why. It is lowered again."""
        notes = Notes()
        with use_trace(ROOT):
            fuse.lower(self.jaxpr, self._strides, self._aliases, notes)
        return notes.found

    def outline(self) -> Outline:
        """Which equations share a nest of loops, and what is stored where and when. It is lowered again."""
        notes = Notes()
        with use_trace(ROOT):
            lowered = fuse.lower(self.jaxpr, self._strides, self._aliases, notes)
        return outline(lowered.program, notes)

    def as_text(self, stage: str) -> str:
        """'jaxpr', 'loops' (the loop IR), 'source' (LLVM as generated), 'llvm' (optimised), 'asm', or
        'ptx' (the kernels that a device runs, for sm_90; it needs no GPU), or 'numba' (a Python file).

        Raises ValueError for another stage, or for 'ptx' of a program of which nothing can run on a device, and
        NotPrintableError for 'numba' of one that calls Python.
        """
        texts = {
            "jaxpr": lambda: str(self.jaxpr),
            "loops": lambda: printer.format_program(self.lowered.program),
            "source": lambda: self.llvm,
            "llvm": self.code.optimized_llvm,
            "asm": self.code.asm,
            "ptx": self._ptx,
            "numba": lambda: self.printed(self.jaxpr.name or "program"),
            "numba.cuda": lambda: self.printed(self.jaxpr.name or "program", cuda=True),
        }
        if stage not in texts:
            raise ValueError(f"no stage {stage!r}: choose one of {', '.join(texts)}")
        return texts[stage]()

    def printed(
        self,
        name: str,
        inputs: Sequence[str] = (),
        fixed: Sequence[Any] = (),
        about: str = "",
        cuda: bool = False,
    ) -> str:
        """The program as a Python file for Numba, or with `cuda` for Numba's CUDA, with a function `name` of the inputs
        called `inputs`, the first of which are `fixed`; `about` says where it comes from. Raises NotPrintableError."""
        values = [operand(x) for x in (*self.constants, *fixed)]
        names = [*(f"constant_{n}" for n in range(len(self.constants))), *inputs]
        if cuda:
            low = fuse.lower(self.jaxpr, [None] * len(self.jaxpr.invars), self._aliases, device=True)
            return source.cuda.file_of(low, name, names, values, about)
        low = self.lowered
        if any(s != c_strides(a.shape) for s, a in zip(low.in_strides, low.in_avals, strict=True)):
            low = fuse.lower(self.jaxpr, [None] * len(low.in_avals), self._aliases)
        return source.module.file_of(low, name, names, values, about).text

    def _ptx(self) -> str:
        try:
            with use_trace(ROOT):
                layouts = [None] * len(self.jaxpr.invars)
                return _kernels.ptx_of(fuse.lower(self.jaxpr, layouts, self._aliases, device=True))
        except Unsupported as e:
            raise ValueError(f"this program has no CUDA kernels: {e}") from e


def operand(x: Any) -> np.ndarray:
    """A raw concrete value as an array that native code can read: native, aligned, whole-element strides."""
    a = x if type(x) is np.ndarray else np.asarray(x)
    return a if _can_be_read(a) else np.array(a, dtype=a.dtype.newbyteorder("="), order="C")


def _can_be_read(a: np.ndarray) -> bool:
    """Whether native code can read an array where it is."""
    flags, size = a.flags, a.itemsize
    if not flags.aligned or not a.dtype.isnative:
        return False
    return flags.c_contiguous or all(s % size == 0 for s in a.strides)


def operand_strides(x: Any) -> tuple[int, ...]:
    """The strides in elements of `operand(x)`, which is not made for this."""
    a = x if type(x) is np.ndarray else np.asarray(x)
    return element_strides(a) if _can_be_read(a) else c_strides(a.shape)


def element_strides(a: np.ndarray) -> tuple[int, ...]:
    """Strides in elements; those of dimensions that are never stepped along are C order's."""
    if a.flags.c_contiguous:
        return c_strides(a.shape)
    return tuple(s // a.itemsize for s in a.strides)


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    out = [1] * len(shape)
    for n in range(len(shape) - 2, -1, -1):
        out[n] = out[n + 1] * shape[n + 1]
    return tuple(out)


def temporary_bytes(jaxpr: Jaxpr) -> int:
    """The bytes that the program of `jaxpr` needs between arguments and results (see `Lowered`). It is lowered for
    arguments in C order, but not compiled."""
    with use_trace(ROOT):
        simple, _ = lift(pipeline.run(expand(jaxpr)))
        return fuse.lower(simple, [None] * len(simple.invars), {}).temporary_bytes


def measured(key: Any) -> Any:
    """The key of a program among those of a function: while a profile is on, that of its twin, which measures."""
    return ("measured", key) if SWITCH.on else key


def maker(key: Any) -> type[Compiled]:
    """What makes the program of such a key."""
    if key and key[0] == "measured":
        return _profiled.Profiled
    return _perf.Named if config.perf else Compiled


_layouts: weakref.WeakKeyDictionary[Jaxpr, dict[Any, Compiled]] = weakref.WeakKeyDictionary()


def execute(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Run `jaxpr` natively on concrete raw values; 0-d results are NumPy scalars.

    Compiled once a layout; with `config.disable_jit` every equation is evaluated instead.
    """
    if config.disable_jit or nans.one_by_one():
        with use_trace(ROOT):
            return eval_jaxpr(jaxpr, args)
    arrays = [operand(x) for x in args]
    strides = tuple([element_strides(a) for a in arrays])
    table = _layouts.get(jaxpr)
    compiled = table.get(measured(strides) if SWITCH.on else strides) if table is not None else None
    if compiled is None:
        compiled, arrays = _compile_layout(jaxpr, strides, arrays)
    outs = compiled(*arrays)
    if config.checks:
        check_finite(jaxpr, args, outs)
    return [scalar(a) for a in outs]


def check_finite(jaxpr: Jaxpr, args: Sequence[Any], outs: Sequence[Any]) -> None:
    """Raises NonFiniteError if `outs`, the results of `jaxpr` on `args`, have a NaN (or an infinity) that is
    looked for. The program runs again then, one operation at a time; only debug callbacks don't."""
    given = set(jaxpr.invars)
    rows = zip(jaxpr.outs, map(nans.found, outs), strict=True)
    bad = next((what for v, what in rows if what is not None and v not in given), None)
    if bad is None:
        return
    if DRAWN not in jaxpr.effects:  # what is drawn again are other numbers
        with nans.running_again(), use_trace(ROOT), np.errstate(all="ignore"):
            eval_jaxpr(jaxpr, args)
    raise nans.non_finite(jaxpr.name or "a compiled program", bad, args)


def _compile_layout(
    jaxpr: Jaxpr, strides: Strides, arrays: list[np.ndarray]
) -> tuple[Compiled, list[np.ndarray]]:
    with LOCK:
        table = _layouts.setdefault(jaxpr, {})
        if measured(strides) not in table and len(table) >= MAX_LAYOUTS:
            arrays = [np.ascontiguousarray(a).reshape(a.shape) for a in arrays]
            strides = tuple([element_strides(a) for a in arrays])
        key = measured(strides)
        if key not in table:
            table[key] = maker(key)(jaxpr, strides)
        return table[key], arrays


def scalar(a: np.ndarray) -> Any:
    """0-d arrays as NumPy scalars, as NumPy's functions return them."""
    return a[()] if a.ndim == 0 else a


def forget() -> None:
    """Drop the machine code and scratch memory that this module and `lowering` keep. What is on disk stays."""
    ARENA.clear()
    pool.clear()
    with LOCK:
        _layouts.clear()
        machine.forget()


def disk_cache() -> cache.Cache | None:
    """The machine code on disk, as the settings have it; None if it is off."""
    return cache.current()


def disk_cache_maker() -> str:
    """How the names of entries begin that this version makes on this processor."""
    return machine.made_by()


def blas_kernels() -> str:
    """The processor whose kernels BLAS has chosen; '' if it does not tell."""
    return blas.kernels()


def blas_package() -> str:
    """The package whose BLAS compiled code calls: "numpy" or "scipy"."""
    return "numpy" if blas.is_numpys() else "scipy"
