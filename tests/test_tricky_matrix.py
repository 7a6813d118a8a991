"""What every AD system gets wrong once, each under eager, jit, vmap, grad and jvp of grad.

A case is a function of a vector, its arguments, and what the function means, in NumPy alone: its value, and its
gradient and the gradient's derivative along a direction in closed form, or by complex steps where it is analytic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import dtypes, lax
from tracejit.errors import TracejitError

F = Callable[..., Any]


@dataclass(frozen=True)
class Tricky:
    """`f` at `x`; `value(x)`, `gradient(x)` and `turned(x, v)`, the gradient's derivative along v, are the truth."""

    f: F
    x: Any
    value: F
    gradient: F
    turned: F


def analytic(f: F, x: Any, value: F) -> Tricky:
    """A case whose derivatives are complex steps of `value`, plain NumPy that takes complex numbers."""
    step = 1e-30

    def gradient(x: Any) -> Any:
        return np.array([np.imag(value(x + 1j * step * e)) / step for e in np.eye(len(x))])

    def turned(x: Any, v: Any) -> Any:
        h = 1e-4
        d = lambda h: (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)
        return (4 * d(h) - d(2 * h)) / 3

    return Tricky(f, np.asarray(x, float), value, gradient, turned)


def closed(f: F, x: Any, value: F, gradient: F, turned: F) -> Tricky:
    return Tricky(f, np.asarray(x, float), value, gradient, turned)


CASES: dict[str, Callable[[], Tricky]] = {}


def tricky(make: Callable[[], Tricky]) -> Callable[[], Tricky]:
    CASES[make.__name__] = make
    return make


X = (0.7, -0.4, 1.3)
W = np.array([1.0, 10.0, 100.0])


@tricky
def nested_grads_over_outer_variables() -> Tricky:
    inner = lambda x: x * tj.grad(lambda y: x * y * y)(2.0)  # 4 x^2
    f = lambda x: sum(tj.grad(inner)(x[n]) * x[n] for n in range(3))
    return closed(f, X, lambda x: 8 * np.sum(x * x), lambda x: 16 * x, lambda x, v: 16 * v)


@tricky
def where_with_nan_in_the_other_branch() -> Tricky:
    f = lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0) + np.where(x > 0, np.log(x), x))
    positive = lambda x, a, b: np.where(x > 0, a(np.where(x > 0, x, 1.0)), b(x))
    return closed(
        f,
        (4.0, 0.0, -1.0),
        lambda x: np.sum(positive(x, lambda y: np.sqrt(y) + np.log(y), lambda y: y)),
        lambda x: positive(x, lambda y: 0.5 / np.sqrt(y) + 1 / y, np.ones_like),
        lambda x, v: v * positive(x, lambda y: -0.25 * y**-1.5 - 1 / y**2, np.zeros_like),
    )


@tricky
def ties_in_max() -> Tricky:
    tied = lambda x: (x == x.max()) / np.sum(x == x.max())
    return closed(
        lambda x: np.max(x) ** 2,
        (1.0, 3.0, 3.0),
        lambda x: x.max() ** 2,
        lambda x: 2 * x.max() * tied(x),
        lambda x, v: 2 * (tied(x) @ v) * tied(x),
    )


@tricky
def ties_in_sort() -> Tricky:
    order = lambda x: np.argsort(x, kind="stable")
    back = lambda x: W[np.argsort(order(x))]
    return closed(
        lambda x: np.sum(np.sort(x) ** 2 * W),
        (3.0, 1.0, 3.0),
        lambda x: np.sum(np.sort(x) ** 2 * W),
        lambda x: 2 * x * back(x),
        lambda x, v: 2 * v * back(x),
    )


@tricky
def prod_with_zeros() -> Tricky:
    return analytic(np.prod, (2.0, 0.0, 3.0), np.prod)


@tricky
def prod_with_two_zeros() -> Tricky:
    f = lambda x: np.prod(x) + np.sum(np.cumprod(x))
    return analytic(f, (0.0, 2.0, 0.0), f)


