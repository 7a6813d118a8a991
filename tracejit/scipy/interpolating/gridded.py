"""`griddata`: one function for all interpolants of scattered data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting import calls
from tracejit.scipy.interpolating.grids import interp1d
from tracejit.scipy.interpolating.smooth_triangles import CloughTocher2DInterpolator
from tracejit.scipy.interpolating.triangles import LinearNDInterpolator, NearestNDInterpolator


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    """The values at `xi` of data at scattered `points`: "nearest", "linear", or "cubic" up to two dimensions."""
    points = points if isinstance(points, tuple) else tnp.asarray(points)
    one = (isinstance(points, tuple) and len(points) == 1) or (
        not isinstance(points, tuple) and points.ndim == 1
    )
    if one and method in ("nearest", "linear", "cubic"):
        x = tnp.asarray(points[0] if isinstance(points, tuple) else points).reshape(-1)
        at = xi[0] if isinstance(xi, tuple) else xi
        order = tnp.argsort(lax.stop_gradient(x))
        fill = "extrapolate" if method == "nearest" else fill_value
        made = interp1d(
            x[order], tnp.asarray(values)[order], kind=method, axis=0, bounds_error=False, fill_value=fill
        )
        return made(at)
    if rescale:
        theirs = calls.of(scipy_module("interpolate").griddata)
        return theirs(points, values, xi, method=method, fill_value=fill_value, rescale=rescale)
    if method == "nearest":
        return NearestNDInterpolator(points, values)(xi)
    if method == "linear":
        return LinearNDInterpolator(points, values, fill_value)(xi)
    dims = len(points) if isinstance(points, tuple) else points.shape[-1]
    if method == "cubic" and dims == 2:
        return CloughTocher2DInterpolator(points, values, fill_value)(xi)
    raise ValueError(f"Unknown interpolation method {method!r} for {dims} dimensional data")
