"""Distributions by SciPy's own formulas: its methods for the standard distribution are followed as the user's code is.

Those are here whose support does not depend on the shapes, with the methods that are known to be traced well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_stats
from tracejit.scipy.continuous.common import INF, POSITIVE, REAL, UNIT
from tracejit.scipy.distributions import Distribution
from tracejit.scipy.hosting.following import copy_of
from tracejit.tracing import call_user


def _method(name: str, method: str) -> Callable[..., Any]:
    """SciPy's method of the standard distribution."""

    def formula(*xs: Any) -> Any:
        theirs = getattr(scipy_stats(), name)
        return call_user(copy_of(getattr(type(theirs), f"_{method}")), theirs, *xs)

    return formula


def _by_scipy(
    name: str, shapes: int, support: tuple[float, float], methods: str, **more: Any
) -> Distribution:
    formulas: dict[str, Any] = {m: _method(name, m) for m in methods.split()} | more
    return Distribution(name, shapes, support, _method(name, "argcheck"), **formulas)


argus = _by_scipy("argus", 1, UNIT, "logpdf cdf sf")
crystalball = _by_scipy("crystalball", 2, REAL, "logpdf cdf sf ppf")
genexpon = _by_scipy("genexpon", 3, POSITIVE, "logpdf cdf sf ppf isf")
gibrat = _by_scipy("gibrat", 0, POSITIVE, "logpdf cdf sf ppf isf")
jf_skew_t = _by_scipy("jf_skew_t", 2, REAL, "pdf cdf sf ppf")
kappa3 = _by_scipy(
    "kappa3",
    1,
    POSITIVE,
    "pdf cdf ppf isf",
    sf=lambda z, a: -tnp.expm1(-tnp.log1p(a * z**-a) / a),
)
levy_l = _by_scipy("levy_l", 0, (-INF, 0.0), "pdf cdf sf ppf isf", open_ends=True)
recipinvgauss = _by_scipy("recipinvgauss", 1, POSITIVE, "logpdf cdf sf")
skewcauchy = _by_scipy("skewcauchy", 1, REAL, "pdf cdf ppf")
wald = _by_scipy("wald", 0, POSITIVE, "logpdf cdf sf", vanishes=True, open_ends=True)