@tricky
def powers_at_zero() -> Tricky:
    f = lambda x: np.sum(x**0 + x**1 + x**2.0 + x**3)
    return closed(
        f,
        (0.0, 1.5, 0.0),
        lambda x: np.sum(1 + x + x * x + x * x * x),
        lambda x: 1 + 2 * x + 3 * x * x,
        lambda x, v: (2 + 6 * x) * v,
    )


@tricky
def edges_of_abs_norm_and_clip() -> Tricky:
    unit = lambda x: np.concatenate([[0.0], x[1:] / np.sqrt(np.sum(x[1:] ** 2))])
    bend = lambda x, v: (v * [0, 1, 1] - unit(x) * (unit(x) @ v)) / np.sqrt(np.sum(x[1:] ** 2))
    f = lambda x: np.sum(np.abs(x)) + np.linalg.norm(x[1:]) + np.sum(np.clip(x, -1.0, 3.5) ** 2)
    inside = lambda x: (x > -1) & (x < 3.5)
    return closed(
        f,
        (0.0, 3.0, 4.0),
        lambda x: np.sum(np.abs(x)) + np.sqrt(np.sum(x[1:] ** 2)) + np.sum(np.clip(x, -1, 3.5) ** 2),
        lambda x: np.sign(x) + unit(x) + 2 * x * inside(x),
        lambda x, v: bend(x, v) + 2 * v * inside(x),
    )


@tricky
def sqrt_at_its_edge() -> Tricky:
    """Infinite there, and no NaN in the derivatives of what does not use it."""
    f = lambda x: np.sum(np.where(x == 0.0, x, np.sqrt(x))) + np.sqrt(x[1])
    part = lambda x, a: np.where(x == 0, 1.0, a(np.where(x == 0, 1.0, x))) + [0, np.inf, 0]
    return closed(
        f,
        (4.0, 0.0, 1.0),
        lambda x: np.sum(np.sqrt(x)) + np.sqrt(x[1]),
        lambda x: part(x, lambda y: 0.5 / np.sqrt(y)) + (x[1] != 0) * 0.0,
        lambda x, v: np.array([-0.25 * x[0] ** -1.5 * v[0], -np.inf * v[1], -0.25 * x[2] ** -1.5 * v[2]]),
    )


@tricky
def gather_and_scatter() -> Tricky:
    get, put = np.array([0, 2, -1, 0]), np.array([1, -1, 1])

    def f(x: Any) -> Any:
        y = x[get]
        z = np.zeros(4) + 0.0 * np.sum(x)
        z[put] = y[:3]  # the last writer wins
        z[np.array([0, 0])] += y[:2]  # and only one adds
        np.add.at(z, np.array([2, 2]), y[2:])
        return np.sum(y**2) + np.sum(z**3 * np.arange(1.0, 5.0))

    def plain(x: Any) -> Any:
        y = np.array([x[0], x[2], x[2], x[0]])
        z = np.array([y[1], y[2], y[2] + y[3], y[1]])
        return np.sum(y**2) + np.sum(z**3 * np.arange(1.0, 5.0))

    return analytic(f, X, plain)


@tricky
def custom_jvp_to_second_order() -> Tricky:
    @tj.custom_jvp
    def c(x: Any) -> Any:
        return np.sin(x)

    c.defjvp(lambda primals, tangents: (c(primals[0]), 2.0 * np.cos(primals[0]) * tangents[0]))
    return closed(
        lambda x: np.sum(c(x)),
        X,
        lambda x: np.sum(np.sin(x)),
        lambda x: 2 * np.cos(x),
        lambda x, v: -2 * np.sin(x) * v,
    )


@tricky
def custom_vjp_closing_over_values() -> Tricky:
    def f(x: Any) -> Any:
        a = lax.stop_gradient(np.sum(x)) * 0.0 + 2.0

        @tj.custom_vjp
        def c(x: Any) -> Any:
            return a * x

        c.defvjp(lambda x: (a * x, x), lambda saved, ct: (5.0 * ct * saved * a,))
        return np.sum(c(x))

    return closed(f, X, lambda x: 2 * np.sum(x), lambda x: 10 * x, lambda x, v: 10 * v)


