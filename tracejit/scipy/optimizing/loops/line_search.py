"""Moré and Thuente's line search as a native loop: MINPACK-2's DCSRCH, as SciPy's `line_search_wolfe1` calls it.

J. J. Moré and D. J. Thuente, Line search algorithms with guaranteed sufficient decrease (1994). The comparisons are
those of SciPy's Python code, in its order, so that the steps are the same. Nothing of it has derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp

_MOST = 100


class Ends(NamedTuple):
    """The two ends of the interval, the best one first: steps, values, slopes; whether it holds a minimum."""

    x: Any
    f_x: Any
    g_x: Any
    y: Any
    f_y: Any
    g_y: Any
    bracketed: Any


class Search(NamedTuple):
    """The state of a search. `value` and `gradient` are those at the last step that was tried, `tried`."""

    step: Any
    tried: Any
    value: Any
    gradient: Any
    ends: Ends
    least: Any
    most: Any
    width: Any
    before: Any  # the width before
    second: Any  # whether the second stage has begun
    n: Any
    done: Any
    failed: Any


def search(
    along: Callable[[Any], tuple[Any, Any, Any]], first: Any, at_zero: tuple[Any, Any, Any], limits: Any
) -> Search:
    """A step that fulfils the strong Wolfe conditions, from the first guess `first`.

    `along(step)` gives the value, the slope and the gradient; `at_zero` are those at 0; `limits` are (c1, c2, the least
    and the largest step, xtol)."""
    c1, c2, smallest, largest, xtol = limits
    f0, g0, gradient = at_zero
    test = c1 * g0
    ends = Ends(0.0 * f0, f0, g0, 0.0 * f0, f0, g0, np.bool_(False))
    wrong = (first < smallest) | (first > largest) | ~(g0 < 0)
    width = tnp.asarray(float(largest - smallest)) + 0.0 * f0
    zero = 0.0 * f0
    no = np.bool_(False)
    start = Search(
        first,
        zero,
        f0,
        gradient,
        ends,
        zero,
        first + 4.0 * first,
        width,
        2 * width,
        no,
        np.int64(0),
        no,
        wrong,
    )

    def step(s: Search) -> Search:
        f, g, gradient = along(s.step)
        enough = f0 + s.step * test
        second = s.second | ((f <= enough) & (g >= 0))
        narrow = s.most - s.least <= xtol * s.most
        stopped = s.ends.bracketed & ((s.step <= s.least) | (s.step >= s.most) | narrow)
        stopped = stopped | ((s.step == largest) & (f <= enough) & (g <= test))
        stopped = stopped | ((s.step == smallest) & ((f > enough) | (g >= test)))
        done = (f <= enough) & (tnp.abs(g) <= c2 * -g0)
        moved, ends = _narrowed(s, f, g, test, ~second & (f <= s.ends.f_x) & (f > enough))
        s = s._replace(tried=s.step, value=f, gradient=gradient, second=second, n=s.n + 1)
        s = _limited(s._replace(ends=ends), moved, (smallest, largest, xtol))
        failed = ~done & (stopped | ~tnp.isfinite(s.step) | (s.n >= _MOST))
        return s._replace(done=done, failed=failed)

    return lax.while_loop(lambda s: ~s.done & ~s.failed, step, start)


def _narrowed(s: Search, f: Any, g: Any, test: Any, modified: Any) -> tuple[Any, Ends]:
    """The next step and interval; `modified`: by the function less the line of sufficient decrease."""
    less = tnp.where(modified, test, 0.0)
    e = s.ends
    ends = e._replace(f_x=e.f_x - e.x * less, g_x=e.g_x - less, f_y=e.f_y - e.y * less, g_y=e.g_y - less)
    step, ends = _stepped(ends, s.step, f - s.step * less, g - less, s.least, s.most)
    return step, ends._replace(
        f_x=ends.f_x + ends.x * less, g_x=ends.g_x + less, f_y=ends.f_y + ends.y * less, g_y=ends.g_y + less
    )


def _limited(s: Search, step: Any, limits: tuple[Any, Any, Any]) -> Search:
    """A bisection where the interval does not get smaller fast enough, and the limits of the next step."""
    smallest, largest, xtol = limits
    e = s.ends
    size = tnp.abs(e.y - e.x)
    slow = e.bracketed & (size >= 0.66 * s.before)
    step = tnp.where(slow, e.x + 0.5 * (e.y - e.x), step)
    before, width = tnp.where(e.bracketed, s.width, s.before), tnp.where(e.bracketed, size, s.width)
    least = tnp.where(e.bracketed, tnp.minimum(e.x, e.y), step + 1.1 * (step - e.x))
    most = tnp.where(e.bracketed, tnp.maximum(e.x, e.y), step + 4.0 * (step - e.x))
    step = tnp.clip(step, smallest, largest)
    stuck = e.bracketed & ((step <= least) | (step >= most) | (most - least <= xtol * most))
    step = tnp.where(stuck, e.x, step)
    return s._replace(step=step, least=least, most=most, width=width, before=before)


def _cubic(theta: Any, a: Any, b: Any, floor: bool = False) -> Any:
    """What the minimum of a cubic is computed from: SciPy's `gamma`, without its sign."""
    s = tnp.maximum(tnp.abs(theta), tnp.maximum(tnp.abs(a), tnp.abs(b)))
    inner = (theta / s) ** 2 - (a / s) * (b / s)
    return s * tnp.sqrt(tnp.maximum(0.0, inner) if floor else inner)


