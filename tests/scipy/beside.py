"""Functions of SciPy's in compiled functions, beside the same functions by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj


def check_values(f: Callable[..., Any], args: Sequence[Any], rtol: float, atol: float) -> None:
    """The compiled function gives the same, in the same shapes and types."""
    got = tj.tree.leaves(tj.jit(lambda *args: f(*args), fallback=False)(*args))
    for g, w in zip(got, tj.tree.leaves(f(*args)), strict=True):
        assert np.shape(g) == np.shape(w) and np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)


def check_slope(
    f: Callable[..., Any], args: Sequence[Any], way: tuple[float, float], h: float, rtol: float, atol: float
) -> None:
    """The derivative along `way`, which multiplies the arguments and adds to them, is that of a difference over `h`."""

    def along(t: Any) -> Any:
        out = f(*[x * (1 + way[0] * t) + way[1] * t for x in args])
        return sum(tj.numpy.sum(tj.numpy.abs(v) ** 2) for v in tj.tree.leaves(out))

    near = (along(h) - along(-h)) / (2 * h)
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=rtol, atol=atol)
