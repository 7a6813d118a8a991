"""The heavy optional imports of this folder, loaded at first use.

`import tracejit` must not load LLVM or SciPy: it would cost more than tracing does.
"""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for the module `name`; the first attribute access imports it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        # Inspection (copy, pickle, doctest) must not import anything.
        if attribute.startswith("__") and attribute != "__pyx_capi__":
            raise AttributeError(attribute)
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value

    def __repr__(self) -> str:
        return f"LazyModule({self._name!r})"


llvm = LazyModule("llvmlite.binding")
cython_blas = LazyModule("scipy.linalg.cython_blas")
cython_special = LazyModule("scipy.special.cython_special")
