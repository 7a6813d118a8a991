"""`scipy.spatial.transform` for traced values: rotations, and what is between them. Other names are SciPy's."""

from __future__ import annotations

from typing import Any

from tracejit import lax as _lax
from tracejit import numpy as _tnp
from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy.lazily import Part as _Part
from tracejit.scipy.spatial.quaternions import fail_where as _fail_where
from tracejit.scipy.spatial.rotations import Rotation
from tracejit.scipy.spatial.rotations import SpatialLike as _SpatialLike

__all__ = ["Rotation", "Slerp"]


class Slerp(metaclass=_SpatialLike):
    """Rotations between those at `times`, about one axis each, at a constant rate."""

    times: Any
    rotations: Any
    rotvecs: Any

    def __init__(self, times: Any, rotations: Any) -> None:
        if not isinstance(rotations, Rotation):
            raise TypeError("`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) <= 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        if len(rotations.shape) > 1:
            raise ValueError("Rotations with more than 1 leading dimension are not supported.")
        times = _tnp.asarray(times).astype(float)
        if times.ndim != 1:
            raise ValueError(
                f"Expected times to be specified in a 1 dimensional array, got {times.ndim} dimensions."
            )
        if times.shape[0] != len(rotations):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {times.shape[0]} timestamps."
            )
        _fail_where(times[1:] <= times[:-1], "Times must be in strictly increasing order.")
        quats = _tnp.asarray(rotations.as_quat())
        first, second = (Rotation.made(_quat=quats[part]) for part in (slice(None, -1), slice(1, None)))
        self.times, self.rotations, self.rotvecs = times, first, (first.inv() * second).as_rotvec()

    @property
    def timedelta(self) -> Any:
        """The times between."""
        return _tnp.diff(self.times)

    def __call__(self, times: Any) -> Any:
        """The rotations at `times`, a number or a vector."""
        at = _tnp.asarray(times).astype(float)
        if at.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        known, t = self.times, at.reshape(-1)
        _fail_where(
            ~((t >= known[0]) & (t <= known[-1])),
            "Interpolation times must be within the range of the times of the rotations, both inclusive.",
        )
        found = _tnp.searchsorted(_lax.stop_gradient(known), _lax.stop_gradient(t)) - 1
        i = _tnp.clip(found, 0, known.shape[0] - 2)
        part = (t - known[i]) / (known[i + 1] - known[i])
        out = self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * part[:, None])
        return out if at.ndim else out[0]


_part = _Part("scipy.spatial.transform", lambda: _scipy_module("spatial.transform"))
_part.names.update({c.__name__: c for c in (Rotation, Slerp)})

__getattr__, __dir__ = _part.others(__all__)
