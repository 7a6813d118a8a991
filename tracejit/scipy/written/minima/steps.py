"""Line searches: Moré and Thuente's, and where it fails the one of Nocedal and Wright, as SciPy's minimizers try them.

J. J. Moré and D. J. Thuente, Line search algorithms with guaranteed sufficient decrease (1994): DCSRCH and DCSTEP of
MINPACK-2. J. Nocedal and S. J. Wright, Numerical Optimization, algorithms 3.5 and 3.6. Points are those of `points`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.points import either, moved, sloped, valued

_MOST = 100


def search(both: Any, at: Any, x: Any, p: Any, start: Any, limits: Any, extra: Any) -> Any:
    """A step along p from x that fulfils the strong Wolfe conditions and what `extra`, a pair of a function and its
    second argument, says of the gradient.

    `start` are (value, gradient, the value before or NaN for none); `limits` are (c1, c2, the least and the largest
    step, whether the second search knows the largest one). (Whether there is one, the step, the point.)"""
    f, g, before = start
    slope = np.dot(g, p)
    tried = 1.01 * 2 * (f - before) / slope
    guess = either((tried >= 0) & (tried < 1.0) & (slope != 0), tried, 1.0)
    found, step, at, _ = more_thuente(both, at, x, p, guess, (f, slope), limits)
    if found:
        found = extra[0](at[2], extra[1])
    if not found:
        found, step, at = _strong_wolfe(both, at, x, p, guess, (f, slope), limits, extra)
    return found, step, at


def more_thuente(
    both: Any, at: Any, x: Any, p: Any, step: Any, start: Any, limits: Any, near: Any = 1e-14
) -> Any:
    """DCSRCH: (whether there is a step, the step, the point, how many were tried). Ends of the interval that are as
    `near` as this, relatively, are one step."""
    f0, g0 = start
    c1, c2, least, most, _ = limits
    test = c1 * g0
    bracketed = np.False_
    second = np.False_
    width = np.float64(most - least)
    before = width / 0.5
    a, fa, ga = np.float64(0.0), f0, g0
    b, fb, gb = np.float64(0.0), f0, g0
    low, high = np.float64(0.0), step + 4.0 * step
    found = np.False_
    tries = np.int64(0)
    going = ~((step < least) | (step > most) | (g0 >= 0)) & np.isfinite(step)
    while going:
        at = sloped(valued(moved(both, at, x + step * p)))
        f = at[1]
        g = np.dot(at[2], p)
        tries += 1
        line = f0 + step * test
        second = second | ((f <= line) & (g >= 0))
        stuck = bracketed & ((step <= low) | (step >= high) | (high - low <= near * high))
        stuck = stuck | (tries >= _MOST) | ((step == most) & (f <= line) & (g <= test))
        stuck = stuck | ((step == least) & ((f > line) | (g >= test)))
        found = (f <= line) & (np.abs(g) <= c2 * -g0)
        if found | stuck:
            break
        less = either(~second & (f <= fa) & (f > line), test, 0.0)
        a, fa, ga, b, fb, gb, step, bracketed = safeguarded(
            (a, fa - a * less, ga - less),
            (b, fb - b * less, gb - less),
            (step, f - step * less, g - less),
            bracketed,
            (low, high),
        )
        fa, ga, fb, gb = fa + a * less, ga + less, fb + b * less, gb + less
        size = np.abs(b - a)
        step = either(bracketed & (size >= 0.66 * before), a + 0.5 * (b - a), step)
        before, width = either(bracketed, width, before), either(bracketed, size, width)
        low = either(bracketed, np.minimum(a, b), step + 1.1 * (step - a))
        high = either(bracketed, np.maximum(a, b), step + 4.0 * (step - a))
        step = np.clip(step, least, most)
        stuck = (step <= low) | (step >= high) | (high - low <= near * high)
        step = either(bracketed & stuck, a, step)
        going = np.isfinite(step)
    return found, step, at, tries


def _root(theta: Any, a: Any, b: Any) -> Any:
    """What the minimum of a cubic is computed from, and the square in it before its root is taken."""
    s = np.maximum(np.abs(theta), np.maximum(np.abs(a), np.abs(b)))
    return s, (theta / s) ** 2 - (a / s) * (b / s)


def safeguarded(best: Any, other: Any, new: Any, bracketed: Any, limits: Any) -> Any:
    """DCSTEP: both ends of the interval (step, value, slope), the next step, whether there is a minimum between.

    All cases are computed, and one is chosen."""
    (a, fa, ga), (b, fb, gb), (c, fc, gc), (low, high) = best, other, new, limits
    higher = fc > fa
    opposite = np.sign(gc) * np.sign(ga) < 0.0
    flatter = np.abs(gc) < np.abs(ga)
    right = c > a
    theta = 3.0 * (fa - fc) / (c - a) + ga + gc
    scale, inner = _root(theta, ga, gc)
    gamma = scale * np.sqrt(inner)
    # A higher value: between the minima of the cubic and of the parabola.
    up = either(c < a, -gamma, gamma)
    cubic = a + ((up - ga) + theta) / (((up - ga) + up) + gc) * (c - a)
    square = a + ((ga / ((fa - fc) / (c - a) + ga)) / 2.0) * (c - a)
    first = either(np.abs(cubic - a) <= np.abs(square - a), cubic, cubic + (square - cubic) / 2.0)
    # A lower value, and slopes of opposite signs: the farther one of the cubic's minimum and the secant's.
    down = either(right, -gamma, gamma)
    cubic = c + ((down - gc) + theta) / (((down - gc) + down) + ga) * (a - c)
    secant = c + (gc / (gc - ga)) * (a - c)
    second = either(np.abs(cubic - c) > np.abs(secant - c), cubic, secant)
    # A lower value, slopes of one sign, and a smaller slope.
    flat = scale * np.sqrt(either(inner > 0, inner, 0.0))
    flat = either(right, -flat, flat)
    r = ((flat - gc) + theta) / ((flat + (ga - gc)) + flat)
    end = either(right, high, low)
    cubic = either((r < 0) & (flat != 0), c + r * (a - c), end)
    inside = either(np.abs(cubic - c) < np.abs(secant - c), cubic, secant)
    edge = c + 0.66 * (b - c)
    inside = either(either(right, inside < edge, inside > edge), inside, edge)
    outside = np.clip(either(np.abs(cubic - c) > np.abs(secant - c), cubic, secant), low, high)
    third = either(bracketed, inside, outside)
    # A lower value, slopes of one sign, and a slope that is not smaller.
    theta = 3.0 * (fc - fb) / (b - c) + gb + gc
    scale, inner = _root(theta, gb, gc)
    gamma = scale * np.sqrt(inner)
    gamma = either(c > b, -gamma, gamma)
    cubic = c + ((gamma - gc) + theta) / (((gamma - gc) + gamma) + gb) * (b - c)
    fourth = either(bracketed, cubic, end)
    step = either(higher, first, either(opposite, second, either(flatter, third, fourth)))
    far = higher, opposite & ~higher
    ends = (
        either(higher, a, c),
        either(higher, fa, fc),
        either(higher, ga, gc),
        either(far[0], c, either(far[1], a, b)),
        either(far[0], fc, either(far[1], fa, fb)),
        either(far[0], gc, either(far[1], ga, gb)),
    )
    return *ends, step, bracketed | higher | opposite


def _strong_wolfe(both: Any, at: Any, x: Any, p: Any, step: Any, start: Any, limits: Any, extra: Any) -> Any:
    """Algorithm 3.5, and from where an interval is found on 3.6: (whether there is a step, the step, the point)."""
    f0, g0 = start
    c1, c2, _, most, limited = limits
    if limited:
        step = min(step, most)
    zooming = False
    found = False
    going = True
    tries = np.int64(0)
    # While an interval is looked for, the step before; then the best one, the other end, and the last one left out.
    low, f_low, g_low = np.float64(0.0), f0, g0
    high, f_high = np.float64(0.0), f0
    last, f_last = np.float64(0.0), f0
    while going:
        at = valued(moved(both, at, x + step * p))
        f = at[1]
        over = f > f0 + c1 * step * g0
        narrowed = False
        if not zooming and (tries == 10 or step == 0 or (limited and low > most)):
            going = False
            found = bool(tries == 10)
        elif over or (f >= f_low and (zooming or tries > 0)):
            if zooming:
                last, f_last = high, f_high
            high, f_high = step, f
            narrowed = True
        else:
            at = sloped(at)
            g = np.dot(at[2], p)
            good = bool(np.abs(g) <= -c2 * g0)
            if good:
                good = bool(extra[0](at[2], extra[1]))
            if good:
                found = True
                going = False
            elif zooming:
                if g * (high - low) >= 0:
                    last, f_last = high, f_high
                    high, f_high = low, f_low
                else:
                    last, f_last = low, f_low
                low, f_low, g_low = step, f, g
                narrowed = True
            elif g >= 0:
                high, f_high = low, f_low
                low, f_low, g_low = step, f, g
                narrowed = True
            else:
                low, f_low, g_low = step, f, g
                step = 2 * step
                if limited:
                    step = min(step, most)
                tries += 1
        if narrowed:
            if zooming:
                tries += 1
            else:
                zooming = True
                tries = np.int64(0)
            if tries > 10:
                going = False
            else:
                step = _between(tries, (low, f_low, g_low), (high, f_high), (last, f_last))
    return found, step, at


def _between(tries: Any, low: Any, high: Any, last: Any) -> Any:
    """The next step in an interval: of the cubic, the parabola, or the middle, the first that is not near an end."""
    width = high[0] - low[0]
    a, b = (high[0], low[0]) if width < 0 else (low[0], high[0])
    step = np.float64(np.nan)
    if tries > 0:
        step = _cubic(low, high, last)
        if step > b - 0.2 * width or step < a + 0.2 * width:
            step = np.float64(np.nan)
    if not np.isfinite(step):
        step = _square(low, high)
        if not np.isfinite(step) or step > b - 0.1 * width or step < a + 0.1 * width:
            step = low[0] + 0.5 * width
    return step


def _cubic(low: Any, high: Any, last: Any) -> Any:
    """The minimum of the cubic through three points with the slope of the first; not finite where there is none."""
    (a, fa, ga), (b, fb), (c, fc) = low, high, last
    db, dc = b - a, c - a
    scale = (db * dc) ** 2 * (db - dc)
    rows = np.array([[dc**2, -(db**2)], [-(dc**3), db**3]])
    pair = np.dot(rows, np.array([fb - fa - ga * db, fc - fa - ga * dc])) / scale
    inner = pair[1] * pair[1] - 3 * pair[0] * ga
    step = a + (-pair[1] + np.sqrt(inner)) / (3 * pair[0])
    return (
        step if np.isfinite(scale) and np.isfinite(pair[0]) and np.isfinite(pair[1]) else np.float64(np.nan)
    )


def _square(low: Any, high: Any) -> Any:
    """The same for the parabola through two points."""
    (a, fa, ga), (b, fb) = low, high
    db = b - a
    bend = (fb - fa - ga * db) / (db * db)
    step = a - ga / (2.0 * bend)
    return step if np.isfinite(bend) else np.float64(np.nan)
