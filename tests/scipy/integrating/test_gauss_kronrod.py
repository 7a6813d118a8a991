"""Gauss-Kronrod rules integrate polynomials exactly."""

from __future__ import annotations

import numpy as np

from tracejit.scipy.integrating.gauss_kronrod import RULE15, RULE21


def test_polynomials() -> None:
    for rule, gauss, kronrod in ((RULE15, 13, 22), (RULE21, 19, 31)):
        for degree in range(0, kronrod, 2):
            powers = rule.nodes**degree
            np.testing.assert_allclose(rule.kronrod @ powers, 2 / (degree + 1), rtol=1e-13)
            if degree <= gauss:
                np.testing.assert_allclose(rule.gauss @ powers, 2 / (degree + 1), rtol=1e-13)
