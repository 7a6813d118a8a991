"""Functions on devices as users call them, on the emulated one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING
from tracejit.errors import DeviceMemoryError, DeviceMixError, DeviceNameError, HostReadError, NoDeviceError
from tracejit.lowering.cuda import emulated
from tracejit.test_util import check_grads


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda=SETTING, fallback=True):
        yield


X = np.linspace(-1, 1, 12).reshape(3, 4)
emulation = pytest.mark.skipif(SETTING != "emulate", reason="what the emulated device is, not a card")


def number_of(x: Any) -> int:
    """The number of the device that an array is on. On a card it is CuPy's Device that an array names."""
    return x.device.number if hasattr(x.device, "number") else x.device.id


def two_devices() -> None:
    """Skip a test where there is one device."""
    if len(tj.devices()) < 2:
        pytest.skip("there is one device")


def there(x: Any, device: str = "cuda") -> Any:
    return tj.device_put(x, device)


def test_results_are_arrays_of_the_device() -> None:
    f = tj.jit(lambda x: {"y": np.sin(x), "n": (x * 2).sum()}, device="cuda")
    for x in (X, there(X)):
        out = f(x)
        assert number_of(out["y"]) == 0 and out["n"].shape == ()
        np.testing.assert_array_equal(tj.device_get(out["y"]), tj.jit(np.sin)(X))
        assert float(out["n"]) == pytest.approx(2 * X.sum(), abs=1e-12)
        assert tj.block_until_ready(out) is out
    assert f.trace_count == 1


def test_arrays_without_dimensions_are_the_devices_too() -> None:
    out = tj.jit(lambda x: (np.array(x.sum()), x), device="cuda")(X)
    assert out[0].shape == () and float(out[0]) == pytest.approx(X.sum())


def test_arrays_are_copied_with_what_holds_them() -> None:
    two_devices()
    held = {"w": tj.device_put(np.arange(3.0), "cuda:1")}
    copied = copy.deepcopy(held)
    held["w"] += 1
    assert number_of(copied["w"]) == number_of(held["w"]) == 1
    assert tj.device_get(copied)["w"].tolist() == [0, 1, 2]


def test_calls_run_where_their_arrays_are() -> None:
    f = tj.jit(lambda x: x + 1)
    assert isinstance(f(X), np.ndarray)
    with tj.default_device("cuda"):
        assert number_of(f(X)) == number_of(tj.device_put(X)) == 0
    assert isinstance(f(X), np.ndarray)
    two_devices()
    assert number_of(f(there(X, "cuda:1"))) == 1
    assert isinstance(f(X), np.ndarray)


def test_writes_reach_arguments() -> None:
    @tj.jit(device="cuda")
    def f(a, b):
        a += b
        a[0] = 7
        return a.sum()

    for put in (there, np.copy, lambda x: there(np.stack([x, x], -1))[..., 1]):
        a, want = put(X), X + X
        want[0] = 7
        assert float(f(a, X)) == pytest.approx(want.sum())
        np.testing.assert_array_equal(tj.device_get(a), want)


def test_an_array_that_is_written_and_given_twice_is_pythons() -> None:
    def f(a, b):
        a[1:] += b[:-1]
        return b * 1

    a, want = there(X), X.copy()
    out, plain = tj.jit(f)(a, a), f(want, want)
    np.testing.assert_array_equal(tj.device_get(a), want)
    np.testing.assert_array_equal(tj.device_get(out), plain)


def test_transformations_and_control_flow() -> None:
    def loss(w, x):
        h = x
        for _ in range(5):
            h = np.tanh(h @ w)
        return np.mean(h**2)

    w = np.random.default_rng(0).normal(size=(4, 4))
    value, slope = tj.jit(tj.value_and_grad(loss), device="cuda")(there(w), X)
    want = tj.value_and_grad(loss)(w, X)
    np.testing.assert_allclose(tj.device_get(value), want[0], rtol=1e-13)
    np.testing.assert_allclose(tj.device_get(slope), want[1], rtol=1e-12)
    rows = tj.jit(tj.vmap(lambda r: (r * r).sum() if r[0] > 0 else r.sum()), device="cuda")(there(X))
    np.testing.assert_allclose(tj.device_get(rows), [(r * r).sum() if r[0] > 0 else r.sum() for r in X])


