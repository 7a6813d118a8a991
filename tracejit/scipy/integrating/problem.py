"""An initial value problem, as the methods of `solve_ivp` see it: its slopes, tolerances and first step.

A method is a subclass. Its points are named tuples with the fields t, y, before (the time of the point before), size
(the length of the next step, absolute), rejected (whether the last trial was), tried (how many there were), and others.

    start(t, y, first_step)      the first point
    trial(p)                     the next point, or the same one with other settings where the step was refused
    moved(p)                     whether the last trial gave another point
    piece(p)                     the polynomial between the last two points, one of `pieces`
    counts(p)                    how many slopes, matrices of derivatives, and factorizations there were
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.solving import ask

#: Steps that are tried before a solution is given up.
MOST_STEPS = 10_000_000


class Problem:
    """An initial value problem, and the method that solves it."""

    #: Whether at a time between two pieces the later one holds (`alt_segment` of SciPy).
    later = False
    #: The order of the error that steps are controlled by.
    order: int

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        dtype: Any,
        end: Any,
        direction: Any,
        vectorized: bool,
    ) -> None:
        self.fun = fun
        self.args = args
        self.dtype = dtype
        self.end = end
        self.direction = direction
        self.vectorized = vectorized

    def tolerances(self, rtol: Any, atol: Any, max_step: Any) -> None:
        self.rtol = np.maximum(rtol, 100 * np.finfo(float).eps)
        self.atol = atol
        self.max_step = max_step

    def slope(self, t: Any, y: Any) -> Any:
        given = y[:, None] if self.vectorized else y
        out = ask(self.fun, t, given, *self.args)
        made = (
            tnp.stack([tnp.asarray(x) for x in out]) if isinstance(out, (list, tuple)) else tnp.asarray(out)
        )
        made = made.astype(self.dtype)
        return made if made.shape == y.shape else tnp.broadcast_to(made.reshape(-1), y.shape)

    def norm(self, x: Any) -> Any:
        """The root of the mean of |x|**2."""
        return tnp.sqrt(tnp.sum(tnp.abs(x) ** 2)) / x.size**0.5

    def scale(self, *ys: Any) -> Any:
        largest = tnp.abs(ys[0])
        for y in ys[1:]:
            largest = tnp.maximum(largest, tnp.abs(y))
        return self.atol + largest * self.rtol

    def first_step(self, t: Any, y: Any, f: Any) -> Any:
        """The length of the first step (Hairer et al., II.4), for one more evaluation."""
        interval = tnp.abs(self.end - t)
        scale = self.scale(y)
        d0, d1 = self.norm(y / scale), self.norm(f / scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = tnp.minimum(tnp.where(small, 1e-6, 0.01 * d0 / tnp.where(small, 1, d1)), interval)
        ahead = self.slope(t + h0 * self.direction, y + h0 * self.direction * f)
        d2 = self.norm((ahead - f) / scale) / h0
        steepest = tnp.maximum(d1, d2)
        flat = steepest <= 1e-15
        usual = (0.01 / tnp.where(flat, 1, steepest)) ** (1 / (self.order + 1))
        h1 = tnp.where(flat, tnp.maximum(1e-6, h0 * 1e-3), usual)
        return tnp.minimum(tnp.minimum(100 * h0, h1), tnp.minimum(interval, self.max_step))

    def least(self, t: Any) -> Any:
        """The shortest step that there is at `t`."""
        return 10 * tnp.abs(tnp.nextafter(lax.stop_gradient(t), self.direction * np.inf) - t)

    def going(self, p: Any) -> Any:
        """Whether the end is not reached, and can be."""
        return (self.direction * (self.end - p.t) > 0) & ~self.stuck(p)

    def stuck(self, p: Any) -> Any:
        """Whether steps have become shorter than the distance of numbers."""
        return (p.rejected & (p.size < self.least(p.t))) | (p.tried >= MOST_STEPS)

    def advance(self, p: Any, to: Any) -> Any:
        """The first point that is at the time `to`, or beyond."""
        return lax.while_loop(lambda p: (self.direction * (to - p.t) > 0) & ~self.stuck(p), self.trial, p)

    def between(self, p: Any, t: Any) -> Any:
        """The solution at `t`, between the last two points."""
        return self.piece(p).at(t)

    # ---- what methods have

    def start(self, t: Any, y: Any, first_step: Any) -> Any:
        """The first point, with the length of the first step."""
        raise NotImplementedError

    def trial(self, p: Any) -> Any:
        """The point after one attempt of a step, which may be rejected."""
        raise NotImplementedError

    def moved(self, p: Any) -> Any:
        return ~p.rejected

    def piece(self, p: Any) -> Any:
        """The polynomial between the last two points (`pieces`)."""
        raise NotImplementedError

    def counts(self, p: Any) -> tuple[Any, Any, Any]:
        """SciPy's `nfev`, `njev` and `nlu`."""
        raise NotImplementedError

    def dense_calls(self) -> int:
        """How many slopes the polynomial of a step takes."""
        return 0
