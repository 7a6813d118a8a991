"""Probabilities of continuous distributions that have no formula: areas below the density, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.integrating.adaptive import How
from tracejit.scipy.integrating.quadrature import integral

#: SciPy's `quad`, as it is called for distributions.
_HOW = How(1.49e-8, 1.49e-8, 50, True)


def area(f: Callable[..., Any], a: Any, b: Any, more: Sequence[Any]) -> Any:
    """The integral of f(x, *more) from `a` to `b`, for each element of all of them; a limit that is infinite is a
    float."""
    limits = [x for x in (a, b) if not isinstance(x, float)]
    rows = tnp.broadcast_arrays(*limits, *more)
    shape = tnp.shape(rows[0])

    def one(row: list[Any]) -> Any:
        row = list(row)
        low, high = (x if isinstance(x, float) else row.pop(0) for x in (a, b))
        return integral(lambda x: (f(x, *row), 0.0), low, high, _HOW)[0]

    return lax.map(one, [x.reshape(-1) for x in rows]).reshape(shape)
