"""BFGS as a native loop, with the steps of SciPy's `_minimize_bfgs` (Nocedal and Wright, Numerical Optimization, 6.1).

Where the first line search finds no step SciPy tries another one. This loop ends there as not `found`, and SciPy itself
starts again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.optimizing.loops.line_search import search

#: Options that the loop takes, and SciPy's defaults.
DEFAULTS: dict[str, Any] = {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "xrtol": 0, "c1": 1e-4, "c2": 0.9}


class Minimum(NamedTuple):
    """A point, and how SciPy's result tells of it."""

    x: Any
    value: Any
    gradient: Any
    inverse: Any  # the inverse of the Hessian, by the updates
    before: Any  # the value of the point before
    iterations: Any
    calls: Any
    done: Any
    status: Any
    found: Any


def takes(options: dict[str, Any]) -> bool:
    """Whether these options have a native form."""
    if not 0 < options.get("c1", DEFAULTS["c1"]) < options.get("c2", DEFAULTS["c2"]) < 1:
        return False  # SciPy refuses them
    silent = {k: v for k, v in options.items() if k not in DEFAULTS}
    return not any(bool(v) if k in ("disp", "return_all") else v is not None for k, v in silent.items())


def minimum(both: Callable[[Any], tuple[Any, Any]], x: Any, options: dict[str, Any]) -> Minimum:
    """The minimum that BFGS finds from `x`; `both(x)` gives the value and the gradient."""
    o = DEFAULTS | {k: v for k, v in options.items() if k in DEFAULTS}
    most = o["maxiter"] if o["maxiter"] is not None else 200 * x.size

    def size(v: Any) -> Any:
        return _norm(v, o["norm"])

    def step(m: Minimum) -> Minimum:
        direction = -(m.inverse @ m.gradient)
        slope = m.gradient @ direction
        guess = tnp.minimum(1.0, 1.01 * 2 * (m.value - m.before) / tnp.where(slope == 0, 1.0, slope))
        guess = tnp.where((slope == 0) | (guess < 0), 1.0, guess)

        def along(a: Any) -> tuple[Any, Any, Any]:
            value, gradient = both(m.x + a * direction)
            return value, gradient @ direction, gradient

        s = search(along, guess, (m.value, slope, m.gradient), (o["c1"], o["c2"], 1e-100, 1e100, 1e-14))
        moved = s.tried * direction
        x = m.x + moved
        last = size(s.gradient)
        small = (last <= o["gtol"]) | (s.tried * size2(direction) <= o["xrtol"] * (o["xrtol"] + size2(x)))
        lost = ~tnp.isfinite(s.value)
        inverse = _updated(m.inverse, moved, s.gradient - m.gradient)
        stops = small | lost
        new = Minimum(
            x,
            s.value,
            s.gradient,
            tnp.where(stops, m.inverse, inverse),
            m.value,
            m.iterations + 1,
            m.calls + s.n,
            stops | ~(last > o["gtol"]),
            tnp.where(~small & lost, 2, 0),
            s.done,
        )
        kept = m._replace(calls=m.calls + s.n, found=s.done, done=np.bool_(True) | m.done)
        return Minimum(*(tnp.where(s.done, a, b) for a, b in zip(new, kept, strict=True)))

    def size2(v: Any) -> Any:
        return tnp.sqrt(v @ v)

    value, gradient = both(x)
    near, yes = ~(size(gradient) > o["gtol"]), np.bool_(True)
    before = value + size2(gradient) / 2
    none = np.int64(0)
    start = Minimum(x, value, gradient, tnp.eye(x.size), before, none, np.int64(1), near, none, yes)
    m = lax.while_loop(lambda m: ~m.done & (m.iterations < most), step, start)
    nan = tnp.isnan(size(m.gradient)) | tnp.isnan(m.value) | tnp.any(tnp.isnan(m.x))
    status = tnp.where(m.iterations >= most, 1, tnp.where(nan, 3, 0))
    return m._replace(status=tnp.where(m.status == 2, 2, status))


def _norm(v: Any, order: Any) -> Any:
    size = tnp.abs(v)
    if order == np.inf:
        return tnp.max(size)
    if order == -np.inf:
        return tnp.min(size)
    return tnp.sum(size**order) ** (1.0 / order)


def _updated(inverse: Any, s: Any, y: Any) -> Any:
    """The inverse with the curvature along the step `s`, over which the gradient changes by `y`."""
    product = y @ s
    rho = tnp.where(product == 0, 1000.0, 1.0 / tnp.where(product == 0, 1.0, product))
    # (1 - rho s y') H (1 - rho y s') + rho s s', without products of matrices.
    hy, yh = inverse @ y, y @ inverse
    outer = s[:, None] * s[None, :]
    mixed = s[:, None] * yh[None, :] + hy[:, None] * s[None, :]
    return inverse - rho * mixed + (rho * rho * (y @ hy) + rho) * outer