def _stepped(e: Ends, step: Any, f: Any, g: Any, least: Any, most: Any) -> tuple[Any, Ends]:
    """DCSTEP: the next step by interpolation, safeguarded, and the interval with the point at `step` in it."""
    opposite = tnp.sign(g) * tnp.sign(e.g_x) < 0
    higher = f > e.f_x
    smaller = tnp.abs(g) < tnp.abs(e.g_x)
    right = step > e.x
    theta = 3.0 * (e.f_x - f) / (step - e.x) + e.g_x + g
    gamma = _cubic(theta, e.g_x, g)
    # A higher value: between the cubic's minimum and the parabola's.
    up = tnp.where(step < e.x, -gamma, gamma)
    cubic = e.x + ((up - e.g_x) + theta) / (((up - e.g_x) + up) + g) * (step - e.x)
    square = e.x + ((e.g_x / ((e.f_x - f) / (step - e.x) + e.g_x)) / 2.0) * (step - e.x)
    near = tnp.abs(cubic - e.x) <= tnp.abs(square - e.x)
    first = tnp.where(near, cubic, cubic + (square - cubic) / 2.0)
    # A lower value, and slopes of opposite signs: the farther one of the cubic's minimum and the secant's.
    down = tnp.where(right, -gamma, gamma)
    cubic = step + ((down - g) + theta) / (((down - g) + down) + e.g_x) * (e.x - step)
    secant = step + (g / (g - e.g_x)) * (e.x - step)
    second = tnp.where(tnp.abs(cubic - step) > tnp.abs(secant - step), cubic, secant)
    third = _third(e, (step, g, theta), secant, least, most)
    fourth = _fourth(e, step, f, g, least, most)
    new = tnp.where(higher, first, tnp.where(opposite, second, tnp.where(smaller, third, fourth)))
    crossed = ~higher & opposite
    return new, Ends(
        tnp.where(higher, e.x, step),
        tnp.where(higher, e.f_x, f),
        tnp.where(higher, e.g_x, g),
        tnp.where(higher, step, tnp.where(crossed, e.x, e.y)),
        tnp.where(higher, f, tnp.where(crossed, e.f_x, e.f_y)),
        tnp.where(higher, g, tnp.where(crossed, e.g_x, e.g_y)),
        e.bracketed | higher | opposite,
    )


def _third(e: Ends, at: tuple[Any, Any, Any], secant: Any, least: Any, most: Any) -> Any:
    """A lower value, slopes of one sign, and a smaller slope."""
    step, g, theta = at
    right = step > e.x
    gamma = _cubic(theta, e.g_x, g, floor=True)
    gamma = tnp.where(right, -gamma, gamma)
    r = ((gamma - g) + theta) / ((gamma + (e.g_x - g)) + gamma)
    cubic = tnp.where((r < 0) & (gamma != 0), step + r * (e.x - step), tnp.where(right, most, least))
    nearer = tnp.abs(cubic - step) < tnp.abs(secant - step)
    farther = tnp.abs(cubic - step) > tnp.abs(secant - step)
    inside = tnp.where(nearer, cubic, secant)
    edge = step + 0.66 * (e.y - step)
    inside = tnp.where(right, tnp.minimum(edge, inside), tnp.maximum(edge, inside))
    return tnp.where(e.bracketed, inside, tnp.clip(tnp.where(farther, cubic, secant), least, most))


def _fourth(e: Ends, step: Any, f: Any, g: Any, least: Any, most: Any) -> Any:
    """A lower value, slopes of one sign, and a slope that is not smaller."""
    theta = 3.0 * (f - e.f_y) / (e.y - step) + e.g_y + g
    gamma = _cubic(theta, e.g_y, g)
    gamma = tnp.where(step > e.y, -gamma, gamma)
    r = ((gamma - g) + theta) / (((gamma - g) + gamma) + e.g_y)
    outside = tnp.where(step > e.x, most, least)
    return tnp.where(e.bracketed, step + r * (e.y - step), outside)
