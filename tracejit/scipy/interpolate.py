"""`scipy.interpolate` for traced values: interpolators that are differentiable in data and points. Other names are
SciPy's."""

from __future__ import annotations

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.interpolating import grids as _grids
from tracejit.scipy.interpolating import splines as _splines
from tracejit.scipy.interpolating.grids import RegularGridInterpolator, interp1d
from tracejit.scipy.interpolating.piecewise import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
)
from tracejit.scipy.interpolating.scattered import BarycentricInterpolator, RBFInterpolator
from tracejit.scipy.interpolating.splines import BSpline
from tracejit.scipy.lazily import Part as _Part

_part = _Part("scipy.interpolate", lambda: _scipy_module("interpolate"))
interpn = _part.solver(_grids.interpn)
make_interp_spline = _part.solver(_splines.make_interp_spline)

_CLASSES = (
    Akima1DInterpolator,
    BSpline,
    BarycentricInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PPoly,
    PchipInterpolator,
    RBFInterpolator,
    RegularGridInterpolator,
    interp1d,
)
_part.names.update({c.__name__: c for c in _CLASSES})

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]

__getattr__, __dir__ = _part.others(__all__)
