"""custom_jvp and custom_vjp under every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.control.oracle import close
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad, jvp, linearize, vjp
from tracejit.api.autodiff.jacobians import jacfwd
from tracejit.api.batching import vmap
from tracejit.control.custom.public import custom_jvp, custom_vjp
from tracejit.errors import (
    ClosureDerivativeError,
    CustomRuleError,
    MissingRuleError,
    NotDifferentiableError,
)
from tracejit.interpreters import eval as eval_


def marked_sin() -> Any:
    """sin with a derivative of 3 cos, so that one sees which rule ran."""
    f = custom_jvp(lambda x: np.sin(x))

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), 3.0 * np.cos(x) * t

    return f


def marked_cube() -> Any:
    """x³ with a gradient of 6 x²."""
    f = custom_vjp(lambda x: x * x * x)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (6.0 * x * x * g,))
    return f


@pytest.mark.sample(2)
def test_jvp_rule(run: Any) -> None:
    f = marked_sin()
    assert run(f)(0.5) == pytest.approx(np.sin(0.5))
    assert run(grad(f))(0.5) == pytest.approx(3 * np.cos(0.5))
    assert run(lambda: jvp(f, (0.5,), (1.0,)))()[1] == pytest.approx(3 * np.cos(0.5))
    assert run(grad(grad(f)))(0.5) == pytest.approx(-3 * np.sin(0.5))
    xs = np.array([0.1, 0.7])
    close(run(vmap(f))(xs), np.sin(xs))
    close(run(vmap(grad(f)))(xs), 3 * np.cos(xs))
    close(run(grad(lambda xs: np.sum(vmap(f)(xs))))(xs), 3 * np.cos(xs))
    close(run(grad(lambda xs: np.sum(lax.scan(lambda c, x: (c, f(x)), 0.0, xs)[1])))(xs), 3 * np.cos(xs))


def test_vjp_rule(run: Any) -> None:
    f = marked_cube()
    assert run(f)(2.0) == pytest.approx(8.0)
    assert run(grad(f))(2.0) == pytest.approx(24.0)
    assert run(grad(grad(f)))(2.0) == pytest.approx(24.0)
    xs = np.array([1.0, 2.0])
    close(run(vmap(f))(xs), xs**3)
    close(run(vmap(grad(f)))(xs), 6 * xs**2)
    close(run(grad(lambda xs: np.sum(vmap(f)(xs))))(xs), 6 * xs**2)
    close(run(grad(lambda xs: np.sum(lax.scan(lambda c, x: (c, f(x)), 0.0, xs)[1])))(xs), 6 * xs**2)
    with pytest.raises(NotDifferentiableError, match="reverse"):
        jvp(f, (2.0,), (1.0,))


def test_unbatched_arguments_get_the_sum(run: Any) -> None:
    f = custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda res, g: (10.0 * g * res[1], g * res[0]))
    ys = np.array([1.0, 2.0, 3.0])
    total = run(grad(lambda x, ys: np.sum(vmap(f, (None, 0))(x, ys)), (0, 1)))(2.0, ys)
    close(total, (np.float64(60.0), np.full(3, 2.0)))


def test_nondiff_arguments_and_trees(run: Any) -> None:
    def app(g: Any, p: Any) -> Any:
        return g(p["a"]) * p["b"]

    f = custom_jvp(app, nondiff_argnums=(0,))

    @f.defjvp
    def rule(g: Any, primals: Any, tangents: Any) -> Any:
        (p,), (t,) = primals, tangents
        return f(g, p), 7.0 * t["a"] + t["b"]

    out = run(grad(lambda p: f(np.sin, p)))({"a": 0.3, "b": 2.0})
    assert out["a"] == pytest.approx(7.0)
    assert out["b"] == pytest.approx(1.0)

    h = custom_vjp(app, nondiff_argnums=(0,))
    h.defvjp(lambda g, p: (app(g, p), None), lambda g, _, ct: ({"a": ct * 5.0, "b": None},))
    out = run(grad(lambda p: h(np.sin, p)))({"a": 0.3, "b": 2.0})
    assert out["a"] == pytest.approx(5.0)
    assert out["b"] == 0.0


def test_defjvps(run: Any) -> None:
    f = custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, ans, x, y: 2.0 * t * y, None)
    close(run(grad(f, (0, 1)))(3.0, 4.0), (np.float64(8.0), np.float64(0.0)))


def test_python_branches_on_known_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eval_, "_taken", set())  # nothing was judged before, as in a new process
    f = custom_jvp(lambda x: x if x > 0 else x * 0.0)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * (5.0 if primals[0] > 0 else 1.0)))
    assert grad(f)(2.0) == 5.0
    assert grad(f)(-2.0) == 1.0
    g = custom_vjp(lambda x: x if x > 0 else x * 0.0)
    g.defvjp(lambda x: (g(x), x), lambda x, ct: (ct * (5.0 if x > 0 else 1.0),))
    assert grad(g)(2.0) == 5.0
    assert grad(g)(-2.0) == 1.0


def test_closing_over_outer_tracers(run: Any) -> None:
    def lane(y: Any) -> Any:
        f = custom_vjp(lambda x: x * y)
        f.defvjp(lambda x: (x * y, None), lambda _, g: (g * y * 100.0,))
        return f(2.0) + grad(f)(3.0)

    ys = np.array([1.0, 2.0])
    close(run(vmap(lane))(ys), ys * 102.0)


def test_closing_over_tracers_inside_of_a_loop(run: Any) -> None:
    def with_vjp(x: Any, w: Any) -> Any:
        f = custom_vjp(lambda c: c * w)
        f.defvjp(lambda c: (c * w, None), lambda _, g: (g * w * 10.0,))
        return lax.scan(lambda c, _: (f(c), None), x, length=2)[0]

    def with_jvp(x: Any, w: Any) -> Any:
        f = custom_jvp(lambda c: c * w)
        f.defjvp(lambda primals, tangents: (primals[0] * w, tangents[0] * w * 10.0))
        return lax.scan(lambda c, _: (f(c), None), x, length=2)[0]

    ws = np.array([2.0, 3.0])
    for f in (with_vjp, with_jvp):
        assert run(grad(f))(1.0, 2.0) == 400.0
        close(run(vmap(grad(f), (None, 0)))(1.0, ws), (10 * ws) ** 2)
        close(run(grad(lambda x, f=f: np.sum(vmap(f, (None, 0))(x, ws))))(1.0), np.float64(1300.0))


def test_integer_arguments(run: Any) -> None:
    f = custom_vjp(lambda x, n: x * n)
    f.defvjp(lambda x, n: (x * n, n), lambda n, g: (g * n, None))
    assert run(grad(lambda x: f(x, np.int64(3))))(2.0) == 3.0


def test_vjp_several_times() -> None:
    _, back = vjp(marked_cube(), 2.0)
    assert back(1.0) == back(1.0) == (24.0,)


def test_errors() -> None:
    f = custom_jvp(lambda x: x)
    with pytest.raises(MissingRuleError, match="defjvp"):
        f(1.0)
    f.defjvp(lambda primals, tangents: primals[0])
    with pytest.raises(CustomRuleError, match="pair"):
        grad(f)(1.0)
    g = custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (ct,))
    with pytest.raises(CustomRuleError, match="2 cotangents"):
        grad(g)(1.0, 2.0)
    g.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: ({"a": ct}, ct))
    with pytest.raises(CustomRuleError, match="cotangent 0 is "):
        grad(g)(1.0, 2.0)
    g.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (np.ones(3), ct))
    with pytest.raises(CustomRuleError, match=r"f64\[3\]"):
        grad(g)(1.0, 2.0)

    def outer(y: Any) -> Any:
        h = custom_jvp(lambda x: x * y)
        h.defjvp(lambda primals, tangents: (h(*primals), tangents[0]))
        return h(2.0)

    with pytest.raises(ClosureDerivativeError):
        grad(outer)(3.0)


def test_a_jvp_rule_that_makes_arrays_where_nothing_is_traced() -> None:
    @custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = np.zeros_like(x)
        out[0] += np.sin(x[0])
        out[1:] += np.sin(x[1:])
        return out, np.cos(x) * t

    x = np.array([0.2, 0.5, -1.0])
    close(jvp(f, (x,), (np.ones(3),)), (np.sin(x), np.cos(x)))


def test_a_jvp_rule_whose_tangent_is_constant() -> None:
    @custom_jvp
    def f(x: Any) -> Any:
        return x * x

    f.defjvp(lambda primals, tangents: (primals[0] ** 2, np.zeros(3)))
    x = np.arange(3.0)
    push = linearize(f, x)[1]
    close(push(np.ones(3)), np.zeros(3))
    close(grad(lambda x: np.sum(f(x)))(x), np.zeros(3))
    close(jacfwd(f)(x), np.zeros((3, 3)))


def test_a_rule_that_takes_the_derivative_of_a_loop(run: Any) -> None:
    def loop(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: np.sin(c) * c, x)

    f = custom_jvp(loop)
    f.defjvp(lambda primals, tangents: jvp(loop, primals, tangents))
    assert run(grad(f))(2.0) == pytest.approx(grad(loop)(2.0))
    value, back = vjp(f, 2.0)
    assert value == pytest.approx(loop(2.0)) and back(1.0)[0] == pytest.approx(grad(loop)(2.0))
    close(run(vmap(grad(f)))(np.array([1.0, 2.0])), vmap(grad(loop))(np.array([1.0, 2.0])))
    assert run(grad(grad(f)))(2.0) == pytest.approx(grad(grad(loop))(2.0))


def test_a_rule_that_linearizes_a_loop_of_unknown_length(run: Any) -> None:
    """Its linear loop reads rows whose number is a variable of the program around."""

    def loop(x: Any) -> Any:
        more = lambda c: (c[0] < 3) & (np.sum(np.abs(c[1])) > 0.1)
        return lax.while_loop(more, lambda c: (c[0] + 1, np.sin(c[1]) * x), (0, x))[1]

    f = custom_jvp(loop)
    f.defjvp(lambda primals, tangents: (loop(*primals), linearize(loop, *primals)[1](*tangents)))
    x, t = np.array([0.3, -0.2, 0.5]), np.array([1.0, 0.5, -2.0])
    want = jvp(loop, (x,), (t,))[1]
    close(run(lambda x: linearize(f, x)[1](t))(x), want)
    close(run(lambda x: vjp(f, x)[1](t)[0])(x), vjp(loop, x)[1](t)[0])
    close(
        run(lambda x: linearize(lambda x: linearize(f, x)[1](t), x)[1](t))(x),
        jvp(lambda x: jvp(loop, (x,), (t,))[1], (x,), (t,))[1],
    )