def test_random_numbers_have_the_bits_of_the_cpu() -> None:
    def f(key):
        return tj.random.normal(key, (3000,)), tj.random.bits(key, (5,))

    key = tj.random.key(3)
    for got, want in zip(tj.jit(f, device="cuda")(key), tj.jit(f)(key), strict=True):
        np.testing.assert_array_equal(tj.device_get(got), want)


def test_a_failed_check_is_pythons_exception() -> None:
    f = tj.jit(lambda x, i: x[i] * 2, device="cuda")
    x = there(np.arange(5000.0))
    with pytest.raises(IndexError, match="index 5001 is out of bounds for axis 0 with size 5000"):
        f(x, there(np.arange(10, 5010)[::-1] - 8))
    np.testing.assert_array_equal(tj.device_get(f(x, there(np.arange(3)))), [0, 2, 4])
    with pytest.raises(IndexError, match="out of bounds"):
        tj.jit(lambda x, i: x[i], device="cuda", fallback=False)(x, np.arange(6000))


def test_state_outside_is_the_hosts() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = np.zeros(3)

        def add(self, x):
            self.total = self.total + x
            return self.total.sum()

    counter = Counter()
    step = tj.jit(Counter.add, device="cuda")
    assert [float(step(counter, there(np.ones(3)))) for _ in range(2)] == [3, 6]
    assert isinstance(counter.total, np.ndarray) and counter.total.tolist() == [2, 2, 2]


def test_python_runs_what_is_refused_on_copies() -> None:
    def f(x):
        with open("/dev/null"):
            x[0] = 5
        return x + 1

    x = there(X)
    with pytest.warns(tj.errors.FallbackWarning):
        out = tj.jit(f, device="cuda")(x)
    assert tj.device_get(x)[0].tolist() == [5] * 4 and tj.device_get(out)[0].tolist() == [6] * 4


def test_what_is_run_by_the_host_is_said() -> None:
    rng = np.random.default_rng(0)
    f = tj.jit(lambda x: x + rng.normal(size=3), device="cuda")
    report = str(tj.explain(f)(there(np.ones(3))))
    assert "the host runs all of it, on copies: draws from a random generator" in report
    assert f(there(np.ones(3))).shape == (3,)
    report = str(tj.explain(tj.jit(lambda x: x @ x.T, device="cuda"))(np.ones((90, 90))))
    assert "library: product of 90×90 and 90×90, float64" in report
    assert "729,000 multiplications: from 262,144 on the device's library does it" in report
    assert "the host: " in str(tj.explain(tj.jit(np.linalg.eigh, device="cuda"))(np.eye(90)))
    assert "kernel k0: one block" in str(tj.explain(tj.jit(np.sin, device="cuda"))(X))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (str(x), repr(x * 2), f"{x.sum():.2f}"),
        lambda x: {"a": f"{x[0]}", "b": f"{x.max()!r:>30}", "c": x},
        lambda x: repr(x.min()) + " and " + str(x.ravel()[1]),
    ],
)
def test_texts_among_results_are_strings(f: Any) -> None:
    for x in (X, there(X)):
        got, want = tj.tree.leaves(tj.device_get(tj.jit(f, device="cuda")(x))), tj.tree.leaves(f(X))
        assert [type(g) for g in got] == [type(w) for w in want]
        assert all(
            g == w if isinstance(w, str) else np.array_equal(g, w) for g, w in zip(got, want, strict=True)
        )


def test_results_whose_size_the_program_finds() -> None:
    f = tj.jit(lambda x: (np.flatnonzero(x > 0), x[x > 0.5]), device="cuda")
    for x in (X, np.random.default_rng(0).normal(size=5000)):
        for got, want in zip(f(there(x)), (np.flatnonzero(x > 0), x[x > 0.5]), strict=True):
            np.testing.assert_array_equal(tj.device_get(got), want)


