"""Example calls of NumPy's public functions: what `test_numpy_breadth` compares with NumPy, one way after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

RNG = np.random.default_rng(7)
V = RNG.uniform(0.2, 0.9, 5)  # distinct positive numbers below 1
W = RNG.uniform(1.1, 1.9, 5)
A = RNG.uniform(-1, 1, (3, 4))
B = RNG.uniform(-1, 1, (3, 4))
S = RNG.uniform(-1, 1, (3, 3))
T = RNG.uniform(-1, 1, (2, 3, 4))
Z = RNG.normal(size=4) + 1j * RNG.normal(size=4)
I = np.array([3, 1, 4, 1, 5, 2])  # noqa: E741
J = np.array([[5, -2, 0], [7, 1, 3]])
U = np.array([[0, 255, 7], [129, 64, 3]], np.uint8)
M = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]])
N = np.array([[1.5, np.nan, -2.0, 0.25], [3.0, 0.5, 2.5, np.nan], [np.nan, 0.75, -0.5, 4.0]])
H = (RNG.integers(-8, 8, (3, 4)) / 8).astype(np.float16)
F = A.astype(np.float32)
POLY = np.array([2.0, -3.0, 1.0, 0.5])


@dataclass(frozen=True)
class Call:
    """`fn(*args)` with NumPy's result; under jit and vmap too, unless it needs known values.

    `grad`: derivatives are compared with differences. `known`: vmap must refuse it, and jit, unless `compiled`.
    `vmap`: it may be mapped over all arguments. `rtol`: how near NumPy's values the results are.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    grad: bool = True
    known: bool = False
    compiled: bool = False
    vmap: bool = True
    rtol: float = 1e-12


def call(fn: Callable[..., Any], *args: Any, **options: Any) -> Call:
    return Call(fn, args, **options)


def selected(fn: Callable[..., Any], *args: Any, **options: Any) -> Call:
    """A call whose result has a traced length: the same for all lanes of a vmap it is not."""
    return Call(fn, args, known=True, compiled=True, **options)


def known(fn: Callable[..., Any], *args: Any, **options: Any) -> Call:
    """A call whose result's shape or dtype depends on values."""
    return Call(fn, args, known=True, **options)


def _same(name: str, *args: Any, **options: Any) -> list[Call]:
    """`np.name` of these arguments."""
    return [Call(lambda *xs: getattr(np, name)(*xs), args, **options)]


