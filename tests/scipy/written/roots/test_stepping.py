"""The searches as Python, without a compiler, beside SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

from tracejit.scipy.written.roots import secants, stepping

EPS = float(np.finfo(float).eps ** (1 / 3))
WAYS: dict[str, Any] = {
    "broyden1": (secants.dense_begin, secants.dense_solve, secants.dense_renew, (None, False)),
    "broyden2": (secants.dense_begin, secants.dense_solve, secants.dense_renew, (None, True)),
    "anderson": (secants.anderson_begin, secants.anderson_solve, secants.anderson_renew, (None, 0.01, 5)),
    "diagbroyden": (secants.diagonal_begin, secants.diagonal_solve, secants.diagonal_renew, (None,)),
    "linearmixing": (secants.linear_begin, secants.linear_solve, secants.linear_renew, (None,)),
    "excitingmixing": (secants.exciting_begin, secants.exciting_solve, secants.exciting_renew, (None, 1.0)),
}


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("line", ["armijo", "wolfe", None])
@np.errstate(all="ignore")
def test_steps_are_those_of_scipy(method: str, line: str | None) -> None:
    rng = np.random.default_rng(0)
    for i in range(12):
        n = 1 + 3 * (i % 4)
        a, b = rng.normal(size=(n, n)) * 0.2, rng.normal(size=n)
        sign = -1 if method in ("linearmixing", "excitingmixing") else 1  # whose first step is one downhill
        f = lambda x, a=a, b=b, s=sign: s * (x + a @ x + 0.3 * np.sin(2 * x) + 0.05 * x**3 - b)
        start = rng.normal(size=n) * (1 + i % 3)
        limits = EPS, np.inf, np.inf, np.inf, None, 6, line
        x, _, *told, wrong, _ = stepping.found(f, WAYS[method], start, stepping.largest, limits)
        try:  # so few steps that last bits do not matter
            r = so.root(f, start, method=method, options={"maxiter": 6, "line_search": line})
        except (ValueError, OverflowError):
            assert wrong != stepping.FINE
            continue
        np.testing.assert_allclose(x, r.x, rtol=1e-5, atol=1e-7)
        assert (*told[:2], told[2] or 2, wrong) == (r.nfev, r.nit, r.status, stepping.FINE)
