"""Random stacks of transformations over random nested programs.

Every transformation here takes a function of a vector giving a number to another such function. Its meaning is
spelled a second time by a loop (vmap) or by one forward derivative of the unrolled program (all derivatives),
which finite differences check in their turn.

`make test` draws a few hundred. The exhaustive sweep has, each compiled and eager: every structure of
`nesting_programs` under every transformation; every pair of transformations; every sequence of derivatives to third
order; a thousand random stacks of up to four transformations; and stacks over five thousand programs of the grammar.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.fuzz.checking import quiet
from tests.fuzz.grammar import program
from tests.fuzz.program import Program
from tests.fuzz.spellings import Plain
from tests.fuzz.spellings import Traced as Spelled
from tests.nesting_programs import NODES, SIZE, Block, Traced, Unrolled, block
from tracejit import lax
from tracejit.errors import TracerArrayError, TracerIntegerError, UnsupportedFunctionError

F = Callable[[Any], Any]
W = np.array([0.7, -0.4, 0.5])
SHIFTS = np.array([[0.0, 0.4], [-0.3, 0.1], [0.2, -0.5]])


def along(f: F) -> F:
    """The derivative along W, the one meaning of all derivatives here."""
    return lambda x: tj.jvp(f, (x,), (W,))[1]


def both(f: F) -> F:
    return lambda x: tj.value_and_grad(f)(x)[0] + W @ tj.value_and_grad(f)(x)[1]


def pulled_twice(f: F) -> F:
    def run(x: Any) -> Any:
        _, pull = tj.vjp(f, x)
        return (pull(1.0)[0] @ W) * 0.5 + pull(0.5)[0] @ W

    return run


def pushed_twice(f: F) -> F:
    def run(x: Any) -> Any:
        _, push = tj.linearize(f, x)
        return push(W * 2.0) - push(W)

    return run


def lanes(f: F) -> F:
    def run(x: Any) -> Any:
        moved = np.reshape(x, (SIZE, 1)) + SHIFTS
        return np.sum(tj.vmap(f, in_axes=-1)(moved) * np.array([0.6, -0.9]))

    return run


def lanes_of_trees(f: F) -> F:
    def run(x: Any) -> Any:
        def g(d: Any, scale: Any) -> Any:
            return {"a": (f(d["x"] + d["s"]) * scale, None), "b": d["x"]}

        axes = {"x": None, "s": 1, "n": None}
        out = tj.vmap(g, in_axes=(axes, 0), out_axes={"a": -1, "b": None})(
            {"x": x, "s": SHIFTS, "n": None}, np.array([0.6, -0.9])
        )
        return np.sum(out["a"][0]) + 0.0 * np.sum(out["b"])

    return run


def loop(f: F) -> F:
    return lambda x: f(x + SHIFTS[:, 0]) * 0.6 - f(x + SHIFTS[:, 1]) * 0.9


def in_scan(f: F) -> F:
    """`f` as the body of a loop, of its carry and of its slices."""

    def run(x: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            return c, f(c) * row

        return np.sum(lax.scan(body, x, np.array([0.25, 0.5, 0.25]))[1])

    return run


def in_fori(f: F) -> F:
    return lambda x: lax.fori_loop(0, 2, lambda i, c: (c[0], f(c[0]) + 0.0 * c[1]), (x, 0.0))[1]


def in_cond(f: F) -> F:
    return lambda x: lax.cond(np.sum(x * x) >= 0.0, f, lambda y: np.sum(y), x)


def by_custom_jvp(f: F) -> F:
    g = tj.custom_jvp(lambda x: f(x))
    g.defjvp(lambda primals, tangents: tj.jvp(f, primals, tangents))
    return g


def by_custom_vjp(f: F) -> F:
    g = tj.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, ct: tj.vjp(f, x)[1](ct))
    return g


# name: (transformation, its meaning, its order)
STACK: dict[str, tuple[Callable[[F], F], Callable[[F], F], int]] = {
    "jit": (tj.jit, lambda f: f, 0),
    "checkpoint": (tj.checkpoint, lambda f: f, 0),
    "grad": (lambda f: lambda x: W @ tj.grad(f)(x), along, 1),
    "jvp": (along, along, 1),
    "vjp": (pulled_twice, along, 1),
    "linearize": (pushed_twice, along, 1),
    "jacfwd": (lambda f: lambda x: tj.jacfwd(f)(x) @ W, along, 1),
    "jacrev": (lambda f: lambda x: tj.jacrev(f)(x) @ W, along, 1),
    "value_and_grad": (both, lambda f: lambda x: f(x) + along(f)(x), 1),
    "hessian": (lambda f: lambda x: W @ tj.hessian(f)(x) @ W, lambda f: along(along(f)), 2),
    "hvp": (lambda f: lambda x: W @ tj.hvp(f, (x,), (W,)), lambda f: along(along(f)), 2),
    "scan": (in_scan, lambda f: f, 0),
    "fori": (in_fori, lambda f: f, 0),
    "cond": (in_cond, lambda f: f, 0),
    "custom_jvp": (by_custom_jvp, lambda f: f, 0),
    "custom_vjp": (by_custom_vjp, lambda f: f, 0),
    "vmap": (lanes, loop, 0),
    "vmap_tree": (lanes_of_trees, loop, 0),
}


#: Whose innermost derivative is in reverse.
REVERSE = ("grad", "vjp", "jacrev", "value_and_grad", "hessian")


def scalar(b: Block, spelling: Any) -> F:
    return lambda x: np.sum(np.cos(np.arange(1.0, SIZE + 1)) * b(spelling, x))


def stack(rng: np.random.Generator, depth: int, order: int) -> list[str]:
    """Names of transformations, innermost first, of at most `order` derivatives."""
    names: list[str] = []
    for _ in range(depth):
        fitting = [n for n in STACK if STACK[n][2] <= order]
        names.append(str(rng.choice(fitting)))
        order -= STACK[names[-1]][2]
    return names


def possible(names: Sequence[str]) -> list[str]:
    """The stack with a custom_jvp for each custom_vjp whose next derivative is not in reverse, its only one."""
    out = list(names)
    for n, name in enumerate(names):
        later = [m for m in names[n + 1 :] if STACK[m][2]]
        if name == "custom_vjp" and later and later[0] not in REVERSE:
            out[n] = "custom_jvp"
    return out


def check_stack(names: Sequence[str], b: Block, x: Any, label: Any) -> None:
    """The stack over the block gives what it means, compiled and evaluated eagerly."""
    names = possible(names)
    first = next((n for n in names if STACK[n][2]), "jvp")
    found, meant = scalar(b, Traced(forward=first not in REVERSE)), scalar(b, Unrolled())
    for n in names:
        found, meant = STACK[n][0](found), STACK[n][1](meant)
    want = meant(x.copy())
    np.testing.assert_allclose(found(x.copy()), want, rtol=1e-8, atol=1e-8, err_msg=f"{label}: {names}")
    with tj.disable_jit():
        np.testing.assert_allclose(
            found(x.copy()), want, rtol=1e-8, atol=1e-8, err_msg=f"{label}: {names} eager"
        )


def check(seed: int, most: int = 3, order: int = 3) -> None:
    """A random stack over a random block. The deeper the block, the lower the order: the size of a program is
    exponential in both, and one of ten thousand equations takes minutes to compile."""
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, most))
    b = block(rng, depth)
    names = stack(rng, int(rng.integers(1, 5)), min(order, 4 - depth))
    check_stack(names, b, rng.uniform(-1.2, 1.2, SIZE), seed)


def check_all(stacks: Iterator[Sequence[str]], node: int | None = None) -> None:
    """Each stack over a shallow block whose structure is `node`, or the next one every time."""
    for n, names in enumerate(stacks):
        rng = np.random.default_rng(n)
        parts = block(rng, 0), block(rng, 0)
        b = NODES[n % len(NODES) if node is None else node](rng, *parts)
        check_stack(names, b, rng.uniform(-1.2, 1.2, SIZE), n)


def check_values(seed: int) -> None:
    """The meanings themselves: values against NumPy, first derivatives against finite differences."""
    rng = np.random.default_rng(seed)
    f = scalar(block(rng, 2), Unrolled())
    x, h = rng.uniform(-1.2, 1.2, SIZE), 1e-6
    np.testing.assert_allclose(along(f)(x), (f(x + h * W) - f(x - h * W)) / (2 * h), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sample(12)
def test_a_stack_of_transformations_means_what_its_parts_mean(seed: int) -> None:
    check(seed, order=2)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sample(2)
def test_the_meanings_agree_with_finite_differences(seed: int) -> None:
    check_values(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("node", range(len(NODES)), ids=[f.__name__ for f in NODES])
def test_every_structure_under_every_transformation(node: int) -> None:
    check_all(((name,) for name in STACK), node)


@pytest.mark.exhaustive
@pytest.mark.parametrize("outer", STACK)
def test_every_pair_of_transformations(outer: str) -> None:
    check_all((inner, outer) for inner in STACK)


@pytest.mark.exhaustive
@pytest.mark.parametrize("outer", [n for n in STACK if STACK[n][2]])
def test_every_sequence_of_derivatives_to_third_order(outer: str) -> None:
    several = (names for count in (1, 2) for names in itertools.product(STACK, repeat=count))
    check_all((*s, outer) for s in several if all(STACK[n][2] for n in s) and order_of((*s, outer)) == 3)


def order_of(names: Sequence[str]) -> int:
    return sum(STACK[n][2] for n in names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1000, 2000, 20))
def test_many_stacks(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed, most=4)


# ---------------------------------------------------------------- programs of the grammar


def of_vector(p: Program, spelling: Any) -> F:
    """The program as a function of a vector that moves its arguments, giving a number."""
    inputs, fn = p.load(spelling)
    args = inputs()

    def f(x: Any) -> Any:
        moved = [np.array(a, order="C") for a in args]  # the strides of what is computed are not followed
        for n, a in enumerate(moved):
            if a.dtype == np.float64:
                moved[n] = a + 0.3 * np.sum(x * np.cos(np.arange(n, n + SIZE)))
        outs = [o for o in fn(*moved) if (o.dtype.kind in "fc" if hasattr(o, "dtype") else type(o) is float)]
        total: Any = 0.0
        for n, o in enumerate(outs):
            total = total + np.sum(np.real(o)) * np.cos(0.3 * n)
        return np.tanh(total / 10.0)

    return f


def differences(h: float) -> Callable[[F], F]:
    """The derivative along W by values alone, of fourth order in `h`."""
    return lambda f: (
        lambda x: (8.0 * (f(x + h * W) - f(x - h * W)) - (f(x + 2 * h * W) - f(x - 2 * h * W))) / (12.0 * h)
    )


def by_differences(names: list[str], f: F, h: float) -> F:
    """What the stack means, all its derivatives by differences."""
    d = differences(h)
    for n in names:
        meaning, order = STACK[n][1], STACK[n][2]
        if n == "value_and_grad":
            f = (lambda f: lambda x: f(x) + d(f)(x))(f)
        elif order:
            for _ in range(order):
                f = d(f)
        else:
            f = meaning(f)
    return f


def check_program(seed: int) -> bool:
    """Whether a stack over this program could be checked, which raises where it is wrong."""
    p = program(seed)
    if not p.derivative or "with_vjp" in p.source or "float16" in p.source or "float32" in p.source:
        return False
    rng = np.random.default_rng(seed)
    names = stack(rng, int(rng.integers(1, 5)), 2)
    names = [
        "checkpoint" if n in ("custom_jvp", "custom_vjp") else n for n in names
    ]  # see test_programs_found
    x = rng.uniform(-0.5, 0.5, SIZE)
    plain = Plain()
    with quiet():
        try:
            wants = [by_differences(names, of_vector(p, plain), h)(x) for h in (2e-3, 1e-3, 1.3e-3)]
        except (ValueError, TypeError, IndexError, FloatingPointError, np.exceptions.AxisError):
            return False  # NumPy does not run it with these arguments
        if plain.narrow or not np.all(np.isfinite(wants)) or np.ptp(wants) > 1e-6:
            return False  # an edge is near, where derivatives and differences are not the same
        found = of_vector(p, Spelled())
        for n in names:
            found = STACK[n][0](found)
        try:
            got = found(x.copy())
        except (TracerArrayError, TracerIntegerError, UnsupportedFunctionError):
            return False  # refused, and said so
    np.testing.assert_allclose(got, wants[1], rtol=1e-4, atol=2e-5, err_msg=f"{names}\n{p.source}")
    return True


@pytest.mark.parametrize("first", range(0, 240, 20))
@pytest.mark.sample(12)
def test_stacks_over_programs_mean_what_differences_say(first: int) -> None:
    checked = sum(check_program(seed) for seed in range(first, first + 20))
    assert checked >= 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(10_000, 15_000, 50))
def test_many_stacks_over_programs(first: int) -> None:
    assert sum(check_program(seed) for seed in range(first, first + 50))