CALLS: dict[str, list[Call]] = {
    # creation
    "arange": [call(lambda x: x * np.arange(5), V), call(lambda x: x[:3] + np.arange(1, 7, 2.0), V)],
    "array": [
        call(lambda x: np.array([x[0], 2.0, x[1]]), V),
        call(lambda x: np.array(x, np.float32), V, grad=False),
    ],
    "asanyarray": _same("asanyarray", A),
    "asarray": [call(lambda x: np.asarray(x, dtype=complex), V), call(lambda x: np.asarray([x[0], x[1]]), V)],
    "asarray_chkfinite": [known(lambda x: np.asarray_chkfinite(x), V)],
    "ascontiguousarray": _same("ascontiguousarray", A),
    "asfortranarray": _same("asfortranarray", A),
    "bartlett": [call(lambda x: x * np.bartlett(5), V)],
    "blackman": [call(lambda x: x * np.blackman(5), V)],
    "copy": _same("copy", A),
    "diag": [
        *_same("diag", V),
        *_same("diag", A),
        call(lambda x: np.diag(x, -2), A),
        call(lambda x: np.diag(x, 1), V),
    ],
    "diagflat": _same("diagflat", A),
    "empty": [call(lambda x: np.empty((2, 3)).shape[0] * x, V)],
    "empty_like": [call(lambda x: np.empty_like(x).shape[0] * x, V)],
    "eye": [call(lambda x: np.eye(3, 4, 1) * x, A)],
    "full": [call(lambda x: np.full((2, 5), x), V), call(lambda x: np.full(3, x[0]), V)],
    "full_like": [
        call(lambda x, y: np.full_like(x, y[0]), A, V),
        call(lambda x: np.full_like(x, 2.5), I, grad=False),
    ],
    "fromfunction": [call(lambda x: np.fromfunction(lambda i, j: i * x[0] + j, (2, 3)), V)],
    "geomspace": [
        call(lambda x, y: np.geomspace(x, y, 6), V[0], W[0]),
        call(lambda x, y: np.geomspace(x, -y, 4, endpoint=False), -V[0], W[0]),
        call(lambda x, y: np.geomspace(x, y, 4, axis=1), V, W),
    ],
    "hamming": [call(lambda x: x * np.hamming(5), V)],
    "hanning": [call(lambda x: x * np.hanning(5), V)],
    "identity": [call(lambda x: np.identity(3) * x, S)],
    "indices": [
        call(lambda x: np.indices((3, 4))[1] * x, A),
        call(lambda x: np.indices((3, 4), sparse=True)[0] + x, A),
    ],
    "kaiser": [
        call(lambda b: np.kaiser(6, b), np.float64(3.5), rtol=1e-10),
        call(lambda x: np.kaiser(5, 2.0) * x, V),
    ],
    "linspace": [
        call(lambda x, y: np.linspace(x, y, 4), V[0], W[0]),
        call(lambda x, y: np.linspace(x, y, 3, False, axis=1), V, W),
    ],
    "logspace": [call(lambda x, y: np.logspace(x, y, 4), V[0], W[0], rtol=1e-11)],
    "meshgrid": [
        call(lambda x, y: np.meshgrid(x, y), V, W),
        call(lambda x, y: np.meshgrid(x, y, indexing="ij", sparse=True), V, W),
    ],
    "ones": [call(lambda x: np.ones(5) * x, V)],
    "ones_like": [call(lambda x: np.ones_like(x) + x, V)],
    "tri": [call(lambda x: np.tri(3, 4, 1) * x, A)],
    "tril": [*_same("tril", A), call(lambda x: np.tril(x, 1), T)],
    "triu": [*_same("triu", A), call(lambda x: np.triu(x, -1), J, grad=False)],
    "vander": [*_same("vander", V), call(lambda x: np.vander(x, 3, increasing=True), I, grad=False)],
    "zeros": [call(lambda x: np.zeros(5) + x, V)],
    "zeros_like": [call(lambda x: np.zeros_like(x) + x, V)],
    # shapes
    "atleast_1d": [*_same("atleast_1d", np.float64(2.0)), *_same("atleast_1d", V)],
    "atleast_2d": _same("atleast_2d", V),
    "atleast_3d": [*_same("atleast_3d", V), *_same("atleast_3d", A)],
    "broadcast_arrays": [call(lambda x, y: np.broadcast_arrays(x[:, None], y), V, W)],
    "broadcast_shapes": [call(lambda x: x * np.broadcast_shapes(x.shape, (4, 1))[0], V)],
    "broadcast_to": [call(lambda x: np.broadcast_to(x, (3, 5)), V)],
    "expand_dims": [call(lambda x: np.expand_dims(x, (0, 2)), A)],
    "flip": [*_same("flip", A), call(lambda x: np.flip(x, 1), A)],
    "fliplr": _same("fliplr", A),
    "flipud": _same("flipud", A),
    "matrix_transpose": _same("matrix_transpose", T),
    "moveaxis": [call(lambda x: np.moveaxis(x, 0, -1), T)],
    "permute_dims": [call(lambda x: np.permute_dims(x, (1, 2, 0)), T)],
    "require": [call(lambda x: np.require(x, np.float64, "C"), A)],
    "ravel": [*_same("ravel", A), call(lambda x: np.ravel(x, "F"), A)],
    "reshape": [
        call(lambda x: np.reshape(x, (2, -1)), A),
        call(lambda x: np.reshape(x, (4, 3), order="F"), A),
    ],
    "resize": [call(lambda x: np.resize(x, (2, 4)), V), call(lambda x: np.resize(x, (2,)), V)],
    "roll": [call(lambda x: np.roll(x, 2), A), call(lambda x: np.roll(x, (1, -1), (0, 1)), A)],
    "rollaxis": [call(lambda x: np.rollaxis(x, 2), T)],
    "rot90": [*_same("rot90", A), call(lambda x: np.rot90(x, 3, (1, 2)), T)],
    "squeeze": [call(lambda x: np.squeeze(x[None]), A)],
    "swapaxes": [call(lambda x: np.swapaxes(x, 0, 2), T)],
    "transpose": [*_same("transpose", A), call(lambda x: np.transpose(x, (2, 0, 1)), T)],
    "shape": [call(lambda x: x * np.shape(x)[0], A)],
    "size": [call(lambda x: x * np.size(x), A)],
    "ndim": [call(lambda x: x * np.ndim(x), A)],
    # joining
    "append": [call(lambda x, y: np.append(x, y), A, V), call(lambda x, y: np.append(x, y, 0), A, B)],
    "array_split": [call(lambda x: np.array_split(x, 3), V), call(lambda x: np.array_split(x, [1, 3]), V)],
    "block": [call(lambda x, y: np.block([[x, y], [y, x]]), A, B)],
    "column_stack": [call(lambda x, y: np.column_stack((x, y)), V, W)],
    "concat": [call(lambda x, y: np.concat([x, y]), A, B)],
    "concatenate": [
        call(lambda x, y: np.concatenate([x, y], 1), A, B),
        call(lambda x, y: np.concatenate([x, y], None), A, F, grad=False),
    ],
    "delete": [call(lambda x: np.delete(x, [1, 3]), V), call(lambda x: np.delete(x, slice(0, 2), 1), A)],
    "dsplit": [call(lambda x: np.dsplit(x, 2), T)],
    "dstack": [call(lambda x, y: np.dstack((x, y)), A, B)],
    "hsplit": [call(lambda x: np.hsplit(x, 2), A)],
    "hstack": [call(lambda x, y: np.hstack((x, y)), A, B)],
    "insert": [
        call(lambda x: np.insert(x, 1, 9.0), V),
        call(lambda x, y: np.insert(x, [0, 2, 5], y[:3]), V, W),
        call(lambda x, y: np.insert(x, 1, y[:3], axis=1), A, W),
        call(lambda x: np.insert(x, [1, 1, -1], 0.5, axis=1), A),
        call(lambda x: np.insert(x, slice(1, 4), 2.0), V),
    ],
    "pad": [
        *[
            call(lambda x, m=m: np.pad(x, ((1, 2), (2, 1)), m), A)
            for m in (
                "edge",
                "wrap",
                "reflect",
                "symmetric",
                "maximum",
                "minimum",
                "mean",
                "median",
                "linear_ramp",
            )
        ],
        call(lambda x: np.pad(x, 2, constant_values=(1.0, 2.0)), A),
        call(lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), A),
        call(lambda x: np.pad(x, (1, 2), "symmetric", reflect_type="odd"), A),
        call(lambda x: np.pad(x, 1, "linear_ramp", end_values=3.0), A),
        call(lambda x: np.pad(x, 1, "mean", stat_length=2), A),
    ],
    "repeat": [call(lambda x: np.repeat(x, 2), A), call(lambda x: np.repeat(x, [1, 0, 2], 0), A)],
    "row_stack": [],
    "split": [call(lambda x: np.split(x, 2, 1), A)],
    "stack": [call(lambda x, y: np.stack((x, y), -1), A, B)],
    "tile": [call(lambda x: np.tile(x, (2, 1, 2)), A)],
    "unstack": [call(lambda x: np.unstack(x, axis=1), A)],
    "vsplit": [call(lambda x: np.vsplit(x, 3), A)],
    "vstack": [call(lambda x, y: np.vstack((x, y)), V, W)],
    # reductions
    **{
        n: [
            *_same(n, A),
            call(lambda x, n=n: getattr(np, n)(x, axis=1, keepdims=True), A),
            *_same(n, J, grad=False),
            *_same(n, H, grad=False),
        ]
        for n in ("sum", "prod", "max", "min", "amax", "amin", "mean", "ptp")
    },
    **{n: [*_same(n, M), call(lambda x, n=n: getattr(np, n)(x > 0, axis=0), A)] for n in ("all", "any")},
    **{
        n: [*_same(n, A), call(lambda x, n=n: getattr(np, n)(x, axis=1, keepdims=True), N), *_same(n, M)]
        for n in ("argmax", "argmin")
    },
    **{
        n: [
            *_same(n, A),
            call(lambda x, n=n: getattr(np, n)(x, axis=(0, 1), ddof=1), T),
            *_same(n, Z, grad=False),
            *_same(n, J, grad=False),
        ]
        for n in ("var", "std")
    },
    "average": [
        call(lambda x, w: np.average(x, weights=w), A, np.abs(B)),
        call(lambda x: np.average(x, 1, returned=True), A),
    ],
    "count_nonzero": [
        *_same("count_nonzero", J),
        call(lambda x: np.count_nonzero(x, axis=1, keepdims=True), J),
    ],
    **{
        n: [
            *_same(n, A),
            call(lambda x, n=n: getattr(np, n)(x, 1), A),
            *_same(n, M),
            call(lambda x, n=n: getattr(np, n)(x, 0, dtype=np.float32), J, grad=False),
        ]
        for n in ("cumsum", "cumprod")
    },
    **{
        n: [*_same(n, V), call(lambda x, n=n: getattr(np, n)(x, axis=1, include_initial=True), A)]
        for n in ("cumulative_sum", "cumulative_prod")
    },
    **{
        n: [
            *_same(n, N, grad=False),
            call(lambda x, n=n: getattr(np, n)(x, axis=1), N, grad=False),
            *_same(n, A),
            *_same(n, J, grad=False),
        ]
        for n in (
            "nansum",
            "nanprod",
            "nanmax",
            "nanmin",
            "nanmean",
            "nanvar",
            "nanstd",
            "nancumsum",
            "nancumprod",
            "nanmedian",
        )
    },
    **{
        n: [*_same(n, N), call(lambda x, n=n: getattr(np, n)(x, axis=1, keepdims=True), N)]
        for n in ("nanargmax", "nanargmin")
    },
    "median": [
        *_same("median", A),
        call(lambda x: np.median(x, axis=0, keepdims=True), A),
        *_same("median", J, grad=False),
    ],
    **{
        n: [
            *[
                call(
                    lambda x, q, n=n, m=m: getattr(np, n)(
                        x, q * (100 if "perc" in n else 1), axis=1, method=m
                    ),
                    A,
                    V[:2],
                    grad=m in ("linear", "hazen", "weibull", "median_unbiased"),
                )
                for m in (
                    "linear",
                    "lower",
                    "higher",
                    "nearest",
                    "midpoint",
                    "hazen",
                    "weibull",
                    "inverted_cdf",
                    "averaged_inverted_cdf",
                    "closest_observation",
                    "interpolated_inverted_cdf",
                    "median_unbiased",
                    "normal_unbiased",
                )
            ],
            call(lambda x, n=n: getattr(np, n)(x, 0.25), F, grad=False),
            call(lambda x, n=n: getattr(np, n)(x, [0.0, 0.5, 1.0], axis=(0, 1), keepdims=True), T),
            call(lambda x, n=n: getattr(np, n)(x, 0.3, axis=0), N, grad=False),
            call(
                lambda x, w, n=n: getattr(np, n)(x, 0.4, axis=1, weights=w, method="inverted_cdf"),
                A,
                np.abs(B),
                grad=False,
            ),
        ]
        for n in ("quantile", "percentile", "nanquantile", "nanpercentile")
    },
    "cov": [
        *_same("cov", A),
        call(lambda x, y: np.cov(x, y, rowvar=False), S, S.T),
        call(lambda x, w: np.cov(x, aweights=w, fweights=[1, 2, 1, 3]), A, np.abs(A[0])),
        *_same("cov", V),
        *_same("cov", Z, grad=False),
    ],
    "corrcoef": [
        *_same("corrcoef", A, rtol=1e-10),
        call(lambda x, y: np.corrcoef(x, y)[0, 1], V, W, rtol=1e-10),
    ],
    # calculus
    "diff": [
        call(lambda x: np.diff(x, 2), A),
        call(lambda x, y: np.diff(x, prepend=0.0, append=y[:3, None]), A, W),
        *_same("diff", M),
        *_same("diff", U),
    ],
    "ediff1d": [
        call(lambda x, y: np.ediff1d(x, to_end=y[:2], to_begin=3.0), V, W),
        *_same("ediff1d", I, grad=False),
    ],
    "gradient": [
        *_same("gradient", V),
        call(lambda x: np.gradient(x, 0.5, 2.0, edge_order=2), S),
        call(lambda x, y: np.gradient(x, np.cumsum(y)), V, W),
        call(lambda x, y: np.gradient(x, np.cumsum(y), axis=1, edge_order=2), S, W[:3]),
        *_same("gradient", I, grad=False),
        *_same("gradient", F, grad=False),
    ],
    "interp": [
        call(lambda x, xp, fp: np.interp(x, xp, fp), V * 3, np.cumsum(V), W),
        call(
            lambda x, fp: np.interp(x, [1.0, 2.0, 4.0], fp, left=-1.0, right=7.0),
            np.array([0.5, 1.5, 3.0, 5.0]),
            W[:3],
        ),
        call(
            lambda x, fp: np.interp(x, [0.5, 4.0, 2.0], fp, period=5.0),
            np.array([-0.7, 1.5, 3.3, 11.0]),
            W[:3],
        ),
        call(lambda x: np.interp(x, [0.0, 1.0, 2.0], [1j, 2.0, 3 + 1j]), V, grad=False),
        call(
            lambda x: np.interp(x, [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 6.0]),
            np.array([1.0, 0.5, 1.5, np.nan]),
            grad=False,
        ),
    ],
    "trapezoid": [*_same("trapezoid", A), call(lambda x, y: np.trapezoid(x, np.cumsum(y)), V, W)],
    "unwrap": [
        call(lambda x: np.unwrap(x * 9), A),
        call(lambda x: np.unwrap(x, period=4), I, grad=False),
        call(lambda x: np.unwrap(x, period=3), I * 1.0, grad=False),
    ],
    "sinc": [*_same("sinc", A)],
    # polynomials
    "poly": [*_same("poly", V), *_same("poly", np.array([1 + 2j, 1 - 2j, 3.0]), grad=False, known=False)[:0]],
    "polyadd": _same("polyadd", POLY, V[:2]),
    "polyder": [*_same("polyder", POLY), call(lambda p: np.polyder(p, 2), POLY)],
    "polydiv": [known(lambda x, y: np.polydiv(x, y), POLY, np.array([1.0, 0.5]))],
    "polyfit": [
        call(lambda x, y: np.polyfit(x, y, 2), V, W, rtol=1e-7),
        call(lambda x, y: np.polyfit(x, y, 1, cov=True), V, W, rtol=1e-7, grad=False),
        call(lambda x, y: np.polyfit(x, y, 1, cov="unscaled", w=x), V, W, rtol=1e-7, grad=False),
        call(lambda x, y: np.polyfit(x, np.stack([y, x * y], 1), 1, cov=True), V, W, rtol=1e-7, grad=False),
    ],
    "polyint": [*_same("polyint", POLY), call(lambda p: np.polyint(p, 2, [1.0, 2.0]), POLY)],
    "polymul": _same("polymul", POLY, V[:2]),
    "polysub": _same("polysub", V[:2], POLY),
    "polyval": [*_same("polyval", POLY, A), call(lambda p, x: np.polyval(p, x), I, J, grad=False)],
    "roots": [
        known(lambda p: np.sort(np.roots(p)), np.array([1.0, -6.0, 11.0, -6.0]), rtol=1e-9, grad=False)
    ],
    # choosing
    "choose": [
        call(lambda i, x: np.choose(i % 3, [x, x * 2, 0.5]), I[:5], V),
        call(lambda i, x: np.choose(i, [x, x * 2], mode="clip"), I[:5], V),
        call(lambda i, x: np.choose(i, [x, x * 2], mode="wrap"), I[:5], V),
    ],
    "clip": [
        call(lambda x: np.clip(x, -0.5, 0.5), A),
        call(lambda x: np.clip(x, None, 2), J, grad=False),
        call(lambda x: np.clip(x, min=0.1), A),
        call(lambda x, y: np.clip(x, y, y + 0.5), A, B),
    ],
    "compress": [
        call(lambda x: np.compress([True, False, True], x, axis=0), A),
        selected(lambda x: np.compress(x > 0.5, x), V),
    ],
    "extract": [selected(lambda x: np.extract(x > 0, x), A)],
    "select": [call(lambda x: np.select([x > 0.3, x < -0.3], [x * 2, x**2], 0.5), A)],
    "where": [call(lambda x, y: np.where(x > 0, x, y), A, B), selected(lambda x: np.where(x > 0), A)],
    "piecewise": [
        call(lambda x: np.piecewise(x, [x < 0, x > 0.4], [-1.0, lambda v: v * 3, lambda v: v**2]), A),
        call(lambda x: np.piecewise(x, x > 0.5, [lambda v: v * 2]), V),
    ],
    "take": [
        call(lambda x: np.take(x, [1, -1, 0]), A),
        call(lambda x, i: np.take(x, i, 1, mode="clip"), A, I),
        call(lambda x, i: np.take(x, i, 1, mode="wrap"), A, I),
    ],
    "take_along_axis": [
        call(lambda x: np.take_along_axis(x, np.argsort(x, 1), 1), A),
        call(lambda x, i: np.take_along_axis(x, i % 5, None), V, I),
    ],
    "tril_indices": [call(lambda x: x[np.tril_indices(3)], A)],
    "tril_indices_from": [call(lambda x: x[np.tril_indices_from(x, -1)], A)],
    "triu_indices": [call(lambda x: x[np.triu_indices(3, 1, 4)], A)],
    "triu_indices_from": [call(lambda x: x[np.triu_indices_from(x)], A)],
    "diag_indices": [call(lambda x: x[np.diag_indices(3)], S)],
    "diag_indices_from": [call(lambda x: x[np.diag_indices_from(x)], S)],
    "mask_indices": [call(lambda x: x[np.mask_indices(3, np.triu, 1)], S)],
    "diagonal": [*_same("diagonal", T), call(lambda x: np.diagonal(x, 1, 1, 2), T)],
    "trace": [*_same("trace", A), call(lambda x: np.trace(x, -1, 1, 2), T), *_same("trace", M)],
    "ix_": [
        call(lambda x: x[np.ix_([0, 2], [1, 3])], A),
        call(lambda x, i: x[np.ix_(i[:2] % 3, i % 4)], A, I),
    ],
    "unravel_index": [
        call(lambda i: np.unravel_index(i, (3, 4)), I),
        call(lambda i: np.unravel_index(i, (2, 3), order="F"), I[:2]),
    ],
    "ravel_multi_index": [
        call(lambda i: np.ravel_multi_index((i[:3], i[3:]), (6, 7)), I),
        call(lambda i: np.ravel_multi_index((i[:3], i[3:]), (2, 3), mode=("clip", "wrap"), order="F"), I),
    ],
    # writing
    "copyto": [
        call(lambda x, y: _written(np.copyto, x.copy(), y), A, B),
        call(lambda x, y: _written(np.copyto, x.copy(), y, where=y > 0), A, B),
    ],
    "fill_diagonal": [
        call(lambda x: _written(np.fill_diagonal, x.copy(), 9.0), S),
        call(lambda x: _written(np.fill_diagonal, np.concatenate([x, x, x]), 2.0, wrap=True), S),
        call(lambda x, y: _written(np.fill_diagonal, x.copy(), y[:2]), S, V),
    ],
    "place": [call(lambda x, y: _written(np.place, x.copy(), x > 0, y[:3]), A, V)],
    "put": [
        call(lambda x, y: _written(np.put, x.copy(), [1, 7, -1], y[:2]), A, V),
        call(lambda x, i: _written(np.put, x.copy(), i * 9, 5.0, mode="wrap"), A, I),
    ],
    "put_along_axis": [
        call(lambda x: _written(np.put_along_axis, x.copy(), np.array([[1], [0], [2]]), 4.0, 1), A)
    ],
    "putmask": [call(lambda x, y: _written(np.putmask, x.copy(), x > 0, y), A, V)],
    # sorting, searching, sets
    "sort": [
        *_same("sort", A),
        call(lambda x: np.sort(x, axis=None), A),
        call(lambda x: np.sort(x, 0, kind="stable"), J, grad=False),
        *_same("sort", N, grad=False),
        *_same("sort", Z, grad=False),
        *_same("sort", H, grad=False),
        *_same("sort", M),
    ],
    "argsort": [
        *_same("argsort", A),
        call(lambda x: np.argsort(x, kind="stable"), I),
        call(lambda x: np.argsort(x, axis=None), A),
    ],
    "sort_complex": [*_same("sort_complex", Z, grad=False), *_same("sort_complex", U)],
    "partition": [call(lambda x: np.sort(np.partition(x, 2)), A)],
    "argpartition": [call(lambda x: np.take_along_axis(x, np.argpartition(x, 2), -1)[..., 2], A)],
    "lexsort": [call(lambda x, y: np.lexsort((x, y)), I, I[::-1].copy())],
    "searchsorted": [
        call(lambda x, y: np.searchsorted(np.sort(x), y), V, A),
        call(lambda x, y: np.searchsorted(x, y, side="right", sorter=np.argsort(x)), V, W - 0.7),
    ],
    "digitize": [
        call(lambda x: np.digitize(x, [-0.5, 0.0, 0.5]), A),
        call(lambda x: np.digitize(x, [0.5, 0.0, -0.5], right=True), A),
        call(lambda x, b: np.digitize(x, np.sort(b)[::-1]), A, V),
    ],
    "isin": [call(lambda i: np.isin(i, [1, 2, 7]), I), call(lambda x: np.isin(x, x[:2], invert=True), V)],
    "nonzero": [selected(lambda x: np.nonzero(x > 0), A)],
    "flatnonzero": [selected(lambda x: np.flatnonzero(x > 0), A)],
    "argwhere": [selected(lambda x: np.argwhere(x > 0), A)],
    "unique": [
        selected(lambda i: np.unique(i, return_index=True, return_inverse=True, return_counts=True), I),
        selected(lambda x: np.unique(x), A),
        known(lambda x: np.unique(x, axis=0), J),
    ],
    "unique_all": [selected(lambda i: tuple(np.unique_all(i)), I)],
    "unique_counts": [selected(lambda i: tuple(np.unique_counts(i)), I)],
    "unique_inverse": [selected(lambda i: tuple(np.unique_inverse(i)), I)],
    "unique_values": [known(lambda i: np.sort(np.unique_values(i)), I)],
    "intersect1d": [
        selected(lambda x: np.intersect1d(x, [3, 5, 9]), I),
        selected(lambda x: np.intersect1d(x, x[::2], return_indices=True), V),
    ],
    "setdiff1d": [selected(lambda x: np.setdiff1d(x, x[:2]), V)],
    "setxor1d": [selected(lambda x: np.setxor1d(x, [3, 9]), I)],
    "union1d": [selected(lambda x, y: np.union1d(x, y), V, W)],
    "trim_zeros": [
        selected(lambda x: np.trim_zeros(np.where(x > 0, x, 0)), A[0]),
        selected(lambda i: np.trim_zeros(i - 3, "f"), I),
    ],
    # counting
    "bincount": [
        selected(lambda i: np.bincount(i), I),
        call(lambda i: np.bincount(i, minlength=8), I),
        call(lambda i, w: np.bincount(i, w, 6), I[:5], V),
    ],
    "histogram": [
        call(lambda x: np.histogram(x, 4, density=True), A, grad=False),
        call(lambda x, w: np.histogram(x, [-1.0, 0.0, 0.3, 1.0], weights=w), A, B),
        *_same("histogram", I, grad=False),
        known(lambda x: np.histogram(x, "auto"), A, grad=False),
        *_same("histogram", F, grad=False),
    ],
    "histogram_bin_edges": [
        *_same("histogram_bin_edges", A),
        call(lambda x: np.histogram_bin_edges(x, 3, (0.0, 2.0)), A),
    ],
    "histogram2d": [call(lambda x, y: np.histogram2d(x, y, [2, 3], density=True), V, W, grad=False)],
    "histogramdd": [
        call(lambda x: np.histogramdd(x, 2), A.T, grad=False),
        call(
            lambda x, w: np.histogramdd(x, [2, [0.0, 0.5, 1.0], 1], weights=w, range=[(0, 1), None, (-1, 1)])[
                0
            ],
            A.T,
            V[:4],
        ),
    ],
    # bits and tests
    "packbits": [
        *_same("packbits", M),
        call(lambda x: np.packbits(x, axis=1, bitorder="little"), M),
        *_same("packbits", J),
    ],
    "unpackbits": [
        *_same("unpackbits", U),
        call(lambda x: np.unpackbits(x, axis=1, count=10, bitorder="little"), U),
        call(lambda x: np.unpackbits(x, count=-3), U),
    ],
    "allclose": [call(lambda x, y: np.allclose(x, y + x), A, B * 0)],
    "isclose": [
        call(lambda x: np.isclose(x, x + 1e-9), A),
        call(lambda x: np.isclose(x, x, equal_nan=True), N),
    ],
    "array_equal": [
        call(lambda x: np.array_equal(x, x), N),
        call(lambda x: np.array_equal(x, x, equal_nan=True), N),
        call(lambda x: np.array_equal(x, x[:2]), A),
    ],
    "array_equiv": [
        call(lambda x: np.array_equiv(x, x[:1]), A),
        call(lambda x: np.array_equiv(x[:, 0], x), A),
    ],
    "iscomplex": _same("iscomplex", Z),
    "isreal": _same("isreal", Z),
    "iscomplexobj": [call(lambda x: x * np.iscomplexobj(x), Z)],
    "isrealobj": [call(lambda x: x * np.isrealobj(x), A)],
    "isneginf": _same("isneginf", np.array([1.0, -np.inf, np.inf, np.nan])),
    "isposinf": _same("isposinf", np.array([1.0, -np.inf, np.inf, np.nan])),
    "isnat": [call(lambda x: np.isnat((x * 9).astype("M8[D]")), V, grad=False)],
    "isscalar": [call(lambda x: x * np.isscalar(x), V)],
    "isfortran": [call(lambda x: x * np.isfortran(x), A)],
    "iterable": [call(lambda x: x * np.iterable(x), A)],
    "may_share_memory": [call(lambda x: x * np.may_share_memory(x, x[1:]), A)],
    "shares_memory": [
        call(lambda x: x * np.shares_memory(x, x[1:]), A),
        call(lambda x: x * np.shares_memory(x, x.copy()), A),
    ],
    # numbers
    "angle": [*_same("angle", Z, grad=False), call(lambda x: np.angle(x, deg=True), Z, grad=False)],
    "real": [*_same("real", Z, grad=False), *_same("real", A)],
    "imag": [*_same("imag", Z, grad=False), *_same("imag", A)],
    "real_if_close": [
        known(lambda z: np.real_if_close(z), Z, grad=False),
        known(lambda z: np.real_if_close(z.real + 1e-18j), Z, grad=False),
        *_same("real_if_close", A),
    ],
    "nan_to_num": [
        *_same("nan_to_num", N, grad=False),
        call(lambda x: np.nan_to_num(x, nan=7.0), N, grad=False),
        *_same("nan_to_num", A),
    ],
    "fix": [*_same("fix", A * 5)],
    "round": [
        *_same("round", A * 5),
        call(lambda x: np.round(x, 2), A, grad=False),
        call(lambda x: np.round(x, -1), J * 7),
    ],
    "around": [call(lambda x: np.around(x, 1), A, grad=False)],
    "i0": [*_same("i0", A, rtol=1e-11)],
    "astype": [
        call(lambda x: np.astype(x, np.float32), A, grad=False),
        call(lambda x: np.astype(x, complex), A),
    ],
    # products
    "convolve": [call(lambda x, y: np.convolve(x, y, "same"), V, W[:3])],
    "correlate": [call(lambda x, y: np.correlate(x, y, "full"), V, W[:3])],
    "cross": [call(lambda x, y: np.cross(x, y), S, S.T)],
    "dot": _same("dot", A, B.T),
    "einsum": [call(lambda x, y: np.einsum("ij,kj->ik", x, y), A, B)],
    "einsum_path": [call(lambda x, y: x * len(np.einsum_path("ij,kj->ik", x, y)[0]), A, B)],
    "inner": _same("inner", A, B),
    "kron": _same("kron", A, S),
    "outer": _same("outer", V, W),
    "tensordot": [call(lambda x, y: np.tensordot(x, y, 1), A, B.T)],
    "vdot": [*_same("vdot", A, B), *_same("vdot", Z, Z * 2, grad=False)],
    "matmul": _same("matmul", A, B.T),
    "matvec": [*_same("matvec", T, A[0])],
    "vecmat": [
        *_same("vecmat", A[:, :3], np.stack([S, S, S])),
        *_same("vecmat", Z, np.outer(Z, Z), grad=False),
    ],
    "vecdot": [*_same("vecdot", A, B), *_same("vecdot", Z, Z * 2, grad=False)],
    # functions of functions
    "apply_along_axis": [
        call(lambda x: np.apply_along_axis(lambda r: r.sum() * r[0], 1, x), A),
        call(lambda x: np.apply_along_axis(lambda r: np.outer(r, r), 0, x), A),
        call(lambda x: np.apply_along_axis(lambda r: r.sum() if r[0] > 0 else r[1], 1, x), A, vmap=False),
    ],
    "apply_over_axes": [call(lambda x: np.apply_over_axes(np.sum, x, [0, 2]), T)],
    # types and text
    "can_cast": [call(lambda x: x * np.can_cast(x.dtype, np.float32), A)],
    "issubdtype": [call(lambda x: x * np.issubdtype(x.dtype, np.floating), A)],
    "promote_types": [call(lambda x: x * np.promote_types(x.dtype, np.float32).itemsize, A)],
    "common_type": [call(lambda x: x * np.dtype(np.common_type(x, x)).itemsize, A)],
    "min_scalar_type": [call(lambda x: x * np.min_scalar_type(x).itemsize, A)],
    "result_type": [call(lambda x: x * np.result_type(x, np.float32).itemsize, A)],
    "array2string": [known(lambda x: x * len(np.array2string(x)), V, vmap=False)],
    "array_repr": [known(lambda x: x * len(np.array_repr(x)), V, vmap=False)],
    "array_str": [known(lambda x: x * len(np.array_str(x)), V, vmap=False)],
}


