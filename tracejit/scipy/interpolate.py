"""`scipy.interpolate` for traced values: interpolators that are differentiable in data and points. Other names are
SciPy's."""

from __future__ import annotations

from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.interpolating import fitpack as _fitpack
from tracejit.scipy.interpolating import gridded as _gridded
from tracejit.scipy.interpolating import grids as _grids
from tracejit.scipy.interpolating import penalized as _penalized
from tracejit.scipy.interpolating import piecewise as _piecewise
from tracejit.scipy.interpolating import polynomials as _polynomials
from tracejit.scipy.interpolating import scattered as _scattered
from tracejit.scipy.interpolating import splines as _splines
from tracejit.scipy.interpolating.bernstein import BPoly
from tracejit.scipy.interpolating.grids import RegularGridInterpolator, interp1d
from tracejit.scipy.interpolating.piecewise import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
)
from tracejit.scipy.interpolating.scattered import (
    BarycentricInterpolator,
    KroghInterpolator,
    RBFInterpolator,
)
from tracejit.scipy.interpolating.smooth_triangles import CloughTocher2DInterpolator
from tracejit.scipy.interpolating.splines import BSpline
from tracejit.scipy.interpolating.tensors import NdBSpline, NdPPoly
from tracejit.scipy.interpolating.triangles import LinearNDInterpolator, NearestNDInterpolator
from tracejit.scipy.interpolating.univariate import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    RectBivariateSpline,
    UnivariateSpline,
)
from tracejit.scipy.lazily import Part as _Part

_part = _Part("scipy.interpolate", lambda: _scipy_module("interpolate"))
interpn = _part.solver(_grids.interpn)
make_interp_spline = _part.solver(_splines.make_interp_spline)
bisplev = _part.solver(_fitpack.bisplev)
make_lsq_spline = _part.solver(_fitpack.make_lsq_spline)
spalde = _part.solver(_fitpack.spalde)
splantider = _part.solver(_fitpack.splantider)
splder = _part.solver(_fitpack.splder)
splev = _part.solver(_fitpack.splev)
splint = _part.solver(_fitpack.splint)
splrep = _part.solver(_fitpack.splrep)
pchip_interpolate = _part.solver(_piecewise.pchip_interpolate)
barycentric_interpolate = _part.solver(_scattered.barycentric_interpolate)
krogh_interpolate = _part.solver(_scattered.krogh_interpolate)
insert = _part.solver(_fitpack.insert)
make_splprep = _part.solver(_fitpack.make_splprep)
make_splrep = _part.solver(_fitpack.make_splrep)
splprep = _part.solver(_fitpack.splprep)
sproot = _part.solver(_fitpack.sproot)
make_smoothing_spline = _part.solver(_penalized.make_smoothing_spline)
griddata = _part.solver(_gridded.griddata)
lagrange = _part.function(_polynomials.lagrange)
pade = _part.function(_polynomials.pade)
approximate_taylor_polynomial = _part.solver(_polynomials.approximate_taylor_polynomial)

_CLASSES = (
    Akima1DInterpolator,
    BPoly,
    BSpline,
    BarycentricInterpolator,
    CloughTocher2DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    InterpolatedUnivariateSpline,
    KroghInterpolator,
    LSQUnivariateSpline,
    LinearNDInterpolator,
    NdBSpline,
    NdPPoly,
    NearestNDInterpolator,
    PPoly,
    PchipInterpolator,
    RBFInterpolator,
    RectBivariateSpline,
    RegularGridInterpolator,
    UnivariateSpline,
    interp1d,
)
_part.names.update({c.__name__: c for c in _CLASSES})

__all__ = [
    "Akima1DInterpolator",
    "BPoly",
    "BSpline",
    "BarycentricInterpolator",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "KroghInterpolator",
    "LSQUnivariateSpline",
    "LinearNDInterpolator",
    "NdBSpline",
    "NdPPoly",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RectBivariateSpline",
    "RegularGridInterpolator",
    "UnivariateSpline",
    "approximate_taylor_polynomial",
    "barycentric_interpolate",
    "bisplev",
    "griddata",
    "insert",
    "interp1d",
    "interpn",
    "krogh_interpolate",
    "lagrange",
    "make_interp_spline",
    "make_lsq_spline",
    "make_smoothing_spline",
    "make_splprep",
    "make_splrep",
    "pade",
    "pchip_interpolate",
    "spalde",
    "splantider",
    "splder",
    "splev",
    "splint",
    "splprep",
    "splrep",
    "sproot",
]

__getattr__, __dir__ = _part.others(__all__)
