from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import TracejitError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import LINEAR, Op, all_ops
from tracejit.ops.elementwise.arithmetic import add, div, mul, sub
from tracejit.ops.reductions.linalg import dot_general
from tracejit.ops.shapes.broadcast import broadcast_in_dim
from tracejit.ops.shapes.shape import reshape
from tracejit.passes.batchnorm import batchnorm

RNG = np.random.default_rng(7)


def through(fn: Callable[..., Any], *args: Any) -> tuple[Jaxpr, Jaxpr]:
    """The program before and after the pass, whose results agree."""
    jaxpr, _ = stage(lambda *xs: fn(*xs), [aval_of(a) for a in args])
    new = batchnorm(jaxpr)
    check_jaxpr(new)
    for got, want in zip(eval_jaxpr(new, args), eval_jaxpr(jaxpr, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12 * np.max(np.abs(want)))
    return jaxpr, new


def factors(jaxpr: Jaxpr) -> list[tuple[int, ...]]:
    """The shapes of what is multiplied or divided element by element."""
    elementwise = [e for e in jaxpr.eqns if type(e.op.kernel) is Pointwise and len(e.invars) == 2]
    return [e.outvars[0].aval.shape for e in elementwise if e.op.linear and e.op.series is not LINEAR]


def along(v: Any, like: Any, axis: int) -> Any:
    return broadcast_in_dim(v, shape=aval_of(like).shape, broadcast_dimensions=(axis,))


def dot(x: Any, w: Any, i: int = 1, j: int = 0) -> Any:
    return dot_general(x, w, dimension_numbers=(((i,), (j,)), ((), ())))


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_sums_and_factors(seed: int) -> None:
    """Random chains over a product with numbers of its columns: no factor is left at the product's size."""
    rng = np.random.default_rng(seed)
    steps = [
        (str(rng.choice(["add", "sub", "rsub", "mul", "rmul", "div"])), bool(rng.random() < 0.2))
        for _ in range(6)
    ]
    turned = bool(rng.random() < 0.5)

    def f(x: Any, w: Any, vs: Any) -> list[Any]:
        y = dot(x, w, 1, 1 if turned else 0)
        for n, (op, scalar) in enumerate(steps):
            v = vs[n][0] if scalar else along(vs[n], y, 1)
            if op[0] == "r":
                y = {"rsub": sub, "rmul": mul}[op](v, y)
            else:
                y = {"add": add, "sub": sub, "mul": mul, "div": div}[op](y, v)
        return [y]

    values = [[rng.uniform(0.5, 2)] if scalar else rng.uniform(0.5, 2, 7) for _, scalar in steps]
    flat = [v[0] if isinstance(v, list) else v for v in values]
    scalars = [scalar for _, scalar in steps]
    unpack = lambda x, w, *vs: f(x, w, [[v] if s else v for v, s in zip(vs, scalars, strict=True)])
    x, w = rng.standard_normal((40, 5)), rng.standard_normal((7, 5) if turned else (5, 7))
    before, after = through(unpack, x, w, *flat)
    assert (40, 7) not in factors(after)
    assert len(before.eqns) > 6 and ((40, 7) in factors(before)) == any(
        op[-3:] in ("mul", "div") for op, _ in steps
    )


def test_rows_are_features_too() -> None:
    _, after = through(
        lambda w, x, d: [mul(dot(w, x), along(d, dot(w, x), 0))], normal(3, 4), normal(4, 90), normal(3)
    )
    assert factors(after) == [(3, 4)]


@pytest.mark.parametrize(("shape", "axes", "left"), [
    ((3,), (1,), (3, 6)),
    ((1, 3, 1, 1), (0, 1, 2, 3), (8, 3, 5, 4)),  # no room for the axes of size 1 in the kernel: it stays
])  # fmt: skip
def test_features_of_repeated_and_relabelled_products(shape: Any, axes: Any, left: Any) -> None:
    """As convolutions are written: a kernel repeated for each image, the result relabelled."""

    def f(x: Any, w: Any, d: Any) -> list[Any]:
        kernels = broadcast_in_dim(w, shape=(8, 3, 6), broadcast_dimensions=(1, 2))
        y = dot_general(kernels, x, dimension_numbers=(((2,), (1,)), ((0,), (0,))))
        y = reshape(y, shape=(8, 3, 5, 4))
        return [div(y, broadcast_in_dim(d, shape=(8, 3, 5, 4), broadcast_dimensions=axes))]

    _, after = through(f, normal(8, 6, 20), normal(3, 6), 2 + RNG.random(shape))
    assert factors(after) == [left]


def test_batches_are_features_of_both_operands() -> None:
    def f(x: Any, y: Any, d: Any) -> list[Any]:
        p = dot_general(x, y, dimension_numbers=(((2,), (1,)), ((0,), (0,))))
        return [mul(p, along(d, p, 0))]

    _, after = through(f, normal(4, 30, 2), normal(4, 2, 20), normal(4))
    assert factors(after) == [(4, 2, 20)]  # the smaller one


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w, d: [mul(p := dot(x, w), along(d, p, 1)), p],  # the product is needed as it is
        lambda x, w, d: [mul(add(p := dot(x, w), p), along(d, p, 1))],
        lambda x, w, d: [div(along(d, p := dot(x, w), 1), p)],  # not linear in the product
    ],
)
def test_what_stays(f: Callable[..., Any]) -> None:
    before, after = through(f, normal(40, 5), normal(5, 7), normal(7))
    assert factors(after) == factors(before)


