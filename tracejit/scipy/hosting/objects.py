"""SciPy's objects that were made outside of traced code and have counterparts here: interpolators, frozen
distributions, bounds and constraints. What they hold is read when they are used, and guarded."""

from __future__ import annotations

import functools
from typing import Any

from tracejit.numpy.dispatch import Adopted
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import interpolate, stats
from tracejit.scipy.continuous.density import gaussian_kde
from tracejit.scipy.distributions import Frozen, Hosted
from tracejit.scipy.optimizing import objects as limits
from tracejit.scipy.spatial import neighbours, transform

#: Class of scipy.interpolate -> the attributes that hold arrays, those that are settings, and what is made of them:
#: an object of ours that has the same attributes, if it is not said.
_POLYNOMIAL: tuple[Any, ...] = ("c x", "extrapolate axis", None)
_UNIVARIATE: tuple[Any, ...] = (
    "_eval_args.0 _eval_args.1",
    "_eval_args.2 ext",
    lambda t, c, k, ext: {"_eval_args": (t, c, k), "ext": ext},
)
_INTERPOLATORS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("PPoly", "BPoly", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator", "Akima1DInterpolator"),
        _POLYNOMIAL,
    ),
    "BSpline": ("t c", "k extrapolate axis", None),
    **dict.fromkeys(("UnivariateSpline", "InterpolatedUnivariateSpline", "LSQUnivariateSpline"), _UNIVARIATE),
    "RectBivariateSpline": (
        "tck.0 tck.1 tck.2",
        "degrees.0 degrees.1",
        lambda tx, ty, c, kx, ky: {"tck": (tx, ty, c), "degrees": (kx, ky)},
    ),
}


def adopted(value: Any) -> Adopted | None:
    """How the counterpart of `value` is made, if it has one."""
    cls = type(value)
    if cls.__module__.startswith("scipy.interpolate."):
        return _interpolator(cls.__name__, value)
    if cls.__module__ == "scipy.spatial.transform._rotation" and cls.__name__ in transform.__all__:
        return _ROTATIONS[cls.__name__](value)
    if cls.__name__ in ("KDTree", "cKDTree") and cls.__module__ in (
        "scipy.spatial._kdtree",
        "scipy.spatial._ckdtree",
    ):
        return _points(getattr(neighbours, cls.__name__), value)
    if cls.__module__ == "scipy.stats._kde" and cls.__name__ == "gaussian_kde":
        return _density(value)
    if cls.__module__ == "scipy.stats._distn_infrastructure":
        return _frozen(value)
    if cls.__module__ == "scipy.optimize._constraints" and cls.__name__ in limits.VALUES:
        return _limits(value)
    if cls.__module__ == "scipy.stats._multivariate" and cls.__name__.removesuffix("_frozen") in _VECTORS:
        return _frozen_vector(cls.__name__.removesuffix("_frozen"), value)
    return None


def _rotation(value: Any) -> Adopted:
    """SciPy has one rotation as an array of one."""

    def make(quat: Any, single: bool) -> Any:
        return transform.Rotation.made(_quat=quat[0] if single else quat)

    return Adopted(("_quat",), ("_single",), make)


def _slerp(value: Any) -> Adopted:
    def make(times: Any, quat: Any, vectors: Any) -> Any:
        first = transform.Rotation.made(_quat=quat)
        return transform.Slerp.made(times=times, rotations=first, rotvecs=vectors)

    return Adopted(("times", "rotations._quat", "rotvecs"), (), make)


def _points(cls: Any, value: Any) -> Adopted | None:
    return None if value.boxsize is not None else Adopted(("data",), (), lambda data: cls.made(data=data))


_ROTATIONS = {"Rotation": _rotation, "Slerp": _slerp}


def _density(value: Any) -> Adopted:
    return Adopted(
        ("dataset", "weights", "factor"), (), lambda data, weights, f: gaussian_kde(data, f, weights)
    )


def _limits(value: Any) -> Adopted | None:
    """Bounds or constraints of a search."""
    ours, names = getattr(limits, type(value).__name__), limits.VALUES[type(value).__name__]
    return Adopted(names, (), lambda *parts: ours.made(**dict(zip(names, parts, strict=True))))


def _interpolator(name: str, value: Any) -> Adopted | None:
    cls = getattr(scipy_module("interpolate"), name, None)
    if cls is None or type(value) is not cls:
        return None
    ours = getattr(interpolate, name)
    if name == "interp1d":
        return _through_points(ours, value)
    if name == "RegularGridInterpolator":
        arrays = ("values", *(f"grid.{n}" for n in range(len(value.grid))))
        settings = ("method", "bounds_error", "fill_value")
        return Adopted(arrays, settings, lambda values, *more: ours(more[:-3], values, *more[-3:]))
    if name not in _INTERPOLATORS:
        return None
    arrays, settings, fields = _INTERPOLATORS[name]
    names = [*arrays.split(), *settings.split()]
    given = fields or (lambda *parts: dict(zip(names, parts, strict=True)))
    return Adopted(tuple(arrays.split()), tuple(settings.split()), lambda *parts: ours.made(**given(*parts)))


def _through_points(ours: Any, value: Any) -> Adopted | None:
    fill = value.fill_value
    if not isinstance(fill, (str, float, int)) and getattr(fill, "size", 2) != 1:
        return None  # values of their own on both sides

    def make(x: Any, y: Any, kind: Any, axis: Any, bounds_error: Any) -> Any:
        kind = value._spline.k if kind == "spline" else kind
        told = fill if isinstance(fill, str) else float(fill)
        return ours(x, y, kind, axis, bounds_error=bounds_error, fill_value=told, assume_sorted=True)

    return Adopted(("x", "y"), ("_kind", "axis", "bounds_error"), make)


#: Distribution of vectors or matrices -> where its frozen form has the parameters, in their order.
_VECTORS = {
    "multivariate_normal": ("mean", "cov_object._covariance"),
    "multivariate_t": ("loc", "shape", "df"),
    "dirichlet": ("alpha",),
    "wishart": ("df", "scale"),
    "invwishart": ("df", "scale"),
    "matrix_normal": ("mean", "rowcov", "colcov"),
    "multinomial": ("n", "p"),
}


def _frozen_vector(name: str, value: Any) -> Adopted | None:
    """None for those of singular matrices, and of matrices that SciPy does not keep."""
    kept = type(getattr(value, "cov_object", None)).__name__ in ("CovViaPSD", "NoneType")
    if getattr(value, "allow_singular", False) or not kept:
        return None
    return Adopted(_VECTORS[name], (), lambda *parts: Frozen(getattr(stats, name), parts, {}, True))


def _frozen(value: Any) -> Adopted | None:
    """SciPy has a copy of the distribution in each frozen one."""
    infrastructure = scipy_module("stats._distn_infrastructure")
    if not isinstance(value, infrastructure.rv_frozen):
        return None
    known = stats.DISTRIBUTIONS.get(value.dist.name)
    if not isinstance(known, Hosted) or type(known.theirs) is not type(value.dist):
        return None
    args = tuple(f"args.{n}" for n in range(len(value.args)))
    kwds = tuple(f"kwds.{n}" for n in value.kwds)
    return Adopted(
        (*args, *kwds, "dist._random_state"),
        ("dist.name",),
        functools.partial(_made, known, len(args), tuple(value.kwds)),
    )


def _made(known: Any, count: int, names: tuple[str, ...], *parts: Any) -> Frozen:
    return Frozen(known, parts[:count], dict(zip(names, parts[count:-2], strict=True)), True, parts[-2])
