"""What every AD system gets wrong once, under {eager, jit} and the transformations that apply."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import dtypes, lax
from tracejit.errors import TracejitError

Run = Callable[[Callable[..., Any]], Callable[..., Any]]


@pytest.fixture(params=["eager", "jit"])
def run(request: pytest.FixtureRequest) -> Run:
    return tj.jit if request.param == "jit" else lambda f: f


def test_nested_grads_over_outer_variables(run: Run) -> None:
    def f(x: Any) -> Any:
        return x * tj.grad(lambda y: x * y * y)(2.0)  # x * 4x

    np.testing.assert_allclose(run(tj.grad(f))(3.0), 24.0)
    # d/dz x y z^3 = 3 x y z^2; at z = y: 3 x y^3; d/dy = 9 x y^2; at y = x: 9 x^3
    g = lambda x: tj.grad(lambda y: tj.grad(lambda z: x * y * z**3)(y))(x)
    np.testing.assert_allclose(run(tj.grad(g))(2.0), 27.0 * 4.0)


def test_perturbation_confusion(run: Run) -> None:
    f = lambda x: x * tj.jvp(lambda y: x + y, (1.0,), (1.0,))[1]
    np.testing.assert_allclose(run(lambda x: tj.jvp(f, (x,), (1.0,))[1])(5.0), 1.0)


def test_where_with_nan_in_the_other_branch(run: Run) -> None:
    with np.errstate(all="ignore"):
        f = lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0).sum()
        np.testing.assert_allclose(run(tj.grad(f))(np.array([2.0, -1.0])), [0.5, 0.0])
        h = lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum()
        np.testing.assert_allclose(run(tj.grad(h))(np.array([4.0, 0.0, -1.0])), [0.25, 0.0, 0.0])


def test_ties(run: Run) -> None:
    x = np.array([1.0, 3.0, 3.0])
    np.testing.assert_allclose(run(tj.grad(np.max))(x), [0.0, 0.5, 0.5])
    np.testing.assert_allclose(run(tj.grad(lambda x, y: np.maximum(x, y)))(1.0, 1.0), 0.5)
    w = np.array([1.0, 10.0, 100.0])
    np.testing.assert_allclose(run(tj.grad(lambda x: (np.sort(x) * w).sum()))(x), w)


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])
def test_prod_with_zeros(run: Run, x: list[float]) -> None:
    a = np.array(x)
    want = [np.prod(np.delete(a, i)) for i in range(3)]
    np.testing.assert_allclose(run(tj.grad(np.prod))(a), want)
    hess = [[0.0 if i == j else np.prod(np.delete(a, [i, j])) for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(run(tj.hessian(np.prod))(a), hess)


def test_powers_at_zero(run: Run) -> None:
    np.testing.assert_allclose(run(tj.grad(lambda x: x**0))(0.0), 0.0)
    np.testing.assert_allclose(run(tj.grad(lambda x: x**1))(0.0), 1.0)
    np.testing.assert_allclose(run(tj.grad(lambda x: x**2.0))(0.0), 0.0)
    np.testing.assert_allclose(run(tj.grad(lambda x, y: x**y, 1))(0.0, 2.0), 0.0)
    np.testing.assert_allclose(run(tj.grad(tj.grad(lambda x: x**2)))(0.0), 2.0)


def test_edges_of_abs_sqrt_norm_clip(run: Run) -> None:
    assert run(tj.grad(np.abs))(0.0) == 0.0
    with np.errstate(divide="ignore"):
        assert run(tj.grad(np.sqrt))(0.0) == np.inf
    clip = lambda x: np.clip(x, -1.0, 1.0).sum()
    np.testing.assert_allclose(run(tj.grad(clip))(np.array([-2.0, 0.5, 2.0])), [0.0, 1.0, 0.0])
    np.testing.assert_allclose(run(tj.grad(np.linalg.norm))(np.array([3.0, 4.0])), [0.6, 0.8])


def test_gather_and_scatter_with_duplicate_and_negative_indices(run: Run) -> None:
    i = np.array([0, 2, 2, -1, 0])
    w = np.arange(1.0, 6.0)
    want = np.zeros(4)
    np.add.at(want, i, w)
    np.testing.assert_allclose(run(tj.grad(lambda x: (x[i] * w).sum()))(np.ones(4)), want)

    def put(x: Any, v: Any) -> Any:
        x[i] = v
        return (x * np.array([1.0, 10.0, 100.0, 1000.0])).sum()

    gx, gv = run(tj.grad(put, (0, 1)))(np.ones(4), w)
    np.testing.assert_allclose(gx, [0.0, 10.0, 0.0, 0.0])
    np.testing.assert_allclose(gv, [0.0, 0.0, 100.0, 1000.0, 1.0])  # the last writer wins


def test_custom_jvp_to_second_order(run: Run) -> None:
    @tj.custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    f.defjvp(lambda primals, tangents: (f(primals[0]), 2.0 * np.cos(primals[0]) * tangents[0]))
    np.testing.assert_allclose(run(tj.grad(f))(0.3), 2 * np.cos(0.3))
    np.testing.assert_allclose(run(tj.grad(tj.grad(f)))(0.3), -2 * np.sin(0.3))
    np.testing.assert_allclose(run(tj.vmap(tj.grad(f)))(np.ones(3)), 2 * np.cos(np.ones(3)))


def test_custom_vjp_closing_over_tracers(run: Run) -> None:
    def outer(a: Any, x: Any) -> Any:
        @tj.custom_vjp
        def f(x: Any) -> Any:
            return a * x

        f.defvjp(lambda x: (a * x, x), lambda saved, ct: (5.0 * ct * saved,))
        return f(x) * 1.0

    np.testing.assert_allclose(run(tj.grad(outer, 1))(2.0, 3.0), 15.0)
    np.testing.assert_allclose(run(tj.jit(tj.grad(outer, 1)))(2.0, 3.0), 15.0)


def test_vmap_of_while_with_finished_lanes(run: Run) -> None:
    def halve(x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] > 1.0, lambda c: (c[0] / 2.0, c[1] + 1), (x, 0))

    x = np.array([0.5, 3.0, 100.0])
    values, counts = run(tj.vmap(halve))(x)
    np.testing.assert_allclose(values, [0.5, 0.75, 100.0 / 128])
    np.testing.assert_array_equal(counts, [0, 2, 7])
    np.testing.assert_allclose(run(tj.vmap(tj.grad(lambda x: halve(x)[0])))(x), [1.0, 0.25, 1 / 128])


def test_nan_in_the_untaken_branch_of_a_vmapped_cond(run: Run) -> None:
    f = lambda x: lax.cond(x > 0, lambda v: np.sqrt(v), lambda v: v * 3.0, x)
    x = np.array([4.0, -1.0, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(run(tj.vmap(f))(x), [2.0, -3.0, 0.0])
        np.testing.assert_allclose(run(tj.vmap(tj.grad(f)))(x), [0.25, 3.0, 3.0])


def test_carries_whose_tangents_become_nonzero_after_some_steps(run: Run) -> None:
    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            a, b, d = c
            return (x * 1.0, a, b), d

        return lax.scan(step, (0.0, 0.0, 0.0), None, length=4)

    (_, _, last), ds = run(lambda x: tj.jvp(f, (x,), (1.0,))[1])(2.0)
    np.testing.assert_allclose((last, *ds), (1.0, 0.0, 0.0, 0.0, 1.0))
    np.testing.assert_allclose(run(tj.grad(lambda x: f(x)[0][2]))(2.0), 1.0)


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_of_scan_reverse_and_length_zero(run: Run, length: int, reverse: bool) -> None:
    xs = np.linspace(0.1, 1.0, length * 2).reshape(length, 2)

    def nested(c: Any, xs: Any) -> Any:
        def outer(c: Any, row: Any) -> Any:
            c, ys = lax.scan(lambda c, x: (c * x + 1.0, c), c, row)
            return c, ys

        return lax.scan(outer, c, xs, reverse=reverse)

    def unrolled(c: Any, xs: Any) -> Any:
        rows = []
        order = range(length - 1, -1, -1) if reverse else range(length)
        for i in order:
            row = []
            for j in range(2):
                row.append(c)
                c = c * xs[i][j] + 1.0
            rows.append(row)
        return c, np.array(rows[::-1] if reverse else rows).reshape(length, 2)

    for got, want in zip(tj.tree.leaves(run(nested)(2.0, xs)), unrolled(2.0, xs), strict=True):
        np.testing.assert_allclose(got, want)
    loss = lambda c, xs: nested(c, xs)[0] ** 2 + nested(c, xs)[1].sum()
    plain = lambda c, xs: unrolled_t(c, xs, length, reverse)
    np.testing.assert_allclose(run(tj.grad(loss))(2.0, xs), tj.grad(plain)(2.0, xs))


def unrolled_t(c: Any, xs: Any, length: int, reverse: bool) -> Any:
    total = 0.0 * c
    for i in range(length - 1, -1, -1) if reverse else range(length):
        for j in range(2):
            total = total + c
            c = c * xs[i, j] + 1.0
    return c**2 + total


def test_static_arguments_1_and_1_0_and_true() -> None:
    f = tj.jit(lambda x, n: (x * 1.0, type(n).__name__ == "int")[1] + 0.0 * x, static_argnums=1)
    assert [float(f(1.0, n)) for n in (1, 1.0, True)] == [1.0, 0.0, 0.0]
    assert f.trace_count == 3


def test_outputs_that_alias_inputs() -> None:
    x = np.arange(3.0)
    same, other = tj.jit(lambda x: (x, x * 2))(x)
    assert same is x  # as NumPy would
    other[0] = 99.0
    np.testing.assert_array_equal(x, np.arange(3.0))
    a, b = tj.jit(lambda x: (x + 1, x + 1))(x)
    a[0] = -1.0
    assert b[0] == 1.0


def test_leaked_tracers() -> None:
    kept: list[Any] = []
    tj.make_jaxpr(lambda x: kept.append(x * 2) or x)(np.ones(3))
    with pytest.raises(TracejitError, match="TJ005"):
        kept[0] + 1


def test_integer_inputs_and_float0(run: Run) -> None:
    f = lambda x, n: x * n
    np.testing.assert_allclose(run(tj.grad(f))(2.0, 3), 3.0)
    out, pullback = tj.vjp(f, 2.0, 3)
    assert out == 6.0
    gx, gn = pullback(1.0)
    assert gx == 3.0 and np.asarray(gn).dtype == dtypes.float0
    g = tj.grad(f, (0, 1), allow_int=True)(2.0, 3)
    assert np.asarray(g[1]).dtype == dtypes.float0


def test_complex_and_holomorphic(run: Run) -> None:
    z = 0.3 + 0.4j
    np.testing.assert_allclose(run(tj.grad(lambda z: z * z * z, holomorphic=True))(z), 3 * z * z)
    np.testing.assert_allclose(run(tj.grad(lambda z: np.abs(z) ** 2))(z), 2 * np.conj(z))  # JAX's convention
    np.testing.assert_allclose(run(tj.grad(lambda x: np.real((x + 2j * x) ** 2)))(1.5), 2 * 1.5 * (1 - 4))


Point = namedtuple("Point", "x y")


def test_none_and_namedtuples_in_pytrees(run: Run) -> None:
    f = lambda t: (t["p"].x * t["p"].y + t["q"][0]).sum()
    tree = {"p": Point(np.ones(2), 2 * np.ones(2)), "q": (np.zeros(2), None)}
    g = run(tj.grad(f))(tree)
    np.testing.assert_allclose(g["p"].x, [2.0, 2.0])
    assert g["q"][1] is None and isinstance(g["p"], Point)


def test_nested_vmap_axis_names(run: Run) -> None:
    def f(x: Any) -> Any:
        return lax.psum(x, "rows") + 10 * lax.psum(x, "cols") + lax.axis_index("rows")

    x = np.arange(6.0).reshape(2, 3)
    got = run(tj.vmap(tj.vmap(f, axis_name="cols"), axis_name="rows"))(x)
    want = x.sum(0, keepdims=True) + 10 * x.sum(1, keepdims=True) + np.arange(2.0)[:, None]
    np.testing.assert_allclose(got, want)


def test_unused_arguments(run: Run) -> None:
    np.testing.assert_allclose(run(tj.grad(lambda x, y: x * 1.0, (0, 1)))(1.0, np.ones(2))[1], np.zeros(2))


def test_remat_of_scan_cond_jit(run: Run) -> None:
    def body(x: Any) -> Any:
        y = lax.scan(lambda c, _: (np.sin(c), None), x, None, length=3)[0]
        return lax.cond(y > 0, np.exp, np.cos, tj.jit(np.tanh)(y))

    np.testing.assert_allclose(run(tj.grad(tj.checkpoint(body)))(0.7), tj.grad(body)(0.7))
    np.testing.assert_allclose(
        run(tj.grad(tj.grad(tj.checkpoint(body))))(0.7), tj.grad(tj.grad(body))(0.7), rtol=1e-12
    )


def test_third_order_by_every_nesting(run: Run) -> None:
    f = lambda x: np.sin(x) * np.exp(0.5 * x)
    fwd = lambda f: lambda x: tj.jvp(f, (x,), (1.0,))[1]
    rev = tj.grad
    jit = tj.jit
    x, want = 0.4, None
    for a in (fwd, rev):
        for b in (fwd, rev):
            for c in (fwd, rev):
                for wrap in (lambda f: f, jit):
                    got = run(a(wrap(b(wrap(c(f))))))(x)
                    want = got if want is None else want
                    np.testing.assert_allclose(got, want, rtol=1e-12)
    z = 1j + 0.5  # f = Im exp((1/2 + i) x): the third derivative is Im (z^3 exp(z x))
    np.testing.assert_allclose(want, (z**3 * np.exp(z * x)).imag, rtol=1e-12)
