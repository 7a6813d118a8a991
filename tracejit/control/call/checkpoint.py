"""`checkpoint`: a function whose derivative keeps its inputs only and computes the rest again."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control import plans
from tracejit.control.call.op import call_op
from tracejit.control.call.policies import (
    Budget,
    Planned,
    Policy,
    Spilled,
    checkpoint_name,
    checkpoint_policies,
    name_value,
)
from tracejit.control.plans.binomial import Schedule
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.rules import (
    differentiable,
    flags,
    pick,
    region_avals,
    spread,
    union_effects,
    zero_tangents,
)
from tracejit.control.regions.staging import call_untraced, flatten, go_on, stage_user
from tracejit.control.regions.totals import given_back, present, transposed_region
from tracejit.control.transformed import transformed
from tracejit.errors import ArgumentTypeError, FunctionNeededError, MemoryBudgetError, TracejitError
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.closed import with_constants
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import StageTrace, arg_avals, jaxpr_arg_avals, make_args
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.ir.kernel import Barrier, CallRegion
from tracejit.ir.primitive import LINEAR, Op, with_starts
from tracejit.ir.values import is_linear
from tracejit.ops.building import helpers
from tracejit.records import record
from tracejit.tracing import bind, call_user, current_trace, is_tracing, new_trace, use_trace, wrap

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "optimization_barrier", "remat"]

_tags = itertools.count()

# What is computed from a barrier's result is never merged with what is computed from its operand:
# `tag` differs.
optimization_barrier = helpers.pointwise(
    "optimization_barrier",
    "the operand, but not the same expression",
    lambda x, tag: x,
    kernel=Barrier(lambda k, x, tag: x),
    derivatives=LINEAR,
    kinds="biufc",
    transpose=lambda ct, x, tag: [ct],
)


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | Budget | Spilled | str | None = None,
    static_argnums: int | Sequence[int] = (),
    memory: int | None = None,
) -> Any:
    """`fun`, differentiated in less memory: its intermediate values are computed again in reverse.

    `policy(op, *avals, **params) -> bool` says which results are kept all the same (see
    `checkpoint_policies` and `checkpoint_name`; `print_saved_residuals` shows what is). Arguments in
    `static_argnums` are not traced. `prevent_cse=False` lets the compiler merge what is computed again with
    what was computed: inside of a loop, where it can't. Usable as a decorator.

    With `policy="auto"` and `memory`, a number of bytes, what is kept is chosen: as little as possible is computed
    again for a derivative that needs at most so many bytes between its arguments and its results, as
    `memory_analysis` counts them; loops are cut into blocks where they must be. Inside of `vmap` that is for each
    example. Raises MemoryBudgetError, which says the least that was found, if there is no such plan.
    """
    options: dict[str, Any] = {
        "prevent_cse": prevent_cse,
        "policy": policy,
        "static_argnums": static_argnums,
        "memory": memory,
    }
    if fun is None:
        return functools.partial(checkpoint, **options)
    FunctionNeededError.check("checkpoint", fun)
    if policy == "auto" or memory is not None:
        policy = Budget.of(policy, memory)
    elif policy is not None and not callable(policy) and not isinstance(policy, Spilled):
        problem = f"a policy is a function such as those of checkpoint_policies, not {policy!r}"
        raise ArgumentTypeError(name="checkpoint", problem=problem)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return call_untraced(fun, static, args, kwargs)
        is_recorded = (
            current_trace().staged
        )  # of what programs leave in objects of outside they know themselves
        fixed = {n % len(args) for n in static}
        given = flatten(([a for n, a in enumerate(args) if n not in fixed], kwargs))
        raised: list[Exception] = []

        def call(traced: tuple[list[Any], dict[str, Any]]) -> Any:
            it = iter(traced[0])
            full = [a if n in fixed else next(it) for n, a in enumerate(args)]
            try:
                return call_user(fun, *full, **traced[1])
            except Exception as e:
                if isinstance(e, TracejitError) or is_recorded:
                    raise
                raised.append(e)  # when what it has left has values
                return ()

        name = getattr(fun, "__name__", "checkpoint")
        bounds = [getattr(x, "bounds", None) for x in given.raw]
        staged = stage_user(
            call, [given.tree], arg_avals(given.raw), given.weak, name, bounds, keeps=not is_recorded
        )
        jaxpr = intern_jaxpr(staged.jaxpr)
        outs = bind(
            checkpoint_op, *staged.consts, *given.raw, jaxpr=jaxpr, policy=policy, prevent_cse=prevent_cse
        )
        count = len(staged.weak)
        go_on(staged.left, outs[count:])
        if raised:
            raise raised[0]
        results = [wrap(x, w) for x, w in zip(outs[:count], staged.weak, strict=True)]
        return tree.unflatten(staged.out_tree, results)

    return transformed(wrapped, checkpoint, fun, **options)


remat = checkpoint


def _type(*avals: Aval, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), "checkpoint")


def _eval(*args: Any, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> list[Any]:
    with use_trace(ROOT):
        return list(jit.execute(jaxpr, args))


def _jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, **params: Any) -> tuple[list[Any], list[Any]]:
    nonzero = flags(tangents)
    new, out_nz = jvp_jaxpr(jaxpr, nonzero)
    outs = bind(checkpoint_op, *primals, *pick(tangents, nonzero), jaxpr=new, **params)
    values = outs[: len(out_nz)]
    return values, spread(outs[len(out_nz) :], out_nz, zero_tangents(values))


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    if isinstance(params["policy"], Schedule):
        for kind in (plans.sweeps, plans.spilled):
            found = kind.linearize(tape, primals, tangents, params["jaxpr"], params["policy"])
            if found is not None:
                return found
        params = {**params, "policy": None}
    nonzero = flags(tangents)
    plan = _recomputing(params["jaxpr"], nonzero, params["policy"], params["prevent_cse"])
    halves = plan.halves
    if plan.policy is not None:  # of this derivative; further ones keep what they are computed from
        params = {**params, "policy": plan.policy}
    outs = bind(checkpoint_op, *primals, **{**params, "jaxpr": halves.forward})
    values, saved = outs[: len(plan.out_nonzero)], outs[len(plan.out_nonzero) :]
    ts: list[Any] = []
    if any(plan.out_nonzero):
        operands = (*pick(primals, halves.reads), *saved, *pick(tangents, nonzero))
        ts = tape.record(checkpoint_op, operands, {**params, "jaxpr": halves.linear})
    return values, spread(ts, plan.out_nonzero, zero_tangents(values))


@record(frozen=True)
class _Plan:
    """The halves, which results have tangents, and the policy for further derivatives if it is another one."""

    halves: plans.again.Halves
    out_nonzero: tuple[bool, ...]
    policy: Planned | None = None


@memoize_by_jaxpr
def _recomputing(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], policy: Policy | Budget | Spilled | None, prevent_cse: bool
) -> _Plan:
    tag = next(_tags)

    def guard(x: Any) -> Any:
        return optimization_barrier(x, tag=tag) if prevent_cse and differentiable(x) else x

    if isinstance(policy, Budget):
        return _planned(_flat(jaxpr), nonzero, policy, guard)
    if isinstance(policy, Spilled):
        return _spilled(_flat(jaxpr), nonzero, guard)
    forward, linear, out_nz, _ = linearize_jaxpr(jaxpr if policy is None else _flat(jaxpr), nonzero)
    saved = [] if policy is None else _saved(forward, policy)
    return _Plan(plans.again.recomputing(forward, linear, len(jaxpr.outs), nonzero, saved, guard), out_nz)


def _planned(jaxpr: Jaxpr, nonzero: tuple[bool, ...], budget: Budget, guard: Any) -> _Plan:
    """The halves that stay within a budget; its loops keep fewer and fewer states, if they must.
    Raises MemoryBudgetError."""

    def tried(chosen: dict[int, Schedule]) -> tuple[_Plan | None, int]:
        """A plan with these schedules for loops, None if it does not fit, and the least that was found."""
        forward, linear, out_nz, _ = linearize_jaxpr(plans.blocks.scheduled(jaxpr, chosen, _again), nonzero)
        if not all(a.aval.is_static for a in forward.outs[len(jaxpr.outs) :]):
            problem = "it keeps arrays whose length only a run knows, as of a loop that ends by a condition"
            raise MemoryBudgetError(function=jaxpr.name, problem=problem)
        problem = plans.planner.Problem(forward, linear, len(jaxpr.outs), nonzero, guard)
        found = plans.planner.plan(problem, budget.memory)
        if not found.fits(budget.memory):
            return None, found.least
        loops = tuple(
            (s.slots, s.width, 1 + s.again(jaxpr.eqns[n].params["length"])) for n, s in chosen.items()
        )
        kept, again, share = problem.summary(found)
        share += plans.blocks.again_share(jaxpr, chosen)
        planned = Planned(jaxpr.name, budget.memory, found.bytes, kept, again, share, loops)
        return _Plan(problem.halves(found.saved), out_nz, planned), found.least

    plan, least = tried({})
    for chosen in () if plan else plans.blocks.schedules(jaxpr, budget.memory, least):
        plan, needed = tried(chosen)
        least = min(least, needed)
        if plan:
            break
    if plan:
        return plan
    least_bytes = f"it needs at least {least:,} bytes, more than memory={budget.memory:,}"
    raise MemoryBudgetError(function=jaxpr.name, problem=least_bytes)


def _again(block: Jaxpr, args: Sequence[Any], schedule: Schedule | None) -> list[Any]:
    return list(bind(checkpoint_op, *args, jaxpr=block, policy=schedule, prevent_cse=False))


def _spilled(jaxpr: Jaxpr, nonzero: tuple[bool, ...], guard: Any) -> _Plan:
    """The halves that keep everything, the states of loops in files. Raises ArgumentTypeError if there are no loops."""
    chosen = plans.blocks.spilled_of(jaxpr)
    if not chosen:
        problem = (
            f"offload='disk' is for native loops of more than three steps that lie in no other loop, and {jaxpr.name} "
            "has none: `memory=` plans what everything else keeps"
        )
        raise ArgumentTypeError(name="grad", problem=problem)
    forward, linear, out_nz, _ = linearize_jaxpr(plans.blocks.scheduled(jaxpr, chosen, _again), nonzero)
    made = {v for e in forward.eqns for v in e.outvars}
    saved = [v for v in dict.fromkeys(forward.outs[len(jaxpr.outs) :]) if v in made]
    return _Plan(plans.again.recomputing(forward, linear, len(jaxpr.outs), nonzero, saved, guard), out_nz)


class _Inliner(StageTrace):
    """Staging in which calls of jitted functions are what they call: policies look into them."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if op is call_op:
            return eval_jaxpr(params["jaxpr"], args)
        return self.record(op, args, params)


