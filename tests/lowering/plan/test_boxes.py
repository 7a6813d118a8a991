"""Chains of updates as one nest: the same bits as one update after another, and one pass over the result."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.running import check, copies, native, nodes, reference, trace
from tracejit import lax
from tracejit.ir.avals import Dim
from tracejit.lowering.fuse import lower
from tracejit.lowering.loops.nodes import Const, For
from tracejit.lowering.plan import boxes
from tracejit.ops.elementwise.arithmetic import add, mul
from tracejit.ops.shapes.broadcast import zeros
from tracejit.ops.shapes.concat import concatenate, pad
from tracejit.ops.shapes.slices import slice, slice_add, slice_update

DTYPES = ("f8", "f4", "f2", "bfloat16", "c16", "i4", "u1")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains are nests whether that pays or not."""
    for name, value in (("_GAIN", 0), ("STACK", 0), ("_LONG", 2), ("_MAX_CELLS", 27)):
        monkeypatch.setattr(boxes, name, value)


def box(rng: Any, shape: Any) -> tuple[list[int], list[int]]:
    """Where a box starts and ends: most of the array, or any part of it."""
    bounds = []
    for n in shape:
        if rng.random() < 0.8:
            start, stop = rng.integers(0, min(n, 3)), n - rng.integers(0, min(n, 3))
        else:
            start, stop = sorted(rng.integers(0, n + 1, 2))
        bounds.append((int(start), int(max(start, stop))))
    return [a for a, _ in bounds], [b for _, b in bounds]


def numbers(rng: Any, shape: Any, dtype: str) -> np.ndarray:
    x = (10 * rng.standard_normal(shape)).astype(dtype)
    special = np.array([-0.0, np.inf, np.nan] if np.dtype(dtype).kind in "fc" else [0]).astype(dtype)
    x.flat[rng.integers(0, x.size, 3) if x.size else []] = rng.choice(special)
    return x


