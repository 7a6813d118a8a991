"""Derivatives by differences, as SciPy takes them, of traced functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.tracing import call_user, to_raw


def approx_fprime(xk: Any, f: Callable[..., Any], epsilon: Any = 1.4901161193847656e-08, *args: Any) -> Any:
    """The derivatives of `f(x, *args)` at `xk` by forward differences of the steps `epsilon`, as SciPy takes them."""
    x = tnp.asarray(xk).astype(float)
    if x.ndim != 1:
        refuse("approx_fprime", f"xk of shape {x.shape}", "give a vector")
    steps = tnp.broadcast_to(tnp.asarray(epsilon).astype(float), x.shape)
    good = tnp.all((x + steps) - x != 0)
    fail_if(compare.eq(to_raw(good), np.False_), SolverFailedError, "A step is too small.")

    def at(x: Any) -> Any:
        with solving.unwritten(x):
            out = tnp.asarray(call_user(f, x, *args)).astype(float)
        return out.reshape(out.shape if out.size > 1 else ())

    base = at(x)
    rows = []
    for n in range(x.size):
        moved = x + steps * np.eye(x.size)[n]
        rows.append((at(moved) - base) / (moved[n] - x[n]))
    out = tnp.stack(rows)
    return out if out.ndim < 2 else out.T


def check_grad(
    func: Callable[..., Any],
    grad: Callable[..., Any],
    x0: Any,
    *args: Any,
    epsilon: Any = 1.4901161193847656e-08,
    direction: str = "all",
    rng: Any = None,
) -> Any:
    """The norm of the difference of `grad(x0, *args)` and forward differences."""
    if direction != "all":
        refuse("check_grad", f"direction={direction!r}")
    x0 = tnp.asarray(x0)
    gap = tnp.asarray(call_user(grad, x0, *args)) - approx_fprime(x0, func, epsilon, *args)
    return tnp.sqrt(tnp.sum(tnp.abs(gap**2)))
