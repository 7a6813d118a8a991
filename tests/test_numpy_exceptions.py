"""What raises in NumPy raises under jit and vmap, and what does not, does not: type and words."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

A, N, U8 = np.arange(5.0), np.arange(5), np.arange(5, dtype=np.uint8)
I8, M, ONE = np.arange(5, dtype=np.int8), np.arange(12.0).reshape(3, 4), np.ones(1)
NAN = np.array([[np.nan, np.nan], [1.0, 2.0]])
BINS = np.array([1.0, 0.0, 2.0])


def write(index: Any, *known: Any) -> Callable[..., Any]:
    """x[index] = value, which is known or an argument."""

    def function(x: Any, *value: Any) -> Any:
        x[index] = (known or value)[0]
        return x

    return function


def call(name: str, *known: Any) -> Callable[..., Any]:
    """A function that changes its argument."""

    def function(x: Any, *args: Any) -> Any:
        getattr(np, name)(x, *args, *known)
        return x

    return function


def add_at(x: Any, i: Any) -> Any:
    np.add.at(x, i, 1.0)
    return x


#: (name, function, arguments): NumPy decides which of them raise.
DATA: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("at beyond", add_at, (A, np.array([7]))),
    ("at below", add_at, (A, np.array([0, -6]))),
    ("at inside", add_at, (A, np.array([-5, 4, 4]))),
    ("at wraps", lambda x: np.add.at(x, [0], 300), (U8,)),
    ("choose beyond", lambda i, x: np.choose(i, (x, x + 1)), (np.array([0, 1, 2, 0, 1]), A)),
    ("choose below", lambda i, x: i.choose((x, x + 1)), (np.array([0, 1, -1, 0, 1]), A)),
    ("choose inside", lambda i, x: np.choose(i, (x, x + 1)), (np.array([0, 1, 1, 0, 1]), A)),
    ("nanargmin", lambda x: np.nanargmin(x, axis=1), (NAN,)),
    ("nanargmax", lambda x: np.nanargmax(x, axis=1), (NAN,)),
    ("nanargmax fine", lambda x: np.nanargmax(x, axis=0), (NAN,)),
    ("average", lambda x, w: np.average(x, weights=w), (A, 0 * A)),
    ("average of rows", lambda x, w: np.average(x, weights=w, axis=1), (M, np.diag([1.0, 0, 1, 1])[:3])),
    ("average fine", lambda x, w: np.average(x, weights=w, axis=(1, 0)), (M, np.ones((4, 3)))),
    ("quantile", lambda x, q: np.quantile(x, q), (A, 1.5)),
    ("quantiles", lambda x, q: np.quantile(x, q), (A, np.array([0.5, np.nan]))),
    ("percentile", lambda x, q: np.nanpercentile(x, q), (A, -1.0)),
    ("quantile fine", lambda x, q: np.quantile(x, q), (A, 1.0)),
    ("bincount", lambda x: np.bincount(x, minlength=4), (np.array([1, -1]),)),
    ("digitize", lambda x, b: np.digitize(x, b), (A, BINS)),
    ("digitize falling", lambda x, b: np.digitize(x, b), (A, -A)),
    ("histogram of nan", lambda x: np.histogram(x, 4), (np.array([1, np.nan, 2]),)),
    ("histogram of inf", lambda x: np.histogram(x, 4), (np.array([0.1, np.inf, 2]),)),
    ("histogram of -inf", lambda x: np.histogram(x, 4), (np.array([0.1, -np.inf], np.float32),)),
    ("histogram of both", lambda x: np.histogram(x, 4), (np.array([-np.inf, np.inf]),)),
    ("range of nan", lambda x, r: np.histogram(x, 4, range=(0, r)), (A, np.nan)),
    ("range of zero and inf", lambda x, r: np.histogram(x, 4, range=(r, np.inf)), (A, 0.0)),
    ("range reversed", lambda x, r: np.histogram(x, 4, range=(0, r)), (A, -1.0)),
    ("range fine", lambda x, r: np.histogram(x, 4, range=(0, r)), (A, 1.0)),
    ("edges reversed", lambda x, b: np.histogram(x, b), (A, BINS)),
    ("edges in the plane", lambda x, b: np.histogram2d(x, x, [2, b]), (A, BINS)),
    ("geomspace", lambda x, s: np.geomspace(s, x, 4), (ONE, 0.0)),
    ("reduceat below", lambda x, i: np.add.reduceat(x, i), (A, np.array([0, -1]))),
    ("delete", lambda x, i: np.delete(x, i), (A, 9)),
    ("take_along_axis", lambda x, i: np.take_along_axis(x, i, 1), (M, np.full((3, 1), 9))),
    ("put", call("put", 1.0), (A, np.array([9]))),
    ("uint8 + 300", lambda x, i: x + i, (U8, 300)),
    ("uint8 + -1", lambda x, i: np.maximum(x, i), (U8, -1)),
    ("uint8 + 200", lambda x, i: x + i, (U8, 200)),
    ("uint8[0] = 300", write(0), (U8, 300)),
    ("uint8[:] = 300", write(slice(None)), (U8, 300)),
    ("uint8[mask] = 300", write(U8 > 2), (U8, 300)),
    ("uint8[0] = 300.0", write(0), (U8, 300.0)),
    ("uint8[0] = -1.5", write(0), (U8, -1.5)),
    ("uint8[0] = -0.5", write(0), (U8, -0.5)),
    ("uint8[0] = int64", write(0), (U8, np.int64(300))),
    ("uint8[0] = float64", write(0), (U8, np.float64(300))),
    ("int8[0] = int64", write(0), (I8, np.int64(300))),
    ("int8[0] = float32", write(0), (I8, np.float32(300))),
    ("int8[:] = int64", write(slice(None)), (I8, np.int64(300))),
    ("int[0] = nan", write(0), (N, np.nan)),
    ("int[0] = inf", write(0), (N, np.inf)),
    ("int[0] = 1e30", write(0), (N, -1e30)),
    ("int[0] = float64 nan", write(0), (N, np.float64(np.nan))),
    ("int[[0]] = nan", write([0]), (N, np.nan)),
    ("int[0] = 1.5", write(0), (N, 1.5)),
    ("int[0] = 1j", write(0), (N, 1j)),
    ("float[0] = 1j", write(0), (A, 1j)),
    ("full", lambda x, v: np.full(3, v, np.uint8) + x[0], (U8, 300)),
    ("array", lambda x, v: np.array([v, 1], int) + x[0], (N, np.nan)),
    ("array of scalars", lambda x: np.array([x[0] * np.nan, 1], int), (A,)),
    ("int()", lambda x: int(x), (np.nan,)),
    ("floor", lambda x: math.floor(x), (np.inf,)),
]

_TEXT: list[tuple[str, Any, Any]] = [
    ("sort", lambda x, o: np.sort(x, kind=o), A),
    ("argsort", lambda x, o: x.argsort(kind=o), A),
    ("partition", lambda x, o: np.partition(x, 2, kind=o), A),
    ("reshape", lambda x, o: x.reshape((5,), order=o), A),
    ("ravel", lambda x, o: np.ravel(x, o), M),
    ("flatten", lambda x, o: x.flatten(o), M),
    ("copy", lambda x, o: np.copy(x, o), A),
    ("array", lambda x, o: np.array(x, order=o), A),
    ("asarray", lambda x, o: np.asarray(x, order=o), A),
    ("astype", lambda x, o: x.astype(int, o), A),
    ("zeros", lambda x, o: np.zeros(3, order=o) + x[0], A),
    ("full_like", lambda x, o: np.full_like(x, 2, order=o), A),
    ("ravel_multi_index", lambda x, o: np.ravel_multi_index((x, x), (6, 6), order=o), N),
    ("unravel_index", lambda x, o: np.unravel_index(x, (6, 6), o), N),
    ("take", lambda x, o: np.take(x, N, mode=o), A),
    ("choose", lambda x, o: np.choose(x % 2, (x, x), mode=o), N),
    ("add", lambda x, o: np.add(x, x, order=o), A),
    ("meshgrid", lambda x, o: np.meshgrid(x, x, indexing=o), A),
]

#: What the shapes and options of arguments say.
STATIC: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("ddof and correction", lambda x: np.var(x, ddof=1, correction=1), (A,)),
    ("correction only", lambda x: np.std(x, correction=1), (A,)),
    ("correction of a method", lambda x: x.var(correction=1), (A,)),
    ("nan and correction", lambda x: np.nanstd(x, ddof=1, correction=1), (A,)),
    ("initial of a sum", lambda x: np.sum(x, axis=0, initial=[1, 2]), (M,)),
    ("initial of a product", lambda x: np.prod(x, initial=np.ones(1)), (A,)),
    ("initial of a maximum", lambda x: np.max(x, axis=0, initial=[1.0, 2.0, 3.0, 4.0]), (M,)),
    ("initial of a method", lambda x: x.min(initial=(1, 2)), (A,)),
    ("initial of a fold", lambda x: np.multiply.reduce(x, initial=[1, 2]), (A,)),
    ("initial of nan", lambda x: np.nanmax(x, initial=[1]), (A,)),
    ("initial without dimensions", lambda x: np.sum(x, initial=np.array(2.0)), (A,)),
    ("dots of einsum", lambda x: np.einsum("i..", x), (M,)),
    ("four dots of einsum", lambda x: np.einsum("....", x), (M,)),
    ("digits of einsum", lambda x: np.einsum("i1", x), (M,)),
    ("dots of einsum's result", lambda x: np.einsum("i...->..i", x), (M,)),
    ("spaces of einsum", lambda x: np.einsum(" i ... -> ... i ", x), (M,)),
    ("blocks of mixed depths", lambda x: np.block([x, [x]]), (A,)),
    ("blocks in a tuple", lambda x: np.block(([x], [x])), (A,)),
    ("no blocks", lambda x: np.block([[], [x]]), (A,)),
    ("weights of quantiles", lambda x: np.quantile(x, 0.5, weights=x, method="inverted_cdf"), (A,)),
    *((f"{name} {o}", lambda x, f=f, o=o: f(x, o), (x,)) for name, f, x in _TEXT for o in ("foo", "K", "f")),
    ("sort by fields", lambda x: np.sort(x, order="foo"), (A,)),
    ("sort kind and stable", lambda x: np.sort(x, kind="stable", stable=True), (A,)),
    ("partition beyond", lambda x: np.partition(x, 20), (A,)),
    ("argpartition below", lambda x: np.argpartition(x, -6), (A,)),
    ("einsum", lambda x: np.einsum("ii", x), (M,)),
    ("einsum of one", lambda x: np.einsum("ii->i", x), (M[:1],)),
    ("average", lambda x, w: np.average(x, weights=w, axis=1), (M, np.ones(3))),
    ("bincount", lambda x: np.bincount(x, minlength=-1), (N,)),
    ("linspace", lambda x: np.linspace(1, x, -4), (ONE,)),
    ("select", lambda c, x: np.select([c], [x]), (N, A)),
    ("select wraps", lambda x: np.select([x > 1], [x], 300), (U8,)),
    ("histogram", lambda x: np.histogram(x, "foo"), (A,)),
    ("round", lambda x: np.round(x, 1.5), (A,)),
    ("element of an array", write(0), (A, ONE)),
    ("element of a matrix", write((0, 0)), (M, np.ones((1, 1)))),
    ("element of a list", write(0, [1.0]), (A,)),
    ("elements", write((0, Ellipsis)), (A, ONE)),
    ("fill", lambda x, v: x.fill(v), (A, ONE)),
    ("float", lambda x: float(x), (ONE,)),
    ("int", lambda x: int(x), (np.ones((1, 1)),)),
    ("complex", lambda x: complex(x), (ONE,)),
    ("math.sqrt", lambda x: math.sqrt(x), (ONE,)),
    ("item", lambda x: x.item(), (A,)),
    ("uint8 + 300", lambda x: x + 300, (U8,)),
    ("clip", lambda x: np.clip(x, -1, 300), (U8,)),
    ("clip beyond", lambda x: np.clip(x, 300, 400), (U8,)),
    ("pad", lambda x: np.pad(x, 1, constant_values=300), (U8,)),
    ("searchsorted", lambda x: np.searchsorted(x, 300), (U8,)),
    ("insert", lambda x: np.insert(x, 1, 300), (U8,)),
    ("put", call("put", 0, 300), (U8,)),
    ("putmask", lambda x: call("putmask", x > 1, 300)(x), (U8,)),
    ("place", lambda x: call("place", x > 1, 300)(x), (U8,)),
    ("full", lambda x: np.full(3, 300, np.uint8) + x[0], (U8,)),
    ("full of nan", lambda x: np.full_like(x, np.nan), (N,)),
    ("array", lambda x: np.array([300, x[0]], np.uint8), (U8,)),
    ("array of nan", lambda x: np.array([np.nan, x[0]], int), (N,)),
    ("list", write(slice(0, 2), [300, 1]), (U8,)),
]


def outcome(f: Any, args: tuple[Any, ...]) -> Any:
    """The result, or the exception."""
    args = copy.deepcopy(args)
    try:
        result = f(*args)
    except Exception as error:
        return error
    return args[0] if result is None else result


def lanes(f: Any) -> Any:
    """`f` under vmap, with arrays twice and numbers as they are, and one lane of the result."""

    def function(*args: Any) -> Any:
        arrays = [isinstance(x, np.ndarray) for x in args]
        axes = tuple(0 if a else None for a in arrays)
        twice = [np.stack([x, x]) if a else x for x, a in zip(args, arrays, strict=True)]
        out = tj.vmap(f, in_axes=axes)(*twice)
        return tj.tree.map(lambda x: x[0], out)

    return function


def same(want: Any, got: Any, words: bool) -> None:
    if not isinstance(want, Exception):
        assert not isinstance(got, Exception), got
        np.testing.assert_equal(tj.tree.leaves(got), tj.tree.leaves(want))
        return
    assert isinstance(got, Exception), got
    assert isinstance(got, next(c for c in type(want).__mro__ if c.__module__ == "builtins")), repr(got)
    assert not words or str(want) in str(got)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("f", "args"), [c[1:] for c in DATA], ids=[c[0] for c in DATA])
@pytest.mark.filterwarnings("ignore")
def test_values(f: Any, args: tuple[Any, ...]) -> None:
    want = outcome(f, args)
    same(want, outcome(tj.jit(f), args), True)
    if any(isinstance(x, np.ndarray) for x in args) and isinstance(want, Exception):
        same(want, outcome(lanes(f), args), True)


@pytest.mark.parametrize(("f", "args"), [c[1:] for c in STATIC], ids=[c[0] for c in STATIC])
@pytest.mark.filterwarnings("ignore")
def test_options_and_shapes(f: Any, args: tuple[Any, ...]) -> None:
    want = outcome(f, args)
    same(want, outcome(tj.jit(f), args), False)
    if isinstance(want, Exception):
        same(want, outcome(lanes(f), args), False)


def test_a_compiled_function_raises_for_some_values_only() -> None:
    f = tj.jit(lambda x, v: write(0)(x, v))
    assert f(N.copy(), 2.5)[0] == 2 and f(N.copy(), 3.5)[0] == 3
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
            f(N.copy(), np.nan)
    with tj.test_util.assert_max_traces(f, 0):
        assert f(N.copy(), 4.5)[0] == 4


def test_a_branch_that_is_not_taken_does_not_raise() -> None:
    f = tj.jit(lambda x: tj.lax.cond(np.isnan(x).all(), lambda x: -1, lambda x: np.nanargmax(x), x))
    assert f(np.array([np.nan, np.nan])) == -1 and f(np.array([np.nan, 2.0])) == 1
    each = tj.jit(tj.vmap(f))(np.array([[np.nan, np.nan], [np.nan, 2.0]]))
    assert each.tolist() == [-1, 1]


def test_derivatives_raise_too() -> None:
    for g in (tj.grad, lambda f: tj.jit(tj.grad(f))):
        with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
            g(lambda w: np.average(A, weights=w))(0 * A)
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            g(lambda x: add_at(x.copy(), np.array([7])).sum())(A)
