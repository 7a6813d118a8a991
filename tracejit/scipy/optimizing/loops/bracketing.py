"""Root finders of one number in an interval, as native loops: SciPy's brentq, brenth, ridder and bisect.

The algorithms are those of SciPy's C code (Brent 1973, chapter 4; Ridders 1979), with the same comparisons in the same
order, so that the iterations are the same. A finder starts with the values at both ends, `low` and `high`, and stops
at once where one of them is a root, or where the interval is not `wanted`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp

Function = Callable[[Any], Any]
_YES = np.bool_(True)


class Found(NamedTuple):
    """What a finder gives. `bracketed`: the signs at the ends differ, or one of them is a root."""

    root: Any
    iterations: Any
    calls: Any
    converged: Any
    bracketed: Any


class _Brent(NamedTuple):
    """The state of Brent's methods: the point before, the current one, the other end, and the last two steps."""

    pre: Any
    cur: Any
    far: Any
    f_pre: Any
    f_cur: Any
    f_far: Any
    step_pre: Any
    step: Any
    iterations: Any
    done: Any


def brent(
    f: Function, a: Any, b: Any, tolerances: tuple[Any, Any, Any], by_h: bool = False, wanted: Any = _YES
) -> Found:
    """Brent's method; `tolerances` are (xtol, rtol, maxiter), `by_h` extrapolates by a hyperbola."""
    xtol, rtol, most = tolerances
    extrapolate = _hyperbolic if by_h else _quadratic

    def going(s: _Brent) -> Any:
        return ~s.done & (s.iterations < most)

    def step(s: _Brent) -> _Brent:
        s = _turned(s)
        delta = (xtol + rtol * tnp.abs(s.cur)) / 2
        half = (s.far - s.cur) / 2
        done = (s.f_cur == 0) | (tnp.abs(half) < delta)
        tried = lax.cond(s.pre == s.far, _secant, extrapolate, s)
        usable = (tnp.abs(s.step_pre) > delta) & (tnp.abs(s.f_cur) < tnp.abs(s.f_pre))
        short = 2 * tnp.abs(tried) < tnp.minimum(tnp.abs(s.step_pre), 3 * tnp.abs(half) - delta)
        good = usable & short
        size = tnp.where(good, tried, half)
        before = tnp.where(good, s.step, half)
        moved = s.cur + tnp.where(tnp.abs(size) > delta, size, tnp.where(half > 0, delta, -delta))
        x = tnp.where(done, s.cur, moved)
        y = lax.cond(done, lambda x: s.f_cur, f, x)
        return s._replace(
            pre=s.cur,
            cur=x,
            f_pre=s.f_cur,
            f_cur=y,
            step_pre=before,
            step=size,
            iterations=s.iterations + 1,
            done=done,
        )

    low, high, ended, bracketed, root = _ends(f, a, b, wanted)
    zero = tnp.zeros(())
    start = _Brent(a, b, zero, low, high, zero, zero, zero, np.int64(0), ended | ~bracketed)
    s = lax.while_loop(going, step, start)
    calls = 2 + s.iterations - (s.done & (s.iterations > 0))
    return Found(tnp.where(ended, root, s.cur), s.iterations, calls, s.done, bracketed)


def _turned(s: _Brent) -> _Brent:
    """The other end is one at which the sign differs, and the current point is the better one of both."""
    new = (s.f_pre != 0) & (s.f_cur != 0) & (tnp.signbit(s.f_pre) != tnp.signbit(s.f_cur))
    far, f_far = tnp.where(new, s.pre, s.far), tnp.where(new, s.f_pre, s.f_far)
    width = s.cur - s.pre
    before, size = tnp.where(new, width, s.step_pre), tnp.where(new, width, s.step)
    swap = tnp.abs(f_far) < tnp.abs(s.f_cur)
    return s._replace(
        pre=tnp.where(swap, s.cur, s.pre),
        cur=tnp.where(swap, far, s.cur),
        far=tnp.where(swap, s.cur, far),
        f_pre=tnp.where(swap, s.f_cur, s.f_pre),
        f_cur=tnp.where(swap, f_far, s.f_cur),
        f_far=tnp.where(swap, s.f_cur, f_far),
        step_pre=before,
        step=size,
    )


def _slopes(s: _Brent) -> tuple[Any, Any]:
    return (s.f_pre - s.f_cur) / (s.pre - s.cur), (s.f_far - s.f_cur) / (s.far - s.cur)


def _secant(s: _Brent) -> Any:
    return -s.f_cur * (s.cur - s.pre) / (s.f_cur - s.f_pre)


