"""SciPy's functions for traced arrays, with their names."""

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
