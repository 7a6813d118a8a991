"""`custom_root`: roots of functions, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import dtypes, tree
from tracejit.control.custom.convert import convert_all
from tracejit.control.custom.jvp import custom_jvp
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.ops.elementwise import arithmetic
from tracejit.tracing import call_user, to_raw, wrap

Function = Callable[..., Any]


def custom_root(
    f: Function,
    initial_guess: Any,
    solve: Callable[[Function, Any], Any],
    tangent_solve: Callable[[Function, Any], Any],
    has_aux: bool = False,
) -> Any:
    """x with `f(x) == 0`, as `solve(f, initial_guess)` finds it, a tree like `initial_guess`.

    Its derivative with respect to what `f` closes over is that of the root: with g the derivative of f
    at x, dx solves `g(dx) == -df`, which `tangent_solve(g, -df)` does (for a number
    `lambda g, y: y / g(1.0)`, for vectors `custom_linear_solve`, or a dense solve with `jacobian(g)`). The
    steps of `solve` are never differentiated, and the guess has no derivative. With `has_aux`, `solve`
    returns (x, aux), and aux has no derivative.
    """
    converted, hoisted = convert_all(f, initial_guess)
    # What the solver itself closes over is hoisted too, and then has no derivative.
    solver, used = convert_all(lambda guess: call_user(solve, f, guess), initial_guess)

    @custom_jvp
    def root(values: list[Any], others: list[Any], guess: Any) -> Any:
        return solver(guess, *others)

    @root.defjvp
    def _root_jvp(primals: Any, tangents: Any) -> Any:
        (values, others, guess), (slopes, _, _) = primals, tangents
        out = root(values, others, guess)
        x = out[0] if has_aux else out
        leaves, structure = tree.flatten(x)
        point, constants = [to_raw(a) for a in leaves], [to_raw(v) for v in values]

        def flat(*raw: Any) -> list[Any]:
            at = tree.unflatten(structure, [wrap(r) for r in raw[: len(point)]])
            result = converted(at, *[wrap(r) for r in raw[len(point) :]])
            return [to_raw(r) for r in tree.leaves(result)]

        def derivative(dx: list[Any], dv: list[Any]) -> list[Any]:
            _, out = jvp_flat(flat, [*point, *constants], [*dx, *dv])
            return [helpers.instantiate(t) for t in out]

        still = [Zero(aval_of(p).tangent()) for p in point]
        fixed = [Zero(aval_of(c).tangent()) for c in constants]
        smooth = [dtypes.is_inexact(aval_of(c).dtype) for c in constants]
        moved = derivative(
            still, [to_raw(s) if d else z for s, d, z in zip(slopes, smooth, fixed, strict=True)]
        )

        def g(y: Any) -> Any:
            direction = [to_raw(a) for a in tree.leaves(y)]
            return tree.unflatten(structure, [wrap(t) for t in derivative(direction, fixed)])

        target = tree.unflatten(structure, [wrap(arithmetic.neg(m)) for m in moved])
        dx = call_user(tangent_solve, g, target)
        return (out, (dx, tree.map(_no_tangent, out[1]))) if has_aux else (out, dx)

    return root(list(hoisted), list(used), initial_guess)


def _no_tangent(x: Any) -> Any:
    return wrap(helpers.instantiate(Zero(aval_of(to_raw(x)).tangent())))
