"""Primitives made of users' rules: under every transformation, and what is said when a rule is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import tracejit as tj
from tracejit import extend, lax
from tracejit.dtypes import float0
from tracejit.errors import (
    NotDifferentiableError,
    PrimitiveNameError,
    PrimitiveRuleError,
    PrimitiveSlotError,
)
from tracejit.ir.primitive import REGISTRY
from tracejit.test_util import check_grads


@pytest.fixture(autouse=True)
def own_primitives() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    for name in REGISTRY.keys() - before.keys():
        del REGISTRY[name]


def make_erfcx(**options: Any) -> Any:
    return extend.pointwise(
        "users_erfcx",
        scipy.special.erfcx,
        derivatives=(lambda t, ans, x: (2 * x * ans - 2 / np.sqrt(np.pi)) * t,),
        **options,
    )


def make_blend(**options: Any) -> Any:
    """x**2 y, of two operands, with a derivative in each."""
    return extend.pointwise(
        "blend",
        lambda x, y: x * x * y,
        derivatives=(lambda t, ans, x, y: 2 * x * y * t, lambda t, ans, x, y: x * x * t),
        **options,
    )


# ---------------------------------------------------------------- pointwise


def test_every_transformation() -> None:
    f = make_erfcx()
    x = np.linspace(-1, 2, 6)
    slope = 2 * x * f(x) - 2 / np.sqrt(np.pi)
    check_grads(f, (x,), order=3)
    assert np.allclose(tj.jit(f)(x), scipy.special.erfcx(x))
    assert np.allclose(tj.vmap(tj.grad(f))(x), slope)
    assert np.allclose(tj.jit(tj.vmap(tj.grad(tj.jit(f))))(x), slope)
    assert np.allclose(tj.grad(lambda x: lax.scan(lambda c, v: (c + f(v), f(c)), 0.0, x)[0])(x), slope)
    assert np.allclose(tj.grad(lambda x: tj.checkpoint(f)(x).sum())(x), slope)
    assert tj.eval_shape(f, tj.ShapeDtypeStruct((10**6, 10**6), np.float32)).shape == (10**6, 10**6)


@pytest.mark.parametrize("kernel", [extend.OPAQUE, extend.TRACED, lambda k, x, y: k.mul(k.mul(x, x), y)])
def test_kernels_agree(kernel: Any) -> None:
    f = make_blend(kernel=kernel)
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32, np.float16):
        x, y = rng.normal(size=(4, 3)).astype(dtype), rng.normal(size=3).astype(dtype)
        out = tj.jit(f)(x, y)
        assert out.dtype == dtype
        np.testing.assert_allclose(out, x * x * y, rtol=4 * np.finfo(dtype).eps)
    names = tj.explain(f)(x, y).callbacks
    assert names == (["blend"] if kernel is extend.OPAQUE else [])
    assert tj.jit(f)(np.zeros((0, 3)), np.ones(3)).shape == (0, 3)


def test_operands_are_promoted_and_broadcast_as_a_ufunc_s() -> None:
    f = make_blend(kinds="f")
    i, s = np.arange(3), np.float32(2.0)
    assert f(i, i).dtype == np.float64
    assert f(np.ones(3, np.float32), 2.0).dtype == np.float32
    assert f(np.ones(3, np.int32), s).dtype == np.float64
    assert f(np.ones(3, bool), True).dtype == np.float64
    assert f([1.0, 2.0], 3).tolist() == [3, 12]
    assert f(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    for run in (lambda g: g, tj.jit):
        out = run(lambda a, b: f(a, b))(np.ones((2, 1), np.float32), 2.0)
        assert (out.dtype, out.shape) == (np.float32, (2, 1))
        out = run(tj.grad(lambda a, b: f(a, b).sum(), (0, 1)))(np.ones((2, 1)), np.full(3, 2.0))
        assert np.allclose(out[0], [[12], [12]]) and np.allclose(out[1], [2, 2, 2])
    with pytest.raises(TypeError, match="takes 2 operands"):
        f(1.0)
    with pytest.raises(tj.TracejitError, match="takes floats"):
        f(1j, 2.0)


def test_special_values_are_numpy_s() -> None:
    f = extend.pointwise(
        "plus_one", lambda x: x + 1, derivatives=(lambda t, ans, x: t,), kernel=extend.TRACED
    )
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 5e-324])
    np.testing.assert_array_equal(tj.jit(f)(x), x + 1)
    np.testing.assert_array_equal(tj.jit(f)(x[::-2]), x[::-2] + 1)


def test_params_and_other_results() -> None:
    above = extend.pointwise(
        "above", lambda x, *, n: x > n, derivatives=extend.ZERO_TANGENT, result=bool, kinds="if"
    )
    assert tj.jit(lambda x: above(x, n=2))(np.arange(4)).tolist() == [False, False, False, True]
    assert tj.grad(lambda x: np.where(above(x, n=2), x * x, x).sum())(np.array([1.0, 3.0])).tolist() == [1, 6]
    size = extend.pointwise(
        "size",
        np.abs,
        derivatives=extend.not_differentiable("try"),
        result=lambda d: np.empty(0, d).real.dtype,
    )
    assert tj.jit(size)(np.array([3 + 4j], np.complex64)).dtype == np.float32
    with pytest.raises(NotDifferentiableError, match="try"):
        tj.grad(size)(1.0)


def test_scale_and_unscale() -> None:
    assert extend.scale(np.inf, 0.0) == 0 and extend.unscale(0.0, 0.0) == 0
    assert extend.scale(np.array([np.inf, 2.0]), 3).tolist() == [np.inf, 6]
    assert tj.grad(lambda x: extend.unscale(x, 4.0))(2.0) == 0.25


# ---------------------------------------------------------------- primitives


def make_solve() -> Any:
    """Solving a lower triangular system, linear in the right-hand side, with both transposes."""

    def jvp(primals: Any, tangents: Any, *, trans: bool) -> Any:
        (a, b), (da, db) = primals, tangents
        x = solve(a, b, trans=trans)
        return x, solve(a, db - (da.T if trans else da) @ x, trans=trans)

    solve = extend.primitive(
        "lower_solve",
        eval=lambda a, b, *, trans: np.linalg.solve(a.T if trans else a, b),
        type=lambda a, b, *, trans: b,
        jvp=jvp,
        transpose=lambda ct, a, b, *, trans: (None, solve(a, ct, trans=not trans)),
    )
    return solve


def test_a_primitive_linear_in_one_operand() -> None:
    solve = make_solve()
    rng = np.random.default_rng(0)
    a, b = np.tril(rng.normal(size=(3, 3))) + 3 * np.eye(3), rng.normal(size=3)
    f = lambda a, b: solve(a, b, trans=False)
    assert np.allclose(f(a, b), np.linalg.solve(a, b))
    check_grads(f, (a, b), order=2)
    assert np.allclose(
        tj.jit(tj.grad(lambda a, b: f(a, b).sum()))(a, b), tj.grad(lambda a, b: f(a, b).sum())(a, b)
    )
    stacked = np.stack([a, 2 * a])
    assert np.allclose(tj.vmap(f, (0, None))(stacked, b)[1], np.linalg.solve(2 * a, b))
    assert np.allclose(tj.jit(tj.vmap(f, (0, None)))(stacked, b)[1], np.linalg.solve(2 * a, b))
    (t,) = tj.linear_transpose(lambda b: solve(a, b, trans=False), b)(b)
    assert np.allclose(t, np.linalg.solve(a.T, b))


def make_split(**options: Any) -> Any:
    return extend.primitive(
        "halves",
        eval=lambda x, i: (x[: len(x) // 2] + i, x[len(x) // 2 :] * 1.0),
        type=lambda x, i: (
            ((x.shape[0] // 2,), x.dtype),
            tj.ShapeDtypeStruct((x.shape[0] - x.shape[0] // 2,), x.dtype),
        ),
        outputs=2,
        **options,
    )


def test_several_outputs_and_integer_operands() -> None:
    def jvp(primals: Any, tangents: Any) -> Any:
        assert tangents[1].dtype == float0
        a, b = halves(*primals)
        k = a.shape[0]
        return (a, b), (tangents[0][:k], None if k == 1 else tangents[0][k:])

    halves = make_split(jvp=jvp)
    x = np.arange(4.0)
    out, tangent = tj.jvp(lambda x: halves(x, 3), (x,), (x,))
    assert out[0].tolist() == [3, 4] and tangent[1].tolist() == [2, 3]
    g = tj.grad(lambda x: np.sum(halves(x, 3)[0] ** 2) + halves(x, 3)[1].sum())
    assert g(x).tolist() == [6, 8, 1, 1] == tj.jit(g)(x).tolist()
    assert tj.jvp(lambda x: halves(x, 3), (x[:2],), (x[:2],))[1][1].tolist() == [0]
    batch = tj.vmap(halves, (0, None))(np.ones((3, 4)), np.arange(2))
    assert [b.shape for b in batch] == [(3, 2), (3, 2)]


def test_batch_rules() -> None:
    def batch(size: Any, args: Any, dims: Any, *, k: int) -> Any:
        assert (size, dims) in [(2, (1,)), (3, (0,))]
        return rolled(np.moveaxis(args[0], dims[0], 0), k=k), 0

    rolled = extend.primitive(
        "rolled",
        eval=lambda x, k: np.roll(x, k, axis=-1),
        type=lambda x, k: x,
        jvp=(lambda t, ans, x, k: rolled(t, k=k),),
        transpose=lambda ct, x, k: rolled(ct, k=-k),
        batch=batch,
    )
    x = np.arange(6.0).reshape(3, 2)
    for run in (lambda f: f, tj.jit):
        assert run(tj.vmap(lambda x: rolled(x, k=1), 1))(x).tolist() == np.roll(x.T, 1, -1).tolist()
    assert tj.vmap(tj.grad(lambda x: (rolled(x, k=1) * x).sum()))(x).shape == (3, 2)
    check_grads(lambda x: rolled(x, k=1) ** 2, (x,), order=2)


def test_effects_are_kept() -> None:
    seen: list[float] = []

    def log(x: Any) -> Any:
        seen.append(float(x))
        return x

    note = extend.primitive("note", eval=log, type=lambda x: x, effects=("ordered",))

    @tj.jit
    def f(x: Any) -> Any:
        note(x)
        note(x + 1)
        return x

    f(2.0)
    f(3.0)
    assert seen == [2, 3, 3, 4]


def test_compiled_programs_see_a_new_definition() -> None:
    def define(factor: float) -> Any:
        return extend.pointwise(
            "times", lambda x: x * factor, derivatives=(lambda t, ans, x: factor * t,), replace=True
        )

    space = {"times": define(2.0), "lax": lax}
    exec("def f(x): return lax.fori_loop(0, 2, lambda i, c: times(c), x)", space)
    f = space["f"]
    compiled, slope = tj.jit(f), tj.jit(tj.grad(f))
    assert (compiled(1.0), slope(1.0), f(1.0), tj.grad(f)(1.0)) == (4, 4, 4, 4)
    space["times"] = define(3.0)
    assert (compiled(1.0), slope(1.0), f(1.0), tj.grad(f)(1.0)) == (9, 9, 9, 9)


# ---------------------------------------------------------------- errors


def test_names() -> None:
    make_erfcx()
    with pytest.raises(PrimitiveNameError, match="'users_erfcx' is taken by a primitive"):
        make_erfcx()
    make_erfcx(replace=True)
    for replace in (False, True):
        with pytest.raises(PrimitiveNameError, match="'add' is taken by tracejit"):
            extend.composite("add", lambda x: x, replace=replace)
    with pytest.raises(PrimitiveSlotError, match="type rule"):
        extend.primitive("unnamed", eval=lambda x: x)
    with pytest.raises(PrimitiveSlotError, match="not a kernel"):
        extend.pointwise("unnamed", np.sin, derivatives=extend.ZERO_TANGENT, kernel=3)  # type: ignore[arg-type]
    extend.pointwise("unnamed", np.sin, derivatives=extend.ZERO_TANGENT)  # the name stayed free


@pytest.mark.parametrize(
    "slots, run, message",
    [
        (
            {"eval": lambda x: x[:1]},
            lambda f, x: f(x),
            r"eval rule .*the result is f64\[1\] instead of f64\[3\]",
        ),
        ({"eval": lambda x: x.astype("f4")}, lambda f, x: f(x), r"the result is f32\[3\] instead of f64"),
        ({"eval": lambda x: "no"}, lambda f, x: f(x), "the result is a str, not an array"),
        ({"type": lambda x: 3}, lambda f, x: f(x), "ShapeDtypeStructs or pairs"),
        ({"jvp": lambda p, t: p[0]}, tj.grad, r"jvp rule .* tuple of 2 \(out, tangent\)"),
        ({"jvp": lambda p, t: (p[0], t[0][:2])}, tj.grad, r"the tangent is f64\[2\] instead of f64\[3\]"),
        ({"jvp": lambda p, t: (None, t[0])}, tj.grad, "the result is a NoneType"),
        ({"jvp": (lambda t, ans, x: t.astype("f4"),)}, tj.grad, r"derivative 0 .* is f32\[3\]"),
        ({"transpose": lambda ct, x: (ct, ct)}, tj.grad, r"transpose rule .* tuple of 1 of cotangents"),
        ({"transpose": lambda ct, x: ct[0]}, tj.grad, r"cotangent 0 is f64\[\] instead of f64\[3\]"),
        ({"batch": lambda size, args, dims: args[0]}, tj.vmap, "batch rule .*tuple of 2"),
        ({"batch": lambda size, args, dims: (args[0], 1)}, tj.vmap, "has no axis 1 of size 2"),
    ],
)
def test_what_rules_return_is_checked(slots: Any, run: Any, message: str) -> None:
    good = {"eval": lambda x: 1 * x, "type": lambda x: x, "jvp": extend.LINEAR, "transpose": lambda ct, x: ct}
    f = extend.primitive("checked", **{**good, **slots})
    with pytest.raises(PrimitiveRuleError, match=message):
        if run is tj.grad:
            tj.grad(lambda x: f(x).sum())(np.ones(3))
        elif run is tj.vmap:
            tj.vmap(f)(np.ones((2, 3)))
        else:
            run(f, np.ones(3))


def test_missing_rules_are_named() -> None:
    f = extend.primitive("plain", eval=lambda x: 2 * x, type=lambda x: x)
    with pytest.raises(NotDifferentiableError, match="no jvp rule"):
        tj.grad(f)(1.0)
    g = extend.primitive("linear", eval=lambda x: 2 * x, type=lambda x: x, jvp=extend.LINEAR)
    assert tj.jvp(g, (1.0,), (3.0,)) == (2, 6)
    with pytest.raises(PrimitiveSlotError, match="give transpose="):
        tj.grad(g)(1.0)
    assert tj.vmap(g)(np.arange(3.0)).tolist() == [0, 2, 4]
