"""What SciPy's minimizers print and warn of with the option `disp`: entries of the program, as the user's own are."""

from __future__ import annotations

import warnings
from typing import Any

from tracejit.ops._lazy import scipy_module

_COUNTS = ("Iterations", "Function evaluations", "Gradient evaluations", "Hessian evaluations")


def ended(code: Any, texts: tuple[str, ...], runtime: bool, value: Any, counts: tuple[Any, ...]) -> None:
    """The text of the code, and numbers of the result. `runtime`: failures are RuntimeWarnings."""
    category = RuntimeWarning if runtime else scipy_module("optimize").OptimizeWarning
    for k in range(len(texts)):
        if code == k:
            if k == 0:
                print(texts[0])
            else:
                warnings.warn(texts[k], category, stacklevel=3)
    print(f"         Current function value: {value:f}")
    for name, count in zip(_COUNTS, counts, strict=False):
        print(f"         {name}: {count:d}")


def simplex(code: Any, texts: tuple[str, ...], value: Any, counts: tuple[Any, ...]) -> None:
    """The same of Nelder and Mead's method, which tells numbers where it was successful."""
    if code == 0:
        ended(code, texts, True, value, counts)
    for k in range(1, len(texts)):
        if code == k:
            warnings.warn(texts[k], RuntimeWarning, stacklevel=3)
