"""The heavy optional imports of this folder, loaded at first use.

`import tracejit` must not load LLVM or SciPy: it would cost more than tracing does.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from tracejit.lazily import LazyModule
from tracejit.tracing import LOCK


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


class LazyLLVM(LazyModule):
    """llvmlite, whose own lock a fork waits for, as for ours."""

    def _load(self) -> Any:
        module = super()._load()
        lock = getattr(module.ffi.lib, "_lock", None)
        if lock is not None and hasattr(os, "register_at_fork"):
            _fork_waits_for(lock)
        return module


@functools.cache
def _fork_waits_for(lock: Any) -> None:
    """Finalizers take llvmlite's lock without ours: a child forked meanwhile would have nobody to release it."""

    def before() -> None:
        LOCK.acquire()  # first, as whoever compiles does
        lock.__enter__()

    def after() -> None:
        lock.__exit__()
        LOCK.release()

    os.register_at_fork(before=before, after_in_parent=after, after_in_child=after)


llvm = LazyLLVM("llvmlite.binding")
llvmlite = LazyModule("llvmlite")
scipy = LazyModule("scipy")
cython_blas = LazyExtension("scipy.linalg.cython_blas")
cython_lapack = LazyExtension("scipy.linalg.cython_lapack")
cython_special = LazyModule("scipy.special.cython_special")
platformdirs = LazyModule("platformdirs")
cupy = LazyModule("cupy")
