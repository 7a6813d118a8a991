"""Programs that are exported for named sizes do what the functions do, for all sizes."""

from __future__ import annotations

import copy
import ctypes
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tests.api.exporting.test_libraries import needs_compiler, pointer
from tracejit import lax, tree
from tracejit.errors import (
    ExportedArgumentError,
    ExportedSizeError,
    ExportRefusedError,
    LibraryBuildError,
    ShapeError,
)

RNG = np.random.default_rng(0)
SIZES = (
    {"n": 1, "m": 3, "k": 2},
    {"n": 7, "m": 4, "k": 9},
    {"n": 200, "m": 30, "k": 1},
    {"n": 0, "m": 3, "k": 2},
)


def typed(*shape: Any, dtype: Any = float) -> tj.ShapeDtypeStruct:
    return tj.ShapeDtypeStruct(shape, dtype)


def given(shape: tuple[Any, ...], sizes: dict[Any, int]) -> np.ndarray:
    full: list[Any] = [sizes.get(n, n) for n in shape]
    return RNG.normal(size=full)


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ w) - y) ** 2)


def conjugate(a: Any, b: Any) -> Any:
    """Names that loops bind anew, and a branch that leaves the loop."""
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    for _ in range(3 * len(b)):
        ap = a @ p
        alpha = (r @ r) / (p @ ap)
        x += alpha * p
        old = r @ r
        r -= alpha * ap
        if np.sqrt(r @ r) < 1e-9:
            break
        p = r + (r @ r) / old * p
    return x


def positive(x: Any) -> Any:
    p = x.copy()
    if p.sum() > 0:
        p = p + 1
    p += x
    return p


def triangle(x: Any) -> Any:
    total = np.float64(0)
    for i in range(x.shape[0]):
        for j in range(i):
            total += x[i, 0] * x[j, 1] * i
    return total


def halved(v: Any) -> Any:
    while np.abs(v).sum() > 1e-2:
        v = v / 2
    return v


def signed(v: Any) -> Any:
    return v * 2 if v[0] > 0 else np.exp(v)


def scanned(v: Any) -> Any:
    return lax.scan(lambda c, x: (c + x, c * x), 0.0, v)[1]


def newton(v: Any) -> Any:
    s = v[0] ** 2 + 1
    for _ in range(30):
        if abs(s * s - 2) < 1e-10:
            break
        s = 0.5 * (s + 2 / s)
    return s


@tj.checkpoint
def kept(v: Any) -> Any:
    return np.sin(np.sin(v)).sum()