def _then(x: Any, act: Callable[[Any], Any]) -> Any:
    """A copy of x after a method that works in place."""
    x = x.copy()
    act(x)
    return x


def _out(x: Any, fn: Callable[[Any, Any], Any], shape: Any, dtype: Any = float) -> Any:
    """What a method writes into an array of this shape."""
    out = np.zeros(shape, dtype)
    fn(x, out)
    return out


#: Attributes and methods of arrays.
METHODS: dict[str, list[Call]] = {
    "T": [call(lambda x: x.T, T)],
    "all": [call(lambda x: x.all(axis=0), M), call(lambda x: x.all(), M)],
    "any": [
        call(lambda x: x.any(1, keepdims=True), M),
        call(lambda x: _out(x, lambda x, o: x.any(0, out=o), 4, bool), M),
    ],
    "argmax": [call(lambda x: x.argmax(), A), call(lambda x: x.argmax(1), N)],
    "argmin": [call(lambda x: x.argmin(axis=0, keepdims=True), A)],
    "argpartition": [call(lambda x: np.take_along_axis(x, x.argpartition(1), -1)[..., 1], A)],
    "argsort": [call(lambda x: x.argsort(0), A), call(lambda x: x.argsort(axis=None, kind="stable"), J)],
    "astype": [
        call(lambda x: x.astype(np.float32), A, grad=False),
        call(lambda x: x.astype(int), A * 9),
        call(lambda x: x.astype(complex), A),
    ],
    "base": [call(lambda x: x * (x.copy().base is None), A)],
    "choose": [
        call(lambda i, x: (i % 2).choose([x, -x]), I[:5], V, grad=False),
        call(lambda i, x: i.choose([x, -x], mode="clip"), I[:5], V, grad=False),
    ],
    "clip": [
        call(lambda x: x.clip(-0.5, 0.5), A),
        call(lambda x: x.clip(max=0.25), A),
        call(lambda x: _out(x, lambda x, o: x.clip(0.0, 1.0, o), (3, 4)), A),
    ],
    "compress": [
        call(lambda x: x.compress([True, False, True], 0), A),
        selected(lambda x: x.compress(x > 0.5), V),
    ],
    "conj": [call(lambda x: x.conj(), Z, grad=False), call(lambda x: x.conj(), A)],
    "conjugate": [call(lambda x: x.conjugate(), Z, grad=False)],
    "copy": [call(lambda x: x.copy(), A), call(lambda x: x.copy("F"), A)],
    "cumprod": [call(lambda x: x.cumprod(), A), call(lambda x: x.cumprod(1), A)],
    "cumsum": [
        call(lambda x: x.cumsum(0, np.float32), A, grad=False),
        call(lambda x: _out(x, lambda x, o: x.cumsum(1, None, o), (3, 4)), A),
    ],
    "device": [call(lambda x: x * (x.device == "cpu"), A)],
    "diagonal": [call(lambda x: x.diagonal(1), A), call(lambda x: x.diagonal(0, 1, 2), T)],
    "dot": [call(lambda x, y: x.dot(y.T), A, B), call(lambda x, y: x.dot(y), V, W)],
    "dtype": [call(lambda x: x * (x.dtype == np.float64), A)],
    "fill": [call(lambda x: _then(x, lambda y: y.fill(2.5)), A)],
    "flags": [call(lambda x: x * x.flags.writeable * x.flags["C_CONTIGUOUS"], A)],
    "flat": [
        call(lambda x: x.flat[3:7] * len(x.flat), A),
        call(lambda x: _then(x, lambda y: y.flat.__setitem__(slice(1, 5), 9.0)), A),
        call(lambda x: np.array(list(x.flat)), A),
        call(lambda x: _then(x, lambda y: setattr(y, "flat", 1.5)), A),
    ],
    "flatten": [call(lambda x: x.flatten(), A), call(lambda x: x.flatten("F"), A)],
    "imag": [call(lambda x: x.imag, Z, grad=False), call(lambda x: x.imag, A)],
    "item": [call(lambda i: i * i.item(2), I), call(lambda i: i * i.sum().item(), I)],
    "itemsize": [call(lambda x: x * x.itemsize, F, grad=False)],
    "mT": [call(lambda x: x.mT, T)],
    "max": [
        call(lambda x: x.max(), A),
        call(lambda x: x.max(1, initial=0.2, where=x < 0.5), A),
        call(lambda x: _out(x, lambda x, o: x.max(0, o), 4), A),
    ],
    "mean": [
        call(lambda x: x.mean(), A),
        call(lambda x: x.mean((0, 2), keepdims=True), T),
        call(lambda x: x.mean(where=x > 0), A),
        call(lambda x: x.mean(0, np.float32), J, grad=False),
        call(lambda x: _out(x, lambda x, o: x.mean(0, None, o), 4), A),
    ],
    "min": [call(lambda x: x.min(0), A)],
    "nbytes": [call(lambda x: x * x.nbytes, A)],
    "ndim": [call(lambda x: x * x.ndim, T)],
    "nonzero": [selected(lambda x: (x > 0).nonzero(), A)],
    "partition": [call(lambda x: np.sort(_then(x, lambda y: y.partition(2))), A)],
    "prod": [call(lambda x: x.prod(1), A), call(lambda x: x.prod(), J, grad=False)],
    "put": [call(lambda x: _then(x, lambda y: y.put([0, 7, -1], [1.0, 2.0])), A)],
    "ravel": [call(lambda x: x.ravel(), A), call(lambda x: x.ravel("F"), A)],
    "real": [
        call(lambda x: x.real, Z, grad=False),
        call(lambda x: x.real * 2, A),
        call(lambda x: _then(x, lambda y: setattr(y, "real", 1.5)), Z, grad=False),
    ],
    "repeat": [call(lambda x: x.repeat(2), A), call(lambda x: x.repeat([1, 2, 0], axis=0), A)],
    "reshape": [call(lambda x: x.reshape(4, 3), A), call(lambda x: x.reshape((2, -1), order="F"), A)],
    "round": [call(lambda x: x.round(1), A, grad=False), call(lambda x: x.round(), A * 5)],
    "searchsorted": [call(lambda x, v: np.sort(x).searchsorted(v, "right"), V, A)],
    "shape": [
        call(lambda x: x * x.shape[1], A),
        call(lambda x: _then(x, lambda y: setattr(y, "shape", (12,))).sum(0), A),
    ],
    "size": [call(lambda x: x * x.size, A)],
    "sort": [
        call(lambda x: _then(x, lambda y: y.sort()), A),
        call(lambda x: _then(x, lambda y: y.sort(0, stable=True)), J, grad=False),
    ],
    "squeeze": [call(lambda x: x[:, None].squeeze(1), A)],
    "std": [
        call(lambda x: x.std(), A),
        call(lambda x: x.std(1, ddof=1, keepdims=True), A),
        call(lambda x: x.std(1, None, None, 1), A),
    ],
    "strides": [call(lambda x: x * x.strides[0], A)],
    "sum": [
        call(lambda x: x.sum(), A),
        call(lambda x: x.sum(0, np.float32), A, grad=False),
        call(lambda x: x.sum(1, where=x > 0, initial=2.0), A),
        call(lambda x: _out(x, lambda x, o: x.sum(0, None, o), 4), A),
    ],
    "swapaxes": [call(lambda x: x.swapaxes(0, 2), T)],
    "take": [
        call(lambda x: x.take([1, 5, -2]), A),
        call(lambda x, i: x.take(i, 1, None, "wrap"), A, I),
        call(lambda x: _out(x, lambda x, o: x.take([2, 0], 0, o), (2, 4)), A),
    ],
    "to_device": [call(lambda x: x.to_device("cpu") * 2, A)],
    "tolist": [call(lambda i: i * len(i.tolist()), I)],
    "trace": [call(lambda x: x.trace(1), A), call(lambda x: x.trace(0, 1, 2, np.float32), T, grad=False)],
    "transpose": [
        call(lambda x: x.transpose(), T),
        call(lambda x: x.transpose(1, 0, 2), T),
        call(lambda x: x.transpose((2, 0, 1)), T),
    ],
    "var": [
        call(lambda x: x.var(0), A),
        call(lambda x: x.var(1, None, None, 1), A),
        call(lambda x: x.var(where=x > 0), A),
    ],
    "view": [
        call(lambda x: x.view(np.int64), A),
        call(lambda x: x.view(np.uint8), F),
        call(lambda x: x.view() * 2, A),
    ],
}


