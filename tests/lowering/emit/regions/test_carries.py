"""Carries whose blocks take turns: nothing is copied in the loop, and the results are those of the evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.emit.regions.test_control import count_to, loop, normal, repeat
from tests.lowering.running import check, nodes
from tracejit.lowering.loops.nodes import Copy, For, Rotate, While
from tracejit.ops.elementwise.arithmetic import add, mul
from tracejit.ops.elementwise.compare import lt
from tracejit.ops.indexing.index import dynamic_slice, dynamic_update_slice
from tracejit.ops.shapes.shape import reshape, transpose
from tracejit.ops.shapes.slices import slice, slice_update

N = 9  # matrices of more elements than are kept on the stack


def turned(x: Any) -> Any:
    """What can't be computed over x."""
    return add(transpose(x, permutation=(1, 0)), 1.0)


def part(x: Any, i: int, j: int, size: int) -> Any:
    return slice(x, start_indices=(i, j), limit_indices=(i + size, j + size))


def stencil(x: Any) -> Any:
    """The interior from its neighbours; the border stays."""
    parts = [part(x, a, b, N - 2) for a, b in ((0, 1), (2, 1), (1, 0), (1, 2))]
    new = mul(add(add(parts[0], parts[1]), add(parts[2], parts[3])), 0.25)
    return slice_update(x, new, start_indices=(1, 1), limit_indices=(N - 1, N - 1))


def half(x: Any) -> Any:
    return mul(x, 0.5)


#: Bodies by name: carries -> (carries, number of rotations).
BODIES: dict[str, Any] = {
    "turned": (1, lambda a: [turned(a)], 1),
    "stencil": (1, lambda a: [stencil(a)], 1),
    "two updates": (1, lambda a: [stencil(stencil(a))], None),
    "swapped": (2, lambda a, b: [b, a], 1),
    "Fibonacci": (2, lambda a, b: [b, add(a, b)], 1),
    "leapfrog": (2, lambda a, b: [b, add(mul(stencil(b), 2.0), mul(a, -1.0))], 1),
    "turned and handed on": (2, lambda a, b: [b, turned(a)], 1),
    "three in turn": (3, lambda a, b, c: [b, c, a], 1),
    "a queue": (3, lambda a, b, c: [b, c, add(a, turned(c))], 1),
    "a queue that needs a spare": (3, lambda a, b, c: [b, c, add(turned(a), c)], 1),
    "two chains": (4, lambda a, b, c, d: [b, turned(a), d, half(c)], 2),
    "one handed to two": (3, lambda a, b, c: [b, half(a), b], None),
    "one kept, one turned": (3, lambda a, b, c: [half(a), turned(b), c], 1),
    "each from the other": (2, lambda a, b: [turned(b), turned(a)], None),
    "with the same value twice": (2, lambda a, b: [turned(a), turned(a)], None),
}


def carries(count: int) -> list[np.ndarray]:
    return [normal(N, N, seed=n) for n in range(count)]


def loops_with(low: Any, kind: type) -> list[Any]:
    """The innermost statements of a kind in loops."""
    bodies = [s.body for s in nodes(low.program.body) if isinstance(s, (For, While))]
    return [t for b in bodies for t in b.stmts if isinstance(t, kind)]


@pytest.mark.parametrize("length", [0, 1, 4, 5])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.sample(4)
def test_known_lengths(name: str, length: int) -> None:
    count, body, rotations = BODIES[name]
    low = check(lambda *xs: loop(lambda c, _: (body(*c), None), list(xs), length=length), *carries(count))
    if rotations is not None and length > 1:
        assert len(loops_with(low, Rotate)) == rotations
        assert not loops_with(low, Copy)


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", BODIES)
def test_traced_lengths(name: str) -> None:
    count, body, _ = BODIES[name]
    for n in (0, 1, 4, 5):
        check(lambda n, *xs: count_to(n, lambda i, c: body(*c), list(xs)), np.int64(n), *carries(count))


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", BODIES)
def test_while_loops_whose_condition_reads_the_carry(name: str) -> None:
    count, body, _ = BODIES[name]

    def f(limit: Any, *xs: Any) -> Any:
        def test(n: Any, *c: Any) -> Any:
            return lt(add(mul(reshape(part(c[0], 0, 0, 1), shape=()), 0.0), n), limit)

        return repeat(test, lambda n, *c: [add(n, 1.0), *body(*c)], [np.float64(0), *xs])

    for n in (0.0, 3.0, 4.0):
        check(f, np.float64(n), *carries(count))


@pytest.mark.parametrize("name", ["stencil", "Fibonacci", "a queue", "swapped"])
def test_carries_that_are_made_just_before_and_read_after(name: str) -> None:
    count, body, _ = BODIES[name]

    def f(*xs: Any) -> Any:
        out = loop(lambda c, _: (body(*c), None), [add(x, 1.0) for x in xs], length=5)
        return [add(y, x) for x, y in zip(xs, out, strict=True)]

    check(f, *carries(count))


