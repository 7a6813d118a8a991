"""Random stacks of transformations over random nested programs.

Every transformation here takes a function of a vector giving a number to another such function. Its meaning is
spelled a second time by a loop (vmap) or by one forward derivative of the unrolled program (all derivatives),
which finite differences check in their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.nesting_programs import SIZE, Block, Traced, Unrolled, block

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


def check(seed: int, most: int = 3, order: int = 3) -> None:
    rng = np.random.default_rng(seed)
    b = block(rng, int(rng.integers(1, most)))
    names = stack(rng, int(rng.integers(1, 5)), order)
    x = rng.uniform(-1.2, 1.2, SIZE)
    first = next((n for n in names if STACK[n][2]), "jvp")
    found, meant = scalar(b, Traced(forward=first not in REVERSE)), scalar(b, Unrolled())
    for n in names:
        found, meant = STACK[n][0](found), STACK[n][1](meant)
    want = meant(x.copy())
    np.testing.assert_allclose(found(x.copy()), want, rtol=1e-8, atol=1e-8, err_msg=f"{seed}: {names}")
    with tj.disable_jit():
        np.testing.assert_allclose(
            found(x.copy()), want, rtol=1e-8, atol=1e-8, err_msg=f"{seed}: {names} eager"
        )


def check_values(seed: int) -> None:
    """The meanings themselves: values against NumPy, first derivatives against finite differences."""
    rng = np.random.default_rng(seed)
    f = scalar(block(rng, 2), Unrolled())
    x, h = rng.uniform(-1.2, 1.2, SIZE), 1e-6
    np.testing.assert_allclose(along(f)(x), (f(x + h * W) - f(x - h * W)) / (2 * h), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_a_stack_of_transformations_means_what_its_parts_mean(seed: int) -> None:
    check(seed, order=2)


@pytest.mark.parametrize("seed", range(40))
def test_the_meanings_agree_with_finite_differences(seed: int) -> None:
    check_values(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1000, 3000))
def test_many_stacks(seed: int) -> None:
    check(seed, most=4)
