"""`scipy.cluster.vq` for traced values: the nearest code of each observation. Other names are SciPy's."""

from __future__ import annotations

from typing import Any

from tracejit import numpy as _tnp
from tracejit.docstrings import complete as _complete
from tracejit.errors import ShapeError as _ShapeError

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest row of `code_book` (k, n) to each row of `obs` (m, n): its number, and how far it is.

    Raises:
        ShapeError: the shapes do not fit.
    """
    obs, codes = _tnp.asarray(obs), _tnp.asarray(code_book)
    if obs.ndim not in (1, 2) or obs.ndim != codes.ndim or obs.shape[1:] != codes.shape[1:]:
        raise _ShapeError(op="vq", problem=f"observations {obs.shape} and codes {codes.shape} do not fit")
    if obs.ndim == 1:
        obs, codes = obs[:, None], codes[:, None]
    distances = _tnp.sqrt(_tnp.sum((obs[:, None] - codes) ** 2, axis=-1))
    return _tnp.argmin(distances, axis=1), _tnp.min(distances, axis=1)


_complete(__name__)
