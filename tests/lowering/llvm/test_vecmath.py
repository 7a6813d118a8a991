"""Edge values of the vector functions, against NumPy, and calls out of line. Accuracy: test_vecmath_accuracy."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.special

import tracejit as tj
from tests.lowering.native import apply, call, pointwise
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.linking.processor import vector_bits
from tracejit.lowering.llvm import cpu
from tracejit.lowering.llvm.vecmath import FUNCTIONS, outline
from tracejit.lowering.llvm.vecmath.functions import exponential, special
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.runtime.compile import compile_llvm

UNARY = sorted(name for name, (_, arity) in FUNCTIONS.items() if arity == 1 and name not in special.FUNCTIONS)
REFERENCE = {
    "logistic": lambda x: scipy.special.expit(x.astype(np.float64)).astype(x.dtype),
    "erf": scipy.special.erf,
    "pow": np.power,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e-40, -1e-40]


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


@pytest.mark.sample(5)
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


def test_pow_with_integer_exponents_is_exact():
    x = np.repeat(np.arange(-20.0, 21.0), 12)
    y = np.tile(np.arange(12.0), 41)
    np.testing.assert_array_equal(apply(lambda k, a, b: k.math("pow", a, b), x, y), x**y)


def test_unknown_functions_and_dtypes_are_refused():
    with pytest.raises(Unsupported, match="no vector function"):
        cpu.emit(pointwise(lambda k, x: k.math("zeta", x), [np.float64], np.float64))
    with pytest.raises(Unsupported, match="exp of int64"):
        pointwise(lambda k, x: k.math("exp", x), [np.int64], np.int64)


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
@pytest.mark.sample(19)
def test_calls_out_of_line_give_the_same_bits(monkeypatch, name, dtype):
    xs, unsigned = samples(name, dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    for n in (1, 3, 9, len(xs[0])):
        a, b = both_ways(monkeypatch, name, *[x[-n:] for x in xs])
        plain = ~np.isnan(a)
        np.testing.assert_array_equal(np.isnan(b), ~plain)
        np.testing.assert_array_equal(a.view(unsigned)[plain], b.view(unsigned)[plain])


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_every_width_has_the_same_bits(monkeypatch, bits, dtype):
    """Also widths that are not this host's: LLVM splits their vectors, or calls the scalar function."""
    monkeypatch.setattr(cpu, "vector_bits", lambda: bits)
    for name in ("sin", "pow", "exp"):
        a, b = both_ways(monkeypatch, name, *samples(name, dtype))
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(exponential.ALONE))
def test_functions_that_are_called_alone_have_the_bits_of_vectors(name, dtype):
    rng = np.random.default_rng(3)
    spread = [rng.uniform(-a, a, 3000) for a in (1.0, 20.0, 110.0, 760.0)]
    with np.errstate(over="ignore"):
        x = np.concatenate([edges(np.dtype(dtype)), *spread]).astype(dtype)
    alone = np.empty_like(x)
    text = cpu.emit(pointwise(lambda k, v: k.math(name, v), [dtype], dtype, vector=False))
    assert f"@tj.{name}.alone." in text
    call(compile_llvm(text), [x, alone], (x.size,))
    np.testing.assert_array_equal(alone, apply(lambda k, v: k.math(name, v), x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_modules_with_the_instruction_for_powers_of_two_run_without_it(monkeypatch, dtype):
    """As those in files do, on another processor than the one they were made on."""
    monkeypatch.setattr(cpu, "vector_bits", lambda: outline.SCALING_BITS)
    text = cpu.emit(pointwise(lambda k, v: k.math("exp", v), [dtype], dtype))
    assert outline.portable(text, outline.SCALING_BITS) == text
    other = outline.portable(text, 256)
    assert ".scalef." in text and ".scalef." not in other
    (x,) = samples("exp", dtype)
    got = np.empty_like(x)
    call(compile_llvm(other), [x, got], (x.size,))
    np.testing.assert_array_equal(got, apply(lambda k, v: k.math("exp", v), x))


def chain(k, x):
    for _ in range(60):
        x = k.math("sin", x) * 0.5 + x
    return x


@pytest.mark.sample(2)
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
    """The text without the functions of rare arguments, which are cold and never inlined."""
    return "\n".join(line for line in cpu.emit(program).splitlines() if " cold " not in line)


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