def _written(fn: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    fn(x, *args, **kwargs)
    return x


def _ufunc_calls(name: str, ufunc: np.ufunc) -> list[Call]:
    """A call with floats, integers or booleans, whatever the ufunc takes."""
    shift = 1.0 if name in ("arccosh", "acosh") else 0.0
    floats = (V + shift, W)[: ufunc.nin]
    if name in ("ldexp",):
        return [Call(lambda *xs: getattr(np, name)(*xs), (V, I[:5]), grad=False)]
    kinds = {t[0] for t in ufunc.types}
    flat = (
        "floor",
        "ceil",
        "trunc",
        "rint",
        "sign",
        "heaviside",
        "nextafter",
        "spacing",
        "frexp",
        "modf",
        "divmod",
    )
    smooth = name not in (*flat, "floor_divide", "copysign")
    out = [Call(lambda *xs: getattr(np, name)(*xs), floats, grad=smooth, rtol=1e-11)] if "d" in kinds else []
    if "l" in kinds:
        small = (np.abs(J) % 5 + 1, np.abs(J[::-1]) % 4 + 1)[: ufunc.nin]
        out.append(Call(lambda *xs: getattr(np, name)(*xs), small, grad=False))
    if "?" in kinds:
        out.append(Call(lambda *xs: getattr(np, name)(*xs), (M, M[::-1].copy())[: ufunc.nin], grad=False))
    return out


for _name in dir(np):
    _f = getattr(np, _name)
    if isinstance(_f, np.ufunc) and _name not in CALLS:
        CALLS[_name] = _ufunc_calls(_name, _f)
