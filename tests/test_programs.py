"""Random whole programs: jit == eval == NumPy, to the bit for strict arithmetic, in-place writes included."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tracejit.api.introspect import jaxpr_as_fun

UNARY = (np.negative, np.abs, np.sqrt, np.square, np.floor, np.ceil, np.trunc, np.rint, np.sign, np.positive)
BINARY = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum)
COMPARE = (np.less, np.less_equal, np.greater, np.equal, np.not_equal)
KINDS = ("unary", "binary", "scalar", "where", "view", "write", "inplace", "outer", "cond")
SHAPE = (3, 4)


@st.composite
def steps(draw: Any) -> list[tuple[Any, ...]]:
    """A program: instructions over a growing list of (3, 4) arrays, the first two being arguments."""
    out: list[tuple[Any, ...]] = []
    count = 2
    for _ in range(draw(st.integers(1, 12))):
        pick = st.integers(0, count - 1)
        kind = draw(st.sampled_from(KINDS))
        if kind == "unary":
            out.append((kind, draw(st.sampled_from(UNARY)), draw(pick)))
        elif kind == "binary":
            out.append((kind, draw(st.sampled_from(BINARY)), draw(pick), draw(pick)))
        elif kind == "scalar":
            out.append((kind, draw(st.sampled_from(BINARY)), draw(pick), draw(st.floats(-3, 3))))
        elif kind == "where":
            out.append((kind, draw(st.sampled_from(COMPARE)), draw(pick), draw(pick), draw(pick), draw(pick)))
        elif kind == "view":
            out.append((kind, draw(st.sampled_from(["flip", "roll", "turn", "rows"])), draw(pick)))
        elif kind == "write":
            rows = draw(
                st.sampled_from([slice(0, 2), slice(None, None, 2), slice(None, None, -1), slice(1, 1)])
            )
            out.append((kind, draw(pick), rows, draw(st.integers(-4, 3)), draw(pick)))
            continue
        elif kind == "inplace":
            out.append((kind, draw(pick), draw(pick)))
            continue
        elif kind == "outer":
            out.append((kind, draw(st.sampled_from(BINARY[:3])), draw(pick), draw(pick)))
        else:
            out.append((kind, draw(pick), draw(pick)))
        count += 1
    return out


def apply(program: list[tuple[Any, ...]], x: Any, y: Any) -> Any:
    """Run the program as a plain NumPy function would."""
    values = [x, y]
    for kind, *p in program:
        if kind == "unary":
            values.append(p[0](values[p[1]]))
        elif kind == "binary":
            values.append(p[0](values[p[1]], values[p[2]]))
        elif kind == "scalar":
            values.append(p[0](values[p[1]], p[2]))
        elif kind == "where":
            values.append(np.where(p[0](values[p[1]], values[p[2]]), values[p[3]], values[p[4]]))
        elif kind == "view":
            values.append(view(p[0], values[p[1]]))
        elif kind == "write":
            values[p[0]][p[1], p[2]] = values[p[3]][p[1], 0]
        elif kind == "inplace":
            values[p[0]][1:] += values[p[1]][:-1]
        elif kind == "outer":
            values.append(p[0](values[p[1]][:, :1], values[p[2]][:1, :]))
        else:
            values.append(values[p[0]] * (values[p[1]] > 0))
    return values


def view(kind: str, a: Any) -> Any:
    if kind == "flip":
        return a[::-1]
    if kind == "roll":
        return np.concatenate([a[1:], a[:1]])
    if kind == "turn":
        return a.T.reshape(SHAPE)
    return a[np.array([2, 0, 1])]


def arguments(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300])
    x, y = rng.standard_normal(SHAPE), rng.integers(-3, 4, SHAPE).astype(float)
    x[rng.integers(3), rng.integers(4)] = rng.choice(special)
    return x, y


def same_bits(a: Any, b: Any) -> None:
    for x, y in zip(a, b, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        nan = np.isnan(x)
        np.testing.assert_array_equal(nan, np.isnan(y))
        np.testing.assert_array_equal(x[~nan].view(np.int64), y[~nan].view(np.int64))


@given(steps(), st.integers(0, 1000))
@settings(max_examples=40)
def test_jit_equals_numpy_to_the_bit(program: list[tuple[Any, ...]], seed: int) -> None:
    with np.errstate(all="ignore"):
        x, y = arguments(seed)
        want = [np.array(v) for v in apply(program, x, y)]
        a, b = arguments(seed)
        got = tj.jit(lambda x, y: apply(program, x, y))(a, b)
        same_bits(got, want)
        same_bits([a, b], [x, y])  # arguments are updated alike


@given(steps(), st.integers(0, 1000))
@settings(max_examples=40)
def test_eval_of_the_jaxpr_equals_numpy_to_the_bit(program: list[tuple[Any, ...]], seed: int) -> None:
    with np.errstate(all="ignore"):
        want = [np.array(v) for v in apply(program, *arguments(seed))]
        closed = tj.make_jaxpr(lambda x, y: apply(program, x, y))(*arguments(seed))
        same_bits(jaxpr_as_fun(closed)(*arguments(seed)), want)


@given(steps(), st.integers(0, 1000))
@settings(max_examples=7)
def test_gradients_agree_in_every_nesting(program: list[tuple[Any, ...]], seed: int) -> None:
    def loss(x: Any, y: Any) -> Any:
        weights = np.arange(12.0).reshape(SHAPE)
        return sum((np.where(np.abs(v) < 1e3, v, 0.0) * weights).sum() for v in apply(program, x, y))

    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(SHAPE), rng.uniform(0.5, 2.0, SHAPE)
    t = (rng.standard_normal(SHAPE), rng.standard_normal(SHAPE))
    with np.errstate(all="ignore"):
        # Derivatives through infinities are NaN or not depending on the order of the chain rule.
        assume(all(np.isfinite(v).all() for v in apply(program, x.copy(), y.copy())))
        g = tj.grad(loss, (0, 1))(x, y)
        forward = tj.jvp(loss, (x, y), t)[1]
        close(g, tj.jit(tj.grad(loss, (0, 1)))(x, y))
        close(g, tj.grad(tj.jit(loss), (0, 1))(x, y))
        close(forward, (g[0] * t[0]).sum() + (g[1] * t[1]).sum())
        two = np.stack([x, x + 1.0]), np.stack([y, y])
        batched = tj.jit(tj.vmap(tj.grad(tj.jit(loss), (0, 1))))(*two)
        close([b[0] for b in batched], g)


def close(a: Any, b: Any) -> None:
    for x, y in zip(tj.tree.leaves(a), tj.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8)