@tricky
def while_with_finished_lanes() -> Tricky:
    def halve(x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] > 1.0, lambda c: (c[0] / 2.0, c[1] + 1), (x, 0))[0] ** 2

    scale = lambda x: 0.5 ** np.ceil(np.log2(np.maximum(x, 1.0)))
    return closed(
        lambda x: np.sum(tj.vmap(halve)(x)),
        (0.5, 3.0, 100.0),
        lambda x: np.sum((x * scale(x)) ** 2),
        lambda x: 2 * x * scale(x) ** 2,
        lambda x, v: 2 * v * scale(x) ** 2,
    )


@tricky
def nan_in_the_untaken_branch_of_a_vmapped_cond() -> Tricky:
    one = lambda x: lax.cond(x > 0, lambda v: np.sqrt(v), lambda v: v * 3.0, x)
    safe = lambda x: np.where(x > 0, x, 1.0)
    return closed(
        lambda x: np.sum(tj.vmap(one)(x)),
        (4.0, -1.0, 0.0),
        lambda x: np.sum(np.where(x > 0, np.sqrt(safe(x)), 3 * x)),
        lambda x: np.where(x > 0, 0.5 / np.sqrt(safe(x)), 3.0),
        lambda x, v: np.where(x > 0, -0.25 * safe(x) ** -1.5, 0.0) * v,
    )


@tricky
def carries_whose_tangents_become_nonzero_after_some_steps() -> Tricky:
    def f(x: Any) -> Any:
        zero = np.zeros(3)
        (_, _, late), seen = lax.scan(
            lambda c, _: ((x * 1.0, c[0], c[1]), c[2]), (zero, zero, zero), None, length=4
        )
        return np.sum(late**2) + np.sum(seen**3)

    cube = lambda x: np.sum(x**2) + np.sum(x**3)
    return analytic(f, X, cube)


@tricky
def a_carry_that_loses_its_tangent() -> Tricky:
    f = lambda x: np.sum(lax.fori_loop(0, 3, lambda i, c: np.ones(3), x)) + np.sum(x**2)
    return closed(f, X, lambda x: 3 + np.sum(x * x), lambda x: 2 * x, lambda x, v: 2 * v)


def scans(length: int, reverse: bool) -> Tricky:
    def f(x: Any) -> Any:
        def outer(c: Any, k: Any) -> Any:
            return lax.scan(lambda c, y: (c * y + k, c), c, x, reverse=not reverse)

        rows = np.arange(1.0, length + 1)
        c, ys = lax.scan(outer, x[0], rows, reverse=reverse)
        return c**2 + np.sum(ys)

    def plain(x: Any) -> Any:
        c, total = x[0], 0.0
        for k in range(length, 0, -1) if reverse else range(1, length + 1):
            for y in x if reverse else x[::-1]:
                total = total + c
                c = c * y + k
        return c**2 + total

    return analytic(f, X, plain)


for _length in (0, 1, 3):
    for _reverse in (False, True):
        CASES[f"scan_of_scan_{_length}{'_reverse' * _reverse}"] = lambda n=_length, r=_reverse: scans(n, r)


@tricky
def static_1_and_1_0_and_true() -> Tricky:
    weight = {int: 1.0, float: 2.0, bool: 3.0}
    g = tj.jit(lambda x, n: x * x * weight[type(n)], static_argnums=1)
    f = lambda x: np.sum(g(x, 1) + 10 * g(x, 1.0) + 100 * g(x, True))
    return closed(f, X, lambda x: 321 * np.sum(x * x), lambda x: 642 * x, lambda x, v: 642 * v)


@tricky
def outputs_that_alias_inputs() -> Tricky:
    same = tj.jit(lambda x: (x, x * 1.0, x))

    def f(x: Any) -> Any:
        a, b, _ = same(x)
        b[0] = 5.0  # not the argument
        c = np.copy(a)
        c[1:] = b[:-1]
        return np.sum(x**3) + np.sum(c**2)

    plain = lambda x: np.sum(x**3) + x[0] ** 2 + 25.0 + x[1] ** 2
    return analytic(f, X, plain)