@memoize_by_jaxpr
def _flat(jaxpr: Jaxpr) -> Jaxpr:
    if not any(e.op is call_op for e in jaxpr.eqns):
        return jaxpr
    trace = _Inliner(ROOT, jaxpr.name)
    args = make_args(trace, jaxpr_arg_avals(jaxpr), [v.bounds for v in jaxpr.invars])
    with new_trace(trace):
        return with_constants(*trace.freeze(args, eval_jaxpr(jaxpr, args)))


def _saved(forward: Jaxpr, policy: Policy) -> list[Any]:
    """The variables that the policy keeps. A named value is the value itself, which other derivatives
    need too: a policy that keeps a name keeps both."""
    refuses = getattr(policy, "refuses", False)
    outs = {a for a in forward.outs if type(a) is not Literal}
    used = outs | {a for e in forward.eqns for a in e.invars if type(a) is not Literal}
    verdict: dict[Any, bool] = {}
    for e in forward.eqns:
        keep = bool(policy(e.op, *(aval_of(a) for a in e.invars), **e.params))
        if e.op is name_value.op and e.invars[0] in verdict:
            verdict[e.invars[0]] = keep if refuses else keep or verdict[e.invars[0]]
        else:
            verdict.update((v, keep) for v in e.outvars)
    return [v for v, keep in verdict.items() if keep and v in used and v.aval.is_static]


def _transpose(cts: Any, *args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    back, nonzero, starts = transposed_region(jaxpr, args, flags(cts))
    known = [a for a in args if not is_linear(a)]
    back = plans.late.late(back, len(known))
    operands = (*known, *pick(starts, present(starts)), *pick(cts, flags(cts)))
    outs = bind(checkpoint_op, *operands, jaxpr=back, **params)
    return given_back(args, nonzero, outs, starts)


def _batch(size: Any, args: Any, dims: Any, *, jaxpr: Jaxpr, **params: Any) -> tuple[Any, Any]:
    moved = helpers.batch_axes_first(args, dims)
    batched = tuple(d is not None for d in dims)
    new, out_b = batch_jaxpr(jaxpr, size, batched, False, processing_axis())
    outs = bind(checkpoint_op, *moved, jaxpr=new, **params)
    return outs, [0 if b else None for b in out_b]


checkpoint_op = helpers.plain(
    name="checkpoint",
    doc="a jaxpr applied to operands, computed again in reverse",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    linearize=_linearize,
    transpose=with_starts(_transpose),
    batch=_batch,
    effects=lambda params: union_effects(params["jaxpr"]),
    kernel=CallRegion(leading=()),
)
