"""x.at[...]: functional updates with JAX's out-of-bounds rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.numpy.running import eager, staged
from tracejit import lax
from tracejit.test_util import check_grads

X = np.arange(5.0)
A = np.arange(12.0).reshape(3, 4)

CASES: dict[str, tuple[Any, Any, Any]] = {
    "set": (lambda at: at[1].set(9.0), X, [0, 9, 2, 3, 4]),
    "set slice": (lambda at: at[1:3].set(9.0), X, [0, 9, 9, 3, 4]),
    "set negative": (lambda at: at[-1].set(9.0), X, [0, 1, 2, 3, 9]),
    "dropped": (lambda at: at[7].set(9.0), X, X),
    "dropped array": (lambda at: at[np.array([1, 7, -9])].add(9.0), X, [0, 10, 2, 3, 4]),
    "clipped": (lambda at: at[7].set(9.0, mode="clip"), X, [0, 1, 2, 3, 9]),
    "add repeated": (lambda at: at[np.array([1, 1, 2])].add(1.0), X, [0, 3, 3, 3, 4]),
    "subtract": (lambda at: at[0].subtract(2.0), X, [-2, 1, 2, 3, 4]),
    "multiply repeated": (lambda at: at[np.array([2, 2])].multiply(3.0), X, [0, 1, 18, 3, 4]),
    "divide": (lambda at: at[1:].divide(2.0), X, [0, 0.5, 1, 1.5, 2]),
    "power": (lambda at: at[2:].power(2), X, [0, 1, 4, 9, 16]),
    "min": (lambda at: at[::2].min(1.0), X, [0, 1, 1, 3, 1]),
    "max": (lambda at: at[np.array([0, 0])].max(np.array([5.0, 2.0])), X, [5, 1, 2, 3, 4]),
    "apply": (lambda at: at[1].apply(np.sqrt), X, [0, 1, 2, 3, 4]),
    "get": (lambda at: at[np.array([1, -1])].get(), X, [1, 4]),
    "get clamps": (lambda at: at[np.array([1, 9])].get(), X, [1, 4]),
    "get fill": (lambda at: at[np.array([1, 9])].get(mode="fill"), X, [1, np.nan]),
    "get fill value": (lambda at: at[np.array([1, 9])].get(mode="fill", fill_value=-1.0), X, [1, -1]),
    "mask": (lambda at: at[X > 2].set(0.0), X, [0, 1, 2, 0, 0]),
    "two": (lambda at: at[1, 2:].set(0.0), A, [[0, 1, 2, 3], [4, 5, 0, 0], [8, 9, 10, 11]]),
    "two arrays": (
        lambda at: at[np.array([0, 1]), np.array([1, 2])].add(100.0),
        A,
        [[0, 101, 2, 3], [4, 5, 106, 7], [8, 9, 10, 11]],
    ),
    "column": (
        lambda at: at[:, np.array([0])].set(np.ones((3, 1))),
        A,
        [[1, 1, 2, 3], [1, 5, 6, 7], [1, 9, 10, 11]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_update(name: str) -> None:
    f, x, want = CASES[name]
    plain = f(tnp.at(x))
    assert type(plain) is np.ndarray
    np.testing.assert_allclose(plain, want)
    for way in (eager, staged):
        got = way(lambda v: f(v.at), x)
        np.testing.assert_allclose(got[0], want, err_msg=way.__name__)
        np.testing.assert_allclose(got[1], x)  # x itself is as it was


def test_traced_indices_and_masks() -> None:
    np.testing.assert_allclose(staged(lambda x, i: x.at[i].add(1.0), X, 2)[0], [0, 1, 3, 3, 4])
    np.testing.assert_allclose(staged(lambda x, i: x.at[i].add(1.0), X, 9)[0], X)
    np.testing.assert_allclose(staged(lambda x: x.at[x > 2].multiply(2.0), X)[0], [0, 1, 2, 6, 8])


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="mode"):
        tnp.at(X)[0].set(1.0, mode="wrap around")


# ---------------------------------------------------------------- every mode against a loop

RNG = np.random.default_rng(11)
UFUNCS = {
    "set": lambda old, v: v, "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "min": np.minimum,
    "max": np.maximum, "divide": np.divide, "power": np.power,
}  # fmt: skip
MODES = [None, "drop", "fill", "clip", "promise_in_bounds", lax.GatherScatterMode.CLIP]
ROWS = np.array([[0, 2], [-1, 0], [2, -3]])


def place(i: int, n: int, mode: Any, wraps: bool = True) -> int | None:
    """Where an index goes, by the loop's own rules; None: nowhere."""
    i = i + n if i < 0 and wraps else i
    if mode in ("clip", lax.GatherScatterMode.CLIP):
        return min(max(i, 0), n - 1)
    return i if 0 <= i < n else None