@tricky
def views_written_through() -> Tricky:
    def f(x: Any) -> Any:
        y = x * 1.0
        view = y[::-1]
        view[0] = x[0] * x[1]
        view[1:] *= 2.0
        return np.sum(y**2)

    return analytic(f, X, lambda x: (x[0] * x[1]) ** 2 + 4 * x[0] ** 2 + 4 * x[1] ** 2)


@tricky
def integer_operands() -> Tricky:
    n = np.array([2, 3, -1])
    f = lambda x: np.sum(x * n) + np.sum(np.where(n > 0, x**2, x) * n[::-1]) + np.sum(np.floor(x).astype(int))
    plain = lambda x: np.sum(x * n) - x[0] ** 2 + 3 * x[1] ** 2 + 2 * x[2]
    made = analytic(f, X, plain)
    return Tricky(f, made.x, lambda x: plain(x) + np.sum(np.floor(x)), made.gradient, made.turned)


@tricky
def complex_values() -> Tricky:
    def f(x: Any) -> Any:
        z = x * (1 + 2j)
        h = tj.grad(lambda z: np.sum(z * z * z), holomorphic=True)(z)  # 3 z^2
        return np.sum(np.real(z * z) + np.abs(z) ** 2 + np.imag(np.conj(z) * z)) + np.sum(np.real(h))

    square = ((1 + 2j) ** 2).real  # -3
    k = square + 5 + 3 * square
    return closed(f, X, lambda x: k * np.sum(x * x), lambda x: 2 * k * x, lambda x, v: 2 * k * v)


@tricky
def none_in_pytrees() -> Tricky:
    def f(x: Any) -> Any:
        tree = {"a": x, "n": None, "t": (x * 2.0, None)}
        step = lambda c, r: ({"a": c["a"] * r["a"], "n": None, "t": c["t"]}, {"y": c["a"], "n": None})
        last, seen = lax.scan(step, tree, {"a": x, "n": None})
        rows = tj.vmap(lambda t: {"s": t["a"] * t["t"][0], "n": None})(tj.jit(lambda t: t)(last))
        return np.sum(rows["s"]) + np.sum(seen["y"]) + np.sum(tj.checkpoint(lambda t: t["a"])(last))

    def plain(x: Any) -> Any:
        p = x[0] * x[1] * x[2]
        seen = np.sum(x) * (1 + x[0] + x[0] * x[1])
        return np.sum(2 * x * x) * p + seen + np.sum(x) * p

    return analytic(f, X, plain)


@tricky
def nested_axis_names() -> Tricky:
    def one(a: Any, b: Any) -> Any:
        return lax.psum(a * b, "rows") + 10.0 * lax.psum(a * b, "cols") + 0.0 * lax.axis_index("rows")

    f = lambda x: np.sum(
        tj.vmap(tj.vmap(one, (None, 0), axis_name="cols"), (0, None), axis_name="rows")(x, x)
    )
    ones = np.ones(3)
    return closed(
        f,
        X,
        lambda x: 33 * np.sum(x) ** 2,
        lambda x: 66 * np.sum(x) * ones,
        lambda x, v: 66 * np.sum(v) * ones,
    )


@tricky
def unused_arguments() -> Tricky:
    def f(x: Any) -> Any:
        g = tj.jit(lambda x, y: x * x)
        a, b = tj.grad(lambda x, y: np.sum(g(x, y)), (0, 1))(x, x * 3.0)
        loop = lax.fori_loop(0, 2, lambda i, c: (c[0] * 1.0, c[1]), (x, x * 5.0))
        return np.sum(a * x) + np.sum(b) + np.sum(loop[0])

    return closed(f, X, lambda x: 2 * np.sum(x * x) + np.sum(x), lambda x: 4 * x + 1, lambda x, v: 4 * v)


@tricky
def remat_of_scan_cond_and_jit() -> Tricky:
    @tj.checkpoint
    def body(x: Any) -> Any:
        y = lax.scan(lambda c, _: (tj.checkpoint(np.sin)(c), None), x, None, length=3)[0]
        y = lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * x), (0, y))[1]
        return lax.cond(np.sum(y) > -100.0, lambda v: np.exp(v), lambda v: np.cos(v), tj.jit(np.tanh)(y))

    plain = lambda x: np.sum(np.exp(np.tanh(np.sin(np.sin(np.sin(x))) * x * x)))
    return analytic(lambda x: np.sum(body(x)), X, plain)


