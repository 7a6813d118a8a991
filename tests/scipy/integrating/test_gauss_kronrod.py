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


def test_whole_vectors() -> None:
    for rule in (RULE15, RULE21):
        wide = rule.in_vectors()
        assert wide.nodes.size % 8 == 0 and wide.nodes.size - rule.nodes.size < 8
        for power in range(8):
            for name in ("kronrod", "gauss"):
                got, want = (getattr(r, name) @ r.nodes**power for r in (wide, rule))
                assert np.isclose(got, want, rtol=1e-14, atol=1e-15)
