"""`custom_linear_solve`: the solution of linear equations, differentiated by the equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control.custom.closures import with_ignored
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.rules import region_avals, union_effects, zero_tangents
from tracejit.control.regions.staging import Staged, flatten, stage_user
from tracejit.errors import LinearSolveError, NotDifferentiableError
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.interpreters.autodiff.transpose import backward_pass
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import arg_avals
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CallRegion
from tracejit.ir.values import Zero, is_linear
from tracejit.ops.building import helpers
from tracejit.ops.elementwise import arithmetic
from tracejit.tracing import bind, call_user, to_raw, use_trace, wrap

Function = Callable[..., Any]


def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Callable[[Function, Any], Any],
    transpose_solve: Callable[[Function, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """x with `matvec(x) == b`, as `solve(matvec, b)` finds it; its derivatives solve the same equations again.

    `matvec` is linear and maps trees like `b` to trees like `b`; both it and `solve` may close over traced
    values. Forward mode solves for `db - dA x`; reverse mode calls `transpose_solve(vecmat, ct)`, which with
    `symmetric` is `solve` with `matvec`. The steps of `solve` are never differentiated. With `has_aux`
    it returns (x, aux), and aux has no derivative.

    Raises:
        LinearSolveError: `matvec` or `solve` gives another structure or type than `b` has.
        NotDifferentiableError: reverse mode, without `transpose_solve` or `symmetric`.
    """
    given = flatten(b)

    def staged(fn: Function) -> Staged:
        return stage_user(fn, [given.tree], arg_avals(given.raw), given.weak, "custom_linear_solve")

    def vecmat(y: Any) -> Any:
        linear = [False] * len(forward.consts) + [True] * len(given.raw)
        known = [*forward.consts, *(None for _ in given.raw)]
        cts = backward_pass(forward.jaxpr, linear, known, [to_raw(x) for x in tree.leaves(y)])
        return tree.unflatten(given.tree, [wrap(helpers.instantiate(c)) for c in cts[len(forward.consts) :]])

    forward = staged(lambda x: call_user(matvec, x))
    _check("matvec", forward, given.tree, given.raw)
    solution = staged(lambda y: call_user(solve, matvec, y))
    x_tree = solution.out_tree.children()[0] if has_aux else solution.out_tree
    _check("solve", solution, x_tree, given.raw, given.tree)
    parts = [forward, solution]
    if symmetric:
        parts += [forward, solution]
    elif transpose_solve is not None:
        parts += [staged(vecmat), staged(lambda y: _first(call_user(transpose_solve, vecmat, y), has_aux))]
    jaxprs, consts = _over_all_constants(parts)
    params = dict(zip(("matvec", "jaxpr", "vecmat", "transposed"), [*jaxprs, None, None], strict=False))
    outs = bind(linear_solve_op, *consts, *given.raw, residuals=len(consts), **params)
    return tree.unflatten(solution.out_tree, [wrap(x) for x in outs])


def _first(out: Any, has_aux: bool) -> Any:
    return out[0] if has_aux else out


def _check(name: str, staged: Staged, found: Any, b: Sequence[Any], wanted: Any = None) -> None:
    wanted = found if wanted is None else wanted
    avals = [aval_of(x) for x in b]
    if name == "matvec":
        found, wanted = staged.out_tree, found
    got = staged.out_avals[: len(avals)]
    if found != wanted or got != avals:
        given, needed = (
            f"{tree.show(t)} of {', '.join(map(str, a))}" for t, a in ((found, got), (wanted, avals))
        )
        raise LinearSolveError(function=name, given=given, needed=needed)


def _over_all_constants(parts: Sequence[Staged]) -> tuple[list[Jaxpr], list[Any]]:
    """The parts as jaxprs over (*constants of all, *arguments); a part that occurs twice counts once."""
    unique = list({id(p): p for p in parts}.values())
    consts = [c for p in unique for c in p.consts]
    done: dict[int, Jaxpr] = {}
    before = 0
    for p in unique:
        n = len(p.consts)
        jaxpr = with_ignored(p.jaxpr, n, consts[before + n :])
        done[id(p)] = intern_jaxpr(with_ignored(jaxpr, 0, consts[:before]))
        before += n
    return [done[id(p)] for p in parts], consts


# ---------------------------------------------------------------- the op


def _type(*avals: Aval, jaxpr: Jaxpr, **_: Any) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), "linear_solve")


def _eval(*args: Any, jaxpr: Jaxpr, **_: Any) -> list[Any]:
    with use_trace(ROOT):
        return list(jit.execute(jaxpr, args))


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """A x = b, so A dx = db - dA x."""
    n = params["residuals"]
    outs = bind(linear_solve_op, *primals, **params)
    size = len(primals) - n
    x, slopes = outs[:size], [helpers.instantiate(t) for t in tangents[n:]]
    nothing = all(type(t) is Zero for t in tangents)
    if nothing:
        return list(outs), list(zero_tangents(outs))
    if any(type(t) is not Zero for t in tangents[:n]):
        ts = [*tangents[:n], *zero_tangents(x)]
        _, moved = jvp_flat(lambda *xs: eval_jaxpr(params["matvec"], xs), [*primals[:n], *x], ts)
        slopes = [s if type(m) is Zero else arithmetic.sub(s, m) for s, m in zip(slopes, moved, strict=True)]
    found = bind(linear_solve_op, *primals[:n], *slopes, **params)
    return list(outs), [*found[:size], *zero_tangents(outs[size:])]


def _transpose(cts: Any, *args: Any, residuals: int, **params: Any) -> list[Any]:
    known, linear = args[:residuals], args[residuals:]
    if params["transposed"] is None:
        reason = "custom_linear_solve has neither transpose_solve nor symmetric=True"
        raise NotDifferentiableError(op="linear_solve", reason=reason)
    swapped = {
        "matvec": params["vecmat"],
        "vecmat": params["matvec"],
        "jaxpr": params["transposed"],
        "transposed": params["jaxpr"],
    }
    given = [helpers.instantiate(ct) for ct in cts[: len(linear)]]
    outs = bind(linear_solve_op, *known, *given, residuals=residuals, **swapped)
    return [
        *(None for _ in known),
        *(o if is_linear(a) else None for o, a in zip(outs, linear, strict=False)),
    ]


def _batch(size: Any, args: Any, dims: Any, *, residuals: int, **params: Any) -> tuple[Any, Any]:
    """Right-hand sides are all batched, so that solutions and their cotangents are too."""
    n = residuals
    known = helpers.batch_axes_first(args[:n], dims[:n])
    b = [helpers.to_batch_axis(x, d, 0, size) for x, d in zip(args[n:], dims[n:], strict=True)]
    flags = tuple(d is not None for d in dims[:n]) + (True,) * len(b)
    new = {
        name: None if j is None else batch_jaxpr(j, size, flags, True, processing_axis())[0]
        for name, j in params.items()
    }
    outs = bind(linear_solve_op, *known, *b, residuals=n, **new)
    return list(outs), [0] * len(outs)


linear_solve_op = helpers.plain(
    name="linear_solve",
    doc="the solution of linear equations by a function of the user's",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: union_effects(params["jaxpr"]),
    kernel=CallRegion(),
)
