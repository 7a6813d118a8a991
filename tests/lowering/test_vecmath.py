"""Accuracy and edge values of the vector functions, against mpmath and NumPy."""

from __future__ import annotations

import re
import warnings

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import tracejit as tj
from tests.lowering.native import apply, pointwise, ulp_errors
from tracejit.ir.kernel import Unsupported
from tracejit.lowering import cpu
from tracejit.lowering.compile import compile_llvm, vector_bits
from tracejit.lowering.loopbuilder import Builder
from tracejit.lowering.vecmath import FUNCTIONS, outline, special

POINTS = 400

BIG = {8: [(1e200, 1e308)], 4: [(1e20, 3e38)]}
ANGLES = {
    8: [(-4, 4), (-1e-3, 1e-3), (-1e6, 1e6), (-6e10, 6e10), (-1e20, 1e20), (1e300, 1.7e308)],
    4: [(-4, 4), (-4096, 4096), (-1e8, 1e8), (-3e38, 3e38)],
}
LOGS = {8: [(0, 10), (0.7, 1.5), (0.999, 1.001), *BIG[8]], 4: [(0, 10), (0.7, 1.5), *BIG[4]]}
SUBNORMAL = {8: [(1e-310, 1e-300)], 4: [(1e-44, 1e-38)]}

# name -> (mpmath function, bound in ULP, ranges for float64, ranges for float32)
UNARY = {
    "exp": (mp.exp, 1.0, [(-745, 709.7), (-1, 1), (-1e-5, 1e-5)], [(-103, 88.7), (-1, 1)]),
    "exp2": (lambda x: mp.mpf(2) ** x, 1.0, [(-1074, 1023.9), (-1, 1)], [(-149, 127.9), (-1, 1)]),
    "expm1": (
        mp.expm1,
        1.0,
        [(-40, 709.7), (-1, 1), (-1e-5, 1e-5), (-1e-300, 1e-300)],
        [(-20, 88.7), (-1, 1)],
    ),
    "log": (mp.log, 1.0, LOGS[8] + SUBNORMAL[8], LOGS[4] + SUBNORMAL[4]),
    "log2": (lambda x: mp.log(x) / mp.log(2), 1.05, LOGS[8], LOGS[4]),
    "log10": (mp.log10, 1.0, LOGS[8], LOGS[4]),
    "log1p": (mp.log1p, 1.0, [(-1, 1), (-0.3, 0.5), (-1e-5, 1e-5), (1, 1e6), *BIG[8]], [(-1, 1), (1, 3e38)]),
    "sin": (mp.sin, 1.0, ANGLES[8], ANGLES[4]),
    "cos": (mp.cos, 1.0, ANGLES[8], ANGLES[4]),
    "tan": (mp.tan, 2.0, ANGLES[8], ANGLES[4]),
    "tanh": (mp.tanh, 1.0, [(-22, 22), (-1, 1), (-1e-3, 1e-3), (-1e-300, 1e-300)], [(-10, 10), (-1, 1)]),
    "sinh": (mp.sinh, 2.0, [(-710, 710), (-1, 1), (-1e-3, 1e-3)], [(-89, 89), (-1, 1)]),
    "cosh": (mp.cosh, 2.0, [(-710, 710), (-1, 1)], [(-89, 89), (-1, 1)]),
    "arcsin": (mp.asin, 1.5, *2 * ([(-1, 1), (-0.5, 0.5), (0.99, 1), (-1e-5, 1e-5)],)),
    "arccos": (mp.acos, 1.5, *2 * ([(-1, 1), (-0.5, 0.5), (0.99, 1), (-1, -0.99)],)),
    "arctan": (mp.atan, 1.25, *2 * ([(-10, 10), (-1, 1), (0.41, 0.5), (-1e-5, 1e-5), (1, 1e30)],)),
    "arcsinh": (mp.asinh, 1.1, *2 * ([(-10, 10), (-1, 1), (-1e-3, 1e-3), (-1e-7, 1e-7), (1e3, 1e30)],)),
    "arccosh": (mp.acosh, 1.0, *2 * ([(1, 10), (1, 1.5), (1, 1.001), (1, 1e6), (1e3, 1e30)],)),
    "arctanh": (mp.atanh, 1.0, *2 * ([(-1, 1), (-0.5, 0.5), (0.99, 1), (-1e-3, 1e-3), (-1e-7, 1e-7)],)),
    "cbrt": (mp.cbrt, 1.0, *([(0, 100), (0.5, 8.5), *SUBNORMAL[n], *BIG[n]] for n in (8, 4))),
    "erf": (mp.erf, 1.5, [(-6, 6), (-1, 1), (-1e-5, 1e-5)], [(-4, 4), (-1, 1)]),
    "logistic": (lambda x: 1 / (1 + mp.exp(-x)), 2.1, [(-740, 40), (-1, 1)], [(-100, 20), (-1, 1)]),
}
REFERENCE = {
    "logistic": lambda x: scipy.special.expit(x.astype(np.float64)).astype(x.dtype),
    "erf": scipy.special.erf,
    "pow": np.power,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e-40, -1e-40]


