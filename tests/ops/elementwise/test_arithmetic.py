"""Arithmetic: NumPy's values and dtypes, kernels with NumPy's edge cases, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.ops.derivatives import check_derivatives, jvp, vjp, vmap
from tests.ops.running import Unsupported, run_pointwise
from tests.ops.samples import BF16, COMPLEXES, FLOATS, INTEGERS, SIGNED, edges, operands, same
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ops.elementwise import arithmetic as ar
from tracejit.ops.elementwise.compare import and_, gt, select
from tracejit.ops.elementwise.transcendental import exp, log, sqrt
from tracejit.ops.reductions.reduce import reduce_sum
from tracejit.tracing import to_raw, wrap

ALL = [np.bool_, *INTEGERS, *FLOATS, *COMPLEXES]
REAL = [*INTEGERS, *FLOATS]
# op, NumPy's function, number of operands, dtypes
RECORDS = [
    (ar.add, np.add, 2, ALL),
    (ar.sub, np.subtract, 2, ALL[1:]),
    (ar.mul, np.multiply, 2, ALL),
    (ar.div, np.divide, 2, [*FLOATS, *COMPLEXES]),
    (ar.neg, np.negative, 1, ALL[1:]),
    (ar.abs, np.abs, 1, ALL),
    (ar.sign, np.sign, 1, ALL[1:]),
    (ar.square, np.square, 1, ALL[1:]),
    (ar.reciprocal, np.reciprocal, 1, [*FLOATS, *COMPLEXES]),
    (ar.remainder, np.remainder, 2, REAL),
    (ar.fmod, np.fmod, 2, REAL),
    (ar.floor_divide, np.floor_divide, 2, REAL),
    (ar.floor, np.floor, 1, FLOATS),
    (ar.ceil, np.ceil, 1, FLOATS),
    (ar.trunc, np.trunc, 1, FLOATS),
    (ar.rint, np.rint, 1, [*FLOATS, *COMPLEXES]),
    (ar.maximum, np.maximum, 2, ALL),
    (ar.minimum, np.minimum, 2, ALL),
    (ar.fmax, np.fmax, 2, [np.bool_, *REAL]),
    (ar.fmin, np.fmin, 2, [np.bool_, *REAL]),
    (ar.copysign, np.copysign, 2, FLOATS),
    (ar.pow, np.power, 2, FLOATS),
    (ar.conj, np.conj, 1, COMPLEXES),
    (ar.real, np.real, 1, COMPLEXES),
    (ar.imag, np.imag, 1, COMPLEXES),
]
CASES = [pytest.param(f, n, a, d, id=f"{f.__name__}-{np.dtype(d)}") for f, n, a, ds in RECORDS for d in ds]


@pytest.mark.parametrize(("op", "numpy", "arity", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_eval_is_numpy(op: Any, numpy: Any, arity: int, dtype: Any) -> None:
    xs = operands(arity, dtype)
    before = [x.copy() for x in xs]
    out, expected = op(*xs), numpy(*xs)
    np.testing.assert_array_equal(out, expected)
    assert out.dtype == expected.dtype == op.op.type(*(Aval(x.shape, x.dtype) for x in xs)).dtype
    for x, b in zip(xs, before, strict=True):
        np.testing.assert_array_equal(x, b)


@pytest.mark.parametrize(("op", "numpy", "arity", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kernel_is_numpy(op: Any, numpy: Any, arity: int, dtype: Any) -> None:
    xs = operands(arity, dtype)
    try:
        out = run_pointwise(op.op, *xs)
    except Unsupported:
        pytest.skip("runs opaquely")
    exact = np.dtype(dtype).kind != "c" or op in (ar.conj, ar.real, ar.imag, ar.rint)
    loose = op in (ar.maximum, ar.minimum, ar.fmax, ar.fmin)  # of +0 and -0 either may come out
    if loose:
        np.testing.assert_array_equal(out, numpy(*xs))
    else:
        same(out, numpy(*xs), 0 if exact else 2)


@pytest.mark.parametrize("op", [r[0] for r in RECORDS if np.float64 in r[3]], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bfloat16(op: Any) -> None:
    arity = next(r[2] for r in RECORDS if r[0] is op)
    xs = tuple(x.astype(BF16) for x in operands(arity, np.float32))
    assert op(*xs).dtype == BF16


# ---------------------------------------------------------------- types


def test_shapes_must_agree() -> None:
    full, other, scalar = Aval((3,), np.dtype("f8")), Aval((4,), np.dtype("f8")), Aval((), np.dtype("f8"))
    assert ar.add.op.type(scalar, full) == full
    with pytest.raises(ShapeError, match=r"\(3,\) and \(4,\)"):
        ar.add.op.type(full, other)


def test_dtypes_must_agree() -> None:
    with pytest.raises(TypeRuleError, match="f64 and f32"):
        ar.add.op.type(Aval((), np.dtype("f8")), Aval((), np.dtype("f4")))
    with pytest.raises(TypeRuleError, match="not bool"):
        ar.sub.op.type(Aval((), np.dtype("?")), Aval((), np.dtype("?")))
    with pytest.raises(TypeRuleError, match="takes 2 operands"):
        ar.sub.op.type(Aval((), np.dtype("f8")))


def test_python_scalars_adopt_the_other_dtype() -> None:
    assert ar.add(np.float32(1), 2.0).dtype == np.float32
    assert ar.mul(2, np.ones(3, np.int8)).dtype == np.int8


# ---------------------------------------------------------------- integer_pow


@pytest.mark.parametrize("n", [-33, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 11, 16, 31, 32, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integer_pow_kernel(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([edges(dtype), (rng.standard_normal(200) * 10.0 ** rng.integers(-4, 4, 200))]).astype(
        dtype
    )
    with np.errstate(all="ignore"):
        # float32: NumPy's own vectorised power is less exact than the kernel
        expected = np.power(x.astype(np.float64), float(n)).astype(dtype)
        got = run_pointwise(ar.integer_pow.op, x, n=n)
        same(got, expected, 1)
        zeros = np.nonzero((got == 0) & (expected == 0))
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_integer_pow_of_integers(dtype: Any, n: int) -> None:
    x = edges(dtype)
    same(ar.integer_pow(x, n=n), x**n)
    same(run_pointwise(ar.integer_pow.op, x, n=n), x**n)


def test_integer_pow_of_integers_to_negative_powers() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        ar.integer_pow(np.array([2, 3]), n=-1)
    with pytest.raises(Unsupported):
        run_pointwise(ar.integer_pow.op, np.array([2, 3]), n=-1)


# ---------------------------------------------------------------- derivatives

POINTS = np.array([[0.7, -1.3, 2.1], [-0.4, 1.9, -2.6]])
OTHERS = np.array([[1.1, 0.6, -1.7], [2.2, -0.8, -1.4]])
COMPLEX_POINTS = POINTS + 1j * OTHERS
UNARY = [ar.neg, ar.abs, ar.sign, ar.square, ar.reciprocal, ar.floor, ar.rint]
BINARY = [ar.add, ar.sub, ar.mul, ar.div, ar.remainder, ar.fmod, ar.floor_divide]
BINARY += [ar.maximum, ar.minimum, ar.fmax, ar.fmin, ar.copysign, ar.complex, ar.scale, ar.unscale]


@pytest.mark.parametrize("op", UNARY, ids=lambda f: f.__name__)
def test_derivatives_of_one_operand(op: Any) -> None:
    check_derivatives(op, [POINTS], np.random.default_rng(1))


@pytest.mark.parametrize("op", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shapes", ["full", "scalar-full", "full-scalar", "scalars"])
def test_derivatives_of_two_operands(op: Any, shapes: str) -> None:
    x = POINTS if shapes.startswith("full") else np.float64(1.75)
    y = OTHERS if shapes.endswith("full") else np.float64(-0.9)
    check_derivatives(op, [x, y], np.random.default_rng(2))


@pytest.mark.parametrize("op", [ar.add, ar.mul, ar.complex, ar.maximum])
def test_derivative_in_one_operand_has_the_output_shape(op: Any) -> None:
    x, y = np.float64(3.0), OTHERS
    check_derivatives(lambda a: op(a, y), [x], np.random.default_rng(3))
    check_derivatives(lambda b: op(x, b), [y], np.random.default_rng(3))


@pytest.mark.parametrize("op", [ar.neg, ar.abs, ar.sign, ar.square, ar.reciprocal, ar.conj, ar.real, ar.imag])
def test_complex_derivatives(op: Any) -> None:
    check_derivatives(op, [COMPLEX_POINTS], np.random.default_rng(4))


@pytest.mark.parametrize("op", [ar.add, ar.sub, ar.mul, ar.div, ar.pow])
def test_complex_derivatives_of_two_operands(op: Any) -> None:
    check_derivatives(op, [COMPLEX_POINTS, COMPLEX_POINTS[::-1].copy()], np.random.default_rng(5), 1e-5)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3])
def test_derivatives_of_integer_pow(n: int) -> None:
    check_derivatives(lambda x: ar.integer_pow(x, n=n), [POINTS], np.random.default_rng(6), 1e-5)


def test_derivatives_of_pow() -> None:
    check_derivatives(ar.pow, [np.abs(POINTS), OTHERS], np.random.default_rng(7), 1e-5)
    check_derivatives(ar.pow, [np.abs(POINTS), np.float64(2.5)], np.random.default_rng(7), 1e-5)
    check_derivatives(ar.pow, [np.float64(2.5), OTHERS], np.random.default_rng(7), 1e-5)


ZERO, ONE = np.float64(0.0), np.float64(1.0)


def slope(op: Any, x: float, **params: Any) -> float:
    forward = jvp(lambda v: op(v, **params), [np.float64(x)], [ONE])
    (backward,) = vjp(lambda v: op(v, **params), [np.float64(x)], ONE)
    assert forward == backward or (np.isnan(forward) and np.isnan(backward))
    return float(forward)


@pytest.mark.filterwarnings("error")
def test_derivatives_at_the_edge() -> None:
    assert slope(ar.abs, 0.0) == 0.0
    assert slope(ar.sign, 0.0) == 0.0
    assert slope(ar.integer_pow, 0.0, n=0) == 0.0
    assert slope(ar.integer_pow, 0.0, n=1) == 1.0
    assert slope(lambda x: ar.pow(x, 0.0), 0.0) == 0.0
    assert slope(lambda x: ar.pow(x, 1.0), 0.0) == 1.0
    assert slope(lambda x: ar.pow(x, 2.0), 0.0) == 0.0
    assert slope(lambda y: ar.pow(ZERO, y), 2.0) == 0.0
    assert slope(lambda y: ar.pow(ZERO, y), 0.0) == 0.0
    assert np.isnan(slope(lambda y: ar.pow(np.float64(-2.0), y), 2.0))
    assert slope(lambda x: ar.pow(x, 3.0), -2.0) == 12.0


@pytest.mark.parametrize("op", [ar.maximum, ar.minimum, ar.fmax, ar.fmin])
def test_ties_are_shared(op: Any) -> None:
    assert [float(c) for c in vjp(op, [ONE, ONE], ONE)] == [0.5, 0.5]


@pytest.mark.parametrize("op", [ar.fmax, ar.fmin])
def test_extrema_ignoring_nan_follow_the_number(op: Any) -> None:
    assert [float(c) for c in vjp(op, [np.float64(np.nan), ONE], ONE)] == [0.0, 1.0]


def test_complex_abs_at_zero() -> None:
    (ct,) = vjp(ar.abs, [np.complex128(0)], ONE)
    assert ct == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "inner",
    [
        sqrt,
        log,
        ar.reciprocal,
        lambda x: ar.div(1.0, x),
        lambda x: ar.pow(x, -0.5),
        lambda x: exp(ar.div(1.0, x)),
    ],
)
def test_a_branch_not_taken_leaks_no_nan(inner: Any) -> None:
    def f(x: Any) -> Any:
        return select(gt(x, 0.0), inner(x), 0.0)

    x = np.array([0.0, 4.0])
    (grad,) = vjp(f, [x], np.ones(2))
    assert grad[0] == 0 and np.isfinite(grad[1])
    tangent = jvp(f, [x], [np.ones(2)])
    assert tangent[0] == 0 and np.isfinite(tangent[1])
    (second,) = vjp(lambda v: jvp_of(f, v), [x], np.ones(2))
    assert second[0] == 0 and np.isfinite(second[1])


def jvp_of(f: Any, x: Any) -> Any:
    from tracejit.interpreters.autodiff.jvp import jvp_flat

    return jvp_flat(lambda v: [f(v)], [x], [np.ones(2)])[1][0]


def test_zero_times_infinity_is_zero_in_scale_only() -> None:
    t = np.array([0.0, 1.0, np.nan])
    c = np.array([np.inf, np.inf, 1.0])
    for a, b in ((c, t), (t, c)):
        np.testing.assert_array_equal(ar.scale(a, b), [0.0, np.inf, np.nan])
        np.testing.assert_array_equal(run_pointwise(ar.scale.op, a, b), [0.0, np.inf, np.nan])
    np.testing.assert_array_equal(ar.unscale(t, ZERO), [0.0, np.inf, np.nan])


# ---------------------------------------------------------------- batching, in place, ranges


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (0, 1), (1, None), (None, 0)])
def test_batching(dims: tuple[Any, Any]) -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((3, 3) if dims[0] is not None else 3)
    y = rng.standard_normal((3, 3) if dims[1] is not None else 3)

    def row(a: Any, d: Any, n: int) -> Any:
        return a if d is None else np.take(a, n, axis=d)

    expected = [row(x, dims[0], n) - row(y, dims[1], n) for n in range(3)]
    np.testing.assert_array_equal(vmap(ar.sub, [x, y], dims, 3), expected)


def test_batching_of_scalars() -> None:
    rng = np.random.default_rng(9)
    full, scalars = rng.standard_normal((2, 4, 3)), rng.standard_normal(4)
    batched = vmap(ar.sub, [full, scalars], (1, 0), 4)
    np.testing.assert_array_equal(batched, full.transpose(1, 0, 2) - scalars[:, None, None])
    np.testing.assert_array_equal(
        vmap(ar.sub, [full[:, 0], scalars], (None, 0), 4), full[None, :, 0] - scalars[:, None, None]
    )
    np.testing.assert_array_equal(vmap(ar.sub, [full, ONE], (2, None), 3), np.moveaxis(full - 1, 2, 0))
    np.testing.assert_array_equal(vmap(ar.sub, [scalars, ONE], (0, None), 4), scalars - 1)


def test_in_place() -> None:
    x, y = np.arange(3.0), np.ones(3)
    assert ar.add.op.inplace(x, y) is x
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
    assert ar.add.op.inplace(np.float64(1.0), np.float64(2.0)) == 3.0
    np.testing.assert_array_equal(ar.add.op.inplace(np.array(1.0), y), [2.0, 2.0, 2.0])


def test_ranges() -> None:
    assert ar.add.op.bounds([(0, 4), (-1, 2)]) == (-1, 6)
    assert ar.sub.op.bounds([(0, 4), (-1, 2)]) == (-2, 5)
    assert ar.mul.op.bounds([(-2, 3), (-5, 4)]) == (-15, 12)
    assert ar.neg.op.bounds([(-2, 3)]) == (-3, 2)
    assert ar.maximum.op.bounds([(-2, 3), (0, 1)]) == (0, 3)
    assert ar.minimum.op.bounds([(-2, 3), (0, 1)]) == (-2, 1)
    assert ar.remainder.op.bounds([None, (4, 4)]) == (0, 3)
    assert ar.remainder.op.bounds([None, (-4, 4)]) == (-3, 3)
    assert ar.floor_divide.op.bounds([(-7, 9), (2, 3)]) == (-4, 4)
    assert ar.floor_divide.op.bounds([(-7, 9), (0, 3)]) is None
    assert ar.add.op.bounds([None, (0, 1)]) is None
    assert ar.abs.op.bounds([(-3, 2)]) == (0, 3)
    assert select.op.bounds([None, (-2, 3), (5, 6)]) == (-2, 6)
    assert and_.op.bounds([None, (0, 7)]) == (0, 7)


@pytest.mark.parametrize("dtype", SIGNED)
def test_integer_division_never_traps(dtype: Any) -> None:
    low = np.iinfo(dtype).min
    x, y = np.array([low, low, 5], dtype), np.array([-1, 0, 0], dtype)
    assert list(run_pointwise(ar.floor_divide.op, x, y)) == [low, 0, 0]
    assert list(run_pointwise(ar.remainder.op, x, y)) == [0, 0, 0]
    assert list(run_pointwise(ar.fmod.op, x, y)) == [0, 0, 0]


@pytest.mark.filterwarnings("error")
def test_zero_coefficients_stop_infinite_cotangents() -> None:
    zero = np.zeros(2)
    for norm in (
        lambda x: sqrt(reduce_sum(ar.square(x), axes=(0,))),
        lambda x: sqrt(reduce_sum(ar.abs(x), axes=(0,))),
    ):
        assert not vjp(norm, [zero], ONE)[0].any()
        assert jvp(norm, [zero], [zero]) == 0
    assert vjp(lambda x: sqrt(ar.maximum(x, 0.0)), [np.float64(-1.0)], ONE) == [0.0]


@pytest.mark.parametrize("number", [100.0, -0.5, np.inf, np.nan, 0.0, 1.0])
def test_scale_by_a_known_number(number: float) -> None:
    """A product where that is the same, but for the sign of a zero; `scale` where it is not."""
    t = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.0, 5e-324])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            tj.jit(lambda t: to_scaled(t, number))(t), ar.scale(np.full(7, number), t)
        )
    names = [e.op.name for e in tj.jit(lambda t: to_scaled(t, number)).lower(t).compile().jaxpr.eqns]
    assert names == {1.0: [], 100.0: ["mul"], -0.5: ["mul"]}.get(number, ["scale"])


def to_scaled(t: Any, number: float) -> Any:
    return wrap(ar.scale(np.float64(number), to_raw(t)))


QUOTIENTS = [lambda y: 3.0 / y, lambda y: 1.0 / y, lambda y: y / 7.0]


def compiled_ops(f: Any, *args: Any) -> list[str]:
    return [e.op.name for e in tj.jit(f).lower(*args).compile().jaxpr.eqns]


def test_quotients_of_known_numbers_are_quotients() -> None:
    known = compiled_ops(tj.grad(lambda y: (y / 7.0).sum()), np.array([7.0, 0.3]))
    assert "unscale" not in known


@pytest.mark.parametrize("n", range(3))
@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
def test_derivatives_of_quotients(n: int, jit: Any) -> None:
    y = np.array([7.0, 0.3, -4.0])
    first = jit(tj.grad(lambda y: QUOTIENTS[n](y).sum()))
    second = jit(tj.grad(lambda y: tj.grad(lambda y: QUOTIENTS[n](y).sum())(y).sum()))
    want = [(-3 / y**2, 6 / y**3), (-1 / y**2, 2 / y**3), (np.full(3, 1 / 7), np.zeros(3))][n]
    np.testing.assert_allclose(first(y), want[0], rtol=1e-15)
    np.testing.assert_allclose(second(y), want[1], rtol=2e-15)


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quotients_lose_no_nan_by_underflow(jit: Any) -> None:
    """A cotangent that is tiny after a division is not the zero that wins over NaN."""
    first = jit(tj.grad(lambda x: (np.exp(x) / np.exp(x).sum())[0]))
    assert np.isnan(first(np.array([1000.0, 0.0])))[0]
    assert np.isnan(jit(tj.grad(lambda y: np.nan / y))(1e200))
    assert np.isnan(jit(tj.grad(lambda y: (np.array([np.inf]) / y).sum()))(np.array([np.inf])))[0]
    assert np.isnan(jit(tj.grad(lambda w: np.sqrt(-1 + 0 * w) / np.exp(1000 * w)))(1.0))
    small = jit(tj.grad(lambda y: np.float32(1e30) / y * np.float32(1e-20)))(np.float32(1e25))
    np.testing.assert_allclose(small, -1e-40, rtol=1e-4)


@pytest.mark.parametrize("d", [5e-324 + 0j, 5e-324j, 2.0 - 1j])
def test_unscale_over_a_complex_number(d: complex) -> None:
    z = np.zeros(4, complex)
    got = tj.jit(lambda ct: tj.vjp(lambda z: z / d, z)[1](ct)[0])(z)
    np.testing.assert_array_equal(got, z)


@pytest.mark.parametrize("number", [7.0, -0.3, 0.0, np.inf, np.nan])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_unscale_over_a_known_number(number: float) -> None:
    """A quotient where that is the same, but for the sign of a zero."""
    t = np.array([0.0, -0.0, 1.0, -5.0, np.inf, np.nan])

    def f(t: Any) -> Any:
        return wrap(ar.unscale(to_raw(t), np.float64(number)))

    np.testing.assert_array_equal(tj.jit(f)(t), np.where(t == 0, 0, t / number))
    usual = np.isfinite(number) and number != 0
    assert compiled_ops(f, t) == (["div"] if usual else ["unscale"])
