"""Parts of MINPACK: lengths, factors and rotations, with its sums in its order.

Searches for roots end where residuals are rounding errors, so that the number of their steps is MINPACK's only if each
rounding is. `cumsum` adds from the first element to the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_DWARF, _GIANT = 3.834e-20, 1.304e19
_HUGE = float(np.finfo(float).max)


def added(v: Any) -> Any:
    """The sum, from the first element on; of a matrix, of its rows."""
    return np.cumsum(v, axis=0)[len(v) - 1]


def length(v: Any) -> Any:
    """ENORM: the length of a vector, of which small and large elements are scaled."""
    n = len(v)
    large = _GIANT / n
    s1, s2, s3 = np.float64(0.0), np.float64(0.0), np.float64(0.0)
    x1, x3 = np.float64(0.0), np.float64(0.0)
    for i in range(n):
        a = np.abs(v[i])
        small = a <= _DWARF
        middle = ~small & (a < large)
        huge = ~small & ~middle
        s2 = np.where(middle, s2 + a * a, s2)[()]
        up = a > x3
        other = np.where(a != 0, s3 + (a / x3) ** 2, s3)
        s3 = np.where(small, np.where(up, 1 + s3 * (x3 / a) ** 2, other), s3)[()]
        x3 = np.where(small & up, a, x3)[()]
        up = a > x1
        s1 = np.where(huge, np.where(up, 1 + s1 * (x1 / a) ** 2, s1 + (a / x1) ** 2), s1)[()]
        x1 = np.where(huge & up, a, x1)[()]
    rest = np.where(
        s2 >= x3, np.sqrt(s2 * (1 + (x3 / s2) * (x3 * s3))), np.sqrt(x3 * ((s2 / x3) + (x3 * s3)))
    )
    rest = np.where(s2 != 0, rest, x3 * np.sqrt(s3))
    return np.where(s1 != 0, x1 * np.sqrt(s1 + (s2 / x1) / x1), rest)[()]


def lengths(a: Any) -> Any:
    """Those of the columns of a matrix."""
    out = np.zeros(a.shape[1])
    for k in range(a.shape[1]):
        out[k] = length(a[:, k])
    return out


def factored(a: Any, sizes: Any, pivoted: Any) -> Any:
    """QRFAC: the vectors of the reflections below and on the diagonal, with the triangle above; its diagonal; the
    order of the columns. `sizes` are their lengths."""
    m, n = a.shape
    a = np.array(a)
    order = np.arange(n)
    known = np.array(sizes)
    diagonal = np.array(sizes)
    down, across = np.arange(m), np.arange(n)
    for k in range(n):
        if pivoted:
            best = np.argmax(np.where(across >= k, diagonal, -1.0))
            swap = np.where(across == k, best, np.where(across == best, k, across))
            diagonal[best], known[best] = diagonal[k], known[k]
            a = a[:, swap]
            order = order[swap]
        v = np.where(down >= k, a[:, k], 0.0)
        size = length(v)
        some = size != 0
        size = np.where(a[k, k] < 0, -size, size)
        v = np.where(some, v / size, 0.0)
        v[k] += 1.0
        parts = np.where(some & (across > k), added(v[:, None] * a) / v[k], 0.0)
        column = np.where(down >= k, np.where(some, v, 0.0), a[:, k])
        a = np.where(across[None, :] == k, column[:, None], a - parts[None, :] * v[:, None])
        if pivoted:
            row = a[k]
            changes = some & (across > k) & (diagonal != 0)
            shorter = diagonal * np.sqrt(np.maximum(0.0, 1.0 - (row / diagonal) ** 2))
            lost = changes & (0.05 * (shorter / known) ** 2 <= 2.220446049250313e-16)
            diagonal = np.where(changes, shorter, diagonal)
            if np.any(lost):
                new = lengths(np.where(down[:, None] > k, a, 0.0))
                diagonal = np.where(lost, new, diagonal)
                known = np.where(lost, new, known)
        diagonal[k] = -size
    return a, diagonal, order


def reflected(a: Any, y: Any) -> Any:
    """The transposed orthogonal factor times y."""
    m, n = a.shape
    y = np.array(y)
    down = np.arange(m)
    for k in range(n):
        if a[k, k] != 0:
            v = np.where(down >= k, a[:, k], 0.0)
            y = y + v * (-added(v * y) / a[k, k])
    return y


def orthogonal(a: Any) -> Any:
    """QFORM: the orthogonal factor of a square matrix."""
    n = len(a)
    down = np.arange(n)
    q = np.eye(n)
    for i in range(n):
        k = n - 1 - i
        if a[k, k] != 0:
            v = np.where(down >= k, a[:, k], 0.0)
            dots = added(q * v[:, None])
            q = np.where(down[None, :] >= k, q - (dots / v[k])[None, :] * v[:, None], q)
    return q


def rotation(a: Any, b: Any) -> Any:
    """(sine, cosine) that turn (a, b) to (something, 0), and MINPACK's number for both of them."""
    cotangent = a / b
    tangent = b / a
    s = 0.5 / np.sqrt(0.25 + 0.25 * cotangent**2)
    c = 0.5 / np.sqrt(0.25 + 0.25 * tangent**2)
    by_cotangent = np.abs(a) < np.abs(b)
    sine = np.where(by_cotangent, s, c * tangent)[()]
    cosine = np.where(by_cotangent, s * cotangent, c)[()]
    one = np.where(np.abs(cosine) * _HUGE > 1.0, 1.0 / cosine, 1.0)
    return sine, cosine, np.where(by_cotangent, one, sine)[()]


