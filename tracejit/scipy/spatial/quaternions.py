"""Unit quaternions (x, y, z, w) along a last axis, and the other forms of a rotation.

Angles about axes by E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion", PLoS ONE 17 (2022). All
formulas have the slopes of the rotation at the identity, too, where angles of no axis are zero.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if, leave_if
from tracejit.scipy.linalg.factors import unitary
from tracejit.tracing import to_raw

_SMALL = 1e-3  # angles below which the first terms of the series are exact


def fail_where(bad: Any, message: str) -> None:
    """SciPy raises ValueError with the message."""
    fail_if(to_raw(tnp.any(tnp.asarray(bad))), SolverFailedError, message)


def normalized(quat: Any) -> Any:
    """Quaternions of length 1."""
    length = tnp.sqrt(tnp.sum(quat * quat, axis=-1, keepdims=True))
    fail_where(length == 0, "Found zero norm quaternions in `quat`.")
    return quat / length


def canonical(quat: Any) -> Any:
    """Of the two quaternions of a rotation the one whose last part that is not zero, w first, is positive."""
    x, y, z, w = (quat[..., n] for n in range(4))
    no_w = w == 0
    no_x = no_w & (x == 0)
    no_y = no_x & (y == 0)
    turned = (w < 0) | (no_w & (x < 0)) | (no_x & (y < 0)) | (no_y & (z < 0))
    return tnp.where(turned[..., None], -quat, quat)


def composed(p: Any, q: Any) -> Any:
    """The rotation q, and then p."""
    px, py, pz, pw = (p[..., n] for n in range(4))
    qx, qy, qz, qw = (q[..., n] for n in range(4))
    return tnp.stack(
        [
            pw * qx + qw * px + (py * qz - pz * qy),
            pw * qy + qw * py + (pz * qx - px * qz),
            pw * qz + qw * pz + (px * qy - py * qx),
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        axis=-1,
    )


def inverse(quat: Any) -> Any:
    return quat * np.array([-1.0, -1.0, -1.0, 1.0])


def identity_like(quat: Any) -> Any:
    return tnp.broadcast_to(np.array([0.0, 0.0, 0.0, 1.0]), quat.shape)


def magnitude(quat: Any) -> Any:
    """The angle, from 0 to π."""
    return 2 * tnp.arctan2(_length(quat[..., :3]), tnp.abs(quat[..., 3]))


def _length(v: Any) -> Any:
    """Of vectors along the last axis; its slope at zero is zero."""
    square = tnp.sum(v * v, axis=-1)
    none = square == 0
    return tnp.where(none, 0.0, tnp.sqrt(tnp.where(none, 1.0, square)))


# ---------------------------------------------------------------- from other forms


def of_vectors(v: Any) -> Any:
    """Of rotations by the length of v about v."""
    if v.shape[-1:] != (3,):
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {v.shape}")
    square = tnp.sum(v * v, axis=-1, keepdims=True)
    small = square <= _SMALL**2
    angle = tnp.sqrt(tnp.where(small, 1.0, square))
    near = 0.5 - square / 48 + square * square / 3840
    half_sine = tnp.where(small, near, tnp.sin(angle / 2) / angle)
    near = 1 - square / 8 + square * square / 384
    return tnp.concatenate([v * half_sine, tnp.where(small, near, tnp.cos(angle / 2))], axis=-1)


def of_rodrigues(v: Any) -> Any:
    """Of modified Rodrigues parameters."""
    if v.shape[-1:] != (3,):
        raise ValueError(f"Expected `mrp` to have shape (..., 3), got {v.shape}")
    more = tnp.sum(v * v, axis=-1, keepdims=True) + 1
    return tnp.concatenate([2 * v, 2 - more], axis=-1) / more


def of_matrices(m: Any, assume_valid: bool) -> Any:
    """Of matrices, or of the rotations nearest to them."""
    if m.ndim < 2 or m.shape[-2:] != (3, 3):
        raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {m.shape}")
    if not assume_valid:
        message = "Non-positive determinant (left-handed or null coordinate frame) in rotation matrix."
        fail_where(tnp.linalg.det(m) <= 0, message)
        m = unitary(m)
    return of_orthogonal(m)


def of_orthogonal(m: Any) -> Any:
    diagonal = [m[..., n, n] for n in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    choice = tnp.argmax(tnp.stack([*diagonal, trace], axis=-1), axis=-1)[..., None]
    rows = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        rows.append(tnp.stack(parts, axis=-1))
    skew = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    quat = tnp.stack([*skew, 1 + trace], axis=-1)
    for i, row in enumerate(rows):
        quat = tnp.where(choice == i, row, quat)
    return quat / tnp.sqrt(tnp.sum(quat * quat, axis=-1, keepdims=True))


def _sequence(seq: str, least: int) -> tuple[list[int], bool]:
    """The axes, and whether they turn with the body."""
    if not least <= len(seq) <= 3:
        if least == 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        raise ValueError(
            f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq}"
        )
    if not re.fullmatch("[xyz]+|[XYZ]+", seq):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(s) for s in seq.lower()], seq.isupper()


def of_angles(seq: str, angles: Any) -> Any:
    """Of rotations about axes, one after the other; a letter may have a number instead of a vector."""
    axes, turning = _sequence(seq, 1)
    if angles.ndim == 0:
        angles = angles.reshape(1)
        if len(axes) != 1:
            raise ValueError(
                "Expected last dimension of `angles` to match number of sequence axes specified, got 1."
            )
    if angles.shape[-1] != len(axes):
        raise ValueError(
            "Expected last dimension of `angles` to match number of sequence axes specified, got "
            f"{angles.shape[-1]}."
        )
    quat = None
    for n, axis in enumerate(axes):
        half = angles[..., n] / 2
        parts = [tnp.zeros_like(half)] * 3 + [tnp.cos(half)]
        parts[axis] = tnp.sin(half)
        one = tnp.stack(parts, axis=-1)
        quat = one if quat is None else composed(quat, one) if turning else composed(one, quat)
    return quat


# ---------------------------------------------------------------- to other forms


def vectors(quat: Any) -> Any:
    quat = canonical(quat)
    v, w = quat[..., :3], quat[..., 3:]
    square = tnp.sum(v * v, axis=-1, keepdims=True)
    small = square <= (_SMALL / 2) ** 2
    sine = tnp.sqrt(tnp.where(small, 1.0, square))
    far = 2 * tnp.arctan2(sine, tnp.where(small, 1.0, w)) / sine
    # asin(s) / s, times two: the quaternion is of length 1.
    near = 2 + square / 3 + 3 * square * square / 20
    return tnp.where(small, near, far) * v


def rodrigues(quat: Any) -> Any:
    sign = tnp.where(quat[..., 3:] < 0, -1.0, 1.0)
    return sign * quat[..., :3] / (1 + sign * quat[..., 3:])


def matrices(quat: Any) -> Any:
    x, y, z, w = (quat[..., n] for n in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return tnp.stack([tnp.stack(row, axis=-1) for row in rows], axis=-2)


def angles(quat: Any, seq: str, quiet: bool) -> Any:
    """The angles about three axes."""
    axes, turning = _sequence(seq, 3)
    i, j, k = axes[::-1] if turning else axes
    same = i == k
    k = 3 - i - j if same else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = quat[..., i], quat[..., j], quat[..., k] * sign, quat[..., 3]
    parts = (w, x, y, z) if same else (w - y, x + z, y + w, z - x)
    return _between(parts, not turning, 1 if same else sign, 0.0 if same else math.pi / 2, quiet)


def _between(parts: Any, fixed: bool, sign: Any, turn: Any, quiet: bool) -> Any:
    """Angles of a rotation whose outer axes are the same after it is turned about the middle one by `turn`."""
    a, b, c, d = parts
    half_sum, half_difference = _direction(b, a), _direction(d, c)
    middle = 2 * _direction(tnp.sqrt(_sum_of_squares(c, d)), tnp.sqrt(_sum_of_squares(a, b)))
    none, opposite = tnp.abs(middle) <= 1e-7, tnp.abs(middle - math.pi) <= 1e-7
    locked = none | opposite
    if not quiet:
        leave_if(to_raw(tnp.any(locked)), "SciPy's warning of a gimbal lock")
    alone = tnp.where(none, 2 * half_sum, (-2 if fixed else 2) * half_difference)
    first, last = half_sum - half_difference, half_sum + half_difference
    if fixed:
        first, last = tnp.where(locked, alone, first), tnp.where(locked, 0.0, last)
        out = [first, middle - turn, last * sign]
    else:
        first, last = tnp.where(locked, 0.0, first), tnp.where(locked, alone, last)
        out = [last * sign, middle - turn, first]
    out = tnp.stack(out, axis=-1)
    return tnp.mod(out + math.pi, 2 * math.pi) - math.pi


def _sum_of_squares(a: Any, b: Any) -> Any:
    """Never zero, so that its root has a slope."""
    square = a * a + b * b
    return tnp.where(square == 0, 1e-300, square)


def _direction(y: Any, x: Any) -> Any:
    """The angle of (x, y); of (0, 0) it is zero, and its slopes are zero."""
    none = (x == 0) & (y == 0)
    return tnp.arctan2(y, tnp.where(none, 1.0, x))


def about_axes(axes: Any, angles: Any, fixed: bool) -> Any:
    """Of rotations by angles about vectors, one after the other."""
    quat = None
    for n in range(axes.shape[-2]):
        one = of_vectors(angles[..., n, None] * axes[..., n, :])
        quat = one if quat is None else composed(one, quat) if fixed else composed(quat, one)
    return quat


def angles_about(quat: Any, axes: Any, fixed: bool, quiet: bool) -> Any:
    """The angles about three vectors, of which neighbours are orthogonal."""
    n1, n2, n3 = (axes[..., n, :] for n in ((0, 1, 2) if fixed else (2, 1, 0)))
    across = tnp.cross(n1, n2)
    turn = tnp.arctan2(tnp.sum(n3 * across, axis=-1), tnp.sum(n3 * n1, axis=-1))
    other = turn < 0
    turn = tnp.abs(turn)
    n2, across = (tnp.where(other[..., None], -v, v) for v in (n2, across))
    quat = composed(
        tnp.concatenate([tnp.sin(turn / 2)[..., None] * n2, tnp.cos(turn / 2)[..., None]], axis=-1), quat
    )
    v = quat[..., :3]
    parts = quat[..., 3], *(tnp.sum(v * n, axis=-1) for n in (n1, n2, across))
    found = _between(parts, fixed, 1, turn, quiet)
    middle = tnp.where(other, -found[..., 1], found[..., 1])
    return tnp.stack([found[..., 0], middle, found[..., 2]], axis=-1)
