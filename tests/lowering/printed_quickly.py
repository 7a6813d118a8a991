"""Printed programs compiled by Numba as quickly as it can, for sweeps of many: the same typing and code generation.

What printed files have in common (vector functions, LLVM's instructions, checks) is compiled once in a process; a
program calls it and does not link it again. Left out are Numba's passes for what printed kernels don't have (closures,
`with` blocks, literals to unroll, array expressions to rewrite), and the wrapper for C.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numba
from numba.core import codegen, compiler, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager

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


class _Pipeline(compiler.CompilerBase):
    def define_pipelines(self) -> list[Any]:
        self.state["library"] = _Library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        passes = PassManager("quick")
        for p in _PASSES:
            passes.add_pass(p, p.__name__)
        passes.finalize()
        return [passes]


def _njit(**options: Any) -> Any:
    return numba.njit(**(options | {"pipeline_class": _Pipeline, "no_cfunc_wrapper": True}))


_NUMBA = SimpleNamespace(njit=_njit)
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
    space |= {"numba": _NUMBA, "prange": numba.prange}
    exec(compile(text[start:].replace("numba.prange(", "prange("), "<printed>", "exec"), space)
    return space
