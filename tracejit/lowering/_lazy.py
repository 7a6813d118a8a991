"""The heavy optional imports of this folder, loaded at first use.

`import tracejit` must not load LLVM or SciPy: it would cost more than tracing does.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from tracejit.lazily import LazyModule


class LazyExtension(LazyModule):
    """Stands for a compiled module inside a package, loaded without the package's `__init__`, which would take many
    times as long as the module does."""

    def find(self) -> ModuleSpec | None:
        """Where the module is; nothing is imported."""
        root, *folders = self._name.split(".")[:-1]
        package = importlib.util.find_spec(root)
        paths = (package and package.submodule_search_locations) or ()
        return PathFinder.find_spec(self._name, [os.path.join(p, *folders) for p in paths])

    def _load(self) -> Any:
        found = self.find() if self._name.rpartition(".")[0] not in sys.modules else None
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
