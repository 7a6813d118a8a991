"""Rosenbrock's function and its derivatives, for traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp


def _floats(x: Any) -> Any:
    a = tnp.stack([tnp.asarray(v) for v in x]) if isinstance(x, (list, tuple)) else tnp.asarray(x)
    return a.astype(np.result_type(a.dtype, np.float32) if a.dtype.kind == "f" else float)


def rosen(x: Any) -> Any:
    """The sum of 100 (x[i + 1] - x[i]**2)**2 + (1 - x[i])**2, along the first axis."""
    v = _floats(x)
    return tnp.sum(100.0 * (v[1:] - v[:-1] ** 2.0) ** 2.0 + (1 - v[:-1]) ** 2.0, axis=0)


def rosen_der(x: Any) -> Any:
    """The gradient of `rosen`."""
    v = _floats(x)
    before, at, after = v[:-2], v[1:-1], v[2:]
    inner = 200 * (at - before**2) - 400 * (after - at**2) * at - 2 * (1 - at)
    first = -400 * v[0] * (v[1] - v[0] ** 2) - 2 * (1 - v[0])
    last = 200 * (v[-1] - v[-2] ** 2)
    return tnp.concatenate([first[None], inner, last[None]])


def _diagonals(v: Any) -> tuple[Any, Any]:
    """The diagonal of the matrix of second derivatives, and the one beside it."""
    first = 1200 * v[0] ** 2 - 400 * v[1] + 2
    inner = 202 + 1200 * v[1:-1] ** 2 - 400 * v[2:]
    last = tnp.full_like(v[:1], 200.0)
    return tnp.concatenate([first[None], inner, last]), -400 * v[:-1]


def rosen_hess(x: Any) -> Any:
    """The matrix of second derivatives of `rosen`."""
    main, side = _diagonals(_floats(x))
    return tnp.diag(main) + tnp.diag(side, 1) + tnp.diag(side, -1)


def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The product of the matrix of second derivatives of `rosen` and a vector."""
    v, d = _floats(x), tnp.asarray(p)
    main, side = _diagonals(v)
    zero = tnp.zeros_like(v[:1])
    return main * d + tnp.concatenate([side * d[1:], zero]) + tnp.concatenate([zero, side * d[:-1]])
