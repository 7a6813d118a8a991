"""Printed programs compiled by Numba as quickly as it can, for sweeps of many: the same typing and code generation.

What printed files have in common (vector functions, LLVM's instructions, checks) is compiled once in a process; a
program calls it and does not link it again. Left out are Numba's passes for what printed kernels don't have (closures,
`with` blocks, literals to unroll, array expressions to rewrite), and the wrapper for C.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numba
from numba.core import codegen, compiler, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import PassManager
from numba.core.typing.context import BaseContext

from tracejit.lowering.source.module import Source

_WORD = re.compile(r"[A-Za-z_]\w*")
_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _Library(codegen.JITCodeLibrary):
    """Code whose calls of other libraries stay calls: the linker finds these where they have been loaded."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.called: list[Any] = []

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        self.called.append(library)

    def _verify_declare_only_symbols(self) -> None:
        """That everything is linked."""


_resolve = BaseContext.resolve_function_type
#: Types of calls of functions that are the same in all programs: of operators, say.
_typed: dict[Any, Any] = {}


def _resolve_once(context: BaseContext, func: Any, args: Any, kws: Any) -> Any:
    """Numba's method, which goes through all forms of a function at each call, once for the same types."""
    if type(func) is not types.Function:
        return _resolve(context, func, args, kws)
    key = func, tuple(args), tuple(kws.items())
    if _typed.get(key) is None:
        _typed[key] = _resolve(context, func, args, kws)
    return _typed[key]


class _Pipeline(compiler.CompilerBase):
    def compile_extra(self, func: Any) -> Any:
        with mock.patch.object(BaseContext, "resolve_function_type", _resolve_once):
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        self.state["library"] = _Library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        passes = PassManager("quick")
        for p in _PASSES:
            passes.add_pass(p, p.__name__)
        passes.finalize()
        return [passes]


def _njit(**options: Any) -> Any:
    return numba.njit(**(options | {"pipeline_class": _Pipeline, "no_cfunc_wrapper": True}))


def _frugal(**options: Any) -> Any:
    """The same for kernels that only use the memory of their arguments: nobody counts references to it."""
    return _njit(**options, _nrt=False)


#: Numba for kernels that make arrays, and for those that don't.
_NUMBA = {True: SimpleNamespace(njit=_njit), False: SimpleNamespace(njit=_frugal)}
#: What pieces of files define, by their text and the objects that the names in it stand for.
_known: dict[Any, dict[str, Any]] = {}


def loaded(source: Source) -> dict[str, Any]:
    """What a printed file defines."""
    text = source.text.replace("IN_ORDER = False", "IN_ORDER = True")
    start = text.rindex("@numba.njit(", 0, text.index(f"def {source.kernel}("))
    space: dict[str, Any] = {"__name__": "printed"}
    # Without the docstring, which is each program's own.
    for piece in text[:start].partition('"""\n\n')[2].split("\n\n\n"):
        named = [(word, id(space[word])) for word in dict.fromkeys(_WORD.findall(piece)) if word in space]
        key = piece, *named
        if key not in _known:
            own = dict(space)
            exec(compile(piece, "<printed>", "exec"), own)
            _known[key] = {name: x for name, x in own.items() if name not in space}
        space.update(_known[key])
    compiled = text[: text.index("\n\n\n", start)]
    makes_arrays = "np.empty(" in compiled or "numba.objmode(" in compiled
    space |= {"numba": _NUMBA[makes_arrays], "prange": numba.prange}
    exec(compile(text[start:].replace("numba.prange(", "prange("), "<printed>", "exec"), space)
    return space
