"""The equations of `solve_bvp` on a mesh, of the functions that the user gives, and their matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.ops.building import helpers
from tracejit.scipy.hosting.likeness import refuse
from tracejit.scipy.integrating.boundaries import chains
from tracejit.scipy.solving import ask
from tracejit.tracing import to_raw, wrap


class Values(NamedTuple):
    """What the equations give at a guess: the residuals in the middle of the intervals and at the ends, the states in
    the middle, and the slopes at the nodes and in the middle."""

    inner: Any
    ends: Any
    middle: Any
    f: Any
    f_middle: Any


class Problem:
    """The functions of a boundary value problem, and its singular term."""

    def __init__(self, fun: Any, bc: Any, k: int, fun_jac: Any, bc_jac: Any, a: Any, s: Any) -> None:
        self.fun, self.bc, self.k = fun, bc, k
        self.fun_jac, self.bc_jac, self.a, self.s = fun_jac, bc_jac, a, s
        if s is not None:
            one = np.eye(s.shape[0])
            self.begins = one - tnp.linalg.pinv(s) @ s
            self.first = tnp.linalg.pinv(one - s)

    def _more(self, p: Any) -> tuple[Any, ...]:
        return (p,) if self.k else ()

    def slopes(self, x: Any, y: Any, p: Any, nodes: bool = False) -> Any:
        """The right-hand side at places, (n, m); at the nodes the first place is where the singular term is."""
        f = floats(ask(self.fun, x, y, *self._more(p)))
        if f.shape != y.shape:
            raise ValueError(f"`fun` return is expected to have shape {y.shape}, but actually has {f.shape}.")
        if self.s is None:
            return f
        if nodes:
            rest = f[:, 1:] + self.s @ y[:, 1:] / (x[1:] - self.a)
            return tnp.concatenate([(self.first @ f[:, 0])[:, None], rest], axis=1)
        return f + self.s @ y / (x - self.a)

    def at_ends(self, ya: Any, yb: Any, p: Any) -> Any:
        out = floats(ask(self.bc, ya, yb, *self._more(p)))
        if out.shape != (ya.size + self.k,):
            raise ValueError(
                f"`bc` return is expected to have shape {(ya.size + self.k,)}, but actually has {out.shape}."
            )
        return out

    def begin(self, y: Any) -> Any:
        """The states with a first one that the singular term allows."""
        if self.s is None:
            return y
        return tnp.concatenate([(self.begins @ y[:, 0])[:, None], y[:, 1:]], axis=1)

    def values(self, x: Any, y: Any, p: Any) -> Values:
        h = x[1:] - x[:-1]
        f = self.slopes(x, y, p, True)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        f_middle = self.slopes(x[:-1] + 0.5 * h, middle, p)
        inner = y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * f_middle)
        return Values(inner, self.at_ends(y[:, 0], y[:, -1], p), middle, f, f_middle)

    # ---- the matrices

    def _slope_matrices(self, x: Any, y: Any, p: Any, nodes: bool) -> tuple[Any, Any]:
        """The derivatives of the slopes by the states (m, n, n) and by the parameters (m, n, k)."""
        n, m = y.shape
        if self.fun_jac is not None:
            out = ask(self.fun_jac, x, y, *self._more(p))
            by_y, by_p = (floats(z) for z in out) if self.k else (floats(out), tnp.zeros((n, 0, m)))
            if self.s is not None:
                rest = by_y + self.s[:, :, None] / tnp.where(x == self.a, 1.0, x - self.a)
                first = (self.first @ by_y[:, :, 0])[:, :, None]
                by_y = tnp.concatenate([first, rest[:, :, 1:]], axis=2) if nodes else rest
        else:
            by_y = _columns(
                lambda y: self.slopes(x, y, p, nodes), y, [tnp.broadcast_to(e, (n, m)) for e in _units(n)]
            )
            by_p = _columns(lambda p: self.slopes(x, y, p, nodes), p, np.eye(self.k))
            by_p = by_p if self.k else tnp.zeros((n, 0, m))
        return tnp.moveaxis(by_y, 2, 0), tnp.moveaxis(by_p, 2, 0)

    def _end_matrices(self, ya: Any, yb: Any, p: Any) -> tuple[Any, Any, Any]:
        n = ya.size
        if self.bc_jac is not None:
            out = ask(self.bc_jac, ya, yb, *self._more(p))
            by_a, by_b, *by_p = map(floats, out)
            return by_a, by_b, by_p[0] if self.k else tnp.zeros((n, 0))
        by_p = _columns(lambda p: self.at_ends(ya, yb, p), p, np.eye(self.k)) if self.k else tnp.zeros((n, 0))
        return (
            _columns(lambda z: self.at_ends(z, yb, p), ya, np.eye(n)),
            _columns(lambda z: self.at_ends(ya, z, p), yb, np.eye(n)),
            by_p,
        )

    def chain(self, x: Any, y: Any, p: Any, middle: Any) -> chains.Chain:
        """The matrices of the collocation equations."""
        h = (x[1:] - x[:-1])[:, None, None]
        f, f_p = self._slope_matrices(x, y, p, True)
        g, g_p = self._slope_matrices(x[:-1] + 0.5 * (x[1:] - x[:-1]), middle, p, False)
        one = np.eye(y.shape[0])
        a = -one - h / 6 * (f[:-1] + 2 * g) - h**2 / 12 * (g @ f[:-1])
        b = one - h / 6 * (f[1:] + 2 * g) + h**2 / 12 * (g @ f[1:])
        g_p = g_p + 0.125 * h * (g @ (f_p[:-1] - f_p[1:]))
        q = -h / 6 * (f_p[:-1] + f_p[1:] + 4 * g_p)
        return chains.Chain(a, b, q, *self._end_matrices(y[:, 0], y[:, -1], p))


def floats(x: Any) -> Any:
    made = tnp.stack([tnp.asarray(v) for v in x]) if isinstance(x, (list, tuple)) else tnp.asarray(x)
    if dtypes.is_complex(made.dtype):
        refuse("solve_bvp", "complex values", "solve for real and imaginary parts")
    return made.astype(float)


def _units(n: int) -> list[Any]:
    return [e[:, None] for e in np.eye(n)]


def _columns(f: Callable[[Any], Any], x: Any, ways: Any) -> Any:
    """The derivatives of f at `x` in these directions, along a new second axis."""
    found = []
    for way in ways:
        _, slopes = jvp_flat(lambda raw: [to_raw(f(wrap(raw)))], [to_raw(x)], [to_raw(tnp.asarray(way))])
        found.append(wrap(helpers.instantiate(slopes[0])))
    return tnp.stack(found, axis=1) if found else None
