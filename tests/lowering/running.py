"""Running jaxprs natively, and comparing with their evaluation through NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.lowering.loop_interpreter import execute
from tracejit.config import config
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.lowering.fuse import lower
from tracejit.lowering.llvm import cpu
from tracejit.lowering.loops.nodes import Block, Copy, For, If, While
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.runtime.compile import compile_llvm
from tracejit.lowering.runtime.executable import Executable
from tracejit.passes import pipeline
from tracejit.tracing import use_trace


def trace_closed(fn: Callable[..., Any], *args: Any, passes: bool = False) -> tuple[Jaxpr, list[np.ndarray]]:
    """The jaxpr of `fn` on raw values of the types of `args`, and the arrays for its leading invars."""

    def flat(*raw: Any) -> list[Any]:
        out = fn(*raw)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    jaxpr, consts = stage(flat, [a if isinstance(a, Aval) else aval_of(a) for a in args])
    check_jaxpr(jaxpr)
    with use_trace(ROOT):
        return (pipeline.run(jaxpr) if passes else jaxpr), [np.asarray(c) for c in consts]


def trace(fn: Callable[..., Any], *args: Any, passes: bool = False) -> Jaxpr:
    """The jaxpr of a function that closes over no arrays."""
    jaxpr, consts = trace_closed(fn, *args, passes=passes)
    assert not consts
    return jaxpr


def strides_of(a: np.ndarray) -> tuple[int, ...]:
    return tuple(s // a.itemsize for s in a.strides)


def native(jaxpr: Jaxpr, *args: np.ndarray, aliases: dict[int, int] | None = None) -> list[np.ndarray]:
    """Lower, compile and run."""
    lowered = lower(jaxpr, [strides_of(a) for a in args], aliases or {})
    return run(lowered, *args)


def run(lowered: Lowered, *args: np.ndarray) -> list[np.ndarray]:
    out = Executable(lowered, compile_llvm(cpu.emit(lowered.program)))(*args)
    return list(out)


def reference(jaxpr: Jaxpr, *args: np.ndarray) -> list[Any]:
    with use_trace(ROOT), config.override(disable_jit=True):
        return eval_jaxpr(jaxpr, [np.array(a)[()] for a in args])


def check(
    fn: Callable[..., Any],
    *args: Any,
    rtol: float = 1e-12,
    aliases: dict[int, int] | None = None,
    runners: Sequence[Callable[..., list[Any]]] = (),
) -> Lowered:
    """`fn`, without and with passes, gives what its evaluation gives, in native code and interpreted."""
    arrays = [np.asarray(a) for a in args]
    for passes in (False, True):
        jaxpr, consts = trace_closed(fn, *arrays, passes=passes)
        aliased = {o: i + len(consts) for o, i in (aliases or {}).items()}
        given = [*consts, *arrays]
        want = reference(jaxpr, *given)
        for runner in runners or (execute, run):
            inputs = [like(a) for a in given]
            lowered = lower(jaxpr, [strides_of(a) for a in inputs], aliased)
            compare(runner(lowered, *inputs), want, rtol)
            for n, (a, b) in enumerate(zip(given, inputs, strict=True)):
                if n not in aliased.values():
                    np.testing.assert_array_equal(a, b)
            compare([inputs[i] for i in aliased.values()], [want[o] for o in aliased], rtol)
    return lowered


def like(a: np.ndarray) -> np.ndarray:
    """A copy with the same strides."""
    if not a.ndim or not a.size:
        return a.copy()
    low = a[tuple(slice(None, None, -1) if s < 0 else slice(None) for s in a.strides)]
    block = np.empty(
        sum((d - 1) * s for d, s in zip(low.shape, low.strides, strict=True)) // a.itemsize + 1, a.dtype
    )
    out = np.lib.stride_tricks.as_strided(block, low.shape, low.strides)
    out = out[tuple(slice(None, None, -1) if s < 0 else slice(None) for s in a.strides)]
    out[...] = a
    return out


def compare(got: Sequence[Any], want: Sequence[Any], rtol: float = 1e-12) -> None:
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape, (g.shape, w.shape)
        assert g.dtype == w.dtype, (g.dtype, w.dtype)
        if w.dtype.kind in "fc":
            scale = float(np.max(np.abs(np.where(np.isfinite(w), w, 0)), initial=0))
            np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol * scale)
        else:
            np.testing.assert_array_equal(g, w)


def nodes(block: Block) -> list[Any]:
    """All statements of a block, nested ones too."""
    out = []
    for s in block.stmts:
        out.append(s)
        if isinstance(s, For):
            out += nodes(s.body)
        elif isinstance(s, While):
            out += nodes(s.head) + nodes(s.body)
        elif isinstance(s, If):
            out += nodes(s.then) + nodes(s.orelse)
    return out


def outer_nests(lowered: Lowered) -> int:
    """The number of loops on the outermost level."""
    return sum(isinstance(s, For) for s in lowered.program.body.stmts)


def copies(lowered: Lowered) -> int:
    return sum(isinstance(s, Copy) for s in nodes(lowered.program.body))