def test_small_products_stay() -> None:
    """The matrix would be larger than the product."""
    before, after = through(
        lambda x, w, d: [mul(p := dot(x, w), along(d, p, 1))], normal(2, 50), normal(50, 7), normal(7)
    )
    assert factors(after) == factors(before) == [(2, 7)]


def test_linear_operands_are_linear() -> None:
    """What the records say of elementwise ops of two operands, which the pass relies on."""
    seen = []
    for op in all_ops():
        if type(op.kernel) is not Pointwise or not _takes_two(op):
            continue
        for n in op.linear:
            a, x, y = (RNG.uniform(0.5, 2, 50) for _ in range(3))
            at = lambda v, op=op, n=n, a=a: op.eval(*((v, a) if n == 0 else (a, v)))
            constant = at(0 * x) if op.series is LINEAR else 0  # of sums: what the other operand adds
            np.testing.assert_allclose(at(2 * x + y) + 2 * constant, 2 * at(x) + at(y), rtol=1e-12)
            seen.append(op.name)
    assert {"mul", "div", "scale", "unscale", "add", "sub"} <= set(seen)


def _takes_two(op: Op) -> bool:
    """Whether it gives a float for two."""
    one = aval_of(np.ones(1))
    try:
        return op.type(one, one) == one
    except (TypeError, TracejitError):
        return False


# ---------------------------------------------------------------- through jit


def normalised(y: Any, b: Any, mean: Any, var: Any, gamma: Any, beta: Any) -> Any:
    return (y + b - mean) / np.sqrt(var + 1e-5) * gamma + beta


def statistics(n: int, *shape: int, dtype: Any = np.float64) -> list[Any]:
    return [(0.5 + RNG.random(n)).astype(dtype).reshape(shape or (n,)) for _ in range(5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_normalisation(dtype: Any) -> None:
    f = lambda x, w, *s: normalised(x @ w, *s)
    x, w = normal(64, 16).astype(dtype), normal(16, 8).astype(dtype)
    args = (x, w, *statistics(8, dtype=dtype))
    strict, fast = tj.jit(f).lower(*args).compile(), tj.jit(f, fastmath=True).lower(*args).compile()
    assert factors(strict.jaxpr).count((64, 8)) == 2 and factors(fast.jaxpr).count((64, 8)) == 0
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(fast(*args), f(*args), rtol=tolerance, atol=tolerance * 10)
    np.testing.assert_array_equal(strict(*args).dtype, dtype)


@pytest.mark.parametrize(("width", "features", "last"), [(1, 8, False), (1, 4, True), (3, 4, False)])
def test_convolutions(width: int, features: int, last: bool) -> None:
    """With channels first or last in the result; small images are multiplied together and moved apart."""
    order = "NHWC" if last else "NCHW"

    def f(x: Any, w: Any, *s: Any) -> Any:
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", order))
        return np.maximum(normalised(y, *s), 0)

    numbers = statistics(features) if last else statistics(features, 1, features, 1, 1)
    args = (normal(4, 5, 6, 6), normal(features, 5, width, width), *numbers)
    fast = tj.jit(f, fastmath=True).lower(*args).compile()
    assert max(map(np.prod, factors(fast.jaxpr))) == args[1].size
    np.testing.assert_allclose(fast(*args), tj.jit(f)(*args), rtol=1e-10, atol=1e-10)


def test_gradients() -> None:
    args = (normal(64, 16), normal(16, 8), *statistics(8))
    loss = lambda x, w, *s: (np.tanh(normalised(x @ w, *s)) ** 2).sum()
    numbers = tuple(range(7))
    for got, want in zip(
        tj.jit(tj.grad(loss, numbers), fastmath=True)(*args), tj.grad(loss, numbers)(*args), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
