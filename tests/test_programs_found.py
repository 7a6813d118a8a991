"""What random programs have found, each in its smallest form (`tests/fuzz`, `tests/test_programs_random.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.control.custom.convert import custom_gradient

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -3.0]])


@pytest.mark.parametrize(
    "body",
    [np.ones_like, lambda c: np.ones_like(np.cumsum(c)), lambda c: np.ones_like(np.sin(c))],
    ids=["ones", "unused", "sine"],
)
def test_a_carry_that_becomes_constant_has_a_zero_gradient(body: Callable[[Any], Any]) -> None:
    """The zero tangent was a variable of the staged body, taken for one of the linear program."""
    fori = lambda a: lax.fori_loop(0, 3, lambda i, c: body(c), a).sum()
    loop = lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, body(c[1])), (0, a))[1].sum()
    for f in (fori, loop):
        np.testing.assert_array_equal(tj.grad(f)(np.ones(3)), np.zeros(3))
        np.testing.assert_array_equal(tj.jit(tj.grad(f))(np.ones(3)), np.zeros(3))


def test_take_gives_no_view() -> None:
    def f(x: Any) -> Any:
        row = np.take(x, 1, axis=0)
        row += 10.0
        return x * 1.0, row

    x, y = X.copy(), X.copy()
    for got, want in zip(tj.jit(f)(x), f(y), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("f", [np.tril, np.triu], ids=["tril", "triu"])
def test_triangles_of_a_vector(f: Callable[..., Any]) -> None:
    for k in (-1, 0, 2):
        np.testing.assert_array_equal(tj.jit(lambda x, k=k: f(x, k))(X[0]), f(X[0], k))


def test_convolution_with_a_number() -> None:
    np.testing.assert_array_equal(tj.jit(np.convolve)(X[0], 2.0), np.convolve(X[0], 2.0))  # type: ignore[call-overload]


def test_sequences_take_python_scalars_in_their_default_dtypes() -> None:
    x = np.float32(2)
    for f in (lambda x: np.array([x, 1]), lambda x: np.stack([x, 1.5]), lambda x: np.array([x, True])):
        got, want = tj.jit(f)(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [-1, 2**40])
def test_comparisons_with_integers_that_the_dtype_does_not_hold(n: int) -> None:
    x = np.arange(4, dtype=np.uint32)
    f = lambda x: (x == n, x != n, x < n, n <= x, x > n)
    for got, want in zip(tj.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_results_of_eager_control_flow_are_nobody_elses_memory() -> None:
    results: dict[str, Callable[[Any], Any]] = {
        "vmap": lambda a: tj.vmap(lambda x: x)(a),
        "vmap twice": lambda a: tj.vmap(lambda x: (x, x))(a),
        "vmap of one lane, of what it captures": lambda a: tj.vmap(lambda x: (a, a[::-1]))(np.ones(1)),
        "vmap in vmap": lambda a: tj.vmap(lambda x: tj.vmap(lambda y: (y, y))(a))(np.ones(1)),
        "vmap reversed": lambda a: tj.vmap(lambda x: x[::-1])(a),
        "fori_loop": lambda a: lax.fori_loop(0, 0, lambda i, c: c, a),
        "while_loop": lambda a: lax.while_loop(lambda c: False, lambda c: c, a),
        "scan": lambda a: lax.scan(lambda c, x: (c, (x, x)), a, a),
        "cond": lambda a: lax.cond(True, lambda c: (c, c), lambda c: (c, c), a),
        "switch": lambda a: lax.switch(0, [lambda c: a, lambda c: c], a),
    }
    for name, f in results.items():
        arrays = [X.copy()]
        arrays += tj.tree.leaves(f(arrays[0]))
        for n, one in enumerate(arrays):
            assert not any(np.shares_memory(one, other) for other in arrays[:n]), name


def test_a_known_branch_in_a_loop_may_write_traced_values() -> None:
    a = np.ones(3)

    def body(i: Any, c: Any) -> Any:
        def write(x: Any) -> Any:
            x[0] = c
            return x

        return c + lax.cond(np.max(a) > 0, write, lambda x: x, a).sum()

    want = 1.0
    for _ in range(3):
        want += want + 2.0
    assert lax.fori_loop(0, 3, body, 1.0) == tj.jit(lambda: lax.fori_loop(0, 3, body, 1.0))() == want


def test_one_exponent_at_every_call() -> None:
    """LLVM dropped the argument of the function out of line, which its vector forms then did not fit."""
    f = lambda x: [np.power(x[n] * 1.5, 2.7).sum() for n in range(30)]
    x = np.linspace(0.1, 3.0, 210).reshape(30, 7)
    np.testing.assert_allclose(tj.jit(f)(x), f(x), rtol=1e-13)


@pytest.mark.parametrize("kind", ["stable", None])
def test_positions_in_nothing(kind: Any) -> None:
    f = lambda a: np.take_along_axis(a, np.argsort(a, axis=-1, kind=kind), -1)
    assert tj.jit(f)(np.ones(0)).shape == (0,)


def test_copyto_of_itself() -> None:
    def f(x: Any) -> Any:
        np.copyto(x, x)
        d = np.diagonal(x)
        np.copyto(d, d)  # read-only, but NumPy looks at the memory first
        return d * 1

    x = np.arange(9.0).reshape(3, 3)
    for way in (f, tj.jit(f), lambda x: tj.jvp(f, (x,), (x,))[0]):
        assert way(x).tolist() == [0, 4, 8]


def test_copyto_of_a_python_scalar() -> None:
    def f(x: Any) -> Any:
        np.copyto(x, 3)
        return x * 1

    np.testing.assert_array_equal(tj.jit(f)(np.zeros(2, np.uint8)), np.full(2, 3, np.uint8))
    with pytest.raises(TypeError):
        tj.jit(lambda x: np.copyto(x, 3.5))(np.zeros(2, np.int64))


def test_asfortranarray_is_a_copy() -> None:
    def f(x: Any) -> Any:
        y = np.asfortranarray(x)
        y[0] = 0.0
        return x * 1.0

    np.testing.assert_array_equal(tj.jit(f)(X.copy()), f(X.copy()))


def test_functions_of_linalg_do_not_replace_their_namesakes() -> None:
    np.testing.assert_array_equal(tj.jit(np.outer)(2.0, X), np.outer(2.0, X))
    np.testing.assert_array_equal(tj.jit(np.tensordot, static_argnums=2)(X, X.T, 1), np.tensordot(X, X.T, 1))
    np.testing.assert_array_equal(tj.jit(lambda x: np.cross(x, x[::-1]))(X), np.cross(X, X[::-1]))


def test_an_index_that_is_an_array_of_no_dimensions() -> None:
    def f(x: Any, n: Any) -> Any:
        y = np.take(x, n, axis=0)
        y[..., 0] *= np.invert(np.int64(2))
        return y

    n = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(tj.jit(f)(n, 1), f(n, 1))
    np.testing.assert_array_equal(tj.jit(lambda x: np.take(x, np.array(7), axis=0, mode="clip"))(X), X[1])
    tj.grad(lambda x: (f(n, np.int64(1)) * x).sum())(1.0)


def regions(f: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """`f` in every structure whose body is linearized as a program."""
    return {
        "checkpoint": tj.checkpoint(f),
        "scan": lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
        "jit": tj.jit(f),
    }


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("region", ["checkpoint", "scan", "jit"])
@pytest.mark.parametrize("captured", [True, False])
def test_custom_rules_with_arrays_in_regions(kind: str, region: str, captured: bool) -> None:
    k = np.arange(3.0)
    weights = (lambda: k) if captured else (lambda: np.arange(3.0))
    f: Any = getattr(tj, kind)(lambda x: x * weights())
    if kind == "custom_jvp":
        f.defjvp(lambda primals, tangents: (primals[0] * weights(), tangents[0] * weights()))
    else:
        f.defvjp(lambda x: (x * weights(), x), lambda saved, ct: (ct * weights(),))
    slope = tj.grad(lambda x: np.sum(regions(f)[region](x)))
    np.testing.assert_array_equal(slope(np.ones(3)), k)
    compiled = tj.jit(slope)
    np.testing.assert_array_equal(compiled(np.ones(3)), k)
    if captured:
        k += 1.0  # is read anew at every call
        np.testing.assert_array_equal(compiled(np.ones(3)), k)


@pytest.mark.parametrize("region", ["checkpoint", "scan", "jit"])
def test_custom_gradients_with_arrays_in_regions(region: str) -> None:
    k = np.arange(3.0)
    f = custom_gradient(lambda x: (x * k, lambda ct: ct * k * np.arange(3.0)))
    slope = tj.grad(lambda x: np.sum(regions(f)[region](x)))
    for g in (slope, tj.jit(slope)):
        np.testing.assert_array_equal(g(np.ones(3)), k * k)


@pytest.mark.parametrize("region", ["checkpoint", "scan", "jit"])
def test_a_rule_made_inside_that_closes_over_a_stopped_value(region: str) -> None:
    def f(x: Any) -> Any:
        c = lax.stop_gradient(x)
        g = tj.custom_jvp(lambda y: y * c)
        g.defjvp(lambda primals, tangents: (primals[0] * c, tangents[0] * c))
        return g(x)

    slope = tj.grad(lambda x: np.sum(regions(f)[region](x)))
    for g in (slope, tj.jit(slope)):
        np.testing.assert_array_equal(g(np.arange(3.0)), np.arange(3.0))


@pytest.mark.parametrize("index", [np.array([0, 1, 2**64 - 3], np.uint64), np.array([[1, 0]], np.uint8)])
def test_unsigned_indices_wrap_as_numpys(index: Any) -> None:
    def write(x: Any, i: Any) -> Any:
        x = x * 1.0
        x[i] = 7.0
        return x

    functions = (
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: np.take(x, i, axis=0),
        lambda x, i: np.take(x, i, axis=0, mode="wrap"),
        write,
    )
    a = np.arange(9.0).reshape(3, 3)
    for f in functions:
        np.testing.assert_array_equal(tj.jit(f)(a, index), f(a, index))
        np.testing.assert_array_equal(tj.jit(lambda x, f=f: f(x, index))(a), f(a, index))


def test_unsigned_scalars_too_large_are_out_of_range() -> None:
    a, big = np.ones((3, 2)), np.uint64(2**64 - 3)
    with pytest.raises(IndexError):
        tj.jit(lambda x, i: x[i])(a, big)
    assert tj.jit(lambda x, i: x[i:])(a, big).shape == a[big:].shape == (0, 2)


def _first(x: Any) -> Any:
    x[0] = 9.0
    return x * 1.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: _first(x.ravel()),
        lambda x: _first(np.ravel(x.T)),
        lambda x: _first(x.reshape(3, 2)),
        lambda x: _first(x[:, 1:].reshape(-1)),
        lambda x: _first(x.ravel("F")),
        lambda x: _first(x.ravel("K")),
        lambda x: _first(x.reshape(2, 3, 1)),
        lambda x: x.T.ravel("A"),
    ],
    ids=["ravel", "T", "reshape", "part", "F", "K", "ones", "A"],
)
def test_what_is_a_view_depends_on_the_arguments_strides(f: Callable[[Any], Any]) -> None:
    """NumPy copies where an array is not in the order that is asked for: writes must not reach the caller."""
    compiled = tj.jit(f)
    layouts: list[Callable[[], Any]] = [
        X.copy,
        lambda: np.asfortranarray(X),
        lambda: X.copy()[::-1],
        lambda: np.arange(24.0).reshape(4, 6)[::2, ::2],
        lambda: np.arange(8.0).reshape(2, 4)[:, :3],
    ]
    for make in (*layouts, *layouts):
        a, b = make(), make()
        np.testing.assert_array_equal(compiled(a), f(b))
        np.testing.assert_array_equal(a, b)
    assert compiled.trace_count <= len(layouts)


def test_programs_that_reshape_nothing_serve_all_layouts_of_one_order() -> None:
    """The order of a matrix is that of its results, so each order has a program."""
    f = lambda x: (np.sin(x), np.sin(x).sum())
    compiled = tj.jit(f)
    wide = np.repeat(X, 2, axis=1)
    for makes, programs in (
        ((X, X[::-1], wide[:, ::2]), 1),
        ((np.asfortranarray(X), wide[:, ::2].copy("F")), 2),
    ):
        for a in makes:
            (got, total), (want, expected) = compiled(a), f(a)
            np.testing.assert_allclose(got, want, rtol=1e-15)
            np.testing.assert_allclose(total, expected, rtol=1e-13)
            assert got.strides == want.strides
        assert compiled.trace_count == programs


def test_complex_functions_of_converted_reals() -> None:
    x = np.array([1.0, -2.0, 0.0])
    f = lambda x: (np.sqrt(np.asarray(x, dtype=complex)), np.exp(x.astype(complex)), x.astype(complex) / 1.5)
    for got, want in zip(tj.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_vander_multiplies_nothing_by_one() -> None:
    z = np.array([complex(np.inf, 0), complex(2, 1), complex(-np.inf, np.nan)])
    with np.errstate(all="ignore"):
        for n in (0, 1, 2, 3, 4):
            for increasing in (False, True):
                want = np.vander(z, n, increasing)
                np.testing.assert_array_equal(
                    tj.jit(lambda z, n=n, i=increasing: np.vander(z, n, i))(z), want
                )


def test_taking_nothing_from_nothing() -> None:
    i = np.arange(6).reshape(2, 3)
    f = tj.jit(lambda a, i: np.take(a, i, axis=0, mode="clip"))
    assert (
        f(np.zeros((0, 0)), i).shape == np.take(np.zeros((0, 0)), i, axis=0, mode="clip").shape == (2, 3, 0)
    )
    assert f(np.zeros((0, 4)), i[:0]).shape == (0, 3, 4)
    with pytest.raises(IndexError):
        f(np.zeros((0, 4)), i)


def test_a_rules_tangent_that_is_an_array() -> None:
    """What follows a custom rule whose tangent depends on no input."""
    f = tj.custom_jvp(lambda x, k: (x * 1, k * 1))
    f.defjvp(lambda primals, tangents: tj.jvp(lambda x, k: (x * 1, k * 1), primals, tangents))
    k = np.eye(3)
    loss = lambda x: np.sum(np.sin(f(x, k)[1]) * 2) + np.sum(f(x, k)[0] * f(x, k)[1])
    x = np.arange(3.0)
    for gradient in (tj.grad(loss), tj.jit(tj.grad(loss))):
        np.testing.assert_array_equal(gradient(x), [1, 1, 1])


def test_indices_computed_in_a_rule() -> None:
    """A number of the program, read where a linear program is being recorded."""
    table = np.arange(4.0)

    def f(x: Any) -> Any:
        return table[np.searchsorted(table, x)] * x + np.interp(x, table, table**2)

    g = tj.custom_jvp(f)
    g.defjvp(lambda primals, tangents: tj.jvp(f, primals, tangents))
    x = np.array([0.25, 1.5])
    want = tj.grad(lambda x: f(x[1]))(x)
    for gradient in (tj.grad(lambda x: g(x[1])), tj.jit(tj.grad(lambda x: g(x[1])))):
        np.testing.assert_array_equal(gradient(x), want)
    assert want.tolist() == [0, 5]


def test_traced_extents_of_views_with_steps() -> None:
    def f(x: Any, slow: bool = False) -> Any:
        part = x[::-2]

        def body(i: Any, c: Any) -> Any:
            c[i] += np.sum(part[:i] * 0.5) + np.sum(part[i:])
            c[::2][i // 2 :] += 1
            return c

        if not slow:
            return lax.fori_loop(0, 3, body, x * 1)
        c = x * 1
        for i in range(3):
            c = body(i, c)
        return c

    x = np.arange(1.0, 6.0) ** 2
    want = f(x, slow=True)
    np.testing.assert_array_equal(f(x), want)
    np.testing.assert_array_equal(tj.jit(f)(x), want)
    slope = tj.grad(lambda x: np.sum(f(x, slow=True) ** 2))(x)
    np.testing.assert_allclose(tj.jit(tj.grad(lambda x: np.sum(f(x) ** 2)))(x), slope, rtol=1e-14)


def test_negative_powers_of_no_integers() -> None:
    x = np.zeros((2, 0), np.int8)
    assert tj.jit(lambda x: x**-1)(x).dtype == (x**-1).dtype == np.int8
    with pytest.raises(ValueError):
        tj.jit(lambda x: x**-1)(np.ones(2, np.int8))


@pytest.mark.parametrize("dtype", [np.uint32, np.int8, np.float32])
@pytest.mark.parametrize("value", [-1, 300, 2**40, 1.5, True])
def test_where_wraps_python_integers(dtype: Any, value: Any) -> None:
    a = np.array([1, 0, 3], dtype)
    want, got = np.where(a, a, value), tj.jit(lambda a: np.where(a, a, value))(a)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(tj.jit(lambda a: np.where(a > 1, value, a))(a), np.where(a > 1, value, a))
