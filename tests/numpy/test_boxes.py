"""Boxes behave as ndarrays: views, writes, conversions, protocols, errors."""

from __future__ import annotations

import copy
import math
import operator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.numpy.running import check, eager, program, staged
from tracejit import errors, lax
from tracejit.ir.avals import Dim
from tracejit.tracing import Box

A = np.arange(24.0).reshape(2, 3, 4)
X = np.linspace(0.1, 1.0, 6)
M = np.arange(12.0).reshape(3, 4)
K = np.arange(4)


def rows(x: Any) -> None:
    for n, row in enumerate(x):
        row[n] = -1.0


def views(x: Any) -> Any:
    a, b = x[1], x.T
    a[2] = 7.0
    b[0, 0] = -1.0
    flat = x.reshape(-1)
    flat[3] = 9.0
    return a, b, flat, x.sum()


def copies(x: Any) -> Any:
    y = x[[0, 1]]
    y[0] = 5.0
    z = x.T.reshape(-1)
    z[0] = 8.0
    w = x.copy()
    w[...] = 1.0
    return y, z, w


def scalars(x: Any) -> Any:
    a = x[2]
    b = a
    a += 1
    x[2] = 50.0
    return a, b, x[2]


def zero_d(x: Any) -> Any:
    a = x[1, 2, ...]
    b = a
    a += 1
    return a, b


def overlap(x: Any) -> None:
    x[1:] += x[:-1]
    x[::-1][:2] *= 3


def parts(x: Any) -> Any:
    z = x + 2j * x
    z.real[0] = 9.0
    z.imag += 1
    return z, z.real


def swap(x: Any) -> None:
    x[0], x[1] = x[1].copy(), x[0].copy()


def steps(x: Any) -> None:
    x[::2, ::-2] = 5.0
    x[1, ...] += x[0]
    x[:, None, 1:3][...] *= 2.0
    x[-1, ::3] = [1.0, 2.0]


def masks(x: Any) -> None:
    x[x > 5] = 0.0
    x[x < 2] *= 3.0
    x[x > 7] += 1.5


def advanced(x: Any) -> None:
    x[[0, 2], 1:3] = 4.0
    x[1, [0, 0, 3]] += 1.0
    x[np.array([True, False, True]), 0] = -1.0
    x[:, [1, 2]] = x[:, [2, 1]]


@pytest.mark.parametrize(
    "f", [rows, views, copies, swap, steps, masks, advanced, parts], ids=lambda f: f.__name__
)
def test_program_of_views_and_writes(f: Any) -> None:
    check(f, M)


def test_scalars_are_values_and_arrays_are_places() -> None:
    check(scalars, X)
    check(zero_d, A)
    check(overlap, X)


