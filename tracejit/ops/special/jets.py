"""Derivatives of the incomplete gamma function by its first parameter, in truncated Taylor arithmetic.

A jet is an array whose leading axis has the Taylor coefficients in a. The power series (DLMF 8.11.4) serves
x <= a + 1 and the continued fraction (DLMF 8.9.2, by Lentz' method) the rest, both carried out on jets: that is
automatic differentiation of the algorithms, to any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_special

Jet = np.ndarray
_EPS = 2.0**-54
_MOST_STEPS = 200_000


def multiply(p: Jet, q: Jet) -> Jet:
    return np.stack(
        [sum((p[i] * q[n - i] for i in range(n + 1)), np.zeros_like(p[0])) for n in range(len(p))]
    )


def divide(p: Jet, q: Jet) -> Jet:
    out: list[np.ndarray] = []
    for n in range(len(p)):
        known = sum((out[i] * q[n - i] for i in range(n)), np.zeros_like(p[0]))
        out.append((p[n] - known) / q[0])
    return np.stack(out)


def exponential(p: Jet) -> Jet:
    out = [np.exp(p[0])]
    for n in range(1, len(p)):
        out.append(sum((i * p[i] * out[n - i] for i in range(1, n + 1)), np.zeros_like(p[0])) / n)
    return np.stack(out)


def _jet(order: int, like: np.ndarray, *coefficients: Any) -> Jet:
    out = np.zeros((order + 1, *like.shape))
    for n, c in enumerate(coefficients[: order + 1]):
        out[n] = c
    return out


def _log_power(a: np.ndarray, x: np.ndarray, shift: int, order: int) -> Jet:
    """a log(x) - x - log gamma(a + shift) as a jet."""
    sp = scipy_special()
    slopes = [np.log(x) - sp.psi(a + shift)]
    slopes += [-sp.polygamma(n - 1, a + shift) / math.factorial(n) for n in range(2, order + 1)]
    return _jet(order, a, a * np.log(x) - x - sp.gammaln(a + shift), *slopes)


def _series(a: np.ndarray, x: np.ndarray, order: int) -> Jet:
    """1 + x/(a+1) + x**2/((a+1)(a+2)) + …, which is P(a, x) gamma(a + 1) exp(x) / x**a."""
    term = _jet(order, a, 1.0)
    total = term.copy()
    for n in range(1, _MOST_STEPS):
        term = divide(term * x, _jet(order, a, a + n, 1.0))
        total += term
        if _settled(term, total):
            break
    return total


def _settled(step: Jet, total: Jet) -> bool:
    with np.errstate(invalid="ignore"):
        return not (np.abs(step) > _EPS * np.abs(total)).any()


def _fraction(a: np.ndarray, x: np.ndarray, order: int) -> Jet:
    """1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - …)), which is Q(a, x) gamma(a) exp(x) / x**a."""
    b = _jet(order, a, x + 1 - a, -1.0)
    c = _jet(order, a, 1e300)
    d = divide(_jet(order, a, 1.0), b)
    h = d
    for n in range(1, _MOST_STEPS):
        numerator = _jet(order, a, n * (a - n), float(n))
        b = b + _jet(order, a, 2.0)
        d = divide(_jet(order, a, 1.0), b + multiply(numerator, d))
        c = b + divide(numerator, c)
        step = multiply(h, multiply(c, d)) - h
        h = h + step
        if _settled(step, h):
            break
    return h


def _split(fn: Callable[..., np.ndarray], a: Any, x: Any, edge: float) -> Any:
    """`fn(a, x, is_series)` for the two halves of the domain; `edge` at x = 0 and at infinity, NaN outside."""
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    out = np.full(a.shape, np.nan)
    inside = (a > 0) & (a < np.inf) & (x > 0) & (x < np.inf)
    out[(a > 0) & (a < np.inf) & ((x == 0) | (x == np.inf))] = edge
    for is_series in (True, False):
        where = inside & ((x <= a + 1) == is_series)
        if where.any():
            out[where] = fn(a[where], x[where], is_series)
    return out


def gammainc_derivative(a: Any, x: Any, order: int) -> Any:
    """The derivative of that order of P(a, x) = gammainc(a, x) by a."""

    def fn(a: np.ndarray, x: np.ndarray, is_series: bool) -> np.ndarray:
        shift = 1 if is_series else 0
        body = (_series if is_series else _fraction)(a, x, order)
        jet = multiply(exponential(_log_power(a, x, shift, order)), body)
        return (jet[order] if is_series else -jet[order]) * math.factorial(order)

    return _split(fn, a, x, 0.0)
