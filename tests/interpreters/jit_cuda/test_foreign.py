"""Arrays of other libraries on a device: in any layout, at any address, read-only, by either protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING
from tracejit.errors import DeviceArrayError, DeviceMixError, ReadOnlyArgumentError

pytestmark = pytest.mark.skipif(
    SETTING != "emulate", reason="these arrays stand for others' on the emulated device"
)
X = np.linspace(-1, 1, 12).reshape(3, 4)


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda="emulate", fallback=True):
        yield


class Tensor:
    """As a tensor of PyTorch's: its dtype and device are no NumPy's nor ours, and it can only be read by a protocol."""

    dtype, device = "torch.float64", "cuda:0"

    def __init__(self, array: np.ndarray, fixed: bool = False) -> None:
        self.array, self.fixed = array, fixed
        self.shape = list(array.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        a = self.array
        return {
            "shape": a.shape, "typestr": a.dtype.str, "data": (a.ctypes.data, self.fixed), "version": 3,
            "strides": None if a.flags.c_contiguous else a.strides, "stream": 1,
        }  # fmt: skip


class HostTensor(Tensor):
    """As a tensor of PyTorch's on the host."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor type")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class Capsules:
    """An array that speaks DLPack only."""

    def __init__(self, array: np.ndarray, number: int = 0) -> None:
        self.array, self.number = array, number

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number


def shifted(a: np.ndarray) -> np.ndarray:
    """A copy that starts 8 bytes after a multiple of 16."""
    block = np.empty(a.nbytes + 32, np.uint8)
    start = -block.ctypes.data % 16 + 8
    out = block[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


LAYOUTS = {
    "C": np.copy,
    "Fortran": np.asfortranarray,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "strided": lambda a: np.stack([a, a], -1)[..., 1],
    "transposed": lambda a: a.T.copy().T,
    "not aligned": shifted,
}
KINDS = {"interface": Tensor, "dlpack": Capsules}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_is_read_and_written(layout: str, kind: str) -> None:
    def f(a, b):
        out = a @ b.T
        a *= 2
        a[0] = 7
        return out + a.sum()

    ours, plain = LAYOUTS[layout](X), X.copy()
    got, want = tj.jit(f, device="cuda")(KINDS[kind](ours), KINDS[kind](LAYOUTS[layout](X))), f(plain, X)
    np.testing.assert_allclose(tj.device_get(got), want, rtol=1e-13)
    np.testing.assert_array_equal(ours, plain)


def test_an_argument_that_is_returned_is_the_users_object() -> None:
    x = Tensor(X.copy())
    assert tj.jit(lambda x, y: (x, y + 1), device="cuda")(x, X)[0] is x


@pytest.mark.parametrize("make", [lambda a: Capsules(a, 1), lambda a: tj.device_put(a, "cuda:1")])
def test_calls_run_on_the_device_of_others_arrays(make: Any) -> None:
    assert repr(tj.jit(np.sin)(make(X)).device) == "cuda:1"
    with pytest.raises(DeviceMixError):
        tj.jit(np.sin, device="cuda:0")(make(X))


def test_read_only_arrays_are_not_written() -> None:
    def f(a):
        a[0] = 1
        return a * 2

    x = X.copy()
    with pytest.raises(ReadOnlyArgumentError):
        tj.jit(f, device="cuda", fallback=False)(Tensor(x, fixed=True))
    with pytest.raises(ValueError, match="read-only"):
        tj.jit(f, device="cuda")(Tensor(x, fixed=True))
    np.testing.assert_array_equal(x, X)
    out = tj.jit(np.sin, device="cuda")(Tensor(x, fixed=True))
    np.testing.assert_array_equal(tj.device_get(out), tj.jit(np.sin)(X))


def test_arrays_of_the_host_are_no_devices() -> None:
    x = HostTensor(X)
    assert tj.block_until_ready(x) is x and tj.device_get(x) is x
    assert tj.device_put(Tensor(X), "cpu").tolist() == X.tolist()
    assert tj.device_get(Capsules(X)).tolist() == X.tolist()


def test_masks_and_other_orders_of_bytes_are_refused() -> None:
    """By functions of `jit` and by transformations."""

    class Masked(Tensor):
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return super().__cuda_array_interface__ | {"mask": Tensor(X > 0)}

    for x, said in (
        (Masked(X), "it has a mask"),
        (Tensor(X.astype(">f8")), "its bytes are in another order"),
    ):
        for f in (tj.jit(np.sin), tj.vmap(np.sin), tj.device_get):
            with pytest.raises(DeviceArrayError, match=said):
                f(x)
    np.testing.assert_array_equal(tj.device_get(tj.jit(np.sin)(Tensor(X))), tj.jit(np.sin)(X))


@pytest.mark.parametrize("kind", KINDS)
def test_transformations_and_loops_take_them_without_jit(kind: str) -> None:
    make = KINDS[kind]
    x, there = make(X.copy()), tj.device_put(X, "cuda")

    def f(x):
        return np.max(x * x) + x[0, 0] ** 3

    for made in (tj.grad(f), tj.value_and_grad(f), tj.jacfwd(f), tj.vmap(np.sin), tj.grad(tj.jit(f))):
        for got, want in zip(*(tj.tree.leaves(tj.device_get(made(a))) for a in (x, there)), strict=True):
            np.testing.assert_array_equal(got, want)
    for got in (
        tj.jvp(f, (x,), (there,)),
        tj.vjp(f, x)[0],
        tj.lax.scan(lambda c, r: (c + r.sum(), r), 0.0, x),
    ):
        assert all(isinstance(a, type(there)) for a in tj.tree.leaves(got))
    assert tj.eval_shape(np.sin, x).shape == X.shape


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (), (1,)])
def test_empty_arrays_and_numbers(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5)
    for make in KINDS.values():
        np.testing.assert_array_equal(tj.device_get(tj.jit(np.sin)(make(x))), np.sin(x))


def test_functions_compiled_ahead_of_time_take_arrays_of_their_device() -> None:
    there = tj.device_put(X, "cuda")
    for first in (there, Tensor(X)):
        made = tj.jit(np.sin).lower(first).compile()
        for x in (there, Tensor(X), Capsules(X), X):
            np.testing.assert_array_equal(tj.device_get(made(x)), tj.jit(np.sin)(X))
    with pytest.raises(DeviceMixError, match="cuda:1"):
        tj.jit(np.sin).lower(there).compile()(tj.device_put(X, "cuda:1"))
    with pytest.raises(TypeError, match=r"compiled for \[f64\[3,4\]\] on the CPU, but .* on cuda:0"):
        tj.jit(np.sin).lower(X).compile()(there)
