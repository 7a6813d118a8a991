"""Every kind of loop, with every kind of body: values and derivatives to second order, batched and compiled,
against the same program in plain Python loops.

A program is `f(L, x, n)`: `L` has the loops, `x` is a vector of four, `n` an integer that differs between lanes.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.control import unrolled
from tests.control.oracle import numeric_grad
from tracejit import lax, tree

NATIVE = types.SimpleNamespace(
    **{name: getattr(lax, name) for name in vars(unrolled) if hasattr(lax, name)},
    pure_callback=tj.pure_callback,
    checkpoint=tj.checkpoint,
)

X = np.array([0.7, -0.4, 1.1, 0.3])
V = np.array([0.5, 1.0, -0.8, 0.6])
LANES = np.stack([X, -X[::-1], 0.5 * X + 0.2])
TRIPS = np.array([3, 0, 5])
SQUARE = np.cos(np.arange(16.0)).reshape(4, 4) * 0.4

PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(f: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[f.__name__] = f
    return f


# ---------------------------------------------------------------- scan


@program
def scan_rows(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: (np.sin(c) * r + c, c * r), x[0], x)


@program
def scan_reverse(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: (np.sin(c) * r + c, (c, r * r)), x[0], x, reverse=True)


@program
def scan_unroll(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: (np.cos(c * r), c), x[1], x, unroll=3)


@program
def scan_length(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, _: (np.tanh(SQUARE @ c + x), c[0]), x, length=3)


@program
def scan_zero_length(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, _: (np.sin(c), None), x, length=0)[0]


@program
def scan_dict_carry(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        a, (b, k) = c["a"], c["rest"]
        return {"a": a * r + b, "rest": (np.sin(a), k + 1)}, {"y": a * b, "k": k}

    return L.scan(step, {"a": x[0], "rest": (x[1], 0)}, x)


@program
def scan_integer_carry_selects(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        k, v = c
        return ((k * 3 + 1) % 4, v + x[k] * r), v * k

    return L.scan(step, (2, 0.0), x)


@program
def scan_unused_rows(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: (c * x[2], np.sin(r)), x[0], x)[0]


@program
def scan_several_xs(L: Any, x: Any, n: Any) -> Any:
    xs = {"a": x, "b": np.outer(x, x), "k": np.arange(4)}
    return L.scan(lambda c, r: (c * 0.5 + r["b"] * r["a"], r["k"] * c), x, xs)


@program
def scan_late_tangent(L: Any, x: Any, n: Any) -> Any:
    """The second and third carry have tangents only after two and three steps."""

    def step(c: Any, _: Any) -> Any:
        a, b, d = c
        return (np.sin(a) * x[0], b * 0.5 + a, d + b * b), d

    return L.scan(step, (x[1], 1.0, 2.0), length=4)


@program
def scan_swaps(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: ((c[1], c[0] * r, c[2]), c[0]), (x[0], x[1], x[2]), x)


@program
def scan_small_matrix(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda m, r: (np.tanh(m @ SQUARE + r), m[0]), np.outer(x, x), x)


@program
def scan_writes(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, k: Any) -> Any:
        c[k] = c[k] * c[k - 1] + x[k]
        return c, c[k - 2]

    return L.scan(step, x * 2.0, np.arange(4))


@program
def scan_casts(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: (c + np.floor(4 * r).astype(np.int64) * r, np.abs(r)), x[0], x)


@program
def scan_complex(L: Any, x: Any, n: Any) -> Any:
    z = L.scan(lambda c, r: (c * (r + 1j) / 2 + 0.5, None), x[0] + 1j * x[1], x)[0]
    return z.real, z.imag


@program
def scan_of_scan(L: Any, x: Any, n: Any) -> Any:
    def outer(c: Any, r: Any) -> Any:
        c, ys = L.scan(lambda d, s: (np.sin(d) + s * r, d * s), c, x)
        return c, np.sum(ys)

    return L.scan(outer, x[3], x[:3])


@program
def scan_checkpointed_body(L: Any, x: Any, n: Any) -> Any:
    return L.scan(L.checkpoint(lambda c, r: (np.sin(c * r) + x[0], c)), x[1], x)


@program
def scan_log_checkpoints(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, k: (np.sin(c) * x[0] + 0.1 * k, c), x[1], np.arange(7), checkpoint=2)


@program
def scan_opaque(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        m = np.linalg.solve(np.eye(4) * (3.0 + c @ c) + SQUARE, c)
        return np.sort(m + r * x), np.linalg.det(np.outer(c, c) + np.eye(4))

    return L.scan(step, x, x[:2])


@program
def scan_fft(L: Any, x: Any, n: Any) -> Any:
    return L.scan(lambda c, r: (np.fft.ifft(np.fft.fft(c) * r).real + x, c[1]), x, x)


@program
def scan_callback(L: Any, x: Any, n: Any) -> Any:
    """A callback that chooses, by integers, what the loop differentiates."""

    def step(k: Any, r: Any) -> Any:
        k = L.pure_callback(lambda k: np.asarray((3 * k + 1) % 4), np.int64(0), k, vmap_method="sequential")
        return k, np.sin(x[k]) * r

    return L.scan(step, np.int64(1), x)


# ---------------------------------------------------------------- fori_loop


@program
def fori_static(L: Any, x: Any, n: Any) -> Any:
    return L.fori_loop(1, 4, lambda i, c: c * x[i] + i, x[0], unroll=2)


@program
def fori_empty(L: Any, x: Any, n: Any) -> Any:
    return L.fori_loop(3, 1, lambda i, c: c * x[i] + i, x[0])


@program
def fori_traced(L: Any, x: Any, n: Any) -> Any:
    return L.fori_loop(0, n, lambda i, c: np.sin(c) * x + x[i % 4], x)


@program
def fori_traced_both(L: Any, x: Any, n: Any) -> Any:
    return L.fori_loop(n - 2, 3, lambda i, c: c * x[0] + i * x[1], x[2])


@program
def fori_negative(L: Any, x: Any, n: Any) -> Any:
    return L.fori_loop(0, -n, lambda i, c: c * x[0], x[2])


@program
def fori_of_fori(L: Any, x: Any, n: Any) -> Any:
    def row(i: Any, c: Any) -> Any:
        return L.fori_loop(0, i, lambda j, d: d * 0.5 + x[i % 4] * np.sin(x[j % 4]), c)

    return L.fori_loop(0, n, row, x[0])


@program
def fori_carries_its_bound(L: Any, x: Any, n: Any) -> Any:
    def row(i: Any, c: Any) -> Any:
        k, v = c
        return k + 1, L.fori_loop(0, k, lambda _, d: np.sin(d) + x[0], v)

    return L.fori_loop(0, 3, row, (0, x[1]))


def positive(x: Any) -> Any:
    return np.outer(x, x) + np.eye(4) * 2.0


@program
def cholesky(L: Any, x: Any, n: Any) -> Any:
    def column(j: Any, a: Any) -> Any:
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
        return a

    return L.fori_loop(0, 4, column, positive(x))


@program
def lu(L: Any, x: Any, n: Any) -> Any:
    def column(k: Any, a: Any) -> Any:
        a[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] = a[k + 1 :, k + 1 :] - a[k + 1 :, k][:, None] * a[k, k + 1 :][None, :]
        return a

    return L.fori_loop(0, 4, column, positive(x))


@program
def triangular_solve(L: Any, x: Any, n: Any) -> Any:
    a = positive(x)

    def row(i: Any, y: Any) -> Any:
        y[i] = (x[i] - a[i, :i] @ y[:i]) / a[i, i]
        return y

    return L.fori_loop(0, 4, row, np.zeros(4))


@program
def gauss_seidel(L: Any, x: Any, n: Any) -> Any:
    def cell(t: Any, u: Any) -> Any:
        i, j = 1 + t // 2 % 2, 1 + t % 2
        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        return u

    return L.fori_loop(0, 8, cell, np.outer(x, np.sin(x)))


# ---------------------------------------------------------------- while_loop


@program
def while_counted(L: Any, x: Any, n: Any) -> Any:
    return L.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sin(c[1]) * x), (0, x))


@program
def while_never(L: Any, x: Any, n: Any) -> Any:
    return L.while_loop(lambda c: c[0] > 100.0, lambda c: c * 2.0, x)


@program
def while_by_value(L: Any, x: Any, n: Any) -> Any:
    return L.while_loop(lambda c: c < 9.0, lambda c: c * (1.6 + np.sin(x[2])), 1.0 + np.abs(x[0]))


@program
def while_finished_lanes(L: Any, x: Any, n: Any) -> Any:
    """1 / (5 - k) is infinite one step after the longest lane has ended."""
    return L.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x[0] / (5 - c[0])), (0, x[1]))


@program
def while_in_while(L: Any, x: Any, n: Any) -> Any:
    def inner(v: Any) -> Any:
        return L.while_loop(lambda u: u < 3.0, lambda u: u * 1.5 + x[0] * x[0], v)

    def body(c: Any) -> Any:
        return c[0] + 1, 0.4 * inner(c[1])

    return L.while_loop(lambda c: c[0] < n, body, (0, 1.0 + np.abs(x[1])))


@program
def while_in_scan(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        c = L.while_loop(lambda u: u < 2.0, lambda u: u * (1.3 + r * r), c)
        return 0.4 * c, np.sin(c)

    return L.scan(step, 0.5 + x[0] * x[0], x)


@program
def scan_in_while(L: Any, x: Any, n: Any) -> Any:
    def body(c: Any) -> Any:
        v, ys = L.scan(lambda d, r: (np.sin(d) + r, d * r), c[1], x)
        return c[0] + 1, v * 0.5 + np.sum(ys)

    return L.while_loop(lambda c: c[0] < n, body, (0, x[0]))


@program
def cond_in_while_in_scan(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        def body(s: Any) -> Any:
            k, v = s
            return k + 1, L.cond(k % 2 == 0, lambda v: np.sin(v) * r, lambda v: v * v + x[1], v)

        c = L.while_loop(lambda s: s[0] < n, body, (0, c))[1]
        return c, c * r

    return L.scan(step, x[0], x[:3])


@program
def while_writes(L: Any, x: Any, n: Any) -> Any:
    def body(c: Any) -> Any:
        k, a = c
        a[k % 4] = np.sin(a[(k + 1) % 4]) * x[0]
        return k + 1, a

    return L.while_loop(lambda c: c[0] < n, body, (0, x * 1.0))


@program
def while_opaque(L: Any, x: Any, n: Any) -> Any:
    def body(c: Any) -> Any:
        return c[0] + 1, np.linalg.solve(np.eye(4) * 3.0 + SQUARE, np.sort(c[1])) + x

    return L.while_loop(lambda c: c[0] < n, body, (0, x))


@program
def while_late_tangent(L: Any, x: Any, n: Any) -> Any:
    def body(c: Any) -> Any:
        k, a, b, d = c
        return k + 1, a * x[0], b + a, d + b * b

    return L.while_loop(lambda c: c[0] < n, body, (0, x[1], 1.0, 2.0))


@program
def while_mixed_rows(L: Any, x: Any, n: Any) -> Any:
    """Rows of elements of every size: float32, complex and boolean residuals among the float64 ones."""

    def body(c: Any) -> Any:
        k, a, b, z, single = c
        new = np.where(a > 0.1 * k, np.sin(a) * x, a + x)
        return k + 1, new, b * single + a[0], z * (a[1] + 1j) / 2, single * single - np.float32(0.25)

    return L.while_loop(lambda c: c[0] < n, body, (0, x, x[1], x[2] + 0.5j, np.float32(0.3)))[:3]


@program
def while_dynamic_extents(L: Any, x: Any, n: Any) -> Any:
    def body(c: Any) -> Any:
        k, a = c
        m = k % 4
        a[m] = np.sin(a[:m] @ x[:m]) + a[m] * x[0]
        return k + 1, a

    return L.while_loop(lambda c: c[0] < n, body, (0, x * 1.0))


@program
def while_in_fori_of_traced_length(L: Any, x: Any, n: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return 0.3 * L.while_loop(lambda u: u < 2.0 + i, lambda u: u * (1.5 + x[0] * x[0]), v)

    return L.fori_loop(0, n, body, 0.5 + x[1] * x[1])


# ---------------------------------------------------------------- branches


@program
def cond_by_value(L: Any, x: Any, n: Any) -> Any:
    return L.cond(x[0] > 0, lambda x: np.sin(x) * x[1], lambda x: x * x, x)


@program
def cond_untaken_nan(L: Any, x: Any, n: Any) -> Any:
    return L.cond(x[0] > 0, lambda a: np.sqrt(a), lambda a: a * 2.0, x[0])


@program
def cond_untaken_nan_in_scan(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        return c + L.cond(r > 0, lambda a: np.log(a) * c, lambda a: a / (a - 1), r), c

    return L.scan(step, x[2], x)


@program
def switch_clamped(L: Any, x: Any, n: Any) -> Any:
    branches = [lambda x: np.sin(x), lambda x: x * x[0], lambda x: x * 0.0 + 1.0]
    return L.switch(n - 1, branches, x)


@program
def switch_in_scan(L: Any, x: Any, n: Any) -> Any:
    branches = [lambda c, r: c * r, lambda c, r: np.sin(c) + x[0], lambda c, r: r * r]
    return L.scan(lambda c, s: (L.switch(s[1], branches, c, s[0]), c), x[3], (x, np.arange(-1, 3)))


@program
def scan_in_cond(L: Any, x: Any, n: Any) -> Any:
    loop = lambda x: L.scan(lambda c, r: (np.sin(c) * r + x[0], None), x[1], x)[0]
    return L.cond(n > 2, loop, lambda x: x[0] * x[1], x)


# ---------------------------------------------------------------- what is made of loops


@program
def mapped(L: Any, x: Any, n: Any) -> Any:
    return L.map(lambda r: (np.sin(r) * x[0], r * x), x)


@program
def mapped_in_batches(L: Any, x: Any, n: Any) -> Any:
    return L.map(lambda r: np.sin(r) * x, x[:3], batch_size=2)


@program
def associative(L: Any, x: Any, n: Any) -> Any:
    affine = lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1])
    return L.associative_scan(affine, (np.sin(x), x)), L.associative_scan(lambda a, b: a * b, x, reverse=True)


@program
def root_in_scan(L: Any, x: Any, n: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        f = lambda y: y + 0.3 * np.sin(y) - c * r
        newton = lambda f, y: L.fori_loop(
            0, 9, lambda _, y: y - (y + 0.3 * np.sin(y) - c * r) / (1.0 + 0.3 * np.cos(y)), y
        )
        y = L.custom_root(f, c * 0.0, newton, lambda g, y: y / g(1.0))
        return y + x[0], y

    return L.scan(step, x[1], x)


@program
def linear_solve_in_while(L: Any, x: Any, n: Any) -> Any:
    def body(c: Any) -> Any:
        k, v = c
        a = positive(v)
        return k + 1, x + L.custom_linear_solve(
            lambda u: a @ u, v, lambda _, b: np.linalg.solve(a, b), symmetric=True
        )

    return L.while_loop(lambda c: c[0] < n, body, (0, x * 0.5))


# ---------------------------------------------------------------- transformations and callables in bodies


class Particle(NamedTuple):
    place: Any
    speed: Any
    steps: Any


@program
def scan_named_tuple(L: Any, x: Any, n: Any) -> Any:
    def step(p: Particle, r: Any) -> Any:
        speed = p.speed + 0.1 * (r["force"] - np.sin(p.place))
        return Particle(p.place + 0.1 * speed * x[0], speed, p.steps + 1), {
            "energy": speed * speed,
            "k": p.steps,
        }

    return L.scan(step, Particle(x[1], x[2], 0), {"force": x, "nothing": None})


@program
def scan_adam(L: Any, x: Any, n: Any) -> Any:
    """A gradient in the body, of what closes over the differentiated value."""
    loss = lambda w: np.sum(w**4) - np.sum(w * x)

    def step(s: Any, i: Any) -> Any:
        w, m, v = s
        g = tj.grad(loss)(w)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g + 0.01
        return (w - 0.1 * m / (1 - 0.9 ** (i + 1)) / np.sqrt(v), m, v), loss(w)

    return L.scan(step, (x, np.zeros(4), np.zeros(4)), np.arange(3))


@program
def scan_of_vmap_and_jvp(L: Any, x: Any, n: Any) -> Any:
    outer = tj.vmap(lambda a, b: np.sin(a * b) + a, (0, None))

    def step(c: Any, r: Any) -> Any:
        y, t = tj.jvp(lambda v: np.tanh(v) * x, (outer(c, r),), (c,))
        return y + 0.1 * t, np.sum(t)

    return L.scan(step, x, x)


@program
def while_partial(L: Any, x: Any, n: Any) -> Any:
    def body(w: Any, c: Any, *, shift: Any) -> Any:
        return c[0] + 1, np.tanh(w * c[1]) + shift

    stop = functools.partial(lambda limit, c: c[0] < limit, n)
    return L.while_loop(stop, functools.partial(body, x, shift=x[1]), (0, x))


@program
def scan_while_in_cond(L: Any, x: Any, n: Any) -> Any:
    def grown(c: Any) -> Any:
        body = lambda s: (s[0] + 1, L.scan(lambda d, r: (np.sin(d) + r * c, None), s[1], x)[0])
        return L.while_loop(lambda s: s[0] < n, body, (0, c))[1]

    return L.scan(lambda c, r: (L.cond(r > 0, grown, lambda c: c * x[1], c), c), x[0], x[:3])


# ---------------------------------------------------------------- the checks


def scalar(f: Callable[..., Any], loops: Any) -> Callable[..., Any]:
    """A number of all that `f` gives, curved so that second derivatives are seen."""

    def g(x: Any, n: Any) -> Any:
        total: Any = 0.0
        for k, y in enumerate(tree.leaves(f(loops, x, n))):
            if y is not None and np.issubdtype(np.result_type(y), np.floating):
                total = total + np.sum(
                    np.cos(1.0 + k + np.arange(np.size(y))).reshape(np.shape(y)) * y * (y + 0.3)
                )
        return total

    return g


def forward_over_reverse(f: Callable[..., Any], loops: Any) -> Callable[..., Any]:
    """The gradient, and its derivative along V."""
    g = scalar(f, loops)
    return lambda x, n: tj.jvp(lambda x: tj.grad(g)(x, n), (x,), (V,))


def reverse_over_reverse(f: Callable[..., Any], loops: Any) -> Callable[..., Any]:
    """The derivative along V forwards, and its gradient computed backwards twice."""
    g = scalar(f, loops)

    def both(x: Any, n: Any) -> Any:
        along = tj.jvp(lambda x: g(x, n), (x,), (V,))[1]
        return along, tj.grad(lambda x: tj.grad(g)(x, n) @ V)(x)

    return both


def values(f: Callable[..., Any], loops: Any, x: Any, n: Any) -> list[Any]:
    return [np.asarray(y) for y in tree.leaves(f(loops, x, n)) if y is not None]


def equal(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    found, wanted = tree.leaves(found), tree.leaves(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


@pytest.fixture(params=PROGRAMS.values(), ids=list(PROGRAMS))
def f(request: Any) -> Callable[..., Any]:
    return request.param


@pytest.mark.sample(12)
def test_eager(f: Any) -> None:
    """One lane: values and the gradient, by differences of the NumPy program."""
    x, n = LANES[0], int(TRIPS[0])
    equal(values(f, NATIVE, x, n), values(f, unrolled, x, n))
    slope = tj.grad(scalar(f, NATIVE))(x, n)
    plain = scalar(f, unrolled)
    np.testing.assert_allclose(slope, numeric_grad(lambda x: plain(x, n), (x,), 0), rtol=1e-5, atol=1e-6)


@pytest.mark.sample(30)
def test_compiled_lanes(f: Any) -> None:
    """All lanes at once, in one program: values and derivatives to second order, by the unrolled program's."""
    everything = lambda x, n: (f(NATIVE, x, n), forward_over_reverse(f, NATIVE)(x, n))
    out, slopes = tj.jit(tj.vmap(everything))(LANES, TRIPS)
    lanes = [(x, int(n)) for x, n in zip(LANES, TRIPS, strict=True)]
    rows = [values(f, unrolled, *lane) for lane in lanes]
    equal([y for y in tree.leaves(out) if y is not None], [np.stack(c) for c in zip(*rows, strict=True)])
    wanted = [forward_over_reverse(f, unrolled)(*lane) for lane in lanes]
    equal(slopes, tuple(np.stack(c) for c in zip(*wanted, strict=True)), 1e-8)


@pytest.mark.sample(30)
def test_compiled(f: Any) -> None:
    """One lane compiled, with a traced number of trips; second derivatives by reverse mode twice."""
    x, n = LANES[2], TRIPS[2]
    out, slopes = tj.jit(lambda x, n: (f(NATIVE, x, n), reverse_over_reverse(f, NATIVE)(x, n)))(x, n)
    equal([y for y in tree.leaves(out) if y is not None], values(f, unrolled, x, int(n)))
    equal(slopes, reverse_over_reverse(f, unrolled)(x, int(n)), 1e-8)
