"""Gauss-Kronrod rules integrate polynomials exactly."""

from __future__ import annotations

import numpy as np

from tracejit.scipy.integrating.gauss_kronrod import RULE15, RULE21


def test_polynomials() -> None:
    for rule, gauss, kronrod in ((RULE15, 13, 22), (RULE21, 19, 31)):
        for degree in range(kronrod):
            powers, exact = rule.nodes**degree, (1 + (-1) ** degree) / (degree + 1)
            np.testing.assert_allclose(rule.kronrod @ powers, exact, rtol=1e-13, atol=1e-15)
            if degree <= gauss:
                np.testing.assert_allclose(rule.gauss @ powers, exact, rtol=1e-13, atol=1e-15)
