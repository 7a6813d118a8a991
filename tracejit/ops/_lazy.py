"""The one place where this folder imports SciPy, when it is first needed."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np


@functools.cache
def scipy_special() -> Any:
    return importlib.import_module("scipy.special")


@functools.cache
def scipy_linalg() -> Any:
    return importlib.import_module("scipy.linalg")


@functools.cache
def scipy_fft() -> Any:
    return importlib.import_module("scipy.fft")


@functools.cache
def scipy_signal() -> Any:
    return importlib.import_module("scipy.signal")


@functools.cache
def blas(name: str, dtype: np.dtype) -> Any:
    """The BLAS function of `name` for a dtype."""
    return scipy_linalg().get_blas_funcs(name, dtype=dtype)


@functools.cache
def lapack(name: str, dtype: np.dtype) -> Any:
    """The LAPACK function of `name` for a dtype."""
    return scipy_linalg().get_lapack_funcs(name, dtype=dtype)


@functools.cache
def scipy_stats() -> Any:
    return importlib.import_module("scipy.stats")


@functools.cache
def scipy_module(name: str) -> Any:
    """Another part of SciPy, such as "ndimage"."""
    return importlib.import_module(f"scipy.{name}")
