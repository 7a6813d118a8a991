"""Quantiles of continuous distributions that have no formula: roots of the distribution function, all at once.

Chandrupatla's method (1997) narrows a bracket of each element: by inverse quadratic interpolation where that is safe,
else by bisection. Derivatives are those of the root (`custom_root`), so that they need no more than the function's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.scipy.solving import number_solve

_EPS = float(np.finfo(np.float64).eps)
#: Absolute accuracy, as far as SciPy's own search goes.
_CLOSE = 1e-15
_FIRST, _GROWS = 10.0, 10.0
#: Steps, at most.
_MOST = 900


def inverse(fn: Callable[[Any], Any], q: Any, low: Any, high: Any, falls: bool = False) -> Any:
    """x between `low` and `high` with fn(x) = q, for each element of q; fn rises, or `falls`."""

    def off(x: Any) -> Any:
        return q - fn(x) if falls else fn(x) - q

    def solve(_: Any, guess: Any) -> Any:
        return _root(off, low + 0 * guess, high + 0 * guess)

    return custom_root(off, tnp.zeros(tnp.shape(q)), solve, number_solve)


def _root(off: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """In one loop, so that `off` is compiled once: first the left end is moved until it is left of the root, then the
    right one, then what is between them is narrowed."""
    open_left, open_right = tnp.logical_not(tnp.isfinite(low)), tnp.logical_not(tnp.isfinite(high))
    left = tnp.where(open_left, tnp.minimum(-_FIRST, tnp.where(open_right, 0.0, high)), low)
    right = tnp.where(open_right, tnp.maximum(_FIRST, left), high)

    def going(s: Any) -> Any:
        narrow = (_width(s)[1] > 1) & (s["f1"] != 0) & (s["f2"] != 0)
        return tnp.where(s["phase"] < 2, True, narrow)

    def step(s: Any) -> Any:
        phase = s["phase"]
        inner = s["x1"] + s["t"] * (s["x2"] - s["x1"])
        x = tnp.where(phase == 0, s["x2"], tnp.where(phase == 1, s["x1"], inner))
        f = off(x)
        moves = (
            (phase == 0) & open_left & (f > 0) & (x > -1e300),
            (phase == 1) & open_right & (f < 0) & (x < 1e300),
        )
        ends = _moved(s, x, f, *moves)
        narrowed = _narrowed(s, x, f)
        new = {k: tnp.where(phase < 2, ends[k], narrowed[k]) for k in narrowed}
        new["phase"] = tnp.where((phase < 2) & ~moves[0] & ~moves[1], phase + 1, phase)
        active = going(s)
        return {**{k: tnp.where(active, v, s[k]) for k, v in new.items()}, "n": s["n"] + 1}

    start = {
        "x1": right,
        "x2": left,
        "x3": left,
        "t": 0.5 + 0 * left,
        "phase": tnp.zeros(tnp.shape(left), int),
    }
    start |= dict.fromkeys(("f1", "f2", "f3"), 1 + 0 * left) | {"n": 0}
    end = lax.while_loop(lambda s: tnp.any(going(s)) & (s["n"] < _MOST), step, start)
    at_end = tnp.where(end["f2"] == 0, end["x2"], _width(end)[0])
    return tnp.where(end["f1"] == 0, end["x1"], at_end)


def _moved(s: Any, x: Any, f: Any, too_high: Any, too_low: Any) -> dict[str, Any]:
    """The ends when `f` is known at one of them: where that is on the wrong side of the root, it becomes the other end,
    and the search goes on from there."""
    known = {k: s[k] for k in ("x1", "x2", "f1", "f2", "t")}
    at_left = s["phase"] == 0
    known["x2"] = tnp.where(too_high, x - (_GROWS - 1) * tnp.abs(x), tnp.where(too_low, x, s["x2"]))
    known["x1"] = tnp.where(too_low, x + (_GROWS - 1) * tnp.abs(x), tnp.where(too_high, x, s["x1"]))
    known["f2"] = tnp.where(at_left | too_low, f, s["f2"])
    known["f1"] = tnp.where(at_left, s["f1"], f)
    return known | {"x3": known["x2"], "f3": known["f2"]}


def _width(s: Any) -> tuple[Any, Any]:
    """The end that is nearer to the root, and the distance of both in units of what is wanted."""
    best = tnp.where(tnp.abs(s["f1"]) < tnp.abs(s["f2"]), s["x1"], s["x2"])
    return best, tnp.abs(s["x2"] - s["x1"]) / (4 * _EPS * tnp.abs(best) + _CLOSE)


def _narrowed(s: Any, x: Any, f: Any) -> dict[str, Any]:
    """The bracket with the new point x, and where to look next."""
    same = tnp.sign(f) == tnp.sign(s["f1"])
    new = {"x3": tnp.where(same, s["x1"], s["x2"]), "f3": tnp.where(same, s["f1"], s["f2"])}
    new |= {"x2": tnp.where(same, s["x2"], s["x1"]), "f2": tnp.where(same, s["f2"], s["f1"])}
    new |= {"x1": x, "f1": f}
    least = 0.5 / tnp.maximum(_width(new)[1], 1.0)
    return new | {"t": tnp.clip(_share(**new), least, 1 - least)}


def _share(x1: Any, f1: Any, x2: Any, f2: Any, x3: Any, f3: Any) -> Any:
    """Where between x1 (0) and x2 (1) to look next."""
    xi, phi = _over(x1 - x2, x3 - x2), _over(f1 - f2, f3 - f2)
    inside = (xi > 0) & (xi < 1)
    xi = tnp.where(inside, xi, 0.5)
    safe = inside & (1 - tnp.sqrt(1 - xi) < phi) & (phi < tnp.sqrt(xi))
    first = _over(f1, f1 - f2) * _over(f3, f3 - f2)
    second = _over(x3 - x1, x2 - x1) * _over(f1, f3 - f1) * _over(f2, f2 - f3)
    return tnp.where(safe, first - second, 0.5)


def _over(a: Any, b: Any) -> Any:
    return a / tnp.where(b == 0, 1.0, b)
