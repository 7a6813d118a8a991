"""The one place where this folder imports SciPy, when it is first needed."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def scipy_sparse() -> Any:
    return importlib.import_module("scipy.sparse")
