"""Step lengths along a direction: backtracking, and the search for the strong Wolfe conditions.

The algorithms are those of Nocedal and Wright, Numerical Optimization (2006), 3.1 and 3.5-3.6. Both are loops of
`lax.while_loop`, native under `jit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.api.autodiff.derivatives import value_and_grad
from tracejit.flatten_util import ravel_pytree
from tracejit.optim.scaling import needed
from tracejit.optim.transformation import GradientTransformation, filled

#: Differences of values below this part of them are rounding (Hager and Zhang 2005 call such steps approximate Wolfe).
_ROUNDING = 1e-6


class LineSearchState(NamedTuple):
    """The last step length, and the value and the gradient (a tree) at the point that it led to. `failed`: the
    conditions were not met in the number of steps allowed."""

    step_size: Any
    value: Any
    grad: Any
    failed: Any


class _Search(NamedTuple):
    """Where the search is. `lo` and `hi` are (step, value, slope), between which lies a good step once
    `found_interval` is true."""

    steps: Any
    found_interval: Any
    done: Any
    trial: Any
    lo: Any
    hi: Any
    best_grad: Any


def zoom_linesearch(
    max_steps: int = 20, decrease: float = 1e-4, curvature: float = 0.9, first_step: float = 1.0
) -> GradientTransformation:
    """Scales the updates by a step length s that meets the strong Wolfe conditions: with f the value along the line,
    `f(s) <= f(0) + decrease * s * f'(0)` and `|f'(s)| <= curvature * |f'(0)|`.

    `update(updates, state, params, value=, grad=, value_fn=)` takes the value and the gradient at `params`, and the
    function of the parameters. Where no such step is found within `max_steps` evaluations, the best with a
    decrease is taken (0 if there is none).
    """

    def update(
        updates: Any, state: Any, params: Any = None, *, value: Any, grad: Any, value_fn: Any, **extra: Any
    ) -> tuple[Any, Any]:
        needed("zoom_linesearch", params)
        point, unravel = ravel_pytree(params)
        direction = ravel_pytree(updates)[0]
        start = ravel_pytree(grad)[0]
        f0, d0 = tnp.asarray(value).astype(point.dtype), tnp.dot(start, direction)

        def at(step: Any) -> tuple[Any, Any, Any]:
            f, g = value_and_grad(value_fn)(unravel(point + step * direction))
            g = ravel_pytree(g)[0]
            return tnp.asarray(f).astype(point.dtype), tnp.dot(g, direction), g

        found = _zoom(at, f0, d0, start, max_steps, decrease, curvature, first_step)
        step, f, _ = found.lo
        new = LineSearchState(step, f, unravel(found.best_grad), ~found.done)
        return tree.map(lambda u: u * tnp.asarray(step).astype(tnp.asarray(u).dtype), updates), new

    return GradientTransformation(_fresh, update)


def _zoom(
    at: Callable[[Any], tuple[Any, Any, Any]],
    f0: Any,
    d0: Any,
    start: Any,
    max_steps: int,
    decrease: float,
    curvature: float,
    first_step: float,
) -> _Search:
    """The search from step 0, where the value is `f0`, the slope `d0`, and the gradient `start`."""
    zero = tnp.zeros_like(f0)
    begin = (zero, f0, d0)

    def enough(step: Any, f: Any, d: Any) -> Any:
        exact = f <= f0 + decrease * step * d0
        level = (tnp.abs(f - f0) <= _ROUNDING * tnp.abs(f0)) & (d <= (2 * decrease - 1) * d0)
        return (exact | level) & tnp.isfinite(f)

    def going(s: _Search) -> Any:
        return ~s.done & (s.steps < max_steps)

    def step(s: _Search) -> _Search:
        f, d, g = at(s.trial)
        here = (s.trial, f, d)
        lower = enough(*here) & ((f < s.lo[1]) | (s.steps == 0) | (tnp.abs(d) <= curvature * tnp.abs(d0)))
        good = lower & (tnp.abs(d) <= curvature * tnp.abs(d0))
        # Outward: a step that is too long ends the interval, and so does one from which the way back is downhill.
        beyond = ~s.found_interval & (~lower | (d >= 0))
        turned = s.found_interval & lower & (d * (s.hi[0] - s.lo[0]) >= 0)
        hi = _pick(lower, _pick(turned | (~s.found_interval & (d >= 0)), s.lo, s.hi), here)
        lo = _pick(lower, here, s.lo)
        inside = s.found_interval | beyond
        trial = tnp.where(inside, _between(lo, hi), 2 * s.trial)
        return _Search(s.steps + 1, inside, good, trial, lo, hi, tnp.where(lower, g, s.best_grad))

    first = zero + first_step
    # A direction that leads uphill, or nowhere, gives step 0.
    uphill = ~(d0 < 0)
    init = _Search(
        tnp.where(uphill, max_steps, 0), np.bool_(False), np.bool_(False), first, begin, begin, start
    )
    return lax.while_loop(going, step, init)


def _between(lo: Any, hi: Any) -> Any:
    """The minimum of the cubic through the values and slopes at both ends (Nocedal and Wright 3.59), if it lies well
    inside, else the middle."""
    (a, fa, da), (b, fb, db) = lo, hi
    width = b - a
    safe = tnp.where(width == 0, 1, width)
    d1 = da + db - 3 * (fb - fa) / safe
    root = d1 * d1 - da * db
    d2 = tnp.sign(safe) * tnp.sqrt(tnp.maximum(root, 0))
    below = db - da + 2 * d2
    cubic = b - width * (db + d2 - d1) / tnp.where(below == 0, 1, below)
    part = (cubic - a) / safe
    usable = (root >= 0) & (below != 0) & (part > 0.1) & (part < 0.9)  # false for NaN
    return tnp.where(usable, cubic, a + 0.5 * width)


def _pick(condition: Any, on_true: tuple[Any, ...], on_false: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tnp.where(condition, a, b) for a, b in zip(on_true, on_false, strict=True))


def backtracking_linesearch(
    max_steps: int = 30, decrease: float = 1e-4, shrink: float = 0.5, first_step: float = 1.0
) -> GradientTransformation:
    """Scales the updates by the first of `first_step * shrink**k` with `f(s) <= f(0) + decrease * s * f'(0)` (Armijo).

    `update` takes `value=`, `grad=` and `value_fn=` as that of `zoom_linesearch` does. After `max_steps` evaluations
    without such a step it is 0.
    """

    def update(
        updates: Any, state: Any, params: Any = None, *, value: Any, grad: Any, value_fn: Any, **extra: Any
    ) -> tuple[Any, Any]:
        needed("backtracking_linesearch", params)
        point, unravel = ravel_pytree(params)
        direction, start = ravel_pytree(updates)[0], ravel_pytree(grad)[0]
        f0, d0 = tnp.asarray(value).astype(point.dtype), tnp.dot(start, direction)

        def going(s: Any) -> Any:
            return ~s[2] & (s[0] < max_steps)

        def shorter(s: Any) -> Any:
            steps, length, _, _ = s
            length = tnp.where(steps == 0, length, length * shrink)
            f = tnp.asarray(value_fn(unravel(point + length * direction))).astype(point.dtype)
            done = (f <= f0 + decrease * length * d0) & tnp.isfinite(f)
            return steps + 1, length, done, f

        init = (np.int64(0), tnp.zeros_like(f0) + first_step, np.bool_(False), f0)
        _, length, done, f = lax.while_loop(going, shorter, init)
        length = tnp.where(done, length, 0)
        out = tree.map(lambda u: u * tnp.asarray(length).astype(tnp.asarray(u).dtype), updates)
        return out, LineSearchState(length, tnp.where(done, f, f0), filled(params, np.nan), ~done)

    return GradientTransformation(_fresh, update)


def value_and_grad_from_state(value_fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """`value_and_grad(value_fn)` that takes what the last line search computed at this very point from the state,
    and evaluates only where there is none (at the first step).

        value, grad = value_and_grad_from_state(loss)(params, state=state)
    """

    def call(params: Any, *args: Any, state: Any, **kwargs: Any) -> tuple[Any, Any]:
        parts = tree.leaves(state, is_leaf=lambda s: isinstance(s, LineSearchState))
        held = next((s for s in parts if isinstance(s, LineSearchState)), None)
        if held is None:
            return value_and_grad(value_fn)(params, *args, **kwargs)
        vector, unravel = ravel_pytree(held.grad)
        known = tnp.isfinite(held.value) & tnp.all(tnp.isfinite(vector))

        def compute() -> Any:
            f, g = value_and_grad(value_fn)(params, *args, **kwargs)
            return tnp.asarray(f).astype(vector.dtype), ravel_pytree(g)[0]

        value, flat = lax.cond(known, lambda: (tnp.asarray(held.value).astype(vector.dtype), vector), compute)
        return value, unravel(flat)

    return call


def _fresh(params: Any) -> LineSearchState:
    dtype = ravel_pytree(params)[0].dtype
    return LineSearchState(
        np.ones((), dtype)[()], np.full((), np.inf, dtype)[()], filled(params, np.nan), np.bool_(False)
    )