def updated(x: Any, index: Any, values: Any, fn: Any, mode: Any, wraps: bool = True) -> Any:
    x = x.copy()
    values = np.broadcast_to(values, (*index.shape, *x.shape[1:]))
    for pos in np.ndindex(index.shape):
        i = place(int(index[pos]), len(x), mode, wraps)
        if i is not None:
            x[i] = fn(x[i], values[pos])
    return x


@pytest.mark.sample(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", UFUNCS)
def test_methods_and_modes(method: str, mode: Any) -> None:
    x, v = RNG.uniform(0.5, 2, (3, 2)), RNG.uniform(0.5, 2, (3, 2, 2))
    index = ROWS if mode == "promise_in_bounds" else np.array([[0, 7], [-1, 0], [2, -9]])
    want = updated(x, index, v, UFUNCS[method], mode)
    f = lambda x, i, v: getattr(tnp.at(x)[i], method)(v, mode=mode)
    for way in (f, tj.jit(f), lambda *a: tj.vmap(f)(*(np.stack([y, y]) for y in a))[0]):
        np.testing.assert_allclose(way(x, index, v), want, rtol=1e-12)
    np.testing.assert_allclose(
        tj.vmap(f, (None, 0, 0))(x, index, v)[1], updated(x, index[1], v[1], UFUNCS[method], mode)
    )


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float16, np.complex64])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_reading_modes_and_dtypes(mode: str, dtype: Any) -> None:
    x, index = np.array([1, 0, 3]).astype(dtype), np.array([[0, 5], [-1, -7]])
    places = [[place(i, 3, mode) for i in row] for row in index]
    fill = {"b": True, "u": 255, "i": np.iinfo(np.int32).min}.get(np.dtype(dtype).kind, np.nan)
    for given, value in ((None, fill), (1, 1)):
        want = np.array([[value if p is None else x[p] for p in row] for row in places]).astype(dtype)
        f = lambda x, i: tnp.at(x)[i].get(mode=mode, fill_value=given)
        for way in (f, tj.jit(f), lambda x, i: tj.vmap(f, (None, 0))(x, i)):
            got = way(x, index)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_negative_indices_may_be_out_of_bounds() -> None:
    i = np.array([-1, 1])
    for way in (lambda f: f, tj.jit):
        got = way(lambda x, i: tnp.at(x)[i].set(9.0, wrap_negative_indices=False))(X, i)
        np.testing.assert_array_equal(got, [0, 9, 2, 3, 4])
        got = way(lambda x, i: tnp.at(x)[i].get(mode="fill", fill_value=7.0, wrap_negative_indices=False))(
            X, i
        )
        np.testing.assert_array_equal(got, [7, 1])
    np.testing.assert_array_equal(tnp.at(X)[-1].add(1.0, wrap_negative_indices=False), X)


def test_promises_are_taken_and_others_refused() -> None:
    i = np.array([0, 2, 4])
    f = lambda x: tnp.at(x)[i].add(1.0, indices_are_sorted=True, unique_indices=True)
    assert "unique_indices=True" in str(tj.make_jaxpr(f)(X))
    np.testing.assert_array_equal(tj.jit(f)(X), [1, 1, 3, 3, 5])
    with pytest.raises(TypeError):
        tnp.at(X)[i].add(1.0, unique=True)


def test_empty_indices_and_arrays() -> None:
    none = np.zeros((0,), int)
    for method in UFUNCS:
        f = lambda x, i, method=method: getattr(tnp.at(x)[i], method)(np.zeros((0,)))
        np.testing.assert_array_equal(f(X, none), X)
        np.testing.assert_array_equal(tj.jit(f)(X, none), X)
    assert tj.jit(lambda x, i: tnp.at(x)[i].get())(X, none).shape == (0,)
    empty = np.zeros((0,))
    np.testing.assert_array_equal(tj.jit(lambda x, i: tnp.at(x)[i].add(1.0))(empty, np.array([0, 3])), empty)
    got = tj.jit(lambda x, i: tnp.at(x)[i].get(mode="fill"))(empty, np.array([0, 3]))
    np.testing.assert_array_equal(got, [np.nan, np.nan])


