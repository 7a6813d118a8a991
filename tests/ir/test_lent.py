"""What is written into arrays of the user's after traced operations have got them changes nothing of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import tracejit as tj
from tracejit.ir.lent import Lent, kept

X = np.array([0.3, -0.7, 1.1])
B = np.array([1.0, 2.0, 3.0])


def nodes(x):
    """Nothing is traced of what SciPy gives: it is an array of NumPy's while the program is made."""
    t, _ = scipy.special.roots_legendre(3)
    y = (t * x).sum()
    t *= 3
    kept = np.zeros(3)
    kept[:] = t
    t[0] = 9.0
    return y + (t * x).sum() + (kept * x).sum()


def products(x):
    t = B * 2
    y = t @ x
    t *= 3
    return y + t @ x


def functions(x):
    t = B * 2
    y = tj.lax.cond(x[0] > 0, lambda z: (t * z).sum(), lambda z: z.sum(), x)
    t *= 3
    y = y + tj.lax.fori_loop(0, 3, lambda i, c: c + (t * x).sum(), 0.0)
    t *= 2
    y = y + tj.vmap(lambda z: (z * t).sum())(np.stack([x, x])).sum()
    t += 1
    y = y + tj.jit(lambda z: (z * t).sum())(x)
    t += 1
    y = y + tj.checkpoint(lambda z: (z * t).sum())(x)
    t += 1
    return y


@pytest.mark.parametrize("f", [nodes, products, functions])
def test_values_and_slopes(f: Any) -> None:
    want = f(X)
    step = 1e-6
    slopes = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(tj.jit(f)(X), want, rtol=1e-13)
    for g in (tj.value_and_grad(f), tj.jit(tj.value_and_grad(f))):
        value, slope = g(X)
        np.testing.assert_allclose(value, want, rtol=1e-13)
        np.testing.assert_allclose(slope, slopes, rtol=1e-7)
    value, along = tj.jvp(f, (X,), (np.ones(3),))
    np.testing.assert_allclose((value, along), (want, np.sum(slopes)), rtol=1e-7)
    rows = [tj.grad(lambda x, n=n: tj.grad(f)(x)[n] + f(x))(X) for n in range(3)]
    np.testing.assert_allclose(rows, [slopes] * 3, rtol=1e-7)


def test_one_array_is_one_constant_until_something_is_written_into_it() -> None:
    lent, x = Lent(), np.array([1.0, 0.0, np.nan])
    first = lent.of(x)
    assert first is not x and lent.of(x) is first
    x[1] = -0.0
    second = lent.of(x)
    assert second is not first and lent.of(x) is second and np.signbit(second[1])


def test_what_nobody_can_write_into_is_not_copied() -> None:
    x = np.ones((2, 3))
    part = np.broadcast_to(x, (4, 2, 3))
    assert kept(part) is not part  # x can be written into
    x.flags.writeable = False
    assert kept(x) is x and kept(part) is part
