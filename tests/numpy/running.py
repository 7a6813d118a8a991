"""Runs a function of arrays three ways: NumPy itself, eagerly under jvp, and staged then evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit.numpy  # noqa: F401
from tracejit import dtypes
from tracejit.interpreters.autodiff.jvp import JVPTrace, split_outputs
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.tracing import Box, box, current_trace, new_trace, to_raw


def leaves(out: Any) -> list[Any]:
    """Arrays in nested tuples and lists."""
    if isinstance(out, (tuple, list)):
        return [leaf for o in out for leaf in leaves(o)]
    return [] if out is None else [out]


def boxes(args: Any, raws: Any) -> list[Any]:
    out = []
    for a, r in zip(args, raws, strict=True):
        b = box(r, weak=isinstance(a, (int, float, complex)) and not isinstance(a, np.generic))
        b.scalar = b.scalar and not isinstance(a, np.ndarray)
        out.append(b)
    return out


def arrays(args: Any) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else to_raw(a) for a in args]


def numpy(f: Callable[..., Any], *args: Any) -> list[Any]:
    """NumPy's own results and the arguments afterwards."""
    args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    return leaves(f(*args)) + [a for a in args if isinstance(a, np.ndarray)]


def eager(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Under jvp, with tangents of ones: the primal results and the arguments afterwards."""
    trace = JVPTrace(current_trace())
    raws = arrays(args)
    ins = [
        trace.tracer(r, np.ones(np.shape(r), r.dtype)[()]) if dtypes.is_inexact(r.dtype) else r for r in raws
    ]
    with new_trace(trace):
        bs = boxes(args, ins)
        outs = leaves(f(*bs)) + [b for b, a in zip(bs, args, strict=True) if isinstance(a, np.ndarray)]
        raw = [to_raw(o) for o in outs]
    return split_outputs(trace, raw)[0]


def program(f: Callable[..., Any], *args: Any) -> Any:
    """(jaxpr, constants) of `f` at these arguments."""

    def flat(*raws: Any) -> list[Any]:
        bs = boxes(args, raws)
        outs = leaves(f(*bs)) + [b for b, a in zip(bs, args, strict=True) if isinstance(a, np.ndarray)]
        return [to_raw(o) for o in outs]

    return stage(flat, [aval_of(to_raw(a)) for a in args])


def staged(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Recorded, then evaluated."""
    jaxpr, consts = program(f, *args)
    return eval_jaxpr(jaxpr, [*consts, *arrays(args)])


def check(f: Callable[..., Any], *args: Any, rtol: float = 1e-12, ways: Any = (eager, staged)) -> None:
    """All ways give NumPy's values, dtypes and shapes; `f` may write into its arguments."""
    with np.errstate(all="ignore"):
        want = numpy(f, *args)
        for way in ways:
            got = way(f, *args)
            assert len(got) == len(want), way.__name__
            for g, w in zip(got, want, strict=True):
                g, w = np.asarray(g), np.asarray(w)
                assert g.shape == w.shape, f"{way.__name__}: shape {g.shape}, NumPy's {w.shape}"
                assert g.dtype == w.dtype, f"{way.__name__}: dtype {g.dtype}, NumPy's {w.dtype}"
                tol = rtol if w.dtype.itemsize >= 8 else 1e-2 if w.dtype.itemsize == 2 else 1e-5
                np.testing.assert_allclose(g, w, rtol=tol, atol=tol, err_msg=way.__name__)


__all__ = ["Box", "check", "eager", "numpy", "program", "staged"]
