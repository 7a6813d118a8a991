"""SciPy's functions for traced arrays, with their names. Each part is imported when it is first used."""

from typing import TYPE_CHECKING

from tracejit.lazily import parts as _parts

if TYPE_CHECKING:
    from tracejit.scipy import (
        cluster,
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

#: SciPy's modules with counterparts here.
TRACED = (
    *(n for n in __all__ if n not in ("cluster", "sparse")),
    "cluster.hierarchy",
    "cluster.vq",
    "spatial.distance",
    "spatial.transform",
)

__getattr__, __dir__ = _parts(__name__, __all__)