def random_chain(seed: int) -> tuple[Any, list[np.ndarray]]:
    """A function that lays up to six boxes on an array, of parts of its arguments."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape = tuple(map(int, rng.integers(1, (100, 20, 9)[rank - 1], rank)))
    dtype = str(rng.choice(DTYPES))
    steps = []
    for _ in range(rng.integers(1, 7)):
        starts, stops = box(rng, shape)
        offsets = [
            int(rng.integers(0, n - (b - a) + 1)) for n, a, b in zip(shape, starts, stops, strict=True)
        ]
        ends = [o + b - a for o, a, b in zip(offsets, starts, stops, strict=True)]
        steps.append(({"start_indices": starts, "limit_indices": stops},
                      {"start_indices": offsets, "limit_indices": ends},
                      rng.random() < 0.75, rng.integers(0, 3)))  # fmt: skip
    kind, is_read = rng.integers(0, 4), rng.random() < 0.3

    def fn(x: Any, y: Any) -> Any:
        out = (zeros(x.aval), x, y, mul(x, y))[kind]
        for to, of, adds, source in steps:
            part = slice(y, **of)
            part = (part, add(slice(x, **of), part), mul(part, part))[source]
            out = (slice_add if adds else slice_update)(out, part, **to)
        return [add(mul(out, out), x), mul(x, y)][: 1 + seed % 2] if is_read else out

    return fn, [numbers(rng, shape, dtype), numbers(rng, shape, dtype)]


@pytest.mark.sample(9)
@pytest.mark.usefixtures("always")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "seed", [n if n < 30 else pytest.param(n, marks=pytest.mark.exhaustive) for n in range(60)]
)
def test_random_chains_have_the_bits_of_single_updates(seed: int) -> None:
    fn, args = random_chain(seed)
    jaxpr = trace(fn, *args, passes=True)
    want = reference(jaxpr, *args)
    for aliases in ({}, {0: 0}):
        for got, w in zip(native(jaxpr, *(a.copy() for a in args), aliases=aliases), want, strict=True):
            np.testing.assert_array_equal(got, w, strict=True)
            if w.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(got[w == 0]), np.signbit(w[w == 0]))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(6))
def test_iterations_are_independent(seed: int) -> None:
    """The interpreter of loops runs them in another order."""
    fn, args = random_chain(100 + seed)
    check(fn, *(np.nan_to_num(a, posinf=1) for a in args))


# ---------------------------------------------------------------- what is one nest


def stencil_energy(u: Any) -> Any:
    """The squares of a Laplacian, in any number of dimensions."""
    inner = (np.s_[1:-1],) * u.ndim
    out = -2.0 * u.ndim * u[inner]
    for axis, where in itertools.product(range(u.ndim), (np.s_[2:], np.s_[:-2])):
        out = out + u[(*inner[:axis], where, *inner[axis + 1 :])]
    return (out**2).sum()


def by_hand(u: np.ndarray) -> np.ndarray:
    """The gradient of `stencil_energy` in NumPy."""
    inner = (np.s_[1:-1],) * u.ndim
    parts = [(*inner[:n], w, *inner[n + 1 :]) for n in range(u.ndim) for w in (np.s_[2:], np.s_[:-2])]
    ct = 2 * (sum(u[p] for p in parts) - 2 * u.ndim * u[inner])
    out = np.zeros_like(u)
    out[inner] -= 2 * u.ndim * ct
    for p in parts:
        out[p] += ct
    return out


def loops_of(lowered: Any) -> list[For]:
    return [s for s in nodes(lowered.program.body) if isinstance(s, For)]


def arrays_of(fn: Any, *args: Any) -> tuple[int, int]:
    """How many loops a program has outside of others, and how many buffers beside arguments and results."""
    program = tj.jit(fn).lower(*args).compile().as_text("loops").splitlines()
    return sum(s.startswith("    for ") for s in program), sum(" = arena(" in s for s in program)


@pytest.mark.parametrize("shape", [(1000,), (70, 90), (30, 31, 32), (20, 20, 20, 20)])
def test_a_stencils_gradient_is_two_nests_and_one_array(shape: Any) -> None:
    u = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(tj.jit(tj.grad(stencil_energy))(u), by_hand(u), rtol=1e-12, atol=1e-12)
    assert arrays_of(tj.grad(stencil_energy), u) == (2, 1)


def test_threads_do_not_show_in_the_bits() -> None:
    u = np.random.default_rng(5).standard_normal((700, 900))
    gradient, results = tj.jit(tj.grad(stencil_energy)), []
    for threads in (1, 2, 3):
        with tj.config.override(num_threads=threads):
            results.append(gradient(u[:, ::-1]))
    assert all(r.tobytes() == results[0].tobytes() for r in results)
    np.testing.assert_allclose(results[0], by_hand(u[:, ::-1]), rtol=1e-12, atol=1e-12)


def test_gradients_in_loops_and_under_vmap() -> None:
    rng = np.random.default_rng(1)
    u = rng.standard_normal((3, 20, 30))

    def descend(v: Any) -> Any:
        return lax.fori_loop(0, 5, lambda _, w: w - 0.01 * tj.grad(stencil_energy)(w), v)

    want = u.copy()
    for _ in range(5):
        for w in want:
            w -= 0.01 * by_hand(w)
    np.testing.assert_allclose(tj.jit(descend)(u[0]), want[0], rtol=1e-10)
    np.testing.assert_allclose(tj.jit(tj.vmap(descend))(u), want, rtol=1e-10)
    assert arrays_of(tj.vmap(tj.grad(stencil_energy)), u) == (2, 1)


def test_what_reads_a_gradient_elementwise_is_in_its_nest() -> None:
    def step(u: Any, v: Any) -> Any:
        v = 0.9 * v + tj.grad(stencil_energy)(u)
        return u - 0.01 * v, v

    u, v = np.random.default_rng(4).standard_normal((2, 40, 30))
    for got, want in zip(
        tj.jit(step)(u, v), (u - 0.01 * (0.9 * v + by_hand(u)), 0.9 * v + by_hand(u)), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert arrays_of(step, u, v) == (2, 1)


def test_an_axis_of_traced_length_is_taken_as_a_whole() -> None:
    """The gradient of a stencil along the second axis, of as many rows as a loop has reached."""

    def rows(u: Any, i: Any) -> Any:
        part = u[:i]
        return ((part[:, 2:] - part[:, :-2]) ** 2).sum()

    def run(u: Any) -> Any:
        return lax.fori_loop(1, 5, lambda i, s: s + tj.grad(rows)(u, i), np.zeros_like(u))

    u = np.random.default_rng(2).standard_normal((6, 80))
    want = np.zeros_like(u)
    for i in range(1, 5):
        ct = 2 * (u[:i, 2:] - u[:i, :-2])
        want[:i, 2:] += ct
        want[:i, :-2] -= ct
    np.testing.assert_allclose(tj.jit(run)(u), want, rtol=1e-12, atol=1e-12)


def test_few_elements_of_a_large_array_are_no_pass_over_it() -> None:
    def fn(x: Any, y: Any) -> Any:
        x = slice_add(x, y, start_indices=(3,), limit_indices=(13,))
        return slice_add(x, y, start_indices=(5,), limit_indices=(15,))

    x, y = np.ones(1000), np.ones(10)
    lowered = lower(trace(fn, x, y), [], {0: 0})
    assert sum(s.stop.value for s in loops_of(lowered) if isinstance(s.stop, Const)) == 20


def test_halves_are_two_nests_without_tests() -> None:
    def fn(x: Any, y: Any) -> Any:
        both = concatenate(mul(x, x), y, dimension=0)
        both = slice_add(both, x, start_indices=(0, 0), limit_indices=(40, 5))
        return slice_add(both, y, start_indices=(40, 0), limit_indices=(80, 5))

    x = np.arange(200.0).reshape(40, 5)
    check(fn, x, x + 1)
    loops = loops_of(lower(trace(fn, x, x), [], {}))
    assert len(loops) == 4
    assert not any(s.rare for s in loops)


def test_padding_is_a_base() -> None:
    def fn(x: Any, y: Any) -> Any:
        out = pad(x, 3.0, padding_config=((1, 1, 0),))
        return slice_add(out, y, start_indices=(2,), limit_indices=(102,))

    x = np.arange(100.0)
    check(fn, x, x + 1)
    loops = loops_of(lower(trace(fn, x, x), [], {}))
    assert [(s.start.value, s.stop.value) for s in loops] == [(2, 101)]  # type: ignore[union-attr]


def test_many_short_intervals_are_one_loop_with_tests() -> None:
    """The adjoint of a convolution with a long kernel."""
    kernel = np.linspace(1, 2, 12)

    def fn(x: Any) -> Any:
        return sum(float(w) * x[n : n + 89] for n, w in enumerate(kernel))

    def energy(x: Any) -> Any:
        return (fn(x) ** 2).sum()

    x = np.random.default_rng(3).standard_normal((5, 100))[:, ::-1]
    compiled = tj.jit(tj.vmap(tj.grad(energy)))
    want = [np.convolve(2 * np.convolve(r, kernel[::-1], "valid"), kernel) for r in x]
    np.testing.assert_allclose(compiled(x), want, rtol=1e-12)
    assert "# rare" in compiled.lower(x).as_text("loops")


def test_an_argument_is_updated_in_place_where_its_old_elements_are_not_needed_any_more() -> None:
    def fn(x: Any, y: Any) -> Any:
        x = slice_add(
            x, slice(y, start_indices=(1,), limit_indices=(100,)), start_indices=(0,), limit_indices=(99,)
        )
        return slice_add(
            x, slice(y, start_indices=(0,), limit_indices=(99,)), start_indices=(1,), limit_indices=(100,)
        )

    def shifted(x: Any, y: Any) -> Any:
        return fn(x, x)

    x, y = np.arange(100.0), np.arange(100.0) ** 2
    assert copies(check(fn, x, y, aliases={0: 0})) == 0
    assert copies(check(shifted, x, y, aliases={0: 0})) == 1


def test_what_fits_into_an_axis() -> None:
    n, other = Dim(object(), 9), Dim(object(), 9)
    assert boxes._fits(0, n, n) and not boxes._fits(0, n, other) and not boxes._fits(1, n, n)
    assert not boxes._fits(0, 3, n) and not boxes._fits(0, n, 9)
    for start, size in itertools.product(range(-1, 5), range(5)):
        assert boxes._fits(start, size, 4) == (start >= 0 and start + size <= 4)
