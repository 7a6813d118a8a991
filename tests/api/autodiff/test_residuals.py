"""What derivatives keep: as little as suffices, and the report says what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax, nn
from tracejit.ad_checkpoint import checkpoint_name, print_saved_residuals, saved_residuals
from tracejit.api.autodiff.derivatives import linearize_user
from tracejit.errors import FunctionNeededError

RNG = np.random.default_rng(0)
N = 10_000  # elements: of less than 64 KB, eager derivatives make nothing again
X, Y = RNG.normal(size=N), RNG.normal(size=N)
A, B = RNG.normal(size=(400, 25)), RNG.normal(size=(25, 30))
FLOATS = 8 * N
PRODUCT = 8 * 400 * 30

# function, arguments, bytes kept besides arguments and results
CASES: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "sum": (lambda x: x.sum(), (X,), 0),
    "mean": (lambda x: x.mean(), (X,), 0),
    "linear": (lambda x: 3 * x[::-1] + 1, (X,), 0),
    "relu": (lambda x: np.maximum(x, 0), (X,), 2 * N),  # which are larger, which are equal
    "where": (lambda x: np.where(x > 0, x, 0), (X,), N),
    "max of two": (np.maximum, (X, Y), 2 * N),
    "clip": (lambda x: np.clip(x, -1, 1), (X,), 4 * N),
    "square": (lambda x: x**2, (X,), 0),
    "cube": (lambda x: x**3, (X,), 0),
    "product": (lambda x, y: x * y, (X, Y), 0),
    "quotient": (lambda x, y: x / y, (X, Y), 0),
    "reciprocal": (lambda x: 1 / x, (X,), 0),
    "abs": (np.abs, (X,), 0),
    "exp": (np.exp, (X,), 0),
    "tanh": (np.tanh, (X,), 0),
    "sqrt": (lambda x: np.sqrt(x * x + 1), (X,), 0),
    "log": (lambda x: np.log(x * x + 1), (X,), 0),
    "sin": (np.sin, (X,), FLOATS),  # its cosine
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (X,), FLOATS),  # the exponential
    "silu": (nn.silu, (X,), FLOATS),  # its sigmoid
    "gelu": (nn.gelu, (X,), FLOATS),  # its sigmoid
    "variance": (lambda x: ((x - x.mean()) ** 2).mean(), (X,), 0),
    "max": (lambda x: x.max(), (X,), N),
    "row max": (lambda a: a.max(axis=1).sum(), (A,), 400 * 25 + 8 * 400),
    "softmax": (lambda x: (lambda e: e / e.sum())(np.exp(x)), (X,), FLOATS),  # the exponentials
    "matmul": (lambda a, b: a @ b, (A, B), 0),
    "relu of matmul": (lambda a, b: np.maximum(a @ b, 0).sum(), (A, B), 2 * 400 * 30),
    "tanh of matmul": (lambda a, b: np.tanh(a @ b).sum(), (A, B), PRODUCT),
    "two layers": (lambda a, b: (np.tanh(a @ b) @ b.T).sum(), (A, B), PRODUCT),
    "dropout": (lambda x, m: np.where(m, x / 0.9, 0), (X, X > 0), 0),
    "outer": (lambda x: (x[:, None] * x).sum(), (X[:100],), 0),
    "bias": (lambda a, b: (a @ b + b[0]).sum(), (A, B), 0),
}


def kept(f: Any, args: tuple[Any, ...]) -> int:
    """The bytes of arrays that the eager pullback of `f` holds besides arguments and results."""
    _, _, outs, tape, ins = linearize_user(f, args, False)
    free = {id(x) for x in (*ins.leaves, *outs)}
    arrays = [r for r in tape.residuals() if id(r) not in free and isinstance(r, np.ndarray) and r.size > 1]
    owners = {id(r if r.base is None else r.base): r for r in arrays if 0 not in r.strides}
    held = {id(x) for x in args}
    return sum(r.nbytes for key, r in owners.items() if key not in held)


@pytest.mark.parametrize("name", CASES)
def test_bytes(name: str) -> None:
    f, args, want = CASES[name]
    assert kept(f, args) == want
    rows = saved_residuals(f, *args)
    assert sum(r.nbytes for r in rows if not r.free and r.aval.size > 1) <= max(want, FLOATS)
    out, pull = tj.vjp(f, *args)
    ct = np.cos(np.arange(np.size(out))).reshape(np.shape(out))[()]
    compiled = tj.jit(lambda *xs: tj.vjp(f, *xs)[1](ct))(*args)
    for a, b, c in zip(pull(ct), pull(ct), compiled, strict=True):  # what is made again, is made each time
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-12)


def test_small_arrays_are_just_kept() -> None:
    assert kept(lambda x: x**2, (np.ones(10),)) == 80


def test_nothing_is_made_again_from_what_was_overwritten() -> None:
    def f(x: Any) -> Any:
        t = x + 0.5
        u = (t**2).sum()
        t[0] = 7.0  # in place: nothing else holds the array
        v = (t**3).sum()
        t[1:3] *= 2
        return u + v, t

    _, pull = tj.vjp(f, X)
    want = 2 * (X + 0.5) + 3 * (X + 0.5) ** 2
    want[0] = 2 * (X[0] + 0.5)
    np.testing.assert_allclose(pull((1.0, np.zeros(N)))[0], want, rtol=1e-12)


def test_what_is_made_again_is_right_under_other_transformations() -> None:
    f = lambda x: np.tanh(x) ** 2 / (1 + x * x)
    ts = RNG.normal(size=(3, N))
    _, lin = tj.linearize(f, X)
    want = np.stack([tj.jvp(f, (X,), (t,))[1] for t in ts])
    np.testing.assert_allclose(np.stack([lin(t) for t in ts]), want, rtol=1e-12)
    np.testing.assert_allclose(tj.vmap(lin)(ts), want, rtol=1e-12)
    _, pull = tj.vjp(f, X)
    np.testing.assert_allclose(tj.vmap(pull)(ts)[0], want, rtol=1e-12)
    np.testing.assert_allclose(tj.jacrev(f)(X[:100]).diagonal(), tj.jacfwd(f)(X[:100]).diagonal(), rtol=1e-12)


def test_a_scan_stacks_little() -> None:
    def f(xs: Any) -> Any:
        return lax.scan(lambda c, x: (c + x * x * np.sum(x), None), np.zeros(100), xs)[0].sum()

    xs = RNG.normal(size=(10, 100))
    (row,) = [r for r in saved_residuals(f, xs) if r.aval.size > 10]
    assert row.free and row.origin == "the argument `xs`"
    np.testing.assert_allclose(
        tj.grad(f)(xs), tj.grad(lambda xs: (xs * xs * xs.sum(1, keepdims=True)).sum())(xs)
    )


def test_the_report(capsys: Any) -> None:
    def layer(params: Any, x: Any, *, scale: Any) -> Any:
        return np.sin(x @ params["w"]) * scale

    w = np.ones((25, 30))
    print_saved_residuals(layer, {"w": w}, A, scale=2.0)
    text = capsys.readouterr().out
    assert "the argument `params`['w']" in text and "the argument `x`" in text
    assert "the result of sin, at test_residuals.py:" in text and "the result of cos, at" in text
    assert "f64[400,30]    96.0 kB" in text
    assert text.splitlines()[-1].endswith("besides arguments and results")
    rows = saved_residuals(
        layer,
        {"w": tj.ShapeDtypeStruct((10**6, 10**6), np.float64)},
        tj.ShapeDtypeStruct((3, 10**6), float),
        scale=2.0,
    )
    assert max(r.nbytes for r in rows) == 8 * 10**12  # nothing is computed
    captured = [r.origin for r in saved_residuals(lambda x: x @ B, A)]
    assert captured == ["a captured array"]


# ---------------------------------------------------------------- policies


def mlp(a: Any, b: Any) -> Any:
    h = checkpoint_name(a @ b, "product")
    h = checkpoint_name(np.tanh(h), "activation")
    return (np.sin(h) @ b.T).sum()


C, D = RNG.normal(size=(50, 20)), RNG.normal(size=(20, 30))
P = tj.checkpoint_policies
TANH, SIN, DOT = "the result of tanh", "the result of cos", "the result of dot_general"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "policy, origins",
    [
        (None, []),
        (P.nothing_saveable, []),
        (P.dots_saveable, [DOT]),
        (P.checkpoint_dots_with_no_batch_dims, [DOT]),
        (P.save_only_these_names("product"), [DOT]),
        (P.save_only_these_names("activation"), [TANH]),
        (P.save_only_these_names("activation", "product"), [TANH]),  # which the product isn't needed for
        (P.save_any_names_but_these("activation"), [DOT]),
        (P.save_from_both_policies(P.dots_saveable, P.save_only_these_names("activation")), [TANH]),
        (P.save_anything_except_these_names("nothing"), ["the result of mul", "the result of sin", SIN]),
        (P.everything_saveable, ["the result of mul", "the result of sin", SIN]),
    ],
)
def test_policies(policy: Any, origins: list[str]) -> None:
    for inner in (mlp, tj.jit(mlp)):
        f = tj.checkpoint(inner, policy=policy)
        rows = [r for r in saved_residuals(f, C, D) if not r.free]
        assert sorted(r.origin.split(" in ")[0] for r in rows if r.aval.size > 1) == sorted(origins)
        for run in (lambda g: g, tj.jit):
            for got, want in zip(run(tj.grad(f, (0, 1)))(C, D), tj.grad(mlp, (0, 1))(C, D), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_allclose(
        tj.hvp(lambda a: f(a, D), (C,), (C,)), tj.hvp(lambda a: mlp(a, D), (C,), (C,)), rtol=1e-10
    )


def test_names_are_nothing_elsewhere() -> None:
    assert checkpoint_name({"a": 1.0}, "x") == {"a": 1.0}
    assert tj.jit(lambda x: checkpoint_name(x, "x"))(X) is not X
    assert "name" not in str(tj.jit(lambda x: checkpoint_name(x, "x") * 2).lower(X).compile().jaxpr)
    np.testing.assert_allclose(tj.vmap(tj.grad(lambda x: checkpoint_name(x, "x") ** 2))(X), 2 * X)


def test_the_kinds_of_functions_under_checkpoint() -> None:
    """Loops, branches and custom rules inside of checkpoint; static arguments."""
    twice = tj.custom_vjp(lambda x: np.sin(x))
    twice.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (2 * ct * np.cos(x),))

    def f(n: int, x: Any) -> Any:
        y = lax.scan(lambda c, v: (c * np.sin(v), None), 1.0, x)[0]
        z = lax.cond(y > 0, np.sin, np.cos, y)
        return (twice(x) * z).sum() * n

    x = X[:5]
    want = tj.grad(lambda x: f(3, x))(x)
    for policy in (None, P.everything_saveable, P.dots_saveable):
        for cse in (True, False):
            g = tj.checkpoint(f, static_argnums=0, policy=policy, prevent_cse=cse)
            for run in (lambda g: g, tj.jit):
                np.testing.assert_allclose(run(tj.grad(lambda x: g(3, x)))(x), want, rtol=1e-12)
                got = run(tj.vmap(tj.grad(lambda x: g(3, x))))(np.stack([x, x]))
                np.testing.assert_allclose(got[1], want, rtol=1e-12)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(FunctionNeededError, match="saved_residuals takes a function"):
        print_saved_residuals(3, X)  # type: ignore[arg-type]
