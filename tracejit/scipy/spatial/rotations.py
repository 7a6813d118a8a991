"""Rotations in three dimensions, as unit quaternions: `scipy.spatial.transform.Rotation` for traced values."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.control.custom.public import custom_jvp
from tracejit.scipy.hosting.likeness import Like, as_array, maker, refuse
from tracejit.scipy.spatial import quaternions as q


class SpatialLike(Like):
    """The class of the classes of `scipy.spatial.transform`."""

    part = "spatial.transform"


def _floats(x: Any) -> Any:
    return tnp.asarray(x).astype(float)


def _radians(x: Any, degrees: Any) -> Any:
    return x * (math.pi / 180.0) if degrees else x


def _degrees(x: Any, degrees: Any) -> Any:
    return as_array(x * (180.0 / math.pi) if degrees else x)


def _is_fixed(order: str) -> bool:
    if order not in ("e", "extrinsic", "i", "intrinsic"):
        raise ValueError(
            "order should be 'e'/'extrinsic' for extrinsic sequences or 'i'/'intrinsic' for intrinsic "
            f"sequences, got {order}"
        )
    return order[0] == "e"


def _axes(axes: Any) -> Any:
    """Vectors of length 1. Neighbours must be orthogonal."""
    if axes.shape[-1] != 3:
        raise ValueError("Axes must be vectors of length 3.")
    axes = axes / tnp.sqrt(tnp.sum(axes * axes, axis=-1, keepdims=True))
    for n in range(axes.shape[-2] - 1):
        between = tnp.sum(axes[..., n, :] * axes[..., n + 1, :], axis=-1)
        q.fail_where(tnp.abs(between) > 1e-7, "Consecutive axes must be orthogonal.")
    return axes


class Rotation(metaclass=SpatialLike):
    """One rotation (a quaternion of shape (4,)) or an array of them (..., 4)."""

    _quat: Any

    def __init__(
        self, quat: Any, normalize: bool = True, copy: bool = True, scalar_first: bool = False
    ) -> None:
        quat = _floats(quat)
        if quat.shape[-1:] != (4,):
            raise ValueError(f"Expected `quat` to have shape (..., 4), got {quat.shape}.")
        quat = tnp.roll(quat, -1, axis=-1) if scalar_first else quat
        self._quat = q.normalized(quat) if normalize else quat

    # ---------------------------------------------------------------- from other forms

    @maker
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Any:
        """Of quaternions, which need not be of length 1."""
        return Rotation(quat, scalar_first=scalar_first)

    @maker
    def from_matrix(cls, matrix: Any, *, assume_valid: bool = False) -> Any:
        """Of matrices (..., 3, 3), or of the rotations nearest to them."""
        return Rotation.made(_quat=q.of_matrices(_floats(matrix), assume_valid))

    @maker
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Any:
        """Of vectors about which is turned, by their lengths."""
        return Rotation.made(_quat=q.of_vectors(_radians(_floats(rotvec), degrees)))

    @maker
    def from_mrp(cls, mrp: Any) -> Any:
        """Of modified Rodrigues parameters."""
        return Rotation.made(_quat=q.of_rodrigues(_floats(mrp)))

    @maker
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Any:
        """Of angles about the axes `seq`, fixed ones ("xyz") or those of the body ("XYZ")."""
        return Rotation.made(_quat=q.of_angles(seq, _radians(_floats(angles), degrees)))

    @maker
    def from_davenport(cls, axes: Any, order: str, angles: Any, degrees: bool = False) -> Any:
        """Of angles about up to three vectors, of which neighbours are orthogonal."""
        fixed, axes = _is_fixed(order), _axes(tnp.atleast_2d(_floats(axes)))
        angles = tnp.atleast_1d(_radians(_floats(angles), degrees))
        if not 1 <= axes.shape[-2] <= 3:
            raise ValueError(f"Expected up to 3 axes, got {axes.shape[-2]}")
        if angles.shape[-1] != axes.shape[-2]:
            raise ValueError(f"Expected `angles` to match number of axes, got {angles.shape}.")
        return Rotation.made(_quat=q.about_axes(axes, angles, fixed))

    @maker
    def identity(cls, num: Any = None, *, shape: Any = None) -> Any:
        """One that does not turn, or an array of such."""
        if num is not None and shape is not None:
            raise ValueError("Only one of `num` or `shape` can be specified.")
        lead: Any = num if shape is None else shape
        lead = () if lead is None else lead
        lead = lead if isinstance(lead, tuple) else (operator.index(lead),)
        return Rotation.made(_quat=tnp.zeros((*lead, 4)) + np.array([0.0, 0.0, 0.0, 1.0]))

    @maker
    def concatenate(cls, rotations: Any) -> Any:
        """One array of several."""
        if isinstance(rotations, Rotation):
            return Rotation.made(_quat=rotations.as_quat())
        if not all(isinstance(r, Rotation) for r in rotations):
            raise TypeError("input must contain Rotation objects only")
        return Rotation.made(_quat=tnp.concatenate([tnp.atleast_2d(r.as_quat()) for r in rotations]))

    @maker
    def create_group(cls, group: str, axis: str = "Z") -> Any:
        """The rotations of a point group."""
        return Rotation.made(_quat=tnp.asarray(Rotation.theirs.create_group(group, axis).as_quat()))

    @maker
    def random(cls, *args: Any, **kwargs: Any) -> Any:
        """Refused: its numbers come from a generator of SciPy's."""
        refuse("Rotation.random", "random numbers of its own", "draw quaternions, and give them to from_quat")

    @maker
    def align_vectors(cls, a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False) -> Any:
        """The rotation that takes the vectors `b` nearest to `a`, and the root of the sum of squared distances."""
        return _aligned(_floats(a), _floats(b), weights, return_sensitivity)

    # ---------------------------------------------------------------- to other forms

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Quaternions (x, y, z, w)."""
        quat = q.canonical(self._quat) if canonical else self._quat
        return as_array(tnp.roll(quat, 1, axis=-1) if scalar_first else quat)

    def as_matrix(self) -> Any:
        """Matrices (..., 3, 3)."""
        return as_array(q.matrices(self._quat))

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors about which is turned, by their lengths."""
        return _degrees(q.vectors(self._quat), degrees)

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters."""
        return as_array(q.rodrigues(self._quat))

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        """Angles about the axes `seq`. Where they are not unique, SciPy warns."""
        return _degrees(q.angles(self._quat, seq, suppress_warnings), degrees)

    def as_davenport(
        self, axes: Any, order: str, degrees: bool = False, *, suppress_warnings: bool = False
    ) -> Any:
        """Angles about three vectors, of which neighbours are orthogonal."""
        fixed, axes = _is_fixed(order), _floats(axes)
        if axes.shape[-2] != 3:
            raise ValueError(f"Expected 3 axes, got {axes.shape}.")
        return _degrees(q.angles_about(self._quat, _axes(axes), fixed, suppress_warnings), degrees)

    def magnitude(self) -> Any:
        """The angles by which is turned."""
        return q.magnitude(self._quat) if self._quat.ndim > 1 else q.magnitude(self._quat)[()]

    # ---------------------------------------------------------------- what is done with them

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """The vectors (..., 3) turned, each by each."""
        vectors = _floats(vectors)
        if vectors.shape[-1:] != (3,):
            raise ValueError(f"Expected input of shape (..., 3), got {vectors.shape}.")
        m = q.matrices(self._quat)
        return as_array(((m.mT if inverse else m) @ vectors[..., None])[..., 0])

    def __mul__(self, other: Any) -> Any:
        """The rotation `other`, and then this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation.made(_quat=q.normalized(q.composed(self._quat, other._quat)))

    def __pow__(self, n: Any, modulus: None = None) -> Any:
        """`n` times the angle."""
        if modulus is not None:
            raise NotImplementedError("modulus not supported")
        if isinstance(n, (int, float)) and n in (0, 1, -1):
            own = self._quat
            return Rotation.made(_quat=own if n == 1 else q.inverse(own) if n else q.identity_like(own))
        return Rotation.made(_quat=q.of_vectors(_floats(n) * q.vectors(self._quat)))

    def inv(self) -> Any:
        """The rotation back."""
        return Rotation.made(_quat=q.inverse(self._quat))

    def approx_equal(self, other: Any, atol: Any = None, degrees: bool = False) -> Any:
        """Whether the angle between two rotations is below `atol`, 1e-8 if it is None."""
        least = 1e-8 if atol is None else _radians(atol, degrees)
        return tnp.atleast_1d(q.magnitude(q.composed(other._quat, q.inverse(self._quat)))) < least

    def mean(self, weights: Any = None, axis: Any = None) -> Any:
        """The rotation from which the sum of squared sines of half the angles is least."""
        quat = self._quat
        if axis is not None:
            refuse("Rotation.mean", "`axis`")
        if quat.ndim > 1 and not quat.size:
            raise ValueError("Mean of an empty rotation set is undefined.")
        quat = quat.reshape(-1, 4)
        if weights is not None:
            weights = _floats(weights).reshape(-1)
            q.fail_where(weights < 0, "`weights` must be non-negative.")
            if weights.shape[0] != quat.shape[0]:
                raise ValueError(f"Expected `weights` to have number of values equal to {quat.shape[0]}.")
        other = quat if weights is None else quat * weights[:, None]
        return Rotation.made(_quat=tnp.linalg.eigh(other.T @ quat)[1][:, -1])

    # ---------------------------------------------------------------- arrays of them

    @property
    def single(self) -> bool:
        """Whether it is no array of rotations."""
        return self._quat.ndim == 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array; () of one rotation."""
        return self._quat.shape[:-1]

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self._quat.shape[0]

    def __getitem__(self, indexer: Any) -> Any:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation.made(_quat=self._quat[indexer])

    def __setitem__(self, indexer: Any, value: Any) -> None:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        if not isinstance(value, Rotation):
            raise TypeError("value must be a Rotation object")
        quat = tnp.array(self._quat)
        quat[indexer] = value._quat
        self._quat = quat

    def __iter__(self) -> Iterator[Any]:
        if self.single:
            raise TypeError("Single rotation is not iterable.")
        return iter([self[n] for n in range(len(self))])


def _aligned(a: Any, b: Any, weights: Any, sensitivity: bool) -> Any:
    """By Kabsch's algorithm."""
    for name, v in (("a", a), ("b", b)):
        if v.ndim > 2 or v.shape[-1] != 3:
            raise ValueError(f"Expected input `{name}` to have shape (3,) or (N, 3), got {v.shape}")
    if a.shape != b.shape:
        raise ValueError(f"Expected inputs `a` and `b` to have same shapes, got {a.shape} and {b.shape}.")
    a, b = tnp.atleast_2d(a), tnp.atleast_2d(b)
    if a.shape[0] == 1:
        refuse("Rotation.align_vectors", "one pair of vectors", "give at least two")
    weights = tnp.ones(a.shape[0]) if weights is None else _floats(weights)
    if weights.shape != (a.shape[0],):
        raise ValueError(f"Expected `weights` to have number of values equal to {a.shape[0]}.")
    q.fail_where(weights < 0, "`weights` may not contain negative values")
    q.fail_where(tnp.isinf(weights), "a weight that is infinite has no traced form")
    m = (weights[:, None] * a).T @ b
    c = _nearest(m)
    squares = weights @ tnp.sum(a * a + b * b, axis=1) - 2 * tnp.sum(c * m)
    none = squares <= 0
    distance = tnp.where(none, 0.0, tnp.sqrt(tnp.where(none, 1.0, squares)))
    found = Rotation.made(_quat=q.of_orthogonal(c))
    if not sensitivity:
        return found, distance
    s = tnp.linalg.svd(m)[1]
    s = s * tnp.stack([tnp.ones_like(s[0]), tnp.ones_like(s[0]), tnp.sign(tnp.linalg.det(m))])
    zeta = (s[0] + s[1]) * (s[1] + s[2]) * (s[2] + s[0])
    kappa = s[0] * s[1] + s[1] * s[2] + s[2] * s[0]
    return found, distance, tnp.mean(weights) / zeta * (kappa * tnp.eye(3) + m @ m.T)