def sample(ranges: list, dtype: np.dtype, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(a, b, POINTS).astype(dtype) for a, b in ranges])


def edges(dtype: np.dtype) -> np.ndarray:
    info = np.finfo(dtype)
    extreme = [info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
    with np.errstate(all="ignore"):
        return np.array([*SPECIAL, 100.0, -100.0, 1000.0, -1000.0, 1e5, 1e300, -1e300, *extreme]).astype(
            dtype
        )


def numpy_of(name: str, *xs: np.ndarray) -> np.ndarray:
    fn = REFERENCE.get(name) or getattr(np, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fn(*xs)


def assert_same_edges(got: np.ndarray, expected: np.ndarray, xs: list) -> None:
    """NaN, infinities, zeros and their signs agree; finite values to a few units."""
    plain = np.isfinite(expected) & (expected != 0)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), err_msg=str(xs))
    keep = ~np.isnan(expected) & ~plain
    np.testing.assert_array_equal(got[keep], expected[keep], err_msg=str([x[keep] for x in xs]))
    np.testing.assert_array_equal(
        np.signbit(got[keep]), np.signbit(expected[keep]), err_msg=str([x[keep] for x in xs])
    )
    tiny = np.finfo(got.dtype).smallest_subnormal
    np.testing.assert_allclose(got[plain], expected[plain], rtol=8 * np.finfo(got.dtype).eps, atol=tiny)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_accuracy(name, dtype):
    exact_fn, bound, wide, narrow = UNARY[name]
    x = sample(wide if dtype == np.float64 else narrow, np.dtype(dtype))
    got = apply(lambda k, v: k.math(name, v), x)
    with mp.workprec(1200 if np.abs(x).max() > 1e30 and name in ("sin", "cos", "tan") else 160):
        exact = [exact_fn(mp.mpf(v)) for v in x.tolist()]
        errors = ulp_errors(got, exact)
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, f"{name}({x[worst]!r}) = {got[worst]!r}: {errors[worst]:.2f} ULP"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_edge_values(name, dtype):
    x = edges(np.dtype(dtype))
    assert_same_edges(apply(lambda k, v: k.math(name, v), x), numpy_of(name, x), [x])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["pow", "arctan2"])
