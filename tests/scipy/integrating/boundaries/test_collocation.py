"""The collocation equations of boundary value problems: SciPy's residuals, and their matrices by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import _bvp

from tracejit.scipy.integrating.boundaries.collocation import Problem

RNG = np.random.default_rng(4)
X = np.cumsum(RNG.uniform(0.5, 1.5, 4))
Y, P = RNG.normal(size=(3, 4)), np.array([0.3, 1.7])
S = RNG.normal(size=(3, 3))


def fun(x: Any, y: Any, p: Any) -> Any:
    return np.stack([y[1] * p[0] + x, y[2] * y[0], p[1] * np.sin(y[0]) - y[1] * y[2]])


def fun_jac(x: Any, y: Any, p: Any) -> Any:
    one, none = np.ones_like(x), np.zeros_like(x)
    by_y = [[none, p[0] * one, none], [y[2], none, y[0]], [p[1] * np.cos(y[0]), -y[2], -y[1]]]
    return np.array(by_y), np.array([[y[1], none], [none, none], [none, np.sin(y[0])]])


def bc(a: Any, b: Any, p: Any) -> Any:
    return np.stack([a[0] * b[1], a[1] - p[0], b[2] ** 2, a[2] * p[1], b[0] - a[0] * p[0]])


@pytest.mark.parametrize("s", [None, S])
@pytest.mark.parametrize("jac", [None, fun_jac])
def test_residuals_and_matrices(s: Any, jac: Any) -> None:
    problem = Problem(fun, bc, 2, jac, None, X[0], s)
    d = None if s is None else np.linalg.pinv(np.eye(3) - s)
    theirs = _bvp.wrap_functions(fun, bc, None, None, 2, X[0], s, d, float)
    got = problem.values(X, Y, P)
    want = _bvp.collocation_fun(theirs[0], Y, P, X, np.diff(X))
    for g, w in zip((got.inner, got.middle, got.f, got.f_middle), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)
    np.testing.assert_allclose(got.ends, bc(Y[:, 0], Y[:, -1], P))

    chain, h = problem.chain(X, Y, P, got.middle), 1e-6
    for n in range(3):
        for at in range(4):
            e = np.zeros_like(Y)
            e[n, at] = h
            a, b = problem.values(X, Y + e, P), problem.values(X, Y - e, P)
            inner, ends = (a.inner - b.inner) / (2 * h), (a.ends - b.ends) / (2 * h)
            exact = np.zeros((3, 3))
            if at < 3:
                exact[:, at] = chain.a[at, :, n]
            if at > 0:
                exact[:, at - 1] = chain.b[at - 1, :, n]
            np.testing.assert_allclose(exact, inner, rtol=1e-6, atol=1e-8)
            of_ends = chain.first[:, n] if at == 0 else chain.last[:, n] if at == 3 else 0 * ends
            np.testing.assert_allclose(of_ends, ends, rtol=1e-6, atol=1e-8)
    for k in range(2):
        e = h * np.eye(2)[k]
        a, b = problem.values(X, Y, P + e), problem.values(X, Y, P - e)
        inner = (a.inner - b.inner) / (2 * h)
        from_ = int(
            s is not None and jac is not None
        )  # SciPy leaves the singular term out of the user's slopes there
        np.testing.assert_allclose(chain.q[from_:, :, k].T, inner[:, from_:], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(chain.free[:, k], (a.ends - b.ends) / (2 * h), rtol=1e-6, atol=1e-8)
