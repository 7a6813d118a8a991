"""Ahead of time: functions traced and compiled for given types, and what they look like inside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.api.common import name_of
from tracejit.api.foreign.frozen import Frozen
from tracejit.api.introspect import ShapeDtypeStruct, eval_shape
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.errors import NotPrintableError
from tracejit.interpreters import jit as native
from tracejit.interpreters.eval import ROOT
from tracejit.ir.drawn import Drawn
from tracejit.tracing import to_raw, use_trace


class Lowering(Drawn):
    """A traced function, not yet compiled: `.compile()`, `.as_text(stage)`, `.jaxpr`."""

    def __init__(self, jitted: Any, call: Call, program: Program, consts: list[Any]) -> None:
        self.jitted = jitted
        self.program = program
        self._call = call
        self._consts = consts

    @property
    def jaxpr(self) -> Any:
        """The program as it was traced, before passes."""
        return self.program.jaxpr

    def __reduce__(self) -> Any:
        """Pickled as the function and types of arguments: it is traced again where it is read."""
        call = self._call
        return _lowered, (self.jitted, *call.rebuild([_type(x) for x in call.leaves], call.objects))

    @property
    def out_info(self) -> Any:
        """The result's structure, with shapes and dtypes (`ShapeDtypeStruct`) in the places of arrays and numbers."""
        avals = self.program.jaxpr.out_avals
        if all(kind in ("out", "array") for kind, _ in self.program.results) and self.program.store is None:
            leaves = [ShapeDtypeStruct(avals[n].shape, avals[n].dtype) for _, n in self.program.results]
            return tree.unflatten(self.program.out_tree, leaves)
        args, kwargs = self._call.rebuild([_type(x) for x in self._call.leaves], self._call.objects)
        return eval_shape(self.jitted.fun, *args, **kwargs)

    @property
    def args_info(self) -> Any:
        """The arguments, as a pair of the positional ones and of those by name, with their shapes and dtypes."""
        return self._call.rebuild([_shape(x) for x in self._call.leaves], self._call.objects)

    @property
    def in_tree(self) -> Any:
        """The structure of the arguments."""
        return tree.structure(self.args_info)

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return tree.structure(self.out_info)

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return name_of(self.jitted.fun)

    def lower(self) -> Lowering:
        """This object: what `jit(f).trace(...)` gives is lowered, too."""
        return self

    def cost_analysis(self) -> dict[str, Any]:
        """Operations and bytes, as `CompiledFunction.cost_analysis` counts them."""
        return self.compile().cost_analysis()

    def compile(self) -> CompiledFunction:
        """Compile for C-contiguous arguments."""
        strides = tuple(native.c_strides(v.aval.shape) for v in self.program.jaxpr.invars)
        with use_trace(ROOT):
            return CompiledFunction(self, self.program.compiled(strides))

    def as_text(self, stage: str = "jaxpr") -> str:
        """The program at a stage: 'jaxpr', 'loops', 'source', 'llvm' or 'asm'. Raises ValueError for another."""
        return self.compile().as_text(stage)


