"""Outside of transformations: SciPy's own solvers, which get the derivatives of the compiled function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as theirs

from tracejit.scipy import optimize as so


def valley(x: Any, c: Any) -> Any:
    return np.sum(c * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


START = np.linspace(0, 1.2, 6)


@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "Newton-CG", "trust-exact", None])
def test_minimize(method: Any) -> None:
    got = so.minimize(valley, START, (100.0,), method)
    assert type(got) is theirs.OptimizeResult
    np.testing.assert_allclose(got.x, np.ones(6), atol=1e-3)
    if method in ("BFGS", None):
        plain = theirs.minimize(valley, START, (100.0,), method)
        assert got.success and got.nfev == got.njev < plain.nfev / 5


def test_roots_and_squares() -> None:
    f = lambda x, c: np.array([x[0] + 0.5 * (x[0] - x[1]) ** 3 - c, 0.5 * (x[1] - x[0]) ** 3 + x[1]])
    want = theirs.root(f, [0.0, 0.0], (1.0,))
    got = so.root(f, [0.0, 0.0], (1.0,))
    np.testing.assert_allclose(got.x, want.x, rtol=1e-8)
    assert got.njev == 1 and got.nfev <= want.nfev
    np.testing.assert_allclose(so.fsolve(f, [0.0, 0.0], (1.0,)), want.x, rtol=1e-8)
    np.testing.assert_allclose(so.leastsq(f, [0.0, 0.0], 1.0)[0], want.x, rtol=1e-8)
    calls = []

    def counted(x: Any, c: Any) -> Any:
        calls.append(type(x))
        return f(x, c)

    r = so.least_squares(counted, [0.0, 0.0], args=(1.0,))
    np.testing.assert_allclose(r.x, want.x, rtol=1e-8)
    assert r.nfev <= calls.count(np.ndarray) <= r.nfev + 2  # no differences
    keyword = so.least_squares(lambda x, *, c: f(x, c), [0.0, 0.0], kwargs={"c": 1.0})
    np.testing.assert_allclose(keyword.x, want.x, rtol=1e-8)


def test_what_is_given_and_what_cannot_be_traced() -> None:
    mine = []

    def slope(x: Any) -> Any:
        mine.append(1)
        return 2 * (x - 1)

    so.minimize(lambda x: np.sum((x - 1) ** 2), START, jac=slope)
    assert mine
    branches = lambda x: float(x[0]) ** 2 + (1.0 if x[1] > 5 else 0.0) + x[1] ** 2
    got, want = so.minimize(branches, [1.0, 2.0]), theirs.minimize(branches, [1.0, 2.0])
    assert got.nfev == want.nfev and got.x.tolist() == want.x.tolist()
    for minimize in (so.minimize, theirs.minimize):
        with pytest.raises((TypeError, ValueError)):
            minimize(lambda x: "none", [1.0])
