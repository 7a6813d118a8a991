"""Primitives that are formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import extend, lax
from tracejit.errors import PrimitiveRuleError
from tracejit.ir.primitive import REGISTRY
from tracejit.test_util import check_grads


@pytest.fixture(autouse=True)
def own_primitives() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    for name in REGISTRY.keys() - before.keys():
        del REGISTRY[name]


def make_norm(**options: Any) -> Any:
    return extend.composite("rms_norm", lambda x, w: x / np.sqrt(np.mean(x * x)) * w, **options)


def test_every_transformation() -> None:
    f = make_norm()
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=5), rng.normal(size=5)
    plain = lambda x, w: x / np.sqrt(np.mean(x * x)) * w
    assert np.allclose(f(x, w), plain(x, w), rtol=1e-15)
    assert np.allclose(tj.jit(f)(x, w), plain(x, w))
    check_grads(f, (x, w), order=2)
    xs = rng.normal(size=(3, 5))
    want = np.stack([tj.grad(lambda x, w: np.sum(plain(x, w) ** 2))(v, w) for v in xs])
    g = tj.vmap(tj.grad(lambda x, w: np.sum(f(x, w) ** 2)), (0, None))
    assert np.allclose(g(xs, w), want) and np.allclose(tj.jit(g)(xs, w), want)
    assert np.allclose(tj.vmap(f, (0, None), 1)(xs, w)[:, 2], plain(xs[2], w))
    out = lax.scan(lambda c, x: (c, f(x, w)), 0.0, xs)[1]
    assert np.allclose(out[1], plain(xs[1], w))


def test_one_equation_that_is_compiled_as_written_out() -> None:
    f = make_norm()
    x = np.ones(4)
    assert [e.op.name for e in tj.make_jaxpr(f)(x, x).jaxpr.eqns] == ["rms_norm"]
    report = tj.explain(f)(x, x)
    assert report.callbacks == [] and report.equations == 1 and report.equations_after_passes > 3


def test_rules_given_replace_those_that_follow() -> None:
    f = extend.composite("marked", lambda x: np.sin(x), jvp=(lambda t, ans, x: 3 * np.cos(x) * t,))
    assert tj.grad(f)(0.5) == pytest.approx(3 * np.cos(0.5))
    assert tj.jit(tj.vmap(tj.grad(f)))(np.ones(2))[1] == pytest.approx(3 * np.cos(1))
    g = extend.composite("flat", lambda x: np.floor(x), jvp=extend.ZERO_TANGENT)
    assert tj.grad(lambda x: x * g(x))(2.5) == 2


def test_transposes_follow() -> None:
    f = extend.composite("twice", lambda x, y: 2 * x[::-1] - y, jvp=extend.LINEAR)
    x = np.arange(3.0)
    check_grads(f, (x, x), order=2)
    a, b = tj.linear_transpose(f, x, x)(x)
    assert a.tolist() == [4, 2, 0] and b.tolist() == [0, -1, -2]
    g = make_norm()
    (ct,) = tj.linear_transpose(lambda w: g(x + 1, w), x)(np.ones(3))
    assert np.allclose(ct, (x + 1) / np.sqrt(np.mean((x + 1) ** 2)))


def test_several_outputs_and_params() -> None:
    f = extend.composite("parts", lambda x, *, n: (x[:n] * 2, (x[n:] ** 2).sum()), outputs=2)
    x = np.arange(4.0)
    for run in (lambda f: f, tj.jit):
        a, b = run(lambda x: f(x, n=1))(x)
        assert a.tolist() == [0] and b == 14
        assert run(tj.grad(lambda x: f(x, n=1)[1]))(x).tolist() == [0, 2, 4, 6]
        assert run(tj.vmap(lambda x: f(x, n=1)))(np.stack([x, x]))[1].tolist() == [14, 14]
    wrong = extend.composite("wrong", lambda x: (x, x))
    with pytest.raises(PrimitiveRuleError, match="formula"):
        tj.jit(wrong)(x)
    with pytest.raises(PrimitiveRuleError, match="formula"):
        wrong(x)


def test_captured_arrays_are_read_when_the_program_runs() -> None:
    weights = np.ones(3)
    f = extend.composite("weighted", lambda x: x * weights)
    g = tj.jit(f)
    assert g(np.full(3, 2.0)).tolist() == [2, 2, 2]
    weights[:] = 5
    assert g(np.full(3, 2.0)).tolist() == [10, 10, 10]
    assert tj.grad(lambda x: f(x).sum())(np.ones(3)).tolist() == [5, 5, 5]


def test_control_flow_and_primitives_inside() -> None:
    inner = make_norm()
    f = extend.composite(
        "looped", lambda x: lax.fori_loop(0, 3, lambda i, c: inner(c, np.ones(3)) + np.sin(c), x)
    )
    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(tj.jit(f)(x), f(x))
    check_grads(f, (x,), order=2)
