"""Programs as scientists write them, in plain NumPy: run, compiled, differentiated and batched alike."""

from __future__ import annotations

import dataclasses
import functools
import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy import sin

import tracejit as tj
from tracejit import tree
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)


def rn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def ru(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 2.0, shape)


def integers(low: int, high: int, n: int, dtype: Any = np.int64) -> np.ndarray:
    return RNG.integers(low, high, n, dtype=dtype)


class Program(NamedTuple):
    """`wrt`: the arguments to differentiate by, () for none; `order`: how often it is smooth."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = ()
    order: int = 2
    batch: bool = True


PROGRAMS: dict[str, Program] = {}


def program(*args: Any, wrt: tuple[int, ...] = (), order: int = 2, batch: bool = True) -> Any:
    def register(f: Any) -> Any:
        PROGRAMS[f.__name__] = Program(f, args, wrt, order, batch)
        return f

    return register


@program(rn(6, 7), 0.1, wrt=(0, 1))
def heat(u: Any, c: Any) -> Any:
    new = u.copy()
    inner = u[1:-1, 1:-1]
    new[1:-1, 1:-1] = inner + c * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner)
    new[0, :] = new[-1, :] = 0
    new[:, 0] = new[:, 1]
    return new


@program(rn(8), 0.3, 0.1, 0.05, wrt=(0, 1))
def upwind(u: Any, a: Any, dx: Any, dt: Any) -> Any:
    plus, minus = max(a, 0.0), min(a, 0.0)
    return u - dt / dx * (plus * (u - np.roll(u, 1)) + minus * (np.roll(u, -1) - u))


def lorenz(t: Any, s: Any, sigma: float = 10.0, rho: float = 28.0, beta: float = 8 / 3) -> Any:
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def rk4(f: Any, t: Any, y: Any, h: Any) -> Any:
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))


@program(rn(3), 0.01, wrt=(0, 1))
def lorenz_steps(y: Any, h: Any) -> Any:
    for i in range(2):
        y = rk4(lorenz, i * h, y, h)
    return y


@program(rn(4, 3), ru(4), wrt=(0, 1))
def bodies(pos: Any, m: Any) -> Any:
    d = pos[:, np.newaxis] - pos[np.newaxis]
    r2 = (d**2).sum(-1) + 1e-1
    np.fill_diagonal(r2, 1.0)
    force = -d * (m[:, None] * m[None, :] / r2**1.5)[..., None]
    i, j = np.triu_indices(len(m), 1)
    return force.sum(axis=1), -(m[i] * m[j] / np.sqrt(r2[i, j])).sum()


@program(rn(6, 2), rn(3), rn(3, 2), rn(3, 2), wrt=(1, 2, 3))
def mixture(X: Any, logits: Any, mu: Any, log_sigma: Any) -> Any:
    z = (X[:, None] - mu) / np.exp(log_sigma)
    lp = logits - np.log(np.sum(np.exp(logits)))
    lp = lp + np.sum(-0.5 * z**2 - log_sigma - 0.5 * np.log(2 * np.pi), -1)
    m = np.max(lp, axis=1, keepdims=True)
    return np.mean(m[:, 0] + np.log(np.sum(np.exp(lp - m), axis=1)))


@program({"W": rn(4, 5), "b": rn(5), "V": rn(5, 3)}, rn(6, 4), np.array([0, 1, 2, 0, 1, 2]), wrt=(0,))
def network(p: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ p["W"] + p["b"])
    h = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(axis=-1, keepdims=True) + 1e-1)
    logits = h @ p["V"]
    logits -= logits.max(axis=1, keepdims=True)
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -logp[np.arange(len(y)), y].mean()


class Layer:
    def __init__(self, n: int, m: int) -> None:
        self.W = rn(n, m)

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.W)


class Net:
    gain = 2.0

    def __init__(self) -> None:
        self.layers = [Layer(3, 4), Layer(4, 2)]
        self.config = {"lam": 0.1}

    @property
    def penalty(self) -> Any:
        return self.config["lam"] * sum(np.sum(layer.W**2) for layer in self.layers)

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return self.gain * x

    def loss(self, x: Any, *, scale: float = 1.0) -> Any:
        return scale * np.mean(self(x) ** 2) + self.penalty


PROGRAMS["bound_method"] = Program(Net().loss, (rn(5, 3),), (0,))


@dataclasses.dataclass
class Affine:
    w: np.ndarray
    b: np.ndarray

    def forward(self, x: Any) -> Any:
        return np.tanh(x @ self.w + self.b)


@program(Affine(rn(3, 2), rn(2)), rn(4, 3), wrt=(0, 1))
def dataclass_model(p: Any, x: Any) -> Any:
    return p.forward(x) + dataclasses.replace(p, b=p.b * 2).forward(x)


@program(rn(4, 5), wrt=(0,))
def statistics(x: Any) -> Any:
    xc = x - x.mean(axis=0)
    spread = (
        x.std(), np.var(x, axis=0, ddof=1), np.ptp(x, axis=0), np.median(x, axis=1),
    )  # fmt: skip
    norms = np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, ord=1, axis=0)
    return xc.T @ xc / 3, np.cov(x), np.average(x, axis=0, weights=[1.0, 2, 3, 4]), spread, norms


@program(rn(3, 3), wrt=(0,))
def cholesky(M: Any) -> Any:
    A = M @ M.T + 3 * np.eye(3)
    L = np.zeros_like(A)
    for j in range(len(A)):
        L[j, j] = np.sqrt(A[j, j] - np.sum(L[j, :j] ** 2))
        for i in range(j + 1, len(A)):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
    return L, np.sum(np.log(np.diag(L)))


@program(rn(3, 4), rn(4, 5), rn(5), wrt=(0, 1, 2))
def contractions(a: Any, b: Any, c: Any) -> Any:
    chains = np.einsum("ij,jk,k->i", a, b, c), np.linalg.multi_dot([a, b, c])
    power = np.linalg.matrix_power(a[:, :3], 3)
    return (
        chains, power, np.tensordot(a, b, axes=(1, 0)), np.outer(c, c), np.trace(a[:, :3]),
        np.einsum("ij->j", a),
    )  # fmt: skip


@program(rn(12), rn(4), wrt=(0, 1))
def convolution(x: Any, k: Any) -> Any:
    out = np.zeros(x.shape[0] - k.shape[0] + 1)
    for i in range(k.size):
        out += k[i] * x[i : i + len(out)]
    return out, np.convolve(x, k, mode="same"), np.interp(np.linspace(0, 11, 5), np.arange(12), x)


@program(integers(0, 256, 42, np.uint8).reshape(6, 7))
def image(im: Any) -> Any:
    g = im.astype(np.float32) / 255
    blur = (g[:-2, :-2] + g[1:-1, 1:-1] + g[2:, 2:]) / 3
    mask = (im > 128).astype(np.uint8) * 255
    return (
        blur, mask, im + np.uint8(10), 255 - im, np.clip(im, 10, 200), im.sum(), im.mean(), im >> 1,
        im & 0x0F,
    )  # fmt: skip


@program(rn(7))
def ranking(x: Any) -> Any:
    order = np.argsort(x)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(x))
    return ranks, np.sort(x)[::-1], x[order[::-1]], np.median(x), np.argmax(x), np.partition(x, 3)[3]


@program(rn(8), rn(8), wrt=(0, 1), order=1)
def masks(x: Any, y: Any) -> Any:
    out = x.copy()
    out[y > 0] = 0.0
    out[~(y > 0)] *= 2
    out[x > 1] = y[x > 1] ** 2
    chain = np.where(x < -1, -1 - x, np.where(x < 0, x * x, sin(x)))
    return out, chain, np.select([x < 0, x < 1], [x**2, x], default=1.0), x[x > 0].sum(), np.clip(x, -1, 1)


@program(rn(5), np.array([0, 2, 2, -1, 2]), rn(5), wrt=(0, 2))
def scatters(x: Any, i: Any, v: Any) -> Any:
    out = np.zeros(5)
    np.add.at(out, i, v * x)
    y = x * 1.0
    y[i] += v
    return out, y, x[i], np.take_along_axis(x, np.argsort(x), 0), x[[0, 1]][:, None]


@program(rn(3, 4), rn(3, 4), wrt=(0, 1))
def joins(a: Any, b: Any) -> Any:
    stacked = (
        np.vstack((a, b)), np.stack([a, b], axis=-1), np.c_[a[0], b[0]], np.r_[a[0], 1.0],
    )  # fmt: skip
    padded = np.pad(a, ((1, 1), (0, 2))), np.pad(a, 1, mode="edge"), np.roll(a, (1, -1), axis=(0, 1))
    return stacked, padded, np.flip(a), np.tile(a, (2, 1)), np.repeat(a, 2, axis=0), np.split(a, 2, axis=1)


@program(rn(4, 4), wrt=(0,))
def written_views(a: Any) -> Any:
    b = a * 1
    d = b[1:3, 1:3]
    d *= 2
    b.reshape(2, 8)[0] = 1
    b.T[3] += 5
    b.ravel()[::5] = 0
    b[[0, 2], 1] = 7
    np.multiply(b[3], 2, out=b[3])
    return b, d


@program(integers(-50, 50, 8), integers(1, 9, 8))
def whole_numbers(a: Any, b: Any) -> Any:
    bits = a & b, a | b, a ^ b, ~a, a << 2, a >> 1, np.left_shift(1, b), a.astype(np.int8)
    return bits, a // b, a % b, divmod(a, b), a / b, a.mean(), np.gcd(a, b), a**2, (a > 0) * b, np.cumsum(a)


@program(integers(-128, 127, 6, np.int8), integers(0, 255, 6, np.uint8))
def small_integers(a: Any, b: Any) -> Any:
    return (
        a + b, a * 2, a * 1.5, a.sum(), b.sum(), b - 1, b * np.float32(2), -a, a**2, np.sqrt(b), b.cumsum(),
        a << 1,
    )  # fmt: skip


@program(rn(6).astype(np.float32), np.float32(0.5), 2.0, 3, batch=False)
def single_precision(x: Any, a: Any, t: Any, n: Any) -> Any:
    y = t * x + a
    mixed = (
        y + np.float64(1), y + np.arange(6), np.concatenate([x, np.ones(2)]), x * np.array(t), x.astype("f8"),
    )  # fmt: skip
    return (
        y, y.mean(), np.sqrt(np.abs(y)), y / n, x**t, np.maximum(x, t), np.where(x > 0, x, t), y.std(),
        mixed,
    )  # fmt: skip


@program(rn(5) + 1j * rn(5), rn(5))
def complex_numbers(z: Any, r: Any) -> Any:
    w = z * np.exp(1j * r)
    parts = np.abs(w), np.angle(w), w.real, w.imag, np.conj(w), np.real(r)
    return (
        w, parts, (w * w.conj()).real.sum(), z.sum(), np.vdot(z, z), np.sqrt(r + 0j), 1 / z, z**2,
        np.dot(z, r),
    )  # fmt: skip


@program(np.zeros((0, 3)), np.zeros(0), np.array(3.0))
def empty_and_scalar(a: Any, b: Any, s: Any) -> Any:
    return (
        a.sum(0), a.sum(1), a @ np.ones((3, 2)), b.cumsum(), np.prod(b), np.sort(b), np.stack([b, b]),
        s + 1, s[None],
    )  # fmt: skip


@program([rn(2), (rn(3), {"a": 1.5})], None, wrt=(0,))
def nested(t: Any, nothing: Any) -> Any:
    first, *rest = t[1][0]
    total = functools.reduce(operator.add, [v**2 for v in t[0]])
    return {"s": t[0].sum() * first, "n": nothing, "l": [t[1][1]["a"] * 2 * total, (), np.stack(rest)]}


# ---------------------------------------------------------------- the checks


def fresh(args: Any) -> Any:
    return tree.map(lambda x: x.copy(order="K") if isinstance(x, np.ndarray) else x, args)


def same(got: Any, want: Any, exact_types: bool = True) -> None:
    got, want = tree.leaves(got), tree.leaves(want)
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        if (exact_types and not isinstance(y, (bool, int, float))) or isinstance(y, np.generic):
            assert (type(x), x.dtype, x.shape) == (type(y), y.dtype, y.shape)
        single = np.asarray(y).dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(x, y, rtol=3e-6 if single else 1e-11, atol=1e-6 if single else 1e-12)


def loss_of(f: Any) -> Any:
    """A number that depends on every float that `f` returns."""

    def loss(*args: Any) -> Any:
        outs = [x for x in tree.leaves(f(*args)) if x.dtype == np.float64]
        return sum((0.1 + 0.02 * n) * (x * x).sum() for n, x in enumerate(outs))

    return loss


@pytest.fixture(params=list(PROGRAMS))
def case(request: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield PROGRAMS[request.param]


def test_compiled(case: Program) -> None:
    """Values, dtypes, shapes, scalar or array, and updated arguments; the second call too."""
    want_args = fresh(case.args)
    want = case.f(*want_args)
    jitted = tj.jit(case.f)
    for _ in range(2):
        args = fresh(case.args)
        same(jitted(*args), want)
        same(args, want_args)
    assert jitted.trace_count == 1


def batch(args: Any) -> Any:
    def two(x: Any) -> Any:
        y = x * 1.125 if np.asarray(x).dtype.kind in "fc" else x
        return np.stack([x, y]).astype(np.asarray(x).dtype)

    return tree.map(two, fresh(args))


@pytest.mark.sample(2)
def test_batched(case: Program) -> None:
    if not case.batch:
        pytest.skip("Python numbers have no batches")
    f = case.f
    arrays = lambda *args: [x for x in tree.leaves(f(*args)) if hasattr(x, "dtype")]
    rows = [arrays(*tree.map(lambda x: x[n], batch(case.args))) for n in range(2)]
    want = [np.stack(column) for column in zip(*rows, strict=True)]
    same(tj.vmap(arrays)(*batch(case.args)), want)
    same(tj.jit(tj.vmap(arrays))(*batch(case.args)), want)


@pytest.mark.sample(16)
@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if p.wrt])
def test_differentiated(name: str) -> None:
    p = PROGRAMS[name]
    loss = loss_of(p.f)

    def chosen(*xs: Any) -> Any:
        args = list(fresh(p.args))
        for n, x in zip(p.wrt, xs, strict=True):
            args[n] = x
        return loss(*args)

    want = tj.grad(loss, p.wrt)(*fresh(p.args))
    same(tj.jit(tj.grad(loss, p.wrt))(*fresh(p.args)), want)
    same(tj.grad(loss_of(tj.jit(p.f)), p.wrt)(*fresh(p.args)), want)
    check_grads(chosen, [fresh(p.args)[n] for n in p.wrt], p.order, atol=2e-3, rtol=2e-3)
    rows = [tree.leaves(tj.grad(loss, p.wrt)(*tree.map(lambda x: x[n], batch(p.args)))) for n in range(2)]
    batched = tree.leaves(tj.jit(tj.vmap(tj.grad(loss, p.wrt)))(*batch(p.args)))
    same(batched, [np.stack(column) for column in zip(*rows, strict=True)])