def test_results_of_numpys_functions_in_arrays_that_are_given() -> None:
    a, out = there(X), there(np.zeros_like(X))
    assert np.multiply(a, 3.0, out=out) is out
    np.testing.assert_array_equal(tj.device_get(out), X * 3)


def test_several_results_whose_sizes_are_inputs() -> None:
    f = tj.jit(lambda n, m: (np.zeros((2, n)) + 1, np.arange(m) * 2.0, np.ones((m, n))), device="cuda")
    for n, m in ((3, 5), (4, 0), (70, 2)):
        for got, want in zip(f(n, m), (np.ones((2, n)), np.arange(m) * 2.0, np.ones((m, n))), strict=True):
            np.testing.assert_array_equal(tj.device_get(got), want)


def test_functions_of_the_cpu_run_there_whatever_the_default_is() -> None:
    f = tj.jit(lambda x: x + 1, device="cpu")
    with tj.default_device("cuda"):
        out = f(X)
    assert isinstance(out, np.ndarray) and out.tolist() == (X + 1).tolist()
    with pytest.raises(DeviceMixError, match="runs on cpu, and an array among its arguments is on cuda:0"):
        f(there(X))


def test_tools_take_arrays_of_devices(tmp_path: Path) -> None:
    x = there(X)
    same = tj.lax.full_like(x, 2.0)
    assert number_of(same) == 0 and tj.device_get(same).tolist() == np.full_like(X, 2.0).tolist()
    check_grads(lambda x, y: tj.numpy.sin(x) * y, (x, 2.0), 2)
    with pytest.raises(AssertionError):
        check_grads(_with_a_wrong_slope(), (x,), 1)
    for name in ("a.npz", "a.safetensors"):
        tj.tree.save(tmp_path / name, {"x": x})
        assert tj.tree.load(tmp_path / name, {"x": x})["x"].tolist() == X.tolist()


def _with_a_wrong_slope() -> Any:
    f = tj.custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * primals[0] * tangents[0]))
    return f


def test_lbfgs_of_parameters_on_a_device() -> None:
    def cost(p: Any) -> Any:
        return ((p["a"] - 1) ** 2).sum() + (p["b"] ** 4).sum()

    def path(p: Any) -> list[Any]:
        optimizer, costs = tj.optim.lbfgs(memory_size=3), []
        state = optimizer.init(p)
        for _ in range(5):
            value, slope = tj.value_and_grad(cost)(p)
            updates, state = optimizer.update(slope, state, p, value=value, grad=slope, value_fn=cost)
            p = tj.optim.apply_updates(p, updates)
            costs.append(float(value))
        return costs

    p = {"a": X[0].copy(), "b": X[1:].copy()}
    assert path(there(p)) == pytest.approx(path(p), rel=1e-12, abs=1e-30)


@emulation
def test_mistakes_are_told() -> None:
    f = tj.jit(lambda x, y: x + y, device="cuda")
    with pytest.raises(DeviceMixError, match="`y` is on cuda:1"):
        f(there(X), there(X, "cuda:1"))
    with pytest.raises(DeviceNameError):
        tj.jit(np.sin, device="tpu")
    with pytest.raises(NoDeviceError, match="2 devices are emulated"):
        tj.device_put(X, "cuda:2")
    with pytest.raises(HostReadError):
        np.asarray(there(X))
    with tj.config.override(cuda="auto"), pytest.raises(NoDeviceError):
        tj.device_put(X, "cuda:77")


@emulation
def test_no_room_is_an_error_that_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = tj.jit(lambda x: (x[:, None] * x).sum(0) * x, device="cuda"), there(np.ones(2000))
    before = x.device.used
    monkeypatch.setattr(emulated, "CAPACITY", before + 1000)
    with pytest.raises(DeviceMemoryError, match="has no room for"):
        f(x)
    monkeypatch.undo()
    assert tj.device_get(f(x))[0] == 2000