@custom_jvp
def _nearest(m: Any) -> Any:
    """The rotation nearest to a matrix."""
    u, _, vt = tnp.linalg.svd(m)
    sign = tnp.where(tnp.linalg.det(u @ vt) < 0, -1.0, 1.0)
    return (u * tnp.stack([tnp.ones_like(sign), tnp.ones_like(sign), sign])) @ vt


@_nearest.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # R changes by R W with P W + W P = K, where P = Rᵀ m is symmetric and W and K are skew: three equations.
    out = _nearest(primals[0])
    p, k = out.T @ primals[0], out.T @ tangents[0]
    k = k - k.T
    x, y, z = tnp.linalg.solve(tnp.trace(p) * np.eye(3) - p, tnp.stack([k[2, 1], k[0, 2], k[1, 0]]))
    none = tnp.zeros_like(x)
    w = tnp.stack([tnp.stack(row) for row in ([none, -z, y], [z, none, -x], [-y, x, none])])
    return out, out @ w


def _given(quat: Any) -> Any:
    """SciPy's object of real quaternions, as a result of a transformation; else one of ours."""
    if type(quat) is np.ndarray:
        return Rotation.theirs(quat, normalize=False)
    return Rotation.made(_quat=quat)


tree.register(Rotation, lambda r: ([r._quat], None), lambda _, parts: _given(*parts))
