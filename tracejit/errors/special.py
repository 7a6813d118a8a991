"""Errors of special functions."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class SpecialFunctionError(TracejitError, ValueError):
    """A special function that cannot do what its arguments ask for with traced values."""

    code = "TJ039"
    cause = "scipy.special.{name}: {problem}"
    remedies = ("{remedy}",)
    example = """
        import numpy as np, scipy.special, tracejit as tj
        tj.jit(lambda n: scipy.special.comb(n, 2, exact=True))(np.float64(5.0))
    """
