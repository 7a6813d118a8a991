"""Newton's, Halley's and the secant method, and fixed points, as native loops with SciPy's steps.

They begin at a guess, and need no interval. Of an array of guesses all elements take steps until each of them is done.
Where SciPy warns or raises (a slope of zero, two equal values), the result is not `regular`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp

Function = Callable[[Any], Any]
_YES, _NO, _NONE = np.bool_(True), np.bool_(False), np.int64(0)


class Tolerances(NamedTuple):
    """When two points are the same, and how many steps there are at most."""

    absolute: Any
    relative: Any
    steps: Any


class Found(NamedTuple):
    """What a method gives; while it runs, `done` says whether it goes on."""

    root: Any
    iterations: Any
    calls: Any
    converged: Any
    regular: Any
    done: Any
    point: Any  # where it stands


def newton(f: Function, slope: Function, bend: Function | None, x: Any, t: Tolerances) -> Found:
    """Newton's method, or Halley's where the second derivative is given."""

    def step(s: Found) -> Found:
        x = s.point
        value, rise = f(x), slope(x)
        zero, flat = value == 0, (value != 0) & (rise == 0)
        size = value / tnp.where(rise == 0, 1.0, rise)
        calls = 2
        if bend is not None:
            calls = 3
            bent = size * bend(x) / tnp.where(rise == 0, 1.0, rise) / 2
            size = tnp.where(tnp.abs(bent) < 1, size / tnp.where(tnp.abs(bent) < 1, 1.0 - bent, 1.0), size)
        new = tnp.where(zero | flat, x, x - size)
        near = ~zero & ~flat & tnp.isclose(new, x, rtol=t.relative, atol=t.absolute)
        return Found(
            new,
            s.iterations + tnp.where(zero, 0, 1),
            s.calls + tnp.where(zero, 1, tnp.where(flat, 2, calls)),
            zero | near,
            ~flat,
            zero | flat | near,
            new,
        )

    return _run(step, Found(x, _NONE, _NONE, _NO, _YES, _NO, x), t)


def _run(step: Callable[[Found], Found], start: Found, t: Tolerances) -> Found:
    return lax.while_loop(lambda s: ~s.done & (s.iterations < t.steps), step, start)


class _Two(NamedTuple):
    """The last two points, and the values there."""

    before: Any
    now: Any
    f_before: Any
    f_now: Any


def secant(f: Function, x: Any, second: Any, t: Tolerances) -> Found:
    """The secant method from two points; `second` is None for one beside `x`."""
    if second is None:
        second = x * (1 + 1e-4)
        second = second + tnp.where(second >= 0, 1e-4, -1e-4)
    values = f(x), f(second)
    swap = tnp.abs(values[1]) < tnp.abs(values[0])
    pairs = [(tnp.where(swap, b, a), tnp.where(swap, a, b)) for a, b in ((x, second), values)]

    def step(s: Found) -> Found:
        p = s.point
        same = p.f_now == p.f_before
        larger = tnp.abs(p.f_now) > tnp.abs(p.f_before)
        one = p.f_before / tnp.where(larger, p.f_now, 1.0)
        other = p.f_now / tnp.where(larger | same, 1.0, p.f_before)
        by_one = (-one * p.now + p.before) / tnp.where(larger, 1 - one, 1.0)
        by_other = (-other * p.before + p.now) / tnp.where(larger | same, 1.0, 1 - other)
        new = tnp.where(same, (p.now + p.before) / 2.0, tnp.where(larger, by_one, by_other))
        near = ~same & tnp.isclose(new, p.now, rtol=t.relative, atol=t.absolute)
        done = same | near
        value = lax.cond(done, lambda x: p.f_now, f, new)
        return Found(
            new,
            s.iterations + 1,
            s.calls + tnp.where(done, 0, 1),
            near,
            ~(same & (p.now != p.before)),
            done,
            _Two(p.now, new, p.f_now, value),
        )

    start = _Two(pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1])
    return _run(step, Found(x, _NONE, np.int64(2), _NO, _YES, _NO, start), t)


# ---------------------------------------------------------------- arrays of guesses


def newtons(f: Function, slope: Function, bend: Function | None, x: Any, t: Tolerances) -> Found:
    """The same of all elements of an array. `converged` is of all of them."""

    def step(s: Found) -> Found:
        x, failing = s.point
        value, rise = f(x), slope(x)
        none = ~tnp.any(value != 0)
        sloped = (rise != 0) & ~none
        size = value / tnp.where(sloped, rise, 1.0)
        if bend is not None:
            size = size / (1.0 - 0.5 * size * bend(x) / tnp.where(sloped, rise, 1.0))
        new = tnp.where(sloped, x - size, x)
        failing = tnp.where(sloped, tnp.abs(size) >= t.absolute, failing) & ~none
        done = none | ~tnp.any(sloped & failing)
        stuck = tnp.any(~sloped & failing)
        return Found(
            new, s.iterations + 1, s.calls, done & ~tnp.any(failing), ~done | ~stuck, done, (new, failing)
        )

    return _run(step, Found(x, _NONE, _NONE, _NO, _YES, _NO, (x, tnp.ones(x.shape, bool))), t)


def secants(f: Function, x: Any, t: Tolerances) -> Found:
    """The secant method of all elements of an array."""
    gap = float(np.finfo(float).eps) ** 0.33
    second = x * (1 + gap) + tnp.where(x >= 0, gap, -gap)

    def step(s: Found) -> Found:
        p, failing, active = s.point
        sloped = p.f_now != p.f_before
        size = (p.f_now * (p.now - p.before)) / tnp.where(sloped, p.f_now - p.f_before, 1.0)
        middle = (p.now + p.before) / 2.0
        still = tnp.where(active | ~tnp.any(sloped), middle, p.before)
        new = tnp.where(sloped, p.now - size, still)
        failing = tnp.where(sloped, tnp.abs(size) >= t.absolute, failing)
        done = ~tnp.any(sloped & failing)
        value = lax.cond(done, lambda x: p.f_now, f, new)
        stuck = tnp.any(~sloped & failing)
        after = _Two(p.now, new, p.f_now, value), failing, active & sloped
        return Found(new, s.iterations + 1, s.calls, done & ~tnp.any(failing), ~done | ~stuck, done, after)

    yes = tnp.ones(x.shape, bool)
    start = _Two(x, second, f(x), f(second)), yes, yes
    return _run(step, Found(x, _NONE, _NONE, _NO, _YES, _NO, start), t)


def fixed(f: Function, x: Any, tolerance: Any, steps: Any, accelerated: bool) -> Found:
    """A point that `f` gives for itself, by its steps alone, or `accelerated` by Aitken's rule."""

    def step(s: Found) -> Found:
        x = s.point
        new = f(x)
        if accelerated:
            next_ = f(new)
            bent = next_ - 2.0 * new + x
            new = tnp.where(bent != 0, x - tnp.square(new - x) / tnp.where(bent != 0, bent, 1.0), next_)
        error = tnp.where(x != 0, (new - x) / tnp.where(x != 0, x, 1.0), new)
        done = tnp.all(tnp.abs(error) < tolerance)
        return Found(new, s.iterations + 1, s.calls, done, _YES, done, new)

    return _run(step, Found(x, _NONE, _NONE, _NO, _YES, _NO, x), Tolerances(0, 0, steps))