class CompiledFunction(Drawn):
    """A function compiled ahead of time: call it with arguments of the same types.

    Raises TypeError when called with other types or another structure.
    """

    def __init__(self, lowering: Lowering, compiled: native.Compiled) -> None:
        self._lowering = lowering
        self._compiled = compiled
        self.compile_seconds = compiled.compile_seconds
        self._frozen: Frozen | None = None
        self._rows: native.CFunction | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jitted, expected = self._lowering.jitted, self._lowering._call
        runs, given, named = jitted.where_it_runs(args, kwargs)
        call = Call(jitted.fun, jitted.options, given, named)
        if runs is not jitted or call.key() != expected.key():
            here, there = (
                f" on {f.options.device or 'the CPU'}" * (runs is not jitted) for f in (jitted, runs)
            )
            wanted, called = f"{expected.avals()}{here}", f"{call.avals()}{there}"
            raise TypeError(
                f"{name_of(jitted.fun)} was compiled for {wanted}, but called with {called} "
                "(or another structure, or other static arguments); compile it for these or call the jitted function"
            )
        return jitted(*args, **kwargs)

    def __reduce__(self) -> Any:
        """Pickled like what it was compiled from: where it is read it is compiled again, or found in the disk cache."""
        return _compiled, (self._lowering,)

    @property
    def out_info(self) -> Any:
        """The result's structure, with shapes and dtypes in the places of arrays and numbers."""
        return self._lowering.out_info

    @property
    def args_info(self) -> Any:
        """The arguments' structure, with shapes and dtypes in the places of arrays and numbers."""
        return self._lowering.args_info

    @property
    def in_tree(self) -> Any:
        """The structure of the arguments."""
        return self._lowering.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._lowering.out_tree

    # -- without Python

    def _froze(self) -> Frozen:
        lowering = self._lowering
        if self._frozen is None:
            layouts = [native.c_strides(x.shape) for x in lowering._call.raw]
            with use_trace(ROOT):
                self._frozen = Frozen(lowering.program, lowering._consts, layouts, "C")
        return self._frozen

    @property
    def address(self) -> int:
        """The address of the C function `int32_t f(void **rows)`, which is there as long as this object.

        `rows` points to pointers: to each argument (arrays in C order; numbers, too, are behind a pointer), then to
        memory for each result that is computed, in the order in which they are in the function's result. Memory that
        is written belongs to one argument or result. It gives 0, or a code where a check failed; `ctypes` raises what
        that means. It needs neither Python nor the GIL, and many threads may call it.

        Names that the function reads have the values that they had when it was lowered; the elements of captured
        arrays are read at every call. Raises ForeignFunctionError where Python would be needed.
        """
        return self.ctypes.address

    @property
    def ctypes(self) -> native.CFunction:
        """The function at `address` as ctypes calls it; see `cfunc`. Raises ForeignFunctionError."""
        if self._rows is None:
            self._rows = self._froze().rows_function()
        return self._rows

    def cfunc(self, declaration: str) -> native.CFunction:
        """A C function of this declaration, such as `"double f(double x)"`, `"double f(int n, double *x)"`, or
        `"int f(double *buffer, intptr_t size, double *result, void *user_data)"`; docs/numba.md has the rules.

        It has an `address`, `ctypes`, and `low_level_callable()` for SciPy, and can be called from Python. A call that
        fails gives NaN, or 0 if it returns an int that is no result; `check()` raises the exception.

        Raises CDeclarationError for another declaration, ForeignFunctionError where Python would be needed.
        """
        with use_trace(ROOT):
            return self._froze().c_function(declaration)

    def as_text(self, stage: str = "llvm") -> str:
        """The compiled program at a stage: 'jaxpr', 'loops', 'source', 'llvm', 'asm', 'ptx', or 'numba': a Python file
        that needs NumPy and Numba only (see `export_numba`); 'numba.cuda': one whose kernel is for Numba's CUDA."""
        cuda = stage == "numba.cuda"
        return self.printed(cuda) if cuda or stage == "numba" else self._compiled.as_text(stage)

    def printed(self, cuda: bool = False) -> str:
        """The Python file for Numba, or for its CUDA: programs of one nest of loops that threads can share. Its
        function takes the arrays and numbers among the arguments, one after another. Raises NotPrintableError."""
        lowering, program = self._lowering, self._lowering.program
        function = name_of(lowering.jitted.fun)
        if program.store is not None:
            raise NotPrintableError(function=function, problem="state of Python's that it changes")
        args = [n.strip("`") for n in program.arg_names]
        captured = [f"captured_{n}" for n in range(len(lowering._consts))]
        about = f"{function}({', '.join(map(str, lowering._call.avals()))})"
        with use_trace(ROOT):
            return self._compiled.printed(
                _plain_name(function), [*captured, *args], [to_raw(c) for c in lowering._consts], about, cuda
            )

    @property
    def jaxpr(self) -> Any:
        """The program after the passes."""
        return self._compiled.jaxpr

    def callbacks(self) -> list[str]:
        """The operations that the native program runs in Python."""
        return [c.name for c in self._compiled.lowered.callbacks]

    def notes(self) -> list[native.Note]:
        """What the lowering decided, and why, as `explain` puts it into words."""
        return self._compiled.notes()

    def cost_analysis(self) -> dict[str, Any]:
        """What a call costs, counted on the loops that were compiled.

        Returns a dict with JAX's keys: "flops", arithmetic operations on floats (a product of m x k and k x n
        matrices is 2 m k n; comparisons and moves are none), "transcendentals", calls of functions such as `exp`,
        square roots too, and "bytes accessed", between the loops and memory: arguments and results once each where
        everything fuses. "nests" has the same for each nest of loops, with the equation that it ends with, its
        operations by kind, and its arithmetic intensity in operations a byte. "unknown" counts loops whose number of
        steps only a run knows, which count as one step, and "opaque" names routines that are not counted.

        Additions of a long sum are compensated, and count so; what is computed again instead of stored counts again.
        """
        nests = self._compiled.costs()
        rows = [
            {
                "what": n.what,
                "flops": n.cost.flops,
                "transcendentals": n.cost.transcendentals,
                "bytes accessed": n.moved,
                "intensity": (n.cost.flops + n.cost.transcendentals) / n.moved if n.moved else math.inf,
                "operations": dict(n.cost.operations),
                "functions": dict(n.cost.functions),
            }
            for n in nests
        ]
        totals = {
            k: float(sum(row[k] for row in rows)) for k in ("flops", "transcendentals", "bytes accessed")
        }
        callbacks = self.callbacks()
        opaque = [name for n in nests for name in n.cost.opaque]
        return {
            **totals,
            "nests": rows,
            "unknown": sum(n.cost.unknown for n in nests),
            "opaque": [callbacks[int(o[9:])] if o.startswith("callback:") else o for o in opaque],
        }

    def memory_analysis(self) -> dict[str, int]:
        """Bytes that a call needs.

        `argument_bytes`, `output_bytes`, and `alias_bytes` of outputs that are written into arguments;
        `temporary_bytes`, of all buffers in between at their peak, with `arena_bytes` of them in the one block
        that a call borrows (the rest lies on the stack or is allocated by loops); `peak_bytes` in all. Arrays
        whose extent only a run knows (the tape of a `while_loop` in reverse) are not in these figures, nor is
        what Python functions allocate that the program calls.
        """
        lowered, jaxpr = self._compiled.lowered, self._compiled.jaxpr
        size = lambda avals: sum(a.size * a.dtype.itemsize for a in avals)  # noqa: E731
        arguments, outputs = size(jaxpr.in_avals), size(jaxpr.out_avals)
        shared = size(lowered.out_avals[n] for n in lowered.aliases)
        temporary = lowered.temporary_bytes
        return {
            "argument_bytes": arguments,
            "output_bytes": outputs,
            "alias_bytes": shared,
            "temporary_bytes": temporary,
            "arena_bytes": lowered.program.arena_bytes,
            "peak_bytes": arguments + outputs - shared + temporary,
        }


def _plain_name(function: str) -> str:
    """The last part of a function's name, '' of what has none (lambdas)."""
    name = function.rpartition(".")[2]
    return name if name.isidentifier() else "program"


def _type(x: Any) -> Any:
    """An argument without its elements, if it lies in memory as arrays usually do."""
    if type(x) is np.ndarray and x.ndim and x.flags.c_contiguous:
        return ShapeDtypeStruct(x.shape, x.dtype)
    return x


def _shape(x: Any) -> Any:
    """An array, number or ShapeDtypeStruct as its shape and dtype; any other object as it is."""
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        array = np.asarray(x)
        return ShapeDtypeStruct(array.shape, array.dtype)
    return x


def _lowered(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Lowering:
    return jitted.lower(*args, **kwargs)


def _compiled(lowering: Lowering) -> CompiledFunction:
    return lowering.compile()
