"""Every ufunc of NumPy at every dtype it has a loop for, eagerly and compiled, at edge values in all pairs.

One program a dtype, which has all ufuncs in it, so that little is compiled. Results have NumPy's dtypes; they
are NumPy's bits for what is exact, and within a few units in the last place of NumPy's for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.ops.samples import edges
from tracejit import dtypes

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BF16 = dtypes.bfloat16
DTYPES = [*map(np.dtype, "?bhiqBHIQefdFD"), BF16]
UFUNCS = {u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None}
#: Ufuncs of dates only.
NO_NUMBERS = {"isnat"}

_ROUNDED = [
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "hypot", "power", "float_power"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
]
#: Units in the last place that a result may be away from NumPy's, which errs too.
ULPS: dict[str, float] = dict.fromkeys(_ROUNDED, 2.0)
#: ... of the larger operand, for what cancels.
OF_OPERANDS = {"logaddexp": 2.0, "logaddexp2": 2.0}
#: NumPy's own formulas for these lose digits by cancellation; their accuracy is tested against mpmath.
LOOSE_COMPLEX = {"log1p", "expm1", "exp2"}
#: Complex functions whose parts cancel: measured in units of the modulus.
OF_MODULUS = {"power": 16.0, "pow": 16.0, "float_power": 16.0}


def loop(ufunc: np.ufunc, d: np.dtype) -> tuple[np.dtype, ...] | None:
    """The loop whose operands are all of dtype `d`, or a float and an integer; None if there is none."""
    for operands in ((d,) * ufunc.nin, (d, np.dtype(np.int32))[: ufunc.nin]):
        try:
            found = ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout))
        except TypeError:
            continue
        if found[: ufunc.nin] == operands and all(f.kind in "biufc" or f == BF16 for f in found):
            return found
    return None


def values(d: np.dtype) -> np.ndarray:
    e = edges(np.float32).astype(d) if d == BF16 else edges(d)
    if not dtypes.is_float(d):
        return e
    info = ml_dtypes.finfo(d)
    more = [info.max, -info.max, info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    return np.concatenate([e, np.array([*more, 0.3, 1.7, -2.3, 13.6, -0.77, 0.9, -110.3], d)])


EXPONENTS = [0, 1, -1, 5, -20, 130, -140, 1000, -1074, 2000, -2100, 30, -30, 2**31 - 1, -(2**31)]


def operands(ufunc: np.ufunc, ds: tuple[np.dtype, ...]) -> list[np.ndarray]:
    """Edge values of one operand, or all pairs of them."""
    xs = [values(d) for d in ds[: ufunc.nin]]
    if ufunc.nin == 1:
        return xs
    if ufunc.__name__ in ("left_shift", "right_shift"):
        low = -2 if ds[1].kind == "i" else 0
        xs[1] = np.arange(low, 9 * ds[1].itemsize).astype(ds[1])
    if ufunc is np.power and ds[0].kind == "i":
        xs[1] = xs[1][xs[1] >= 0]  # of others NumPy raises
    if ufunc is np.ldexp:
        xs[1] = np.array(EXPONENTS, ds[1])
    x, y = np.meshgrid(*xs)
    return [x.ravel(), y.ravel()]


GRID = {d: {n: o for n, u in UFUNCS.items() if (ds := loop(u, d)) and (o := operands(u, ds))} for d in DTYPES}


def distance(got: np.ndarray, want: np.ndarray, size: np.ndarray | None = None) -> np.ndarray:
    """Units in the last place between two arrays; half a one for zeros of different signs."""
    if want.dtype.kind == "c":
        return np.maximum(distance(got.real, want.real, size), distance(got.imag, want.imag, size))
    if want.dtype.kind in "biu":
        return np.where(got == want, 0.0, np.inf)
    info = ml_dtypes.finfo(want.dtype)
    g, w = got.astype(float), want.astype(float)
    unit = np.maximum(np.abs(w) * float(info.eps), float(info.smallest_subnormal))
    unit = unit if size is None else np.maximum(unit, size * float(info.eps))
    signs = (g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w))
    out = np.where(g == w, np.where(signs, 0.5, 0.0), np.abs(g - w) / unit)
    return np.where(np.isnan(g) & np.isnan(w), 0.0, np.where(np.isnan(out), np.inf, out))


def allowed(name: str, d: np.dtype) -> float:
    if d.kind == "c" and name in OF_MODULUS:
        return OF_MODULUS[name]
    if d.kind == "c":
        inexact = (*ULPS, "absolute", "abs", "divide", "multiply", "reciprocal", "sqrt", "square", "sign")
        return 4.0 if name in inexact else 0.0
    return OF_OPERANDS.get(name) or ULPS.get(name, 0.0)


def compare(way: str, d: np.dtype, name: str, got: Any) -> list[str]:
    """What is wrong with the results of one ufunc."""
    xs = GRID[d][name]
    with np.errstate(all="ignore"):
        want = UFUNCS[name](*xs)
        if (
            way == "vmap" and name == "power"
        ):  # each lane has numbers, of which NumPy takes square roots for 0.5
            want = np.array([np.power(*row) for row in zip(*xs, strict=True)], want.dtype)
    problems = []
    size = np.maximum(*(np.nan_to_num(np.abs(x.astype(float))) for x in xs)) if name in OF_OPERANDS else None
    for g, w in zip(_listed(got), _listed(want), strict=True):
        g = np.asarray(g)
        if g.dtype != w.dtype or g.shape != w.shape:
            problems.append(f"{way} {name} of {d}: {g.dtype}{g.shape}, NumPy {w.dtype}{w.shape}")
            continue
        if d.kind == "c" and name in OF_MODULUS:
            size = np.nan_to_num(np.abs(w))
        far = distance(g, w, size)
        n = int(np.argmax(far))
        if far[n] > allowed(name, d) and not (d.kind == "c" and name in LOOSE_COMPLEX):
            at = ", ".join(str(x[n]) for x in xs)
            problems.append(f"{way} {name}({at}) of {d}: {g[n]}, NumPy {w[n]}, {far[n]:.3g} units away")
    return problems


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (tuple, list)) else [x]


def applications(d: np.dtype) -> Callable[..., Any]:
    """All ufuncs of one dtype as one function of all their operands."""
    names = list(GRID[d])

    def apply(*xs: Any) -> list[Any]:
        it = iter(xs)
        return [UFUNCS[n](*(next(it) for _ in range(UFUNCS[n].nin))) for n in names]

    return apply


@pytest.mark.sample(4)
@pytest.mark.parametrize("d", DTYPES, ids=str)
def test_compiled(d: np.dtype) -> None:
    xs = [x for row in GRID[d].values() for x in row]
    got = tj.jit(applications(d))(*xs)
    assert [p for name, g in zip(GRID[d], got, strict=True) for p in compare("jit", d, name, g)] == []


@pytest.mark.sample(12)
@pytest.mark.parametrize("d", DTYPES, ids=str)
def test_eager(d: np.dtype) -> None:
    """Under vmap, and under jvp where there is something to differentiate."""
    apply = applications(d)
    xs = [x for row in GRID[d].values() for x in row]
    got = apply_each(d, lambda f, row: tj.vmap(f)(*row))
    assert [p for n, g in got for p in compare("vmap", d, n, g)] == []
    if dtypes.is_inexact(d):
        got = apply_each(d, lambda f, row: tj.jvp(f, tuple(row), tuple(map(_tangent, row)))[0])
        assert [p for n, g in got for p in compare("jvp", d, n, g)] == []
    assert len(tj.eval_shape(apply, *xs)) == len(GRID[d])


def apply_each(d: np.dtype, way: Callable[..., Any]) -> list[tuple[str, Any]]:
    return [(n, way(lambda *xs, n=n: UFUNCS[n](*xs), row)) for n, row in GRID[d].items()]


def _tangent(x: np.ndarray) -> Any:
    return np.ones_like(x) if dtypes.is_inexact(x.dtype) else np.zeros(x.shape, dtypes.float0)


def test_every_ufunc_is_here() -> None:
    """A ufunc that a new NumPy brings is traced, or refused by name."""
    tested = {n for row in GRID.values() for n in row}
    assert set(UFUNCS) - tested == NO_NUMBERS
    assert all(UFUNCS[n] in tnp.NUMPY_TO_TRACEJIT for n in tested)


@pytest.mark.parametrize("name", sorted(NO_NUMBERS))
def test_ufuncs_of_dates_take_no_numbers(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        tj.jit(lambda x: UFUNCS[name](x))(np.ones(3))


@pytest.mark.parametrize("other", [np.array(["2020-01-01"], "M8[D]"), np.array(["a"]), np.array([object()])])
def test_operands_that_are_no_numbers_are_refused(other: np.ndarray) -> None:
    with pytest.raises(TypeError):
        tj.jit(lambda x: np.add(x, other))(np.ones(1))


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons_of_signed_with_unsigned_integers_are_exact(name: str) -> None:
    x = np.array([-1, 0, 2**53 + 1, 2**63 - 1, -(2**63)])
    y = np.array([0, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    f, (a, b) = UFUNCS[name], np.meshgrid(x, y)
    np.testing.assert_array_equal(tj.jit(lambda x, y: f(x, y))(a, b), f(a, b))
    np.testing.assert_array_equal(tj.jit(lambda x, y: f(y, x))(a, b), f(b, a))
