"""Piecewise polynomials in Bernstein's basis: BPoly."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tracejit import numpy as tnp
from tracejit.scipy.hosting.likeness import floats, maker, refuse
from tracejit.scipy.interpolating.piecewise import PPoly


class BPoly(PPoly):
    """`sum(c[a, i] * comb(k, a) * s**a * (1 - s)**(k - a))` for s, from 0 to 1, in the interval i."""

    def in_intervals(self, t: Any, nu: int, i: Any) -> Any:
        """The derivatives at places that lie in the intervals `i`."""
        c, rest = self.c[:, i], (-1, *[1] * (self.c.ndim - 2))
        h = (self.x[i + 1] - self.x[i]).reshape(rest)
        s = (t - self.x[i]).reshape(rest) / h
        if nu >= c.shape[0]:
            return tnp.zeros_like(c[0]) * s
        for _ in range(nu):
            c = (c.shape[0] - 1) * (c[1:] - c[:-1]) / h
        k = c.shape[0] - 1
        return sum(c[a] * float(math.comb(k, a)) * s**a * (1 - s) ** (k - a) for a in range(k + 1))

    def _like(self, c: Any, extrapolate: Any) -> Any:
        return BPoly.made(c=c, x=self.x, extrapolate=extrapolate, axis=self.axis)

    def _widths(self) -> Any:
        return tnp.diff(self.x).reshape(-1, *[1] * (self.c.ndim - 2))

    def derivative(self, nu: int = 1) -> Any:
        """The piecewise polynomial of the `nu`-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            k = c.shape[0] - 1
            c = k * tnp.diff(c, axis=0) / self._widths() if k else tnp.zeros_like(c)
        return self._like(c, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> Any:
        """The piecewise polynomial of the `nu`-th integral, continuous, 0 at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            sums = tnp.cumsum(c, axis=0) / c.shape[0] * self._widths()
            before = tnp.concatenate(
                [tnp.zeros_like(sums[-1:, :1]), tnp.cumsum(sums[-1:], axis=1)[:, :-1]], axis=1
            )
            c = tnp.concatenate([tnp.zeros_like(sums[:1]), sums]) + before
        return self._like(c, False if self.extrapolate == "periodic" else self.extrapolate)

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """SciPy has none."""
        raise AttributeError("'BPoly' object has no attribute 'roots'")

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """SciPy has none."""
        raise AttributeError("'BPoly' object has no attribute 'solve'")

    @maker
    def from_power_basis(cls, pp: Any, extrapolate: Any = None) -> Any:
        """The same piecewise polynomial, of one in powers."""
        k = pp.c.shape[0] - 1
        h = tnp.diff(pp.x).reshape(-1, *[1] * (pp.c.ndim - 2))
        rows: list[Any] = [tnp.zeros_like(pp.c[0])] * (k + 1)
        for a in range(k + 1):
            factor = pp.c[a] / math.comb(k, k - a) * h ** (k - a)
            for j in range(k - a, k + 1):
                rows[j] = rows[j] + factor * float(math.comb(j, k - a))
        kept = pp.extrapolate if extrapolate is None else extrapolate
        return BPoly.made(c=tnp.stack(rows), x=pp.x, extrapolate=kept, axis=pp.axis)

    @maker
    def from_derivatives(cls, xi: Any, yi: Any, orders: Any = None, extrapolate: Any = None) -> Any:
        """The piecewise polynomial with the values and derivatives `yi[i]` at `xi[i]`."""
        if orders is not None:
            refuse("BPoly.from_derivatives", "`orders`")
        x = tnp.asarray(xi).astype(float)
        data = [floats(y) for y in yi]
        if x.size != len(data):
            raise ValueError("xi and yi need to have the same length")
        if any(not y.ndim for y in data):
            raise ValueError("Using a 1-D array for y? Please .reshape(-1, 1).")
        most = max(a.shape[0] + b.shape[0] for a, b in itertools.pairwise(data))
        rows = [_joined(x[i + 1] - x[i], data[i], data[i + 1], most) for i in range(len(data) - 1)]
        return BPoly(tnp.swapaxes(tnp.stack(rows), 0, 1), x, extrapolate)


def _joined(h: Any, left: Any, right: Any, most: int) -> Any:
    """The `most` coefficients of the polynomial with these values and derivatives at its ends."""
    n, first, last = left.shape[0] + right.shape[0], [], []
    for q in range(left.shape[0]):
        value = left[q] / float(math.perm(n - 1, q)) * h**q
        first.append(value - sum((-1.0) ** (j + q) * math.comb(q, j) * first[j] for j in range(q)))
    for q in range(right.shape[0]):
        value = right[q] / float(math.perm(n - 1, q)) * (-1.0) ** q * h**q
        last.append(value - sum((-1.0) ** (j + 1) * math.comb(q, j + 1) * last[q - 1 - j] for j in range(q)))
    c = [*first, *last[::-1]]
    for k in range(n - 1, most - 1):  # the same polynomial, as one of a higher degree
        ends = [0.0 * c[0], *c, 0.0 * c[0]]
        c = [ends[a] * (a / (k + 1)) + ends[a + 1] * (1 - a / (k + 1)) for a in range(k + 2)]
    return tnp.stack(c)