def updated(r: Any, u: Any, v: Any) -> Any:
    """R1UPDT: the triangle of R + v u', and the numbers of the rotations that make it one."""
    n = len(u)
    r, v = np.array(r), np.array(v)
    across = np.arange(n)
    w = np.zeros(n)
    last = n - 1
    w[last] = r[last, last]
    for i in range(n - 1):
        k = n - 2 - i
        w[k] = 0.0
        if v[k] != 0:
            sine, cosine, number = rotation(v[last], v[k])
            v[last] = sine * v[k] + cosine * v[last]
            v[k] = number
            row = np.array(r[k])
            r[k] = np.where(across >= k, cosine * row - sine * w, row)
            w = np.where(across >= k, sine * row + cosine * w, w)
    w = w + v[last] * u
    for k in range(n - 1):
        if w[k] != 0:
            sine, cosine, number = rotation(r[k, k], w[k])
            row = np.array(r[k])
            r[k] = np.where(across >= k, cosine * row + sine * w, row)
            w = np.where(across >= k, -sine * row + cosine * w, w)
            w[k] = number
    r[last, last] = w[last]
    return r, v, w


def turned(a: Any, v: Any, w: Any) -> Any:
    """R1MPYQ: a matrix times the rotations of two rows of numbers."""
    n = len(v)
    a = np.array(a)
    last = n - 1
    for i in range(n - 1):
        k = n - 2 - i
        sine, cosine = _pair(v[k])
        one, two = np.array(a[:, k]), np.array(a[:, last])
        a[:, last] = sine * one + cosine * two
        a[:, k] = cosine * one - sine * two
    for k in range(n - 1):
        sine, cosine = _pair(w[k])
        one, two = np.array(a[:, k]), np.array(a[:, last])
        a[:, last] = -sine * one + cosine * two
        a[:, k] = cosine * one + sine * two
    return a


def _pair(number: Any) -> Any:
    over = np.abs(number) > 1.0
    c = 1.0 / number
    sine = np.where(over, np.sqrt(1.0 - c**2), number)
    return sine[()], np.where(over, c, np.sqrt(1.0 - number**2))[()]