def _quadratic(s: _Brent) -> Any:
    near, far = _slopes(s)
    return -s.f_cur * (s.f_far * far - s.f_pre * near) / (far * near * (s.f_far - s.f_pre))


def _hyperbolic(s: _Brent) -> Any:
    near, far = _slopes(s)
    return -s.f_cur * (s.f_far - s.f_pre) / (s.f_far * near - s.f_pre * far)


def _ends(f: Function, a: Any, b: Any, wanted: Any) -> tuple[Any, Any, Any, Any, Any]:
    """The values at both ends, whether there is nothing to do, whether there is a root, and the end that is one."""
    low, high = f(a), f(b)
    zero = (low == 0) | (high == 0)
    bracketed = zero | (tnp.signbit(low) != tnp.signbit(high))
    return low, high, zero | ~wanted, bracketed, tnp.where(low == 0, a, b)


class _Interval(NamedTuple):
    a: Any
    b: Any
    f_a: Any
    f_b: Any
    x: Any
    iterations: Any
    done: Any


def _narrowed(
    f: Function,
    ends: tuple[Any, Any],
    second: Any,
    most: Any,
    step: Callable[[_Interval], _Interval],
    calls: int,
) -> Found:
    """What `step` makes of the interval; it takes `calls` evaluations. `second` is the state's `b`."""
    low, high, ended, bracketed, root = _ends(f, *ends, _YES)
    start = _Interval(ends[0], second, low, high, ends[0], np.int64(0), ended | ~bracketed)
    s = lax.while_loop(lambda s: ~s.done & (s.iterations < most), step, start)
    return Found(tnp.where(ended, root, s.x), s.iterations, 2 + calls * s.iterations, s.done, bracketed)


def bisect(f: Function, a: Any, b: Any, tolerances: tuple[Any, Any, Any]) -> Found:
    """Halves the interval; `b` of the state is its width."""
    xtol, rtol, most = tolerances

    def step(s: _Interval) -> _Interval:
        width = s.b * 0.5
        x = s.a + width
        y = f(x)
        a = tnp.where(tnp.signbit(y) == tnp.signbit(s.f_a), x, s.a)
        done = (y == 0) | (tnp.abs(width) < xtol + rtol * tnp.abs(x))
        # Where there are no more iterations, SciPy gives the end of the interval.
        return s._replace(a=a, b=width, x=tnp.where(done, x, a), iterations=s.iterations + 1, done=done)

    return _narrowed(f, (a, b), b - a, most, step, 1)


def ridder(f: Function, a: Any, b: Any, tolerances: tuple[Any, Any, Any]) -> Found:
    """Ridders' method: the middle, and a point that an exponential through three points gives."""
    xtol, rtol, most = tolerances

    def sign(x: Any) -> Any:
        return tnp.where(x > 0, 1.0, -1.0)

    def step(s: _Interval) -> _Interval:
        half = 0.5 * (s.b - s.a)
        middle = s.a + half
        y = f(middle)
        moved = sign(s.f_b - s.f_a) * half * y / tnp.sqrt(y * y - s.f_a * s.f_b)
        # The tolerance is that of the point before, which `x` is; at first, of the end that is nearer to zero.
        near = tnp.where(s.iterations == 0, tnp.minimum(tnp.abs(s.a), tnp.abs(s.b)), tnp.abs(s.x))
        x = middle - sign(moved) * tnp.minimum(tnp.abs(moved), tnp.abs(half) - 0.5 * (xtol + rtol * near))
        z = f(x)
        between = tnp.signbit(z) != tnp.signbit(y)
        left = tnp.signbit(z) != tnp.signbit(s.f_a)
        a = tnp.where(between | ~left, x, s.a)
        f_a = tnp.where(between | ~left, z, s.f_a)
        b = tnp.where(between, middle, tnp.where(left, x, s.b))
        f_b = tnp.where(between, y, tnp.where(left, z, s.f_b))
        done = (z == 0) | (tnp.abs(b - a) < xtol + rtol * tnp.abs(x))
        return _Interval(a, b, f_a, f_b, x, s.iterations + 1, done)

    return _narrowed(f, (a, b), b, most, step, 2)


#: SciPy's name -> the finder: (f, a, b, (xtol, rtol, maxiter)) -> Found.
FINDERS: dict[str, Callable[..., Found]] = {
    "brentq": brent,
    "brenth": lambda f, a, b, tolerances: brent(f, a, b, tolerances, by_h=True),
    "bisect": bisect,
    "ridder": ridder,
}
