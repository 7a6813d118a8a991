"""The heavy optional imports of this folder, loaded at first use.

`import tracejit` must not load LLVM or SciPy: it would cost more than tracing does.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from typing import Any

from tracejit.lazily import LazyModule


class LazyExtension(LazyModule):
    """Stands for a compiled module inside a package, loaded without the package's `__init__`, which would take many
    times as long as the module does."""

    def _load(self) -> Any:
        root, *folders = self._name.split(".")[:-1]
        package, found = ".".join([root, *folders]), None
        if package not in sys.modules:
            paths = importlib.import_module(root).__path__
            found = PathFinder.find_spec(self._name, [os.path.join(p, *folders) for p in paths])
        if found is None or found.loader is None:
            return super()._load()
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        # A later import by name finds the same module, and makes it an attribute of its package.
        sys.modules.pop(self._name, None)
        return module


llvm = LazyModule("llvmlite.binding")
llvmlite = LazyModule("llvmlite")
cython_blas = LazyExtension("scipy.linalg.cython_blas")
cython_special = LazyModule("scipy.special.cython_special")
platformdirs = LazyModule("platformdirs")
resources = LazyModule("importlib.resources")
