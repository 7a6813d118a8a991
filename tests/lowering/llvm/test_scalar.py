"""Scalar instructions, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.lowering.native import apply, call, pointwise
from tracejit import dtypes
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.llvm import cpu
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.runtime.compile import compile_llvm

F8 = np.dtype(np.float64)
BF16 = dtypes.bfloat16
rng = np.random.default_rng(0)


def build(k: Builder):
    return compile_llvm(cpu.emit(k.program))


def output(k: Builder, size: int, dtype=F8, slot: int = 0):
    return k.buffer("out", np.dtype(dtype), size, "arg", slot)


# ---------------------------------------------------------------- scalar instructions


FLOAT_OPS = {
    "add": lambda k, x, y: x + y, "subtract": lambda k, x, y: x - y, "multiply": lambda k, x, y: x * y,
    "divide": lambda k, x, y: x / y,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16])
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float_arithmetic_has_numpys_bits(op, dtype):
    x, y = (rng.normal(size=300).astype(dtype) for _ in range(2))
    np.testing.assert_array_equal(apply(FLOAT_OPS[op], x, y), getattr(np, op)(x, y))


def test_products_are_not_contracted():
    x, y = rng.normal(size=(2, 500))
    assert not apply(lambda k, a, b: a * b - b * a, x, y).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_unary_float_operations(dtype):
    x = np.concatenate(
        [rng.normal(size=100) * 5, [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -0.5]]
    ).astype(dtype)
    cases = {
        "fabs": np.abs,
        "sqrt": np.sqrt,
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "rint": np.rint,
    }
    for op, fn in cases.items():
        with np.errstate(invalid="ignore"):
            expected = fn(x)
        got = apply(lambda k, v, op=op: k.float_op(op, v), x)
        np.testing.assert_array_equal(got, expected, err_msg=op)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers], err_msg=op)
    np.testing.assert_array_equal(np.signbit(apply(lambda k, v: -v, x)), ~np.signbit(x))


def test_maximum_and_minimum_keep_nan():
    v = np.array([1.0, np.nan, -np.inf, 3.0, 0.0])
    x, y = (a.ravel() for a in np.meshgrid(v, v))
    np.testing.assert_array_equal(apply(lambda k, a, b: k.float_op("fmaximum", a, b), x, y), np.maximum(x, y))
    np.testing.assert_array_equal(apply(lambda k, a, b: k.float_op("fminimum", a, b), x, y), np.minimum(x, y))
    np.testing.assert_array_equal(
        apply(lambda k, a, b: k.float_op("copysign", a, b), x, y), np.copysign(x, y)
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integer_arithmetic_wraps(dtype):
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, 200, dtype=dtype, endpoint=True) for _ in range(2))
    y[y == 0] = 3
    for fn, expected in [
        (lambda k, a, b: a + b, x + y), (lambda k, a, b: a - b, x - y), (lambda k, a, b: a * b, x * y),
        (lambda k, a, b: a & b, x & y), (lambda k, a, b: a ^ b, x ^ y), (lambda k, a, b: k.not_(a | b), ~(x | y)),
        (lambda k, a, b: -a, 0 - x),
        (lambda k, a, b: k.int_op(dtype[0].replace("i", "s") + "max", a, b), np.maximum(x, y)),
    ]:  # fmt: skip
        np.testing.assert_array_equal(apply(fn, x, y), expected)
    if dtype[0] == "u":
        np.testing.assert_array_equal(apply(lambda k, a, b: k.int_op("udiv", a, b), x, y), x // y)
        np.testing.assert_array_equal(
            apply(lambda k, a, b: k.int_op("lshr", a, k.and_(b, 7)), x, y), x >> (y & 7)
        )
    else:
        np.testing.assert_array_equal(
            apply(lambda k, a, b: k.int_op("ashr", a, k.and_(b, 7)), x, y), x >> (y & 7)
        )


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u8", "?", BF16])
def test_comparisons_and_select(dtype):
    v = np.array([0, 1, 2, 0, 250]).astype(dtype)
    v = np.append(v, np.array([np.nan]).astype(dtype)) if dtypes.is_float(v.dtype) else v
    x, y = (a.ravel() for a in np.meshgrid(v, v))
    with np.errstate(invalid="ignore"):
        cases = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    for p, expected in cases.items():
        np.testing.assert_array_equal(
            apply(lambda k, a, b, p=p: k.compare(p, a, b), x, y, out=bool), expected, err_msg=p
        )
    got, expected = apply(lambda k, a, b: k.select(k.lt(a, b), a, b), x, y), np.where(cases["lt"], x, y)
    np.testing.assert_array_equal(got.astype("f8"), expected.astype("f8"))


ALL = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", BF16]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("src", "dst"), list(itertools.product(ALL, ALL)), ids=str)
def test_casts_are_astype(src, dst):
    src, dst = np.dtype(src), np.dtype(dst)
    values = np.concatenate([[0, 1, -1, 2, 100, -100, 127, -128, 3e4, -3e4], rng.normal(size=20) * 50])
    if dtypes.is_float(src):
        fractions = np.concatenate([rng.normal(size=100) * 1e-3, rng.normal(size=100) * 1e-6])
        values = np.concatenate(
            [values, fractions, [np.nan, np.inf, -np.inf] if dtypes.is_float(dst) else [0.5]]
        )
    with np.errstate(all="ignore"):
        x = values.astype(src)
        if dst.kind in "iu" and dtypes.is_float(src):  # what does not fit is the machine's own matter
            info = np.iinfo(dst)
            x = x[(x.astype("f8") > info.min - 1.0) & (x.astype("f8") < info.max + 1.0)]
        if src.kind in "iu":
            info = np.iinfo(src)
            x = np.append(x, np.array([info.max, info.min], src))
        expected = x.astype(dst)
    got = apply(lambda k, v: k.cast(v, dst), x, out=dst)
    if dst == BF16:  # NumPy's comparison does not know its NaN
        got, expected = got.astype("f4"), expected.astype("f4")
    np.testing.assert_array_equal(got, expected)


def test_float64_to_half_rounds_once():
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, 2.0**-25 + 2.0**-60, 65519.999, 65520.0])
    x = np.concatenate([x, -x])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(apply(lambda k, v: k.cast(v, np.float16), x, out=np.float16), expected)


def test_casts_of_what_does_not_fit_give_the_smallest_integer():
    x = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**63])
    low = np.iinfo(np.int64).min
    assert (apply(lambda k, v: k.cast(v, np.int64), x, out=np.int64) == low).all()


def test_bitcast():
    x = rng.normal(size=20)
    np.testing.assert_array_equal(
        apply(lambda k, v: k.bitcast(v, np.int64), x, out=np.int64), x.view(np.int64)
    )


def constant(c, dtype):
    """A constant, out of a select so that it is not folded away."""
    return apply(
        lambda k, v: k.select(k.eq(v, v), k.const(c, dtype), k.const(0, dtype)), np.ones(1), out=dtype
    )


def test_constants_of_every_kind():
    specials = [np.inf, -np.inf, 0.1, -0.0, 1e-310, 65504.0]
    for c, dtype in itertools.product(specials, [np.float64, np.float32, np.float16, BF16]):
        with np.errstate(all="ignore"):
            expected = np.array([c]).astype(dtype)
        np.testing.assert_array_equal(constant(c, dtype), expected)
    for c, dtype in [(-1, "i1"), (-128, "i1"), (2**64 - 1, "u8"), (-(2**63), "i8"), (True, "?")]:
        assert constant(c, dtype)[0] == c


def test_complex_values_are_pairs():
    k = Builder()
    x = k.buffer("x", np.dtype(np.complex128), 10, "arg", 0)
    out = output(k, 10, np.complex128, 1)
    with k.loop(0, 10) as i:
        v = k.load(x, i)
        k.store(out, i, v * v + 1.0)
    z, got = rng.normal(size=10) + 1j * rng.normal(size=10), np.empty(10, complex)
    call(build(k), [z, got])
    np.testing.assert_allclose(got, z * z + 1, rtol=1e-14)


def test_long_double_is_refused():
    with pytest.raises(Unsupported, match="no native scalar type"):
        cpu.emit(pointwise(lambda k, x: x, [np.longdouble], np.longdouble))
