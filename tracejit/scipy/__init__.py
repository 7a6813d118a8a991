"""SciPy's functions for traced arrays, with their names."""

from tracejit.docstrings import complete as _complete
from tracejit.scipy import (
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    spatial,
    special,
    stats,
)

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "spatial",
    "special",
    "stats",
]

for _part in (*__all__, "spatial.distance"):
    _complete(f"{__name__}.{_part}")
