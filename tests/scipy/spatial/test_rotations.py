"""Rotations inside of compiled functions: SciPy's values, and slopes by differences, at the identity too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation as R
from scipy.spatial.transform import Slerp

import tracejit as tj
from tracejit import tree
from tracejit.errors import NumberError

RNG = np.random.default_rng(0)
ONE, MANY = np.array([0.1, 0.2, 0.3, 0.9]), RNG.normal(size=(5, 4))
V = RNG.normal(size=(5, 3))
SINGLE, ARRAY = R.from_quat(ONE), R.from_quat(MANY)
BETWEEN = Slerp([0, 1.0], ARRAY[:2])
AXES = [[0, 1, 0], [0, 0, 1], [1, 1, 0]]

CASES: dict[str, Callable[[Any], Any]] = {
    "matrix": lambda q: R.from_quat(q).as_matrix(),
    "quat": lambda q: R.from_quat(q, scalar_first=True).as_quat(canonical=True, scalar_first=True),
    "euler": lambda q: [R.from_quat(q).as_euler(s) for s in ("xyz", "ZYX", "zxz", "XYX")],
    "from euler": lambda q: R.from_euler("ZX", q[..., :2], degrees=True).as_quat(),
    "rotvec": lambda q: R.from_rotvec(q[..., :3]).as_rotvec(degrees=True),
    "projected": lambda q: R.from_matrix(R.from_quat(q).as_matrix() * 1.1 + 0.01).as_quat(),
    "product": lambda q: [
        (r * R.from_quat(q) * R.from_rotvec(q[..., :3])).as_quat() for r in (SINGLE, ARRAY)
    ],
    "inverse": lambda q: (R.from_quat(q).inv().as_mrp(), R.from_quat(q).magnitude()),
    "power": lambda q: (
        (R.from_quat(q) ** 0.5).as_rotvec(),
        (R.from_quat(q) ** -1 * R.from_quat(q) ** 0).as_quat(),
    ),
    "davenport": lambda q: R.from_quat(q).as_davenport(AXES, "i"),
    "from davenport": lambda q: R.from_davenport(AXES, "i", q[..., :3]).as_quat(),
    "apply": lambda q: (R.from_quat(q).apply(V), R.from_quat(q).apply(V[0], inverse=True)),
    "slerp outside": lambda q: BETWEEN(abs(q.reshape(-1)[:2] * 0.1)).as_matrix(),
}
OF_ONE: dict[str, Callable[[Any], Any]] = {
    "align": lambda q: (R.align_vectors(V + q[:3], V)[0].as_quat(), R.align_vectors(V + q[:3], V)[1]),
    "align two": lambda q: R.align_vectors(V[:2] + q[:3], V[:2], [1, 2])[0].as_matrix(),
    "align mirrored": lambda q: R.align_vectors(V * [1, 1, -1] + q[:3], V)[0].as_quat(),
    "mean": lambda q: R.from_quat(np.stack([q, q + 0.1])).mean([1, q[0]]).as_quat(),
    "slerp": lambda q: Slerp([0, 1.0], R.from_quat(np.stack([q, q + 0.3])))([0.3, 0, 1.0]).as_quat(),
    "items": lambda q: [r.as_quat() for r in R.concatenate([R.from_quat(q), ARRAY])[:3]],
    "constants": lambda q: (R.create_group("C4") * R.identity(4) * R.from_quat(q)).as_quat(),
    "equal": lambda q: R.from_quat(q).approx_equal(SINGLE, 3.0) * q,
}


def check(f: Any, q: np.ndarray) -> None:
    def flat(q: Any) -> Any:
        return tree.leaves(f(q))

    way = np.cos(np.arange(q.size).reshape(q.shape))
    got, slopes = tj.jit(lambda q, way: tj.jvp(flat, (q,), (way,)))(q, way)
    ahead, back = flat(q + 1e-6 * way), flat(q - 1e-6 * way)
    for a, b, s, up, down in zip(got, flat(q), slopes, ahead, back, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(s, (np.asarray(up) - down) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("q", [ONE, MANY], ids=["one", "many"])
def test_values_and_slopes(name: str, q: np.ndarray) -> None:
    check(CASES[name], q)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one(name: str) -> None:
    check(OF_ONE[name], ONE)


@pytest.mark.sample(2)
@pytest.mark.parametrize("q", [ONE, MANY], ids=["one", "many"])
def test_powers_and_parameters(q: np.ndarray) -> None:
    """Exponents that the program knows, of which three cost nothing; modified Rodrigues parameters."""
    for n in (-2, -1, 0, 1, 2, 3, 0.5):
        got = tj.jit(lambda q, n=n: (R.from_quat(q) ** n).as_quat())(q)
        rtol, atol = (1e-15, 1e-16) if n in (-1, 0, 1) else (1e-11, 1e-13)
        np.testing.assert_allclose(got, (R.from_quat(q) ** n).as_quat(), rtol=rtol, atol=atol)
    check(lambda v: R.from_mrp(v).as_quat(), q[..., :3])


def test_slopes_at_the_identity() -> None:
    check(lambda v: R.from_rotvec(v).as_rotvec(), np.zeros(3))
    check(lambda m: R.from_matrix(m).as_rotvec(), np.eye(3))
    curve = tj.hessian(lambda v: R.from_rotvec(v).as_matrix()[0, 0])(np.zeros(3))
    np.testing.assert_allclose(curve, -np.diag([0, 1, 1]), atol=1e-12)


def test_slopes_of_the_nearest_unitary_matrix() -> None:
    """Also where singular values are equal."""
    orthogonal: Any = scipy.linalg.qr(RNG.normal(size=(3, 3)))[0]
    for m in (np.eye(3), np.eye(4)[:, :3] * 2, np.eye(4)[:3], orthogonal):
        check(lambda m: scipy.linalg.polar(m), m)
        check(lambda m: scipy.linalg.polar(m, "left"), m)
    check(lambda a: scipy.linalg.orthogonal_procrustes(a, orthogonal), np.eye(3))
    a, b = RNG.normal(size=(5, 3)), 1j * RNG.normal(size=(5, 3))
    got = tj.jit(scipy.linalg.orthogonal_procrustes)(a + b, b)
    for x, y in zip(got, scipy.linalg.orthogonal_procrustes(a + b, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_objects_go_in_and_out() -> None:
    made = tj.jit(tj.vmap(lambda q: R.from_quat(q) * SINGLE))(MANY)
    assert type(made) is R
    np.testing.assert_allclose(made.as_quat(), (ARRAY * SINGLE).as_quat(), atol=1e-15)
    np.testing.assert_allclose(tj.jit(lambda r, v: r.apply(v))(SINGLE, V[0]), SINGLE.apply(V[0]))

    def turned(q: Any, n: int) -> Any:
        r = R.from_quat(q)
        for _ in range(n):
            r = r * SINGLE if q[0] > 0 else r.inv()
        return r

    for sign in (1, -1):
        np.testing.assert_allclose(
            tj.jit(turned)(sign * ONE, 20).as_matrix(), turned(sign * ONE, 20).as_matrix(), atol=1e-13
        )


def test_what_scipy_raises_or_warns_of() -> None:
    f = tj.jit(lambda q: R.from_quat(q).as_euler("zxz"))
    with pytest.raises(NumberError, match="gimbal"):
        f(np.array([0, 0, 0, 1.0]))
    bad = [
        (lambda q: R.from_quat(q), np.zeros(4)),
        (lambda q: R.from_quat(q), np.ones(3)),
        (lambda q: R.from_euler("xx", q[:2]), ONE),
        (lambda q: R.from_euler("xY", q[:2]), ONE),
        (lambda q: R.from_quat(q)[0], ONE),
        (lambda q: R.from_matrix(q.reshape(2, 2)), ONE),
        (lambda q: R.from_mrp(q), ONE),
        (lambda q: R.from_rotvec(q), ONE),
        (lambda q: Slerp([1.0, 0.0], R.from_quat(np.stack([q, q + 1]))), ONE),
    ]
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(f(np.array([0, 0, 0, 1.0])), np.zeros(3))
        for g, q in bad:
            with pytest.raises((ValueError, TypeError)) as theirs:
                g(q)
            with pytest.raises(theirs.type):
                tj.jit(lambda q, g=g: g(q).as_quat())(q)  # type: ignore[misc]