V, M, VS = ("n",), ("m", "k"), ("n", 3)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = {
    "vector": (lambda x: np.exp(-x) * 2, (V,)),
    "matrix": (lambda x: np.exp(-x) * 2 + x.shape[0] * x.shape[1], (M,)),
    "last axis": (lambda x: np.cumsum(x, axis=1) - x.mean(axis=1, keepdims=True), ((3, "n"),)),
    "sums": (lambda x: (x.sum(), x.sum(axis=0), x.sum(axis=1), np.abs(x).max()), (M,)),
    "transposed": (lambda x: x.T + 1, (M,)),
    "products": (lambda x, y: (x @ y, x @ y[:, 0], np.einsum("ij,jk->ik", x, y)), (("n", "m"), ("m", "k"))),
    "loss": (loss, ((3,), VS, V)),
    "gradient": (tj.grad(loss), ((3,), VS, V)),
    "slices": (lambda x: (x[1:] - x[:-1], x[::-1] + 1, x[len(x) // 2 :] * 2), (V,)),
    "joined": (lambda x, y: np.concatenate([x, y, np.zeros(3), np.ones(len(x))]), (V, ("m",))),
    "outer": (lambda x, y: x[:, None] - y[None, :], (V, ("m",))),
    "flat": (lambda x: x.reshape(-1) * 2, (M,)),
    "split": (lambda x: x.reshape(x.shape[0], 6) + 1, (("n", 2, 3),)),
    "regrouped": (lambda x: x.reshape(-1, 2, 3).sum(axis=0), (("n", 6),)),
    "made": (lambda x: np.linspace(0, 1, len(x)) + np.arange(len(x)) * np.zeros(len(x)), (V,)),
    "sorted": (lambda x: (np.sort(x), np.argsort(x)), (V,)),
    "chosen": (lambda x: np.where(x > 0, x, 0)[x > 0.5].sum(), (V,)),
    "system": (lambda a: np.linalg.solve(a @ a.T + np.eye(len(a)) * len(a), np.ones(len(a))), (("m", "m"),)),
    "conjugate gradients": (lambda a, b: conjugate(a @ a.T + 9 * np.eye(len(a)), b), (("m", "m"), ("m",))),
    "branch": (positive, (V,)),
    "loops": (triangle, (("n", 2),)),
    "kept": (tj.grad(lambda x: kept(x) * len(x)), (V,)),
}  # fmt: skip
MAPPED: dict[str, tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = {
    "dot": (tj.vmap(lambda v: v @ v), (VS,)),
    "axes": (tj.vmap(lambda v: v * 2, in_axes=1, out_axes=1), ((3, "n"),)),
    "rows": (tj.vmap(lambda v: np.exp(v).sum()), (("n", "m"),)),
    "constant": (tj.vmap(lambda v: np.ones(3)), (VS,)),
    "nested": (tj.vmap(tj.vmap(lambda a, b: (a - b) ** 2, (None, 0)), (0, None)), (V, ("m",))),
    "solve": (tj.vmap(lambda v: np.linalg.solve(np.eye(3) * 9 + np.outer(v, v), v)), (VS,)),
    "gradients": (tj.vmap(tj.grad(lambda v: np.tanh(v).sum())), (VS,)),
    "hessians": (tj.vmap(tj.hessian(lambda v: np.tanh(v).prod())), (VS,)),
    "while": (tj.vmap(halved), (VS,)),
    "branches": (tj.vmap(signed), (VS,)),
    "scan": (tj.vmap(scanned), (VS,)),
    "left loops": (tj.vmap(newton), (VS,)),
    "checkpoint": (tj.vmap(tj.grad(kept)), (VS,)),
    "indices": (tj.vmap(lambda v: v[np.argsort(v)] + v[1]), (VS,)),
    "convolution": (tj.vmap(lambda v: np.convolve(v, np.arange(2.0))), (VS,)),
    "flat": (tj.vmap(lambda v: v.reshape(-1)), (("n", 2, 2),)),
    "interp": (tj.vmap(lambda v: np.interp(v, np.arange(5.0), np.arange(5.0) ** 2)), (VS,)),
    "math": (tj.vmap(lambda v: math.sin(v[0])), (VS,)),
    "matrix": (tj.vmap(lambda v, w: w @ v, (0, None)), (VS, (4, 3))),
}  # fmt: skip


def same(got: Any, wanted: Any) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for g, w in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert type(g) is type(w) and np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-10)


@pytest.mark.sample(6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the mean of nothing
@pytest.mark.parametrize("name", [*FUNCTIONS, *(f"vmap {n}" for n in MAPPED)])
def test_functions(name: str) -> None:
    """One program for all sizes, also as another process has it."""
    mapped = name.startswith("vmap ")
    f, shapes = MAPPED[name[5:]] if mapped else FUNCTIONS[name]
    e = pickle.loads(pickle.dumps(tj.export(f)(*(typed(*s) for s in shapes))))
    for sizes in SIZES:
        args = [given(s, sizes) for s in shapes]
        if sizes["n"] or not mapped:
            same(e(*args), tj.jit(f)(*args) if mapped else f(*args))


def test_mapped_over_nothing() -> None:
    e = tj.export(tj.vmap(halved))(typed("n", 3))
    assert e(np.ones((0, 3))).shape == (0, 3)


def test_types() -> None:
    e = tj.export(loss, vjp=True)(typed(3), typed(*tj.symbolic_shape("n, 3")), typed("n"))
    assert (
        repr(e)
        == "<exported loss(w: float64[3], x: float64[n,3], y: float64[n]) -> f64[], with its gradient>"
    )
    assert [str(a) for a in e.in_avals] == ["f64[3]", "f64[n,3]", "f64[n]"]
    assert [str(a) for a in e.vjp().out_avals] == ["f64[3]", "f64[n,3]", "f64[n]"]
    for n in (1, 20):
        w, x, y = RNG.normal(size=3), RNG.normal(size=(n, 3)), RNG.normal(size=n)
        same(e.vjp()(w, x, y, np.float64(1.0)), tj.grad(loss, argnums=(0, 1, 2))(w, x, y))
    assert [str(a) for a in tj.export(lambda x: x[1:] + 1)(typed("n", "m")).out_avals] == ["f64[?,m]"]


def test_structures() -> None:
    """Sizes in containers and keyword arguments, beside static ones and numbers."""

    @tj.jit(static_argnums=0)
    def f(mode: str, data: Any, *, scale: float) -> Any:
        return {
            "sum": (data["x"] * scale).sum(axis=0),
            "y": data["y"] * 2 if mode == "twice" else data["y"] + 0,
        }

    e = tj.export(f)("twice", {"x": typed("n", "m"), "y": typed("m", dtype=np.float32)}, scale=2.0)
    data = {"x": RNG.normal(size=(4, 5)), "y": np.ones(5, np.float32)}
    same(e("twice", data, scale=3.0), f("twice", data, scale=3.0))


def test_memory() -> None:
    """Arrays in other orders are copied; those that are written are written where they are."""

    def doubled(x: Any, y: Any) -> None:
        x *= 2
        y[::2] = 0

    e = tj.export(doubled)(typed("n", "m"), typed("n"))
    for x in (np.ones((3, 4)), np.ones((4, 3)).T, np.ones((6, 8))[::2, ::2]):
        y = np.ones(6)[::-2]
        assert e(x, y) is None and (x == 2).all() and y.tolist() == [0, 1, 0]
    total = tj.export(lambda x: x.sum())(typed("n"))
    assert total(np.arange(6.0)[::-2]) == 9 and total(np.arange(3.0).astype(">f8")) == 3


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ((np.ones(3), np.ones((4, 3)), np.ones(5)), "y has 5 elements along axis 0, but n is 4 by axis 0 of x"),
        ((np.ones(3), np.ones((4, 2)), np.ones(4)), r"x is float64\[4,2\], where it was float64\[n,3\]"),
        ((np.ones(3), np.ones(3), np.ones(4)), r"x is float64\[3\], where it was float64\[n,3\]"),
        ((np.ones(3), np.ones((4, 3), np.float32), np.ones(4)), r"x is float32\[4,3\]"),
        ((np.ones(3), [[1.0, 2.0, 3.0]], np.ones(1)), "x"),
        ((np.ones(3), np.ones((1, 3)), 1.0), "y is float, where"),
        ((np.ones(4), np.ones((1, 3)), np.ones(1)), "w is"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_agree(args: Any, why: str) -> None:
    e = tj.export(loss)(typed(3), typed("n", 3), typed("n"))
    with pytest.raises(ExportedArgumentError, match=why):
        e(*args)


def interleaved(pairs: Any, ends: Any, x: Any) -> Any:
    return pairs[::2] * x + pairs[1::2] * ends[1:] - ends[:-1]


def test_sizes_computed_from_names(tmp_path: Path) -> None:
    types = typed("2 * n"), typed("n+1"), typed("n")
    e = pickle.loads(pickle.dumps(tj.export(interleaved)(*types)))
    assert repr(e).startswith("<exported interleaved(pairs: float64[2*n], ends: float64[n+1], x: float64[n])")
    for n in (0, 1, 5):
        args = RNG.normal(size=2 * n), RNG.normal(size=n + 1), RNG.normal(size=n)
        same(e(*args), interleaved(*args))
    for sizes, why in (
        ((5, 3, 2), "5 elements along axis 0, which is not 2"),
        ((4, 4, 2), "4 .* not n.1, where n is 2"),
    ):
        with pytest.raises(ExportedArgumentError, match=why):
            e(*map(np.ones, sizes))
    alone = tj.export(lambda x, y: (x.sum(), y.sum()), vjp=False)(
        typed("3*n-1"), typed(*tj.symbolic_shape("2*n, 2"))
    )
    assert alone(np.ones(5), np.ones((4, 2))) == (5, 8)
    for sizes in ((6, 4), (5, 6)):
        with pytest.raises(ExportedArgumentError, match="which is not"):
            alone(np.ones(sizes[0]), np.ones((sizes[1], 2)))
    with pytest.raises(LibraryBuildError, match="computed from a name"):
        e.write_library(tmp_path / "all.o")
    for text in ("0*n", "n*m", "2*", "n-m", "n+1+1", "1*2"):
        with pytest.raises(ExportedSizeError):
            typed(text)


def test_sizes_of_different_names() -> None:
    e = tj.export(lambda x, y: x + y)(typed("n"), typed("m"))
    assert e(np.ones(3), np.ones(3)).tolist() == [2, 2, 2]
    for m in (1, 2):  # NumPy would repeat one element, and refuse two
        with pytest.raises(ShapeError, match=f"3 and {m} elements|{m} and 3 elements"):
            e(np.ones(3), np.ones(m))
    pairs = tj.export(lambda x: x.reshape(-1, 2) * 1)(typed("n"))
    assert pairs(np.arange(4.0)).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="cannot reshape"):
        pairs(np.arange(3.0))
    flat = tj.export(lambda x: x.reshape(len(x), -1) * 1)(typed("n", 2, 3))
    assert flat(np.ones((2, 2, 3))).shape == (2, 6)
    with pytest.raises(ValueError, match="cannot reshape"):  # as NumPy does
        flat(np.ones((0, 2, 3)))
    with pytest.raises(ValueError, match="zero-size"):
        tj.export(lambda x: x.max())(typed("n"))(np.ones(0))


def grows(x: Any) -> Any:
    rows = [np.zeros((k, 2)) for k in range(len(x))]
    return np.concatenate(rows)


def test_refusals() -> None:
    """What needs numbers says so, with the line; what is refused for numbers too is refused for that."""
    for f in (grows, lambda x: [x[i] for i in range(len(x))], lambda x: x[1:]):
        with pytest.raises(
            ExportedSizeError, match=r"for any size n, but for numbers only: .*(?s:.*)test_sizes.py:\d"
        ):
            tj.export(f)(typed("n"))
    with pytest.raises(ExportRefusedError, match="calls Python for print"):
        tj.export(lambda x: print(x))(typed("n"))
    with pytest.raises(ShapeError):
        tj.export(lambda x: x @ np.ones(4))(typed("n", 3))
    for use in (tj.jit(np.sin).lower, lambda x: tj.eval_shape(np.sin, x), np.zeros_like, lambda x: x.size):
        with pytest.raises(ExportedSizeError, match=r"only `tj\.export` takes"):
            use(typed("n", 3))
    for text in ("n*m", "n-m", ""):
        with pytest.raises(ExportedSizeError, match="neither a number nor a name"):
            typed(text, 3)
    with pytest.raises(ExportedSizeError):
        tj.symbolic_shape("n, m m")
    assert tj.symbolic_shape("n, 2 * m + 1") == ("n", "2*m+1")
    assert tj.symbolic_shape("(n, 3)") == ("n", 3) and tj.symbolic_shape("") == ()


# ---------------------------------------------------------------- C


def mixed(x: Any, y: Any, s: Any) -> Any:
    x *= s
    return (x * y).sum(axis=1), x.sum(axis=1), x[0, 0] + len(y)


@needs_compiler
def test_library(tmp_path: Path) -> None:
    types = typed("n", "m"), typed("m"), 2.0
    e = tj.export(mixed)(*types)
    slope = tj.export(lambda x, y: np.sum(np.tanh(x) * y), vjp=True)(*types[:2])
    e.write_library(tmp_path / "all.so", header=tmp_path / "all.h", more={"slope": slope})
    header = (tmp_path / "all.h").read_text()
    assert (
        "int mixed(int64_t n, int64_t m, double *x, const double *y, double s, double *result0, double *result1, "
        "double *result2);" in header
    )
    assert "n: a size\n" in header and "x: n x m\n" in header
    found = ctypes.CDLL(str(tmp_path / "all.so"))
    for n, m in ((1, 1), (3, 4), (50, 7)):
        x, y = RNG.normal(size=(n, m)), RNG.normal(size=m)
        ours, size = x.copy(), (ctypes.c_int64(n), ctypes.c_int64(m))
        outs = [np.zeros(n), np.zeros(n), np.zeros(1)]
        assert found.mixed(*size, pointer(ours), pointer(y), ctypes.c_double(2.0), *map(pointer, outs)) == 1
        for got, wanted in zip([*outs, ours], [*e(plain := x.copy(), y, 2.0), plain], strict=True):
            np.testing.assert_array_equal(got if np.ndim(wanted) else got[0], wanted)
        dx, dy = np.zeros((n, m)), np.zeros(m)
        assert (
            found.slope_vjp(*size, pointer(x), pointer(y), ctypes.c_double(1.0), pointer(dx), pointer(dy))
            == 1
        )
        same((dx, dy), slope.vjp()(x, y, np.float64(1.0)))
    status = ctypes.c_int64.in_dll(found, "mixed_status")
    wrong = (ctypes.c_int64(-1), ctypes.c_int64(4))
    assert found.mixed(*wrong, pointer(x), pointer(y), ctypes.c_double(2.0), *map(pointer, outs)) == 0
    assert status.value == -101
    inside = (ctypes.c_int64(2), ctypes.c_int64(7)), pointer(x), pointer(x[1:]), ctypes.c_double(2.0)
    assert found.mixed(*inside[0], *inside[1:], *map(pointer, outs)) == 0 and status.value == -102
    nothing = (ctypes.c_int64(0), ctypes.c_int64(7)), pointer(x), pointer(x[1:]), ctypes.c_double(2.0)
    assert found.mixed(*nothing[0], *nothing[1:], *map(pointer, outs)) == 0 and status.value > 0  # x[0, 0]


def test_libraries_refuse_computed_sizes(tmp_path: Path) -> None:
    with pytest.raises(LibraryBuildError, match="is computed"):
        tj.export(lambda x: x[1:] * 2)(typed("n")).write_library(tmp_path / "all.o")


# ---------------------------------------------------------------- programs


def _named(x: Any) -> Any:
    if not isinstance(x, np.ndarray) or not x.ndim:
        return x
    return tj.ShapeDtypeStruct([f"n{d}" if d > 4 else d for d in x.shape], x.dtype)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "name",
    [
        n if k % 8 == 3 else pytest.param(n, marks=pytest.mark.exhaustive)
        for k, n in enumerate(sorted(PROGRAMS))
    ],
)
def test_programs(name: str) -> None:
    """Each axis of more than four elements has a name, equal ones the same. Sizes that do not agree are refused."""
    p = PROGRAMS[name]
    examples = [p.make(np.random.default_rng(k), max(p.size * (4 - k) // 4, 1)) for k in range(2)]
    try:
        e = tj.export(tj.jit(p.f, static_argnums=p.static))(*tree.map(_named, examples[0]))
    except tj.TracejitError:
        return
    for args in examples:
        plain, ours = copy.deepcopy(args), copy.deepcopy(args)
        try:
            with np.errstate(all="ignore"):
                wanted = p.f(*plain)
            got = e(*ours)
        except (tj.TracejitError, IndexError):
            continue
        for g, w in zip(tree.leaves((got, ours)), tree.leaves((wanted, plain)), strict=True):
            assert type(g) is type(w) and np.asarray(g).dtype == np.asarray(w).dtype
            np.testing.assert_allclose(g, w, rtol=p.tolerance, atol=p.tolerance)
