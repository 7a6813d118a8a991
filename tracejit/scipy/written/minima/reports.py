"""What SciPy's minimizers print and warn of with the option `disp`, and whom they call after each step."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

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


def told(tell: Any, x: Any, f: Any) -> None:
    """A call of a callback with a point, or with what `make` makes of that and its value; `tell` are both, and what
    sees to it that the callback has not written into the point."""
    callback, make, kept = tell
    point = np.array(x)
    if make is None:
        callback(point)
    else:
        callback(intermediate_result=make(x=point, fun=f))
        kept(point)
