"""The polynomials between two points of a solution, one class for each kind that SciPy has.

They are trees of arrays, which may have a row for each step. `at(t)` is the value at a time, shape (n,); `scipys()`
makes SciPy's object of values that are known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module


def relative(before: Any, t: Any, at: Any) -> tuple[Any, Any]:
    """The length of the step from `before` to `t`, and where `at` lies in it, from 0 to 1 (0 in one of no length)."""
    h = t - before
    none = h == 0
    h = tnp.where(none, 1, h)
    return h, tnp.where(none, 0, (at - before) / h)


def _of_powers(rows: Any, x: Any) -> Any:
    """rows[0] * x + rows[1] * x**2 + ..."""
    out = rows[-1] * x
    for n in range(rows.shape[0] - 2, -1, -1):
        out = (out + rows[n]) * x
    return out


def _made(module: str, name: str, *args: Any) -> Any:
    return getattr(getattr(scipy_module("integrate")._ivp, module), name)(*args)


class Pair(NamedTuple):
    """Of RK23 and RK45: `rows` are the columns of SciPy's `Q`."""

    before: Any
    t: Any
    y: Any
    rows: Any

    def at(self, t: Any) -> Any:
        h, x = relative(self.before, self.t, t)
        return self.y + h * _of_powers(self.rows, x)

    def scipys(self) -> Any:
        return _made("rk", "RkDenseOutput", self.before, self.t, self.y, self.rows.T)


class Dop853(NamedTuple):
    """Of DOP853: `rows` is SciPy's `F`."""

    before: Any
    t: Any
    y: Any
    rows: Any

    def at(self, t: Any) -> Any:
        _, x = relative(self.before, self.t, t)
        out = tnp.zeros_like(self.y)
        for n in range(self.rows.shape[0]):
            out = (out + self.rows[self.rows.shape[0] - 1 - n]) * (x if n % 2 == 0 else 1 - x)
        return self.y + out

    def scipys(self) -> Any:
        return _made("rk", "Dop853DenseOutput", self.before, self.t, self.y, self.rows)


class Radau(NamedTuple):
    """Of Radau: `rows` are the columns of SciPy's `Q`, which has the length of the step in it."""

    before: Any
    t: Any
    y: Any
    rows: Any

    def at(self, t: Any) -> Any:
        _, x = relative(self.before, self.t, t)
        return self.y + _of_powers(self.rows, x)

    def scipys(self) -> Any:
        return _made("radau", "RadauDenseOutput", self.before, self.t, self.y, self.rows.T)


class Bdf(NamedTuple):
    """Of BDF: Newton's polynomial through the last points, of the `order` first `differences`, for steps of `h`."""

    before: Any
    t: Any
    h: Any
    order: Any
    differences: Any

    def at(self, t: Any) -> Any:
        out, factor = self.differences[0], 1.0
        none = self.h == 0
        h = tnp.where(none, 1, self.h)
        for n in range(self.differences.shape[0] - 1):
            factor = factor * (t - (self.t - h * n)) / (h * (n + 1))
            out = out + tnp.where((n < self.order) & ~none, factor, 0.0) * self.differences[n + 1]
        return out

    def scipys(self) -> Any:
        order = int(self.order)
        return _made(
            "bdf", "BdfDenseOutput", self.before, self.t, self.h, order, self.differences[: order + 1]
        )


def known(x: Any) -> bool:
    """Whether `x` is an array or a number whose value is known."""
    return isinstance(x, (np.ndarray, np.generic, int, float))
