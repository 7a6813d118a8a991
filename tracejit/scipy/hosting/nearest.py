"""What has a derivative in the place of a function of SciPy that has none."""

from __future__ import annotations

import difflib
import sys
from typing import Any

#: Function -> what to use instead, where its name does not lead there.
_INSTEAD = {
    "scipy.special.diric": "numpy.sin(n * x / 2) / (n * numpy.sin(x / 2))",
    "scipy.ndimage.median_filter": "numpy.median of numpy.lib.stride_tricks.sliding_window_view",
    "scipy.ndimage.rotate": "scipy.ndimage.map_coordinates",
    "scipy.ndimage.zoom": "scipy.ndimage.map_coordinates",
    "scipy.ndimage.shift": "scipy.ndimage.map_coordinates",
    "scipy.ndimage.affine_transform": "scipy.ndimage.map_coordinates",
    "scipy.linalg.null_space": "scipy.linalg.svd, whose last rows of vh are the null space",
    "scipy.linalg.orth": "scipy.linalg.svd, whose u has the columns",
    "scipy.signal.resample_poly": "scipy.signal.resample",
}


def nearest(function: str) -> str:
    """The name of the nearest thing with a derivative to `function`, such as `scipy.special.diric`."""
    if function in _INSTEAD:
        return _INSTEAD[function]
    module, _, name = function.rpartition(".")
    names = _ours(module)
    close = difflib.get_close_matches(name, names, 1, 0.6) or difflib.get_close_matches(name, names, 1, 0.4)
    return f"{module}.{close[0]}" if close else "a formula in NumPy"


def _ours(module: str) -> list[str]:
    """What of a module of SciPy has a traced form."""
    ours: Any = sys.modules.get(f"tracejit.{module}")
    return [n for n in getattr(ours, "__all__", ()) if n[0].islower()]