def test_edge_values_of_two_arguments(name, dtype):
    e = edges(np.dtype(dtype))
    e = np.concatenate([e, np.array([0.25, 1 / 3, -1.5, 2.5, 9007199254740993.0, 4.0, 1 + 1e-7], dtype)])
    x, y = (a.ravel() for a in np.meshgrid(e, e))
    assert_same_edges(apply(lambda k, a, b: k.math(name, a, b), x, y), numpy_of(name, x, y), [x, y])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pow_accuracy(dtype):
    rng = np.random.default_rng(1)
    x = np.exp(rng.uniform(-30, 30, 1500)).astype(dtype)
    limit = 700 if dtype == np.float64 else 85
    y = (rng.uniform(-limit, limit, 1500) / np.log(x)).astype(dtype)
    x[:500], y[:500] = rng.uniform(0.9, 1.1, 500), rng.uniform(-300, 300, 500)
    got = apply(lambda k, a, b: k.math("pow", a, b), x, y)
    with mp.workprec(200):
        errors = ulp_errors(
            got, [mp.mpf(a) ** mp.mpf(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        )
    assert errors.max() <= 1.0


def test_pow_with_integer_exponents_is_exact():
    x = np.repeat(np.arange(-20.0, 21.0), 12)
    y = np.tile(np.arange(12.0), 41)
    np.testing.assert_array_equal(apply(lambda k, a, b: k.math("pow", a, b), x, y), x**y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arctan2_accuracy(dtype):
    rng = np.random.default_rng(2)
    y, x = (np.exp(rng.uniform(-40, 40, 800)) * rng.choice([-1, 1], 800) for _ in range(2))
    y[:400], x[:400] = rng.uniform(-1, 1, 400), rng.uniform(-1, 1, 400)
    y, x = y.astype(dtype), x.astype(dtype)
    got = apply(lambda k, a, b: k.math("arctan2", a, b), y, x)
    with mp.workprec(160):
        errors = ulp_errors(
            got, [mp.atan2(mp.mpf(a), mp.mpf(b)) for a, b in zip(y.tolist(), x.tolist(), strict=True)]
        )
    assert errors.max() <= (1.0 if dtype == np.float64 else 1.5)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_multiples_of_half_pi_keep_their_relative_accuracy(name):
    n = np.arange(1, 400.0)
    x = np.concatenate([n * (np.pi / 2), [6381956970095103 * 2.0**797]])  # the worst double for cancellation
    got = apply(lambda k, v: k.math(name, v), x)
    with mp.workprec(1400):
        errors = ulp_errors(got, [getattr(mp, name)(mp.mpf(v)) for v in x.tolist()])
    assert errors.max() <= 1.0


def test_same_bits_at_every_position():
    x = np.random.default_rng(3).uniform(-20, 20, 67)
    whole = apply(lambda k, v: k.math("tanh", v), x)
    single = np.concatenate([apply(lambda k, v: k.math("tanh", v), x[i : i + 1]) for i in range(len(x))])
    np.testing.assert_array_equal(whole, single)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf", "arcsinh", "arctanh"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loops_vectorise(name, dtype):
    code = compile_llvm(cpu.emit(pointwise(lambda k, x: k.math(name, x), [dtype], dtype)))
    packed = "pd" if dtype == np.float64 else "ps"
    assert re.search(rf"vfn?m(add|sub)\d+{packed}\s.*%[yz]mm", code.asm())


def test_unknown_functions_and_dtypes_are_refused():
    with pytest.raises(Unsupported, match="no vector function"):
        cpu.emit(pointwise(lambda k, x: k.math("zeta", x), [np.float64], np.float64))
    with pytest.raises(Unsupported, match="exp of int64"):
        pointwise(lambda k, x: k.math("exp", x), [np.int64], np.int64)


def test_every_function_is_tested():
    assert set(FUNCTIONS) - set(special.FUNCTIONS) == {*UNARY, "pow", "arctan2"}


# ---------------------------------------------------------------- out of line


def both_ways(monkeypatch, name: str, *xs: np.ndarray) -> list[np.ndarray]:
    """A function of arrays, inlined and out of line."""
    got = []
    for budget in (10**9, 0):
        monkeypatch.setattr(outline, "BUDGET", budget)
        got.append(apply(lambda k, *v: k.math(name, *v), *xs))
    return got


def samples(name: str, dtype: type) -> list[np.ndarray]:
    """Edge values, the rare path of angles, and ordinary values: with every remainder of a vector."""
    rng = np.random.default_rng(5)
    spread = rng.normal(size=200) * 10.0 ** rng.integers(-8, 12, 200)
    x = np.concatenate([edges(np.dtype(dtype)), spread, rng.normal(size=50)]).astype(dtype)
    return [x] if FUNCTIONS[name][1] == 1 else [x, rng.permutation(x)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_out_of_line_give_the_same_bits(monkeypatch, name, dtype):
    xs, unsigned = samples(name, dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    for n in (1, 3, 9, len(xs[0])):
        a, b = both_ways(monkeypatch, name, *[x[-n:] for x in xs])
        plain = ~np.isnan(a)
        np.testing.assert_array_equal(np.isnan(b), ~plain)
        np.testing.assert_array_equal(a.view(unsigned)[plain], b.view(unsigned)[plain])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_every_width_has_the_same_bits(monkeypatch, bits, dtype):
    """Also widths that are not this host's: LLVM splits their vectors, or calls the scalar function."""
    monkeypatch.setattr(cpu, "vector_bits", lambda: bits)
    for name in ("sin", "pow"):
        a, b = both_ways(monkeypatch, name, *samples(name, dtype))
        np.testing.assert_array_equal(a, b)


def chain(k, x):
    for _ in range(60):
        x = k.math("sin", x) * 0.5 + x
    return x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loops_with_calls_out_of_line_vectorise(dtype):
    program = pointwise(chain, [dtype], dtype)
    code = compile_llvm(cpu.emit(program))
    full = outline.widths(np.dtype(dtype).itemsize, vector_bits())[0]
    scalar = f"tj.sin.f{np.dtype(dtype).itemsize * 8}"
    assert len(re.findall(rf"call\w*\s.*{re.escape(scalar)}\.v{full}\b", code.asm())) >= 60
    defined = [line for line in code.optimized_llvm().splitlines() if line.startswith("define")]
    assert all("internal" in d or "hidden" in d or "@entry" in d for d in defined)
    assert len(code.object_bytes) < 60_000


def test_calls_out_of_line_with_the_same_constant_in_every_call():
    """LLVM may not remove the parameter: the vector variants would no longer fit."""
    x = np.linspace(1.0, 2.0, 19)

    def powers(k, v):
        total = v
        for n in range(8):
            total = total + k.math("pow", v + float(n), k.const(-2.5, v.dtype))
        return total

    want = x + sum((x + n) ** -2.5 for n in range(8))
    np.testing.assert_allclose(apply(powers, x), want, rtol=1e-15)


def test_few_calls_are_inlined_and_scalar_code_needs_no_variants():
    assert "noinline" not in entry_and_vecmath(
        pointwise(lambda k, x: k.math("sin", x), [np.float64], np.float64)
    )
    k = Builder()
    out = k.buffer("out", np.dtype(np.float64), 1, "arg", 0)
    k.store(out, 0, chain(k, k.load(out, 0)))
    text = cpu.emit(k.program)
    assert "@tj.sin.f64(double %x0) noinline" in text and "tj.sin.f64.v" not in text


def entry_and_vecmath(program) -> str:
    """The text without the slow functions of huge arguments, which are never inlined."""
    return "\n".join(line for line in cpu.emit(program).splitlines() if "huge" not in line)


def test_instructions_are_widened():
    line = "  %t2 = call double @llvm.fma.f64(double %x0, double 0x3FF0000000000000, double %t1)"
    wide = "<4 x double>"
    assert outline.widened(line, 4) == (
        f"  %t2 = call {wide} @llvm.fma.v4f64({wide} %x0, {wide} splat (double 0x3FF0000000000000), {wide} %t1)"
    )
    assert outline.widened("  %t3 = lshr i64 %t2, 52", 2) == "  %t3 = lshr <2 x i64> %t2, splat (i64 52)"
    assert outline.widened("  %t3 = sub i64 %t2, -1", 2) == "  %t3 = sub <2 x i64> %t2, splat (i64 -1)"


@pytest.mark.parametrize("f", [
    lambda x: x**2.7 + np.cumsum(x) ** 2.7 + (x[::-1] ** 2.7).sum(),
    lambda x: np.power(2.5, x) + np.power(2.5, np.sort(x)),
    lambda x: np.sin(np.full(4, 1e30)) + np.cos(1e30) * x[:4] + np.sin(np.full(3, 1e30)).sum(),
])  # fmt: skip
def test_an_operand_that_is_the_same_constant_in_every_call(f) -> None:
    """LLVM drops such parameters of functions that nobody else can call, which vector variants name."""
    x = np.linspace(0.5, 3, 40)
    np.testing.assert_allclose(tj.jit(f)(x), f(x), rtol=1e-13)
