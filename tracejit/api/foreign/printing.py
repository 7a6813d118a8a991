"""Files for Numba: jitted functions as Python that needs no tracejit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracejit.api.jit.jitted import Jitted, jit
from tracejit.errors import FunctionNeededError


def export_numba(f: Callable[..., Any], *specs: Any, path: str | os.PathLike[str], **named: Any) -> None:
    """Write `f`, traced for the types of `specs` and `named` (arrays, numbers or `ShapeDtypeStruct`s), into a Python
    file that needs NumPy and Numba only; SciPy too, where it calls BLAS, LAPACK or special functions.

    The file has a function of the name of `f`. It takes the arrays and numbers among the arguments one after
    another, and gives a tuple of the results, and of the arguments that `f` writes, if it is not one alone. Names that
    `f` reads have the values that they have now. Large loops are shared among Numba's threads.

    Raises NotPrintableError where Python would be needed.
    """
    FunctionNeededError.check("export_numba", f)
    jitted = f if isinstance(f, Jitted) else jit(f)
    text = jitted.lower(*specs, **named).compile().as_text("numba")
    Path(path).write_text(text, encoding="utf-8")
