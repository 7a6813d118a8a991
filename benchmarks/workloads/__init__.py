"""The workloads, one file a family."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.registry import WORKLOADS, Workload


def load() -> list[Workload]:
    """All workloads, in the order of the files."""
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return WORKLOADS