@pytest.mark.sample(8)
@pytest.mark.parametrize("lengths", [(2, 3), (3, 2)])
@pytest.mark.parametrize("name", BODIES)
def test_loops_in_loops(name: str, lengths: tuple[int, int]) -> None:
    count, body, _ = BODIES[name]

    def outer(c: Any, _: Any) -> Any:
        inner = loop(lambda d, _: (body(*d), None), c, length=lengths[1])
        return [*inner[1:], turned(inner[0])], None

    check(lambda *xs: loop(outer, list(xs), length=lengths[0]), *carries(count))


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", BODIES)
def test_rows_of_results_are_what_the_carries_were(name: str) -> None:
    count, body, _ = BODIES[name]
    check(lambda *xs: loop(lambda c, _: (body(*c), c[-1]), list(xs), length=3), *carries(count))


@pytest.mark.parametrize("name", ["stencil", "Fibonacci", "a queue", "swapped"])
def test_results_in_the_memory_of_arguments(name: str) -> None:
    count, body, _ = BODIES[name]
    for length in (2, 3):
        f = lambda *xs, length=length: loop(lambda c, _: (body(*c), None), list(xs), length=length)
        check(f, *carries(count), aliases={n: n for n in range(count)})


@pytest.mark.parametrize("size", [3, N])
def test_an_update_of_one_carry_over_another_that_it_reads(size: int) -> None:
    """b's block gets a's elements first, so that what is read of b at the same places is read before that."""

    def body(i: Any, a: Any, b: Any) -> list[Any]:
        row = dynamic_slice(a, i, np.int64(0), sizes=(1, size))
        return [dynamic_update_slice(b, mul(row, 2.0), i, np.int64(0)), b]

    xs = normal(size, size), normal(size, size, seed=1)
    check(lambda n, *xs: count_to(n, lambda i, c: body(i, *c), list(xs)), np.int64(3), *xs)
    check(lambda n, *xs: count_to(n, lambda i, c: body(i, *c)[::-1], list(xs)), np.int64(3), *xs)


def test_the_border_of_a_stencil_is_copied_and_nothing_else() -> None:
    low = check(lambda x: loop(lambda c, _: ([stencil(c[0])], None), [x], length=4), normal(N, N))
    (sweep,) = [s for s in low.program.body.stmts if isinstance(s, For)]
    assert sum(isinstance(s, For) for s in sweep.body.stmts) == 5  # four edges and the interior


def test_what_a_failing_loop_has_written() -> None:
    """A check fails in the third step: the caller sees the steps before, as in Python, which does the call over.
    Where Python may not, the caller sees no step."""

    def f(u: Any, at: Any) -> Any:
        for n in range(4):
            u[1:-1] = u[:-2] + u[2:]
            u[0] = u[at[n]]
        return u

    def g(u: Any, at: Any) -> Any:
        def step(n: Any, u: Any) -> Any:
            return u.at[1:-1].set(u[:-2] + u[2:]) * at[at[n]]

        u[...] = tj.lax.fori_loop(0, 4, step, u)

    want, got = np.arange(100.0), np.arange(100.0)
    with pytest.raises(IndexError):
        f(want, np.array([1, 2, 500, 3]))
    for h in (f, g):
        for again in (True, False):
            got = np.arange(100.0)
            with pytest.raises(IndexError):
                tj.jit(h, fallback=again)(got, np.array([1, 2, 500, 3]))
            np.testing.assert_array_equal(got, want if h is f and again else np.arange(100.0))


@pytest.mark.sample(4)
@pytest.mark.parametrize("transform", ["jit", "grad", "jvp", "vmap", "hessian"])
@pytest.mark.parametrize("name", ["wave", "stencil", "while"])
def test_transformations(name: str, transform: str) -> None:
    """Against the loop written out."""

    def wave(a: Any, b: Any) -> tuple[Any, Any]:
        return b, 2 * b - a + 0.1 * (np.roll(b, 1) + np.roll(b, -1) - 2 * b) - 0.05 * b**3

    def relax(a: Any, b: Any) -> tuple[Any, Any]:
        return tj.numpy.asarray(a).at[1:-1].set(np.sin(a[:-2]) * a[2:]), b

    step = relax if name == "stencil" else wave

    def looped(x: Any) -> Any:
        if name == "while":
            test = lambda c: c[0] < 5
            out = tj.lax.while_loop(test, lambda c: (c[0] + 1, *step(*c[1:])), (0, x, np.cos(x)))[1:]
        else:
            out = tj.lax.fori_loop(0, 5, lambda _, c: step(*c), (x, np.cos(x)))
        return (out[0] * out[1]).sum()

    def written_out(x: Any) -> Any:
        c = (x, np.cos(x))
        for _ in range(5):
            c = step(*c)
        return (c[0] * c[1]).sum()

    apply = {
        "jit": lambda f: f,
        "grad": tj.grad,
        "jvp": lambda f: lambda x: tj.jvp(f, (x,), (np.cos(3 * x),))[1],
        "vmap": lambda f: lambda x: tj.vmap(f)(np.stack([x, x * 0.5])),
        "hessian": tj.hessian,
    }[transform]
    x = np.linspace(-1, 1, 70)
    want = tj.jit(apply(written_out))(x)
    np.testing.assert_allclose(tj.jit(apply(looped))(x), want, rtol=1e-10, atol=1e-10 * np.abs(want).max())
