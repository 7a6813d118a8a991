"""Every function of the namespace against NumPy: values, shapes, dtypes; eagerly and staged."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit.numpy as tnp
from tests.numpy.running import check

RNG = np.random.default_rng(0)
X = RNG.normal(size=5)
P = RNG.uniform(0.1, 0.9, size=5)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(4, 3))
T = RNG.normal(size=(2, 3, 4))
Z = RNG.normal(size=4) + 1j * RNG.normal(size=4)
I = RNG.integers(-9, 9, size=6)  # noqa: E741
J = np.array([1, 2, 5, 3, 7, 4])
M = RNG.normal(size=(3, 4)) > 0
N = np.array([1.0, np.nan, -2.0, np.inf, 3.0])

UNARY = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arctanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "square",
    "reciprocal",
    "negative",
    "positive",
    "absolute",
    "fabs",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_not",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
    "conjugate",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "arctan2",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "heaviside",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "float_power",
]
DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64]


def _numpy_has_loop(ufunc: np.ufunc, *dtypes: np.dtype) -> bool:
    try:
        out = ufunc.resolve_dtypes((*map(np.dtype, dtypes), *(None,) * ufunc.nout))
    except TypeError:
        return False
    return all(d.kind in "biufc" for d in out)


@pytest.mark.parametrize("name", UNARY)
def test_unary_ufunc(name: str) -> None:
    f = getattr(np, name)
    for d in DTYPES:
        if _numpy_has_loop(f, d):
            check(lambda x: f(x), np.array([0, 1, 1, 0], d) if np.dtype(d).kind != "f" else P[:4].astype(d))


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufunc_promotes_as_numpy(name: str) -> None:
    f = getattr(np, name)
    for d in DTYPES:
        for e in (np.bool_, np.uint8, np.int64, np.float32, np.float64):
            if _numpy_has_loop(f, d, e):
                check(
                    lambda x, y: f(x, y),
                    np.array([1, 2, 3]).astype(d),
                    np.array([1, 1, 2]).astype(e),
                    rtol=1e-6,
                )


@pytest.mark.parametrize("scalar", [2, 2.0, True, np.float32(2), np.int8(2)])
def test_scalars_promote_as_numpy(scalar: object) -> None:
    for d in DTYPES:
        x = np.array([1, 2, 3]).astype(d)
        check(lambda x: x + scalar, x)
        check(lambda x: scalar * x, x)
        check(lambda x: x / scalar, x)
        check(lambda x: np.maximum(x, scalar), x)
        check(lambda x: x < scalar, x)


@pytest.mark.parametrize("weak", [3, 2.5])
def test_weak_arguments_promote_as_python_scalars(weak: float) -> None:
    for d in (np.int8, np.float32, np.float64, np.int64):
        check(lambda x, s: x * s, np.array([1, 2, 3]).astype(d), weak)
        check(lambda x, s: np.add(x, s * 2 + 1), np.array([1, 2, 3]).astype(d), weak)
    check(lambda s: s * 2, weak)
    check(lambda s: s / 2, weak)
    check(lambda s: np.sin(s), weak)


FUNCTIONS = {
    "where": (lambda x: np.where(x > 0, x, 0), (A,)),
    "where int": (lambda m, i: np.where(m, i, 2), (M[0], J[:4])),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), (A,)),
    "clip none": (lambda x: np.clip(x, None, 0.5), (A,)),
    "clip ints": (lambda x: np.clip(x, -3, 3), (I,)),
    "round": (lambda x: np.round(x * 100, 1), (A,)),
    "select": (lambda x: np.select([x < -0.5, x < 0.5], [x, x**2], 7), (A,)),
    "choose": (lambda i, x, y: np.choose(i, [x, y, x]), (np.array([0, 1, 2, 1, 0]), X, P)),
    "piecewise": (lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * 2]), (X,)),
    "sum": (lambda x: np.sum(x, axis=(0, 2), keepdims=True), (T,)),
    "sum where": (lambda x, m: np.sum(x, axis=0, where=m, initial=3.0), (A, M)),
    "sum bool": (lambda m: np.sum(m), (M,)),
    "sum int8": (lambda x: np.sum(x.astype(np.int8)), (J,)),
    "sum uint8": (lambda x: np.sum(x.astype(np.uint8), dtype=np.float32), (J,)),
    "prod": (lambda x: np.prod(x, axis=-1), (A,)),
    "mean": (lambda x: np.mean(x, axis=1), (A,)),
    "mean where": (lambda x, m: np.mean(x, axis=1, where=m, keepdims=True), (A, M)),
    "mean ints": (lambda x: np.mean(x), (I,)),
    "mean half": (lambda x: np.mean(x.astype(np.float16)), (A,)),
    "var": (lambda x: np.var(x, axis=0, ddof=1), (A,)),
    "var where": (lambda x, m: np.var(x, where=m), (A, M)),
    "std": (lambda x: np.std(x, keepdims=True), (A,)),
    "var complex": (lambda z: np.var(z), (Z,)),
    "max": (lambda x: np.max(x, axis=(0, 1)), (T,)),
    "min where": (lambda x, m: np.min(x, where=m, initial=10.0), (A, M)),
    "amax initial": (lambda x: np.amax(x, initial=5.0), (A,)),
    "argmax": (lambda x: np.argmax(x, axis=1), (A,)),
    "argmin all": (lambda x: np.argmin(x), (A,)),
    "argmax keepdims": (lambda x: np.argmax(x, axis=0, keepdims=True), (A,)),
    "any": (lambda m: np.any(m, axis=0), (M,)),
    "all": (lambda m: np.all(m), (M,)),
    "any floats": (lambda x: np.any(x), (A,)),
    "ptp": (lambda x: np.ptp(x, axis=0), (A,)),
    "count_nonzero": (lambda x: np.count_nonzero(x > 0, axis=1), (A,)),
    "average": (lambda x, w: np.average(x, axis=1, weights=w), (A, np.abs(A[0]))),
    "average returned": (lambda x: np.average(x, axis=0, returned=True), (A,)),
    "cumsum": (lambda x: np.cumsum(x, axis=1), (A,)),
    "cumsum flat": (lambda x: np.cumsum(x), (A,)),
    "cumprod": (lambda x: x.cumprod(axis=0), (A,)),
    "cumsum bool": (lambda m: np.cumsum(m), (M,)),
    "nansum": (lambda x: np.nansum(x), (np.array([1, np.nan, 2]),)),
    "nanmean": (lambda x: np.nanmean(x), (np.array([1, np.nan, 2]),)),
    "nanmax": (lambda x: np.nanmax(x), (np.array([1, np.nan, 2]),)),
    "nanstd": (lambda x: np.nanstd(x), (np.array([1, np.nan, 2]),)),
    "nancumsum": (lambda x: np.nancumsum(x), (np.array([1, np.nan, 2]),)),
    "nan_to_num": (lambda x: np.nan_to_num(x), (N,)),
    "isclose": (lambda x: np.isclose(x, x + 1e-9), (N,)),
    "allclose": (lambda x: np.allclose(x, x), (X,)),
    "array_equal": (lambda x: np.array_equal(x, x + 0), (X,)),
    "isposinf": (lambda x: (np.isposinf(x), np.isneginf(x)), (N,)),
    "add.reduce": (lambda x: np.add.reduce(x, axis=1), (A,)),
    "add.accumulate": (lambda x: np.add.accumulate(x), (A,)),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, axis=1), (A,)),
    "subtract.accumulate": (lambda x: np.subtract.accumulate(x), (X,)),
    "maximum.reduce": (lambda x: np.maximum.reduce(x), (A,)),
    "subtract.reduce": (lambda x: np.subtract.reduce(x), (A,)),
    "multiply.outer": (lambda x, y: np.multiply.outer(x, y), (X, A)),
    "divmod": (lambda x: divmod(x, 0.3), (A,)),
    "np.divmod": (lambda i: np.divmod(i, 4), (I,)),
    "modf": (lambda x: np.modf(x), (A,)),
    "shifts": (lambda i: (i << 2, i >> 1), (I,)),
    "bits": (lambda i: (i & 3, i | 3, i ^ 3, ~i), (I,)),
    "pow": (lambda x: (x**2, x**3, x**-1, x**0, x**0.5, 2**x, x**2.0), (P,)),
    "pow ints": (lambda i: (i**2, i**3, 2.0**i), (I,)),
    "gcd": (lambda i, j: (np.gcd(i, j), np.lcm(i, j)), (I, J)),
    "angle": (lambda z: np.angle(z), (Z,)),
    "complex": (lambda z: (z.real, z.imag, z.conj(), abs(z), z * 2j), (Z,)),
    "sinc": (lambda x: np.sinc(x), (np.array([0.0, 0.5, -1.3]),)),
    "unwrap": (lambda x: np.unwrap(x), (np.array([0.0, 3.0, 6.5, 0.1, -3.0]),)),
    "diff": (lambda x: np.diff(x, n=2, axis=0, prepend=0.0), (A,)),
    "ediff1d": (lambda x: np.ediff1d(x, to_begin=1.0), (X,)),
    "gradient": (lambda x: np.gradient(x, 0.5), (A,)),
    "trapezoid": (lambda y, x: np.trapezoid(y, x), (A, A[0])),
    "polyval": (lambda p, x: np.polyval(p, x), (X, P)),
    "vander": (lambda x: np.vander(x, 3), (X,)),
    "cov": (lambda x: np.cov(x), (A,)),
    "corrcoef": (lambda x: np.corrcoef(x), (A,)),
    "reshape": (lambda x: (x.reshape(2, 6), np.reshape(x, -1), x.reshape((4, 3), order="F")), (A,)),
    "transpose": (lambda x: (x.T, np.transpose(x, (1, 0, 2)), x.transpose(2, 0, 1)), (T,)),
    "moveaxis": (lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, [0, 1], [1, 2]), np.rollaxis(x, 2)), (T,)),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), (T,)),
    "squeeze": (lambda x: np.squeeze(x[None, :, None], axis=0), (A,)),
    "expand_dims": (lambda x: np.expand_dims(x, (0, -1)), (A,)),
    "atleast": (lambda x: (np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x)), (X,)),
    "broadcast_to": (lambda x: np.broadcast_to(x, (3, 5)), (X,)),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y), (A, A[:, :1].copy())),
    "flip": (
        lambda x: (np.flip(x), np.flip(x, 1), np.fliplr(x), np.flipud(x), np.rot90(x), np.rot90(x, 3)),
        (A,),
    ),
    "diagonal": (lambda x: (np.diagonal(x), x.diagonal(1), np.trace(x), np.diag(x, -1)), (A,)),
    "diagonal 3d": (lambda x: np.diagonal(x, 0, 2, 1), (T,)),
    "diag": (lambda x: (np.diag(x), np.diag(x, 2), np.diagflat(x, -1)), (X,)),
    "triangles": (lambda x: (np.tril(x), np.triu(x, 1), np.tril(x, -1)), (A,)),
    "concatenate": (lambda x, y: (np.concatenate([x, y.T]), np.concatenate([x, y], axis=None)), (A, B)),
    "concatenate mixed": (lambda x, i: np.concatenate([x, i]), (X, I)),
    "stack": (lambda x: (np.stack([x, x * 2]), np.stack([x, x], -1)), (A,)),
    "stacks": (
        lambda x: (np.vstack([x, x]), np.hstack([x, x]), np.dstack([x, x]), np.column_stack([x, x])),
        (X,),
    ),
    "block": (lambda x: np.block([[x, x], [x, x * 2]]), (A,)),
    "append": (lambda x: np.append(x, 1.0), (X,)),
    "split": (lambda x: (np.split(x, 2, axis=1), np.array_split(x, 2), np.split(x, [1], axis=0)), (A,)),
    "hsplit": (lambda x: (np.hsplit(x, 2), np.vsplit(x, 3)), (A,)),
    "tile": (lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 2))), (A,)),
    "repeat": (lambda x: (np.repeat(x, 2), np.repeat(x, 3, axis=1), np.repeat(x, [1, 0, 2], axis=0)), (A,)),
    "roll": (lambda x: (np.roll(x, 2), np.roll(x, -1, axis=1), np.roll(x, (1, 2), axis=(0, 1))), (A,)),
    "resize": (lambda x: np.resize(x, (3, 3)), (X,)),
    "pad": (lambda x: (np.pad(x, 1), np.pad(x, ((1, 0), (2, 3)), constant_values=4.0)), (A,)),
    "pad edge": (lambda x: [np.pad(x, 2, mode=m) for m in ("edge", "wrap", "reflect", "symmetric")], (A,)),
    "delete insert": (lambda x: (np.delete(x, 1), np.insert(x, 2, 9.0)), (X,)),
    "meshgrid": (lambda x, y: np.meshgrid(x, y), (X, P)),
    "dot": (lambda x, y: (np.dot(x, y), x.dot(y[:, 0]), np.dot(x[0], y)), (A, B)),
    "matmul": (lambda x, y, t: (x @ y, t @ y, t[0] @ y, x[0] @ y, t @ y[:, 0], x[:, :3] @ t), (A, B, T)),
    "matmul batch": (lambda t: (t @ t.swapaxes(1, 2), t.mT @ t[:1]), (T,)),
    "matmul ints": (lambda i: i.reshape(2, 3) @ i.reshape(3, 2), (I,)),
    "matmul bool": (lambda m: m @ m.T, (M,)),
    "vdot": (lambda x: np.vdot(x, x), (Z,)),
    "inner": (lambda x: np.inner(x, x), (A,)),
    "outer": (lambda x, y: np.outer(x, y), (X, P)),
    "tensordot": (lambda x, y: (np.tensordot(x, y, 1), np.tensordot(x, y, ([0, 1], [1, 0]))), (A, B)),
    "einsum": (
        lambda x, y: (np.einsum("ij,jk->ik", x, y), np.einsum("ij,jk", x, y), np.einsum("ij->", x)),
        (A, B),
    ),
    "einsum more": (lambda t, x: (np.einsum("bij,ij->b", t, x), np.einsum("...ij->...ji", t)), (T, A)),
    "einsum three": (lambda x, y, t: np.einsum("ij,jk,bkl->bil", x, y, t), (A, B, T)),
    "einsum trace": (lambda x: (np.einsum("ii", x), np.einsum("ii->i", x)), (A[:, :3].copy(),)),
    "kron": (lambda x, y: np.kron(x, y), (A, B)),
    "cross": (lambda x, y: np.cross(x, y), (B, B[::-1].copy())),
    "convolve": (lambda x, y: [np.convolve(x, y, m) for m in ("full", "same", "valid")], (X, P[:3])),
    "correlate": (lambda x, y: np.correlate(x, y, "full"), (X, P[:3])),
    "norm": (
        lambda x: (
            np.linalg.norm(x),
            np.linalg.norm(x, axis=0),
            np.linalg.norm(x, 1),
            np.linalg.norm(x, np.inf),
        ),
        (A,),
    ),
    "vector norms": (lambda x: [np.linalg.norm(x, o) for o in (None, 1, 2, 3, np.inf, -np.inf, 0)], (X,)),
    "take": (
        lambda x: (np.take(x, [1, 2], axis=1), np.take(x, 3), np.take(x, [[1], [9]], mode="clip")),
        (A,),
    ),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, 1), 1), (A,)),
    "take_along_axis broadcasts": (lambda x: np.take_along_axis(x, np.argsort(x[:1], 1), 1), (A,)),
    "sum over axes in any order": (lambda x: np.sum(x[None], axis=(2, 0)), (A,)),
    "sort": (lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None), np.argsort(x, axis=0)), (A,)),
    "sort nan": (lambda x: np.sort(x), (N,)),
    "searchsorted": (
        lambda a, v: (np.searchsorted(a, v), np.searchsorted(a, v, "right")),
        (np.array([1.0, 2, 2, 3]), np.array([0, 2, 2.5, 9, np.nan])),
    ),
    "digitize": (lambda x: np.digitize(x, [0.2, 0.5, 0.8]), (P,)),
    "bincount": (lambda i: np.bincount(np.abs(i), minlength=10), (I,)),
    "interp": (lambda x, y: np.interp(x, [0.0, 0.5, 1.0], y), (np.array([-1, 0.2, 0.7, 2.0]), X[:3])),
    "median": (lambda x: (np.median(x), np.median(x, axis=1), np.median(x, axis=0, keepdims=True)), (A,)),
    "quantile": (
        lambda x: (np.quantile(x, 0.3), np.quantile(x, [0.1, 0.9], axis=1), np.percentile(x, 40, axis=0)),
        (A,),
    ),
    "zeros_like": (
        lambda x: (np.zeros_like(x), np.ones_like(x, dtype=int), np.full_like(x, 3), np.empty_like(x) * 0),
        (A,),
    ),
    "linspace": (lambda x: (np.linspace(x[0], x[1], 7), np.linspace(0.0, x[0], 3, endpoint=False)), (X,)),
    "methods": (
        lambda x: (x.sum(), x.mean(0), x.std(1), x.max(), x.argmax(), x.flatten(), x.astype(int)),
        (A * 10,),
    ),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda v: v.sum() * v, 1, x), (A,)),
    "lexsort": (lambda i, j: np.lexsort((i, j)), (I, J % 3)),
    "out": (lambda x, y: np.add(x, 1.0, out=y), (A, np.zeros((3, 4)))),
    "out where": (lambda x, y, m: np.sqrt(x, out=y, where=m), (np.abs(A), np.zeros((3, 4)), M)),
    "sum out": (lambda x, y: np.sum(x, axis=0, out=y), (A, np.zeros(4))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    f, args = FUNCTIONS[name]
    check(f, *args)


WRITERS = {
    "copyto": lambda x: np.copyto(x, x[::-1] * 2),
    "copyto where": lambda x: np.copyto(x, 0.0, where=x > 0),
    "put": lambda x: np.put(x, [0, -1, 4], [7.0, 8.0, 9.0]),
    "putmask": lambda x: np.putmask(x, x > 0, x * x),
    "place": lambda x: np.place(x, x > 0, [1.0, 2.0]),
    "fill_diagonal": lambda x: np.fill_diagonal(x, 5.0),
    "put_along_axis": lambda x: np.put_along_axis(x, np.argmax(x, axis=1, keepdims=True), 99.0, axis=1),
    "add.at": lambda x: np.add.at(x, ([0, 0, 1], [1, 1, 2]), [1.0, 2.0, 3.0]),
    "subtract.at": lambda x: np.subtract.at(x, 1, 2.0),
    "sort": lambda x: x.sort(axis=0),
    "fill": lambda x: x.fill(3),
    "flat": lambda x: x.flat.__setitem__(slice(1, 7, 2), 4.0),
}


@pytest.mark.parametrize("name", WRITERS)
def test_function_that_writes(name: str) -> None:
    check(WRITERS[name], A)


def test_plain_values_give_numpy_results() -> None:
    for name in ("sin", "sum", "concatenate", "zeros", "arange", "einsum", "unique"):
        assert callable(getattr(tnp, name))
    assert type(tnp.sin(1.0)) is np.float64
    assert type(tnp.zeros(3)) is np.ndarray
    assert type(tnp.asarray([1, 2])) is np.ndarray
    x = np.arange(3)
    assert tnp.asarray(x) is x
    assert tnp.unique(np.array([2, 1, 2])).tolist() == [1, 2]
    with pytest.raises(AttributeError, match="neither"):
        tnp.no_such_function
