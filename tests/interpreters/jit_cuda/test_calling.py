"""Calls like earlier ones, which go straight to the program: what is not like them is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda=SETTING, fallback=True):
        yield


def there(x: Any, device: str = "cuda") -> Any:
    return tj.device_put(x, device)


X = np.linspace(-1, 1, 12).reshape(3, 4)
#: Arguments, each of them for several calls in turn.
GIVEN = [
    X, X.T.copy(), X.T, X[::-1], X.astype(np.float32), np.arange(12).reshape(3, 4), 2.0, 3, 2**40, True, np.float32(3),
    np.ones(()), X[:0], 1j,
]  # fmt: skip


@pytest.mark.parametrize("put", [there, lambda x: x, lambda x: there(np.stack([x, x], -1))[..., 1]])
def test_any_order_of_calls(put: Any) -> None:
    def f(x):
        return x * 3 + 1

    g = tj.jit(f, device="cuda")
    for _ in range(2):
        for x in GIVEN:
            for k in range(3):
                if isinstance(x, np.ndarray):
                    got, want = tj.device_get(g(put(x + k))), np.asarray(f(x + k))
                else:
                    got, want = tj.device_get(g(x)), f(x)
                np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
                assert np.asarray(got).dtype == np.asarray(want).dtype


def drawing(x: Any) -> Any:
    """What the host runs."""
    return x + np.random.default_rng(0).normal(size=x.shape)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", ">u2", ">c16"])
@pytest.mark.parametrize("f", [lambda x: x * 2 + 1, drawing])
def test_arrays_in_another_order_of_bytes(f: Any, dtype: str) -> None:
    """They are arguments, are written, are read by name, and are operands."""
    x = np.arange(6).reshape(2, 3).astype(dtype)
    g = tj.jit(f, device="cuda")
    for a in (x, x[:, ::-1], x[:0], x.copy()):
        np.testing.assert_array_equal(tj.device_get(g(a)), f(a))

    def written(a):
        a *= 2
        return a.sum()

    ours, numpys = x.copy(), x.copy()
    assert tj.jit(written, device="cuda")(ours).item() == written(numpys)
    np.testing.assert_array_equal(ours, numpys, strict=True)
    np.testing.assert_array_equal(tj.device_get(tj.jit(lambda y: x + y, device="cuda")(1)), x + 1)
    put = there(x)
    assert put.dtype.isnative and tj.device_get(put).tolist() == x.tolist()
    np.testing.assert_array_equal(tj.device_get(tj.lax.add(put, x.astype(put.dtype))), x + x)


def test_calls_go_straight_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tj.jit(lambda x, y: {"a": x @ y, "b": (y,)}, device="cuda")
    x, y = there(X), there(X.T.copy())
    for _ in range(3):
        f(x, y)
    monkeypatch.setattr(
        type(f).__mro__[-2 if type(f).__mro__[-1] is object else -1], "prepare", None, raising=False
    )
    out = f(x, y)
    assert out["b"][0] is y and np.allclose(tj.device_get(out["a"]), X @ X.T)


def test_captured_arrays_are_current_and_constants_are_there() -> None:
    c = np.ones(4)
    f = tj.jit(lambda x: x * np.array([1.0, 2, 3, 4]) + c, device="cuda")
    for k in range(4):
        c[:] = k
        np.testing.assert_array_equal(tj.device_get(f(there(X + k))), (X + k) * [1, 2, 3, 4] + k)


def test_written_arguments() -> None:
    @tj.jit(device="cuda")
    def step(w, g):
        w -= 0.5 * g
        return w.sum()

    w, want = there(X), X.copy()
    for k in range(4):
        total = step(w, there(X + k))
        want -= 0.5 * (X + k)
        np.testing.assert_allclose(tj.device_get(w), want, rtol=1e-14)
        assert float(total) == pytest.approx(want.sum())
    step(w, w)
    np.testing.assert_allclose(tj.device_get(w), want * 0.5, rtol=1e-14)
    step(w[1:], w[:2])
    want *= 0.5
    want[1:] -= 0.5 * want[:2].copy()
    np.testing.assert_allclose(tj.device_get(w), want, rtol=1e-14)


def test_numbers_checks_and_settings() -> None:
    f = tj.jit(lambda x, i: (x[i], len(x)), device="cuda")
    x = there(np.arange(5.0))
    for i in (1, 2, 3, -1, 4):
        got, n = f(x, i)
        assert float(got) == [0, 1, 2, 3, 4][i] and n == 5
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        f(x, 5)
    assert float(f(x, 0)[0]) == 0
    g = tj.jit(lambda x: 1 / x, device="cuda")
    zero = there(np.zeros(3))
    for _ in range(3):
        assert np.isinf(tj.device_get(g(zero))).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        g(zero)


@pytest.mark.skipif(SETTING != "emulate", reason="there may be one card only")
def test_the_other_device_and_another_setting() -> None:
    f = tj.jit(lambda x: x + 1)
    for _ in range(3):
        for device in ("cuda:0", "cuda:1"):
            assert repr(f(there(X, device)).device) == device
        assert isinstance(f(X), np.ndarray)
        with tj.default_device("cuda:1"):
            assert repr(f(X).device) == "cuda:1"
    g = tj.jit(lambda x: x + 1, device="cuda:0")
    for _ in range(3):
        g(there(X))
    with pytest.raises(tj.errors.DeviceMixError):
        g(there(X, "cuda:1"))


def test_arrays_without_dimensions_are_the_devices() -> None:
    f = tj.jit(lambda x: np.asarray(x.sum()), device="cuda")
    for _ in range(3):
        out = f(there(X))
        assert out.shape == () and float(out) == pytest.approx(X.sum())