# ---------------------------------------------------------------- under everything


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Iterator[Tricky]:
    with np.errstate(all="ignore"):
        yield CASES[request.param]()


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit], ids=["eager", "jit"])
class TestEvery:
    def test_value(self, case: Tricky, jit: Any) -> None:
        close(jit(case.f)(case.x.copy()), case.value(case.x))

    @pytest.mark.sample(2)
    def test_vmap(self, case: Tricky, jit: Any) -> None:
        xs = np.stack([case.x, case.x * 1.25, case.x[::-1]])
        close(jit(tj.vmap(case.f))(xs.copy()), [case.value(x) for x in xs])

    def test_grad(self, case: Tricky, jit: Any) -> None:
        close(jit(tj.grad(case.f))(case.x.copy()), case.gradient(case.x))

    @pytest.mark.sample(2)
    def test_grad_of_jit(self, case: Tricky, jit: Any) -> None:
        close(jit(tj.grad(tj.jit(case.f)))(case.x.copy()), case.gradient(case.x))

    @pytest.mark.sample(2)
    def test_vmap_of_grad(self, case: Tricky, jit: Any) -> None:
        xs = np.stack([case.x, case.x * 1.25])
        close(jit(tj.vmap(tj.grad(case.f)))(xs), [case.gradient(x) for x in xs])

    @pytest.mark.sample(2)
    def test_jvp_of_grad(self, case: Tricky, jit: Any) -> None:
        v = np.array([0.3, -1.0, 0.5])
        found = jit(lambda x: tj.jvp(tj.grad(case.f), (x,), (v,))[1])(case.x.copy())
        close(found, case.turned(case.x, v))


TRANSFORMATIONS: dict[str, Callable[[F], F]] = {
    "jit": tj.jit,
    "grad": lambda f: lambda x: tj.grad(lambda y: np.sum(f(y)))(x),
    "vmap": tj.vmap,
    "jvp": lambda f: lambda x: tj.jvp(f, (x,), (x,)),
    "jvp of grad": lambda f: lambda x: tj.jvp(tj.grad(lambda y: np.sum(f(y))), (x,), (x,)),
    "make_jaxpr": lambda f: tj.make_jaxpr(f),
    "scan": lambda f: lambda x: lax.scan(lambda c, r: (c, f(r)), 0.0, x),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_leaked_values_are_refused(name: str) -> None:
    kept: list[Any] = []

    def leaks(x: Any) -> Any:
        kept.append(x * 2.0)
        return x * 1.0

    if name in ("jit", "grad", "jvp", "jvp of grad"):  # nothing leaks: each run stores what Python's would
        for x in (np.ones(3), np.zeros(3)):
            (tj.jit if name == "jit" else TRANSFORMATIONS[name])(leaks)(x)
            assert type(kept[-1]) is np.ndarray and kept[-1].tolist() == (x * 2.0).tolist()
        assert len(kept) == 2
        return
    TRANSFORMATIONS[name](leaks)(np.ones(3))
    with pytest.raises(TracejitError, match="TJ005"):
        kept[0] + 1.0


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_integer_inputs_have_float0_gradients(jit: Any) -> None:
    f = lambda x, n: np.sum(x * n)
    x, n = np.ones(3), np.arange(3)
    gx, gn = jit(tj.grad(f, (0, 1), allow_int=True))(x, n)
    np.testing.assert_array_equal(gx, n)
    assert np.asarray(gn).dtype == dtypes.float0 and np.shape(gn) == (3,)
    np.testing.assert_array_equal(jit(tj.vmap(tj.grad(f), (None, 0)))(x, np.stack([n, n])), [n, n])
    zero = np.zeros(3, dtypes.float0)
    assert jit(lambda x: tj.jvp(f, (x, n), (x, zero))[1])(x) == 3.0
    turned = jit(lambda x: tj.jvp(tj.grad(lambda x: f(x, n) ** 2), (x,), (x,))[1])(x)
    np.testing.assert_array_equal(turned, 2 * n * n.sum())