def test_apply_as_often_as_an_index_occurs() -> None:
    i = np.array([1, 3, 1, 9])
    want = X.copy()
    for k in (1, 3, 1):
        want[k] = np.sqrt(want[k]) + 1
    f = lambda x, i: tnp.at(x)[i].apply(lambda v: np.sqrt(v) + 1)
    for way in (f, tj.jit(f), lambda x, i: tj.vmap(f, (0, None))(np.stack([x, x]), i)[1]):
        np.testing.assert_allclose(way(X, i), want, rtol=1e-14)
    two = np.array([0, 2, 0]), np.array([1, 3, 1])
    want = A.copy()
    for a, b in zip(*two, strict=True):
        want[a, b] = want[a, b] * 3
    np.testing.assert_array_equal(
        tj.jit(lambda x, i, j: tnp.at(x)[i, j].apply(lambda v: v * 3))(A, *two), want
    )
    assert "scan" not in str(tj.make_jaxpr(lambda x: tnp.at(x)[np.array([1, 3])].apply(np.sqrt))(X))
    check_grads(lambda x: tnp.at(x)[i].apply(lambda v: np.sqrt(v) + v * v), (X + 1,), order=2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("method", ["set", "add", "multiply", "divide", "power", "min", "max"])
def test_derivatives_to_second_order(method: str, unique: bool) -> None:
    index = np.array([3, 0, 7, -1]) if unique else np.array([3, 0, 3, 9, -2, 3])
    x, v = RNG.uniform(0.5, 2, 5), RNG.uniform(0.5, 2, index.shape)
    if method == "power":
        v = v + 0.1
    f = lambda x, v: getattr(tnp.at(x)[index], method)(v, unique_indices=unique)
    check_grads(f, (x, v), order=2, atol=1e-5, rtol=1e-5)
    want = tj.jacfwd(tj.jacrev(lambda v: (f(x, v) ** 2).sum()))(v)
    np.testing.assert_allclose(
        tj.jit(tj.jacfwd(tj.jacrev(lambda v: (f(x, v) ** 2).sum())))(v), want, rtol=1e-9
    )


@pytest.mark.parametrize("v", [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, -1.0]])
@pytest.mark.parametrize("x0", [0.0, 1.5])
def test_products_with_zeros_differentiate_twice(v: list[float], x0: float) -> None:
    """Of x v0 v1 v2, all in one place: products of the others, whatever is zero."""
    x, v = np.array([x0, 1.0]), np.array(v)
    f = lambda x, v: tnp.at(x)[np.array([0, 0, 0])].multiply(v)[0]
    g = lambda x, v: x[0] * v[0] * v[1] * v[2]
    for of in (lambda h: tj.grad(h, (0, 1)), lambda h: tj.hessian(h, (0, 1))):
        got, want = of(f)(x, v), of(g)(x, v)
        for a, b in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)


def test_lax_modes() -> None:
    mode = lax.GatherScatterMode
    assert mode.from_any(None) is mode.from_any("drop") is mode.from_any("fill") is mode.FILL_OR_DROP
    assert (
        mode.from_any("promise_in_bounds") is mode.PROMISE_IN_BOUNDS and mode.from_any(mode.CLIP) is mode.CLIP
    )
    for wrong in ("wrap", 3, []):
        with pytest.raises(ValueError, match="mode"):
            mode.from_any(wrong)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    for m, want in ((None, [1, 1, 2, 3, 4]), ("clip", [1, 1, 2, 3, 6]), ("drop", [1, 1, 2, 3, 4])):
        got = lax.scatter_add(X, np.array([[0], [9]]), np.array([1.0, 2.0]), numbers, mode=m)
        np.testing.assert_array_equal(got, want)
        got = lax.scatter_sub(X, np.array([[0], [9]]), -np.array([1.0, 2.0]), numbers, mode=m)
        np.testing.assert_array_equal(got, want)


def test_a_loops_index_is_known_to_be_inside() -> None:
    """So that its updates are in place, windows included, and not scatters that drop what is outside."""
    a = np.arange(16.0).reshape(4, 4)

    def column(j: Any, x: Any) -> Any:
        return x.at[j:, j].set(a[j:, j] * 2).at[j, 0].add(1.0)

    f = tj.jit(lambda x: lax.fori_loop(0, 4, column, x))
    want = np.zeros((4, 4))
    for j in range(4):
        want[j:, j] = a[j:, j] * 2
        want[j, 0] += 1
    np.testing.assert_array_equal(f(np.zeros((4, 4))), want)
    assert "scatter" not in f.lower(want).compile().as_text("jaxpr")
    outside = tj.jit(lambda x: lax.fori_loop(0, 6, lambda j, x: x.at[j].set(1.0), x))
    np.testing.assert_array_equal(outside(np.zeros(3)), np.ones(3))
    wrapped = tj.jit(lambda x: lax.fori_loop(0, 2, lambda j, x: x.at[j - 2].set(j + 1.0), x))
    np.testing.assert_array_equal(wrapped(np.zeros(3)), [0, 1, 2])