INDICES = [
    0, -1, (1, 2), (0, slice(None), -1), slice(1, None), slice(None, None, -1), slice(5, 0, -2), None, Ellipsis,
    (Ellipsis, 1), (slice(None), None, 2), (0, Ellipsis, slice(0, 2)), [0, 1, 1], np.array([[0, 1], [1, 0]]),
    ([0, 1], [2, -1]), ([0, 1], slice(None), [1, 3]), (slice(None), [0, 2], 1), (0, slice(None), [1, 2]),
    (slice(None), [[0], [2]], [1, 3]), ([1], None, [2]), (np.array(1), 2), (slice(0, 0),), ([],),
    (slice(None), np.array([True, False, True])), A > 11, (0, A[0] > 5), True, (np.array([], int), 0),
    (slice(None, None, 2), slice(None, None, 2), slice(None, None, 3)), (1, 2, 3), (Ellipsis, None, None),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_index_reads_and_writes_as_numpy(index: Any) -> None:
    def write(x: Any) -> None:
        x[index] = 100.0

    def add(x: Any) -> None:
        x[index] += 1.0

    def write_back(x: Any) -> None:
        x[index] = x[index] * 2

    for f in (lambda x: x[index], write, add, write_back):
        check(f, A)


BAD_INDICES = [
    3,
    (0, 3),
    (0, 0, 0, 0),
    1.5,
    "a",
    ([0, 5],),
    np.array([True, False, True]),
    (Ellipsis, Ellipsis),
]


@pytest.mark.parametrize("index", BAD_INDICES, ids=str)
def test_bad_index_raises_as_numpy(index: Any) -> None:
    with pytest.raises(IndexError):
        A[index]
    for way in (eager, staged):
        with pytest.raises(IndexError):
            way(lambda x: x[index], A)
        with pytest.raises(IndexError):
            way(lambda x: x.__setitem__(index, 1.0), A)


# ---------------------------------------------------------------- traced indices


def at_integers(x: Any, i: Any, j: Any) -> Any:
    x[i, j] += 1.0
    x[j] = x[i] * 2
    return x[i], x[i, j], x[:, j], x[i, 1:3], x[i, [0, 2]]


def test_traced_integers() -> None:
    check(at_integers, M, 1, 2)
    check(at_integers, M, -1, 0)
    check(lambda x, i: x[::2, ::-1][i], M, 1)
    check(lambda x, i: x[i : i + 2], M, 1, ways=(eager,))


def dynamic(x: Any, i: Any) -> Any:
    y = x[i, :i] @ x[i, :i]
    z = (x[i + 1 :, 0] * x[i + 1 :, 1]).sum()
    x[i, :i] *= 2.0
    x[i, i:] = x[i, i:] + 1.0
    return y, z, x[:i].sum(axis=0), x[i:0:-1].sum(), x[-i:].sum(), x[: i - 9].sum()


@pytest.mark.parametrize("i", [0, 1, 2])
def test_slices_with_traced_bounds(i: int) -> None:
    check(dynamic, M, i)


def test_traced_extents_are_dimensions() -> None:
    def f(x: Any, n: Any) -> None:
        part, total = x[0, :n], x[0, 1 : n + 1] + x[2, 1 : n + 1]
        assert isinstance(part.aval.shape[0], Dim) and part.aval.shape[0].bound == 4
        assert isinstance(total.aval.shape[0], Dim)
        assert isinstance(part.shape[0], Box) and part.ndim == 1

    program(f, M, 2)


def test_traced_index_out_of_range() -> None:
    for way in (eager, staged):
        for f in (lambda x, i: x[i], lambda x, i: x.__setitem__(i, 0.0), lambda x, i: x[[0, i]]):
            with pytest.raises(IndexError):
                way(f, M, 3)


def test_traced_index_arrays() -> None:
    check(lambda x, k: (x[k[:2]], x[1, k], x[k[:3], k[1:]]), M, K)

    def write(x: Any, k: Any) -> None:
        x[k[1:3], k[:2]] = [1.0, 2.0]
        x[k[:2]] += x[k[1:3]]

    check(write, M, K)


# ---------------------------------------------------------------- masks


def mandelbrot(z: Any) -> Any:
    c = z.copy()
    n = np.zeros_like(z)
    for k in range(3):
        m = np.abs(z) < 2.0
        n[m] = k
        z[m] = z[m] ** 2 + c[m]
    return n


def test_masked_updates() -> None:
    check(mandelbrot, M / 6)
    check(
        lambda x: (x[x > 3].sum(), x[x > 3].mean(), x[x > 3].max(), x[x > 90].size, (x[x > 3] * 2).sum()), M
    )
    check(lambda x: x.__setitem__(x * 2 > 3, x[x * 2 > 3] + 1), M)  # the same mask, computed twice
    check(lambda x: x.__setitem__((slice(None), x[0] > 1), 7.0), M)
    check(lambda x: x.__setitem__(x[:, 0] > 1, np.arange(4.0)), M)


# ---------------------------------------------------------------- conversions and errors


def test_conversions_while_values_are_known() -> None:
    def f(x: Any) -> Any:
        if x[0] > 0:
            y = lax.stop_gradient(x)
            return float(y[1]), int(x[2] * 10), y[3].item(), f"{x[1]:.2f}" == f"{X[1]:.2f}"
        return None

    check(f, X, ways=(eager,))


CONVERSIONS = [
    (lambda x: bool(x[0]), errors.TracerBoolError),
    (lambda x: 1 if x[0] > 0 else 2, errors.TracerBoolError),
    (lambda x: int(x[0]), errors.TracerIntegerError),
    (lambda x: range(x[0].astype(int)), errors.TracerIntegerError),
    (lambda x: math.sin(x[0]), errors.TracerFloatError),
    (lambda x: complex(x[0]), errors.TracerFloatError),
    (lambda x: np.asarray(x), errors.TracerArrayError),
    (lambda x: np.array([x[0], x[1]]), errors.TracerArrayError),
    (lambda x: np.nonzero(x)[0].tolist(), errors.TracedIterationError),
    (lambda x: np.frompyfunc(math.sin, 1, 1)(x), errors.UnsupportedFunctionError),
    (lambda x: bool(x > 0), ValueError),
    (lambda x: x.sum(axis=3), errors.AxisError),
    (lambda x: x + np.ones(7), errors.ShapeError),
    (lambda x: x.reshape(4), errors.ShapeError),
]


@pytest.mark.parametrize("n", range(len(CONVERSIONS)))
def test_what_needs_values_says_so(n: int) -> None:
    f, error = CONVERSIONS[n]
    with pytest.raises(error) as e:
        program(f, X)
    assert isinstance(e.value, errors.TracejitError)
    assert e.value.where is None or "test_boxes.py" in e.value.where


def test_a_real_array_cannot_hold_traced_values() -> None:
    def element(x: Any) -> None:
        np.zeros(3)[0] = x[0]

    def part(x: Any) -> None:
        np.zeros(6)[...] = x

    def inplace(x: Any) -> None:
        y = np.zeros(6)
        y += x

    def out(x: Any) -> None:
        np.sin(x, out=np.zeros(6))

    for f in (element, part, inplace, out):
        for way in (eager, staged):
            with pytest.raises((errors.TracerArrayError, ValueError)) as e:
                way(f, X)
            error = e.value if isinstance(e.value, errors.TracerArrayError) else e.value.__cause__
            assert isinstance(error, errors.TracerArrayError)  # NumPy chains it for elements


def test_read_only_views() -> None:
    for f in (lambda x: np.broadcast_to(x, (2, 6)), lambda x: np.diag(x).diagonal()):
        for way in (eager, staged):
            with pytest.raises(ValueError, match="read-only"):
                way(lambda x, f=f: f(x).__setitem__(0, 1.0), X)


def test_inplace_casting() -> None:
    ints = np.arange(4)
    for f in (
        lambda x: operator.iadd(x, 1.5),
        lambda x: np.add(x, 1.5, out=x),
        lambda x: operator.itruediv(x, 2),
    ):
        for way in (eager, staged):
            with pytest.raises(TypeError, match="same_kind"):
                way(f, ints)
    check(lambda x: x.__setitem__(0, 2.7), ints)
    check(lambda x: operator.iadd(x, 2), ints)
    check(lambda x: operator.ipow(x, 2), ints)


def test_a_failed_write_changes_nothing() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(ValueError):
            x[:2] = np.ones(3)
        with pytest.raises(ValueError):
            x += np.ones((2, 6))
        with pytest.raises(IndexError):
            x[[0, 9]] = 1.0
        return x * 1

    check(f, X)


def test_writes_from_an_inner_transformation_are_refused() -> None:
    def f(x: Any) -> Any:
        kept = tnp.zeros(3)

        def inner(y: Any) -> None:
            kept[0] = y

        program(lambda y: inner(y), 1.0)
        return kept

    def index(x: Any) -> Any:
        kept = tnp.zeros(3)

        def inner(i: Any) -> None:
            kept[i] = 1.0

        with pytest.raises(errors.OuterWriteError):
            program(inner, np.int64(2))
        return kept * 1

    for way in (eager, staged):
        with pytest.raises(errors.OuterWriteError):
            way(f, X)
        np.testing.assert_array_equal(way(index, X)[0], np.zeros(3))


def test_small_things() -> None:
    def f(x: Any) -> Any:
        assert x.ndim == 2 and x.shape == (3, 4) and x.size == 12 and x.itemsize == 8 and x.nbytes == 96
        assert x.dtype == np.float64 and len(x) == 3
        assert [r.shape for r in x] == [(4,)] * 3
        assert x.T.shape == (4, 3) and np.shape(x) == (3, 4) and np.ndim(x) == 2 and np.size(x, 1) == 4
        assert isinstance(copy.copy(x), type(x)) and isinstance(copy.deepcopy(x), type(x))
        assert x.flags.writeable
        return (
            +x,
            -x,
            abs(x),
            x.real,
            2 // (x + 1),
            2 % (x + 1),
            1 - x,
            2 / (x + 1),
            np.float64(3) * x,
            x.round(1),
        )

    check(f, M)
    seen: list[str] = []
    program(lambda x: seen.append(f"{x!r} {x}"), X)
    assert seen == ["Traced<f64[6]> Traced<f64[6]>"]


def test_creation_while_tracing_gives_boxes() -> None:
    def f(x: Any) -> Any:
        z = tnp.zeros((2, 3))
        z[0] = x[:3]
        e = tnp.empty_like(x)
        e[...] = x
        a = tnp.array([x[0], 2, x[1]])
        b = tnp.array([[x[0], x[1]], [1, 2]])
        s = tnp.arange(3)
        s[0] = x[0] * 10
        o = tnp.ones(3)
        o += x[:3]
        return (
            z,
            e,
            a,
            b,
            s,
            o,
            tnp.full((2, 2), x[0]),
            tnp.eye(3) * x[0],
            tnp.asarray(x),
            tnp.linspace(0, 1, 3) * x[0],
        )

    def real(x: Any) -> Any:
        z, e = np.zeros((2, 3)), x.copy()
        z[0] = x[:3]
        s = np.arange(3)
        s[0] = x[0] * 10
        o = np.ones(3) + x[:3]
        b = np.array([[x[0], x[1]], [1, 2]])
        return (z, e, np.array([x[0], 2, x[1]]), b, s, o, np.full((2, 2), x[0]), np.eye(3) * x[0], x.copy(),
                np.linspace(0, 1, 3) * x[0])  # fmt: skip

    want = [np.asarray(v) for v in real(X)]
    for way in (eager, staged):
        for g, w in zip(way(f, X), want, strict=False):
            assert np.asarray(g).dtype == w.dtype
            np.testing.assert_allclose(g, w)


def test_writes_into_one_array_are_linear_in_its_length() -> None:
    def f(x: Any) -> None:
        for i in range(1, len(x)):
            x[i] = x[i - 1] * 2.0

    counts = [len(program(f, np.ones(n))[0].eqns) for n in (10, 20)]
    assert counts[1] - counts[0] == 10 * (counts[0] // 9)


def test_eager_writes_are_in_place() -> None:
    addresses = set()

    def f(x: Any) -> None:
        view = x[2:4]
        view.sum()
        for i in range(1, len(x)):
            x[i] = x[i - 1] * 2.0
            addresses.add(x.storage.value.primal.ctypes.data)

    eager(f, np.ones(50))
    assert len(addresses) <= 2


def test_integers_of_scalars_repeat_lists() -> None:
    assert (
        tj.jit(lambda n: "ab" * n)(np.int64(2)) == "abab"
        and tj.jit(lambda n: len("ab" * n))(np.int64(2)) == 4
    )
    for f in (lambda n: [1.0, 2.0] * n, lambda n: n * (1.0,)):
        assert tj.jit(f)(2) == f(2)
        with pytest.raises(errors.TracerIntegerError, match=r"test_boxes\.py"):
            tj.jit(f)(np.int64(2))
    assert tj.jit(lambda n: [1.0] * n)(np.array([2, 3])).tolist() == [2.0, 3.0]


def test_unknown_attributes_say_of_what() -> None:
    with pytest.raises(AttributeError, match=r"'numpy.ndarray' object has no attribute 'foo'"):
        tj.jit(lambda x: x.foo)(np.ones(3))
