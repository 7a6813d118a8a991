"""The parts of SciPy that this folder needs, loaded at first use."""

from __future__ import annotations

from tracejit.lazily import LazyModule

optimize = LazyModule("scipy.optimize")
sparse = LazyModule("scipy.sparse")
