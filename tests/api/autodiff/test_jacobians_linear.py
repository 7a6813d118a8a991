"""linearize and linear_transpose of everything that is linear, and of loops, branches and custom rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES
from tests.test_rules import floats, lifted
from tracejit import lax
from tracejit.ir.primitive import LINEAR, REGISTRY

LINEAR_CASES = [
    pytest.param(c, id=f"{name}-{n}")
    for name, cases in sorted(CASES.items())
    if name in REGISTRY and REGISTRY[name].jvp is LINEAR
    for n, c in enumerate(cases)
]


def random_like(x: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        a = a + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(a).astype(np.asarray(x).dtype)[()]


def inner(xs: Any, ys: Any) -> Any:
    """The real part of the inner product: transposing does not conjugate."""
    return sum(
        np.real(np.sum(np.asarray(x) * y))
        for x, y in zip(tj.tree.leaves(xs), tj.tree.leaves(ys), strict=True)
    )


def check_transpose(f: Any, xs: tuple[Any, ...], tol: float = 1e-9) -> None:
    """<ct, f(t)> == <f^T(ct), t>, for the function and for its linearization."""
    ts = tuple(random_like(x, n) for n, x in enumerate(xs))
    out = f(*ts)
    cts = tj.tree.map(lambda o: random_like(o, 9), out)
    back = tj.linear_transpose(f, *xs)(cts)
    np.testing.assert_allclose(inner(cts, out), inner(back, ts), rtol=tol, atol=tol)
    assert all(
        np.asarray(b).dtype == np.asarray(x).dtype and b.shape == x.shape
        for b, x in zip(back, xs, strict=True)
    )
    _, lin = tj.linearize(f, *xs)
    for got, want in zip(tj.tree.leaves(lin(*ts)), tj.tree.leaves(out), strict=True):
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
    again = tj.linear_transpose(lin, *xs)(cts)
    for got, want in zip(again, back, strict=True):
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
    twice = tj.jit(lambda c: tj.linear_transpose(lambda c: tj.linear_transpose(f, *xs)(c), cts)(xs)[0])
    for got, want in zip(tj.tree.leaves(twice(cts)), tj.tree.leaves(f(*xs)), strict=True):
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("case", LINEAR_CASES)
@pytest.mark.sample(5)
def test_every_linear_op(case: Any) -> None:
    fn, xs = floats(case)
    if not xs or not lifted(case)(*case.args()):
        return
    outs, twice = fn(*xs), fn(*(x + x for x in xs))
    if not all(np.allclose(o + o, t) for o, t in zip(outs, twice, strict=True)):
        return  # the case does more than apply the op, or holds a constant
    half = any(np.asarray(v).dtype.itemsize < 8 for v in (*xs, *outs))
    check_transpose(fn, xs, 1e-2 if half else 1e-9)


X = np.arange(3.0)


def scan(x: Any) -> Any:
    return lax.scan(lambda c, v: (c * 2 + v, c - v), x[0], x)[1]


def loop(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: c[::-1] * 0.5 + c, x)


def cond(x: Any) -> Any:
    return lax.cond(True, lambda x: x * 3, lambda x: -x, x)


def called(x: Any) -> Any:
    return tj.jit(lambda x: {"a": x * 2, "b": x[::-1]})(x)


def remat(x: Any) -> Any:
    return tj.checkpoint(lambda x: np.cumsum(x) * 2)(x)


def custom(x: Any) -> Any:
    return tj.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, ct: ct * r, np.ones(3) * 2, x)


def mapped(x: Any) -> Any:
    return tj.vmap(lambda m: m @ x)(np.arange(18.0).reshape(3, 2, 3))


def updates(x: Any) -> Any:
    out = np.zeros(5)
    out[1:4] = x
    out[2] += x[0]
    np.add.at(out, np.array([0, 0]), x[1])
    return out


@pytest.mark.parametrize(
    "f", [scan, loop, cond, called, remat, custom, mapped, updates], ids=lambda f: f.__name__
)
def test_programs(f: Any) -> None:
    check_transpose(f, (X,))


def test_float0_from_end_to_end() -> None:
    f = lambda x, n: (x * n).sum()
    n = np.arange(3)
    float0 = tj.grad(f, 1, allow_int=True)(X, n).dtype
    assert float0.itemsize == 0
    zeros = np.zeros(3, float0)
    for run in (lambda g: g, tj.jit):
        gx, gn = run(tj.grad(f, (0, 1), allow_int=True))(X, n)
        assert gx.tolist() == [0, 1, 2] and (gn.dtype, gn.shape) == (float0, (3,))
        back = run(lambda x, n: tj.vjp(f, x, n)[1](1.0))(X, n)
        assert back[1].dtype == float0
        assert run(lambda x, n, z: tj.jvp(f, (x, n), (x, z)))(X, n, zeros)[1] == 5
        out, t = run(lambda x: tj.jvp(lambda x: x.astype(int), (x,), (x,)))(X)
        assert out.dtype == np.int64 and (t.dtype, t.shape) == (float0, (3,))
        assert run(lambda z: z)(zeros).dtype == float0
        (ct,) = run(lambda x: tj.vjp(lambda x: (x.astype(int), x * 2), x)[1]((zeros, x)))(X)
        assert ct.tolist() == [0, 2, 4]
        rows = run(tj.jacrev(lambda x, n: x * n, (0, 1), allow_int=True))(X, n)
        assert rows[0].diagonal().tolist() == [0, 1, 2] and (rows[1].dtype, rows[1].shape) == (float0, (3, 3))
        assert run(tj.vmap(tj.grad(lambda x, n: x * n, 1, allow_int=True)))(X, n).dtype == float0
    with pytest.raises(tj.TracejitError, match="jacrev needs a function with float outputs"):
        tj.jacrev(lambda x: x.astype(int))(X)


def test_shapes_of_huge_programs_cost_nothing() -> None:
    big = tj.ShapeDtypeStruct((10**6, 10**6), np.float32)
    row = tj.ShapeDtypeStruct((10**6,), np.float32)
    shape = lambda f, *args: tj.eval_shape(f, *args).shape
    assert shape(lambda x: (np.zeros((10**6, 10**6)) + x) @ np.ones((10**6, 3)), big) == (10**6, 3)
    assert shape(tj.grad(lambda x: np.sum(np.sin(x) * np.arange(10**6)[:, None])), big) == big.shape
    assert shape(tj.jit(lambda x: np.sum(x * np.arange(10**12).reshape(10**6, 10**6))), big) == ()
    assert shape(tj.hessian(lambda x: np.sum(np.sin(x))), row) == big.shape
    assert shape(tj.jacfwd(np.sin), row) == shape(tj.jacrev(np.sin), row) == big.shape
    assert shape(tj.vmap(lambda x: x @ np.ones((10**6, 10**6))), big) == big.shape
    assert shape(lambda x: np.eye(10**6) + np.full((10**6, 10**6), 2.0) * x, big) == big.shape


def test_a_compiled_jacobian_holds_no_basis() -> None:
    text = str(tj.make_jaxpr(tj.jacrev(np.sin))(np.ones(5000)))
    assert "iota" in text
    assert tj.make_jaxpr(tj.jacfwd(np.sin))(np.ones(5000)).consts == ()
    np.testing.assert_allclose(tj.jit(tj.jacfwd(np.sin))(X), np.diag(np.cos(X)))
    both = tj.jit(tj.jacrev(lambda p: {"s": p["a"] * p["b"], "t": p["a"][0]}))({"a": X, "b": 2.0})
    np.testing.assert_allclose(both["s"]["b"], X)
    np.testing.assert_allclose(both["t"]["a"], [1, 0, 0])
