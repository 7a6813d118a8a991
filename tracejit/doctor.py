"""What a bug report needs: versions, processor, libraries, threads, and what looks wrong."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import tracejit
from tracejit.interpreters import jit

REQUIRED = ("numpy", "numba", "llvmlite", "scipy", "optree", "ml_dtypes", "platformdirs", "typing-extensions")
OPTIONAL = ("numba-cuda", "cupy-cuda13x", "rich")
# What the vector math gains most from; without them it is right, and slower.
WANTED_FEATURES = {"x86_64": ("avx2", "fma"), "aarch64": ("neon",)}

Row = tuple[str, str, bool]


def version(package: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def report() -> Iterator[Row]:
    """(name, value, is it all right) for everything worth knowing."""
    yield "tracejit", tracejit.__version__, True
    yield (
        "python",
        f"{platform.python_version()} {platform.python_implementation()}",
        sys.version_info >= (3, 11),
    )
    yield "platform", platform.platform(), True
    for package in REQUIRED:
        found = version(package)
        yield package, found or "missing", found is not None
    for package in OPTIONAL:
        yield package, version(package) or "not installed (optional)", True
    yield from _processor()
    yield from _threads()
    yield "blas", _blas(), True


def _processor() -> Iterator[Row]:
    llvm: Any = importlib.import_module("llvmlite.binding")
    features = {name for name, on in llvm.get_host_cpu_features().items() if on}
    wanted = WANTED_FEATURES.get(platform.machine(), ())
    missing = [f for f in wanted if f not in features]
    yield "llvm", ".".join(map(str, llvm.llvm_version_info)), True
    yield "processor", f"{llvm.get_host_cpu_name()} ({platform.machine()})", True
    simd = sorted(f for f in features if f.startswith(("avx", "fma", "neon", "sve")))
    yield "simd", " ".join(simd) + (f" (missing: {' '.join(missing)})" if missing else ""), not missing


def _threads() -> Iterator[Row]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "processors", f"{usable} usable of {os.cpu_count()}", True
    yield "threads", f"{tracejit.config.num_threads} share a large loop; BLAS has its own", True
    limits = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k.endswith("_NUM_THREADS")]
    yield "limits", " ".join(limits) or "none set", True
    settings = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("TRACEJIT_")]
    yield "settings", " ".join(settings) or "defaults", True


def _blas() -> str:
    """Whose compiled code calls for products, and the processor that its kernels are for."""
    package = jit.blas_package()
    module: Any = importlib.import_module(package)
    built = module.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    name = f"{package}'s {built.get('name', 'unknown')} {built.get('version', '')}".strip()
    kernels = jit.blas_kernels()
    forced = " by OPENBLAS_CORETYPE" if "OPENBLAS_CORETYPE" in os.environ else ""
    return f"{name}, kernels for {kernels}{forced}" if kernels else name
