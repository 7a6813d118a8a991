"""The order of new arrays in memory is that of NumPy's: strides, not only flags, of many functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.numpy.boxes import layouts
from tracejit.numpy.boxes.memory import order_of_strides

D = np.arange(24.0).reshape(2, 3, 4)
GIVEN = {"C": D, "F": np.asfortranarray(D), "turned": D.transpose(1, 2, 0), "gaps": D.transpose(2, 0, 1)[::2]}
FUNCTIONS: dict[str, Any] = {
    "sum": lambda x: x + 1,
    "of two": lambda x: x + x[0],
    "comparison": lambda x: x > 2,
    "copy": np.copy,
    "like": np.ones_like,
    "cast": lambda x: x.astype(np.float32),
    "reduced": lambda x: x.sum(1),
    "running": lambda x: np.cumsum(x, 0),
    "sorted": lambda x: np.sort(x, 0),
    "joined": lambda x: np.concatenate([x, x]),
    "chosen": lambda x: np.where(x > 3, x, 0),
    "taken": lambda x: x[:, [0, 1]],
    "in Fortran's order": lambda x: x.copy("F"),
    "turned": lambda x: x.T * 2,
    "deleted": lambda x: np.delete(x, 0, 1),
    "inserted": lambda x: np.insert(x, 1, 5.0, 1),
    "padded": lambda x: np.pad(x, 1, mode="edge"),
    "padded oddly": lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"),
    "segments": lambda x: np.add.reduceat(x, [0, 1], 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides_are_numpys(name: str) -> None:
    f = FUNCTIONS[name]
    jitted = tj.jit(f)
    for x in GIVEN.values():
        want, got = f(x), jitted(x)
        assert got.strides == want.strides and got.flags.writeable
        np.testing.assert_array_equal(got, want)


def _reshaped(x: Any) -> tuple[Any, Any]:
    """A copy, since what is selected does not lie in C's order."""
    y = x[:, x[0] > 1]
    return y.reshape(-1), y.T.reshape(-1) * 2


SELECTED: dict[str, Any] = {
    "columns": lambda x: x[:, x[0] > 1],
    "of turned": lambda x: x.T[:, x[:, 0] > 1] * 2,
    "computed": lambda x: 2 * x[:, x[0] > 1] + 1,
    "copied": lambda x: (x[:, x[0] > 1].copy(), x[:, x[0] > 1].astype(np.float32)),
    "turned and cut": lambda x: (x[:, x[0] > 1].T, x[:, x[0] > 1][1:]),
    "coordinates": lambda x: np.nonzero(x > 1),
    "known coordinates": lambda x: np.nonzero(np.eye(3)),
    "some of them": lambda x: (np.where(x > 1)[1], np.where(x > 1)[0] + 1),
    "rows of coordinates": lambda x: (np.argwhere(x > 1), np.argwhere(x > 1) + 1, np.argwhere(x > 1)[1:]),
    "joined": lambda x: np.concatenate([x[:, x[0] > 1], x], 1),
    "without a column": lambda x: np.delete(x, 1, axis=1),
    "grids": lambda x: np.linspace(x[0], x[1], num=int(np.ceil(x.max()))).T.astype(int),
    "rows of grids": lambda x: tuple(np.linspace(x[0], x[1], num=int(np.ceil(x.max()))).T),
    "reshaped": _reshaped,
}


@pytest.mark.parametrize("name", SELECTED)
def test_arrays_of_traced_lengths_lie_as_numpys(name: str) -> None:
    f = SELECTED[name]
    jitted = tj.jit(f)
    for n in range(4):
        x = np.random.default_rng(n).uniform(0, 2.5, (4, 5))
        x[:2, :2], x[:2, 2:4] = 2.2, 0.5  # two at least hold, and two do not
        for want, got in zip(*(y if isinstance(y, tuple) else (y,) for y in (f(x), jitted(x))), strict=True):
            assert got.strides == want.strides and got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
    assert jitted.trace_count == 1


def test_large_operands_have_small_stand_ins():
    x = np.zeros((300, 400)).T
    assert tj.jit(lambda x: np.exp(x))(x).strides == np.exp(x).strides


def test_programs_serve_an_order_and_not_its_strides():
    f = tj.jit(lambda x: x + 1)
    for x in (D[0], D[0, ::2], D[0][:, ::2]):
        f(x[:2, :2])
    assert f.trace_count == 1
    f(D[0].T[:2, :2])
    assert f.trace_count == 2 and "order in memory" in f.retraces[-1]


def test_orders_of_strides():
    assert order_of_strides(None) is None and order_of_strides((32, 8)) is None
    assert order_of_strides((8, 32)) == (1, 0) and order_of_strides((8, -32)) == (1, 0)
    assert order_of_strides((8, 32), (1, 4)) is None  # nothing is stepped along the first


def test_exported_programs_give_traced_lengths_in_c_order() -> None:
    def f(x: Any) -> Any:
        return x[:, x[0] > 1], np.nonzero(x > 1), np.argwhere(x > 1)

    x = np.random.default_rng(1).uniform(0, 2.5, (4, 5))
    for got, want in zip(*(tj.tree.leaves(g(x)) for g in (tj.export(f)(x), f)), strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.flags.c_contiguous


def test_integers_that_functions_are_asked_with_are_in_range() -> None:
    def seen(a: Any, p: Any) -> Any:
        stand_in = layouts._StandIns({}, False, True).of
        found.append((stand_in(p), stand_in(p[:, :2]), stand_in(p[:1, :1]), stand_in(a)))
        return a

    found: list[Any] = []
    tj.jit(seen)(np.ones((2, 3, 3)), np.ones((2, 3), np.int32))
    rows, square, one, matrices = found[0]
    assert rows.tolist() == [[0] * 3] * 2 and square.tolist() == [[1, 0], [0, 1]] and one.tolist() == [[0]]
    assert np.linalg.eigvalsh(matrices).min() > 0
