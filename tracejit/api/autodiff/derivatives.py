"""jvp, linearize, vjp and what is made of them: grad, Jacobians, Hessians, Hessian-vector products."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.api.autodiff.budgets import within
from tracejit.api.autodiff.pullbacks import Pullback, detached
from tracejit.api.common import (
    FlatFunction,
    argument_names,
    check_input,
    check_output,
    flatten_args,
    fresh,
    is_weak,
    name_of,
    normalize_argnums,
    plain,
)
from tracejit.api.jit.jitted import jit
from tracejit.api.running import run_user
from tracejit.api.tracebacks import door
from tracejit.control.custom.zeros import beside
from tracejit.control.regions.staging import convert
from tracejit.control.transformed import transformed
from tracejit.errors import (
    CotangentMismatchError,
    FunctionNeededError,
    NonScalarOutputError,
    TangentMismatchError,
    TracejitError,
)
from tracejit.interpreters import leaks
from tracejit.interpreters.autodiff.jvp import JVPTrace, split_outputs
from tracejit.interpreters.autodiff.linearize import LinearizeTrace
from tracejit.interpreters.autodiff.recipes import linearization
from tracejit.interpreters.autodiff.tape import Tape
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.interpreters.core import eval_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.references import ONLY_LOCAL
from tracejit.ir.values import Value, Zero
from tracejit.numpy.captured.written import scope
from tracejit.ops.building import helpers
from tracejit.tracing import Box, box, current_trace, is_tracing, new_trace, to_raw, unbox

Argnums = int | Sequence[int]


def _strip(x: Any, trace: Any) -> Any:
    """An auxiliary leaf without tracers of the ended `trace`."""
    if type(x) is not Box:
        return x
    raw = x.read()
    inner = isinstance(raw, Value) and raw.trace is trace
    return plain(raw.primal if inner else raw, x.weak is True)  # type: ignore[union-attr]


def strip_aux(aux: Any, trace: Any) -> Any:
    """An auxiliary result for the user, without tracers of the ended `trace`; what has none in it is there itself."""
    if trace.storages is not None:
        return aux
    return tree.map(lambda x: _strip(x, trace), aux, is_leaf=_has_none)


def _has_none(x: Any) -> bool:
    return not any(type(leaf) is Box for leaf in tree.leaves(x))


def _materialize(t: Any, held: Container[int] = ()) -> Any:
    """A tangent or cotangent for the user: zeros instead of Zero."""
    return fresh(helpers.instantiate(t), held)


# ---------------------------------------------------------------- forward mode


@door
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """Jacobian-vector product: `(f(*primals), Jf(primals) @ tangents)`.

    `primals` and `tangents` are tuples of equal structure, shapes and tangent
    dtypes (float0 for integers). With `has_aux`, `f` returns (result, aux) and aux
    comes third.

    Raises:
        TangentMismatchError: a tangent does not fit its primal.
    """
    FunctionNeededError.check("jvp", f)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes tuples of primals and tangents: jvp(f, (x,), (t,))")
    ps, structure, weak = flatten_args(tuple(primals))
    given = tree.flatten_up_to(structure, tuple(tangents), "the tangents")
    ts = [_tangent(f, n, p, t) for n, (p, t) in enumerate(zip(ps, given, strict=True))]
    flat = FlatFunction(f, structure, {}, weak, has_aux, tree.leaves(tuple(primals)))
    trace = JVPTrace(current_trace())
    with new_trace(trace):
        outs = flat(*[trace.tracer(p, t) for p, t in zip(ps, ts, strict=True)])
    leaks.check(f"jvp of {name_of(f)}", trace, flat.aux)
    out, out_t = split_outputs(trace, outs)
    result = tree.unflatten(flat.out_tree, [plain(o) for o in out])
    tangent = tree.unflatten(
        flat.out_tree,
        [_materialize(beside(o, t), {id(t) for t in ts}) for o, t in zip(out, out_t, strict=True)],
    )
    return (result, tangent, strip_aux(flat.aux, trace)) if has_aux else (result, tangent)


def _tangent(f: Any, n: int, primal: Any, tangent: Any) -> Any:
    """A tangent given by the user as a raw value of the right type."""
    want = aval_of(primal).tangent()
    if isinstance(tangent, Zero):
        return Zero(want)
    if isinstance(tangent, np.ndarray) and tangent.dtype == dtypes.float0:
        got = Aval(tangent.shape, dtypes.float0)
    else:
        tangent = _adopting(tangent, want, "a tangent")
        got = aval_of(tangent)
    if got != want:
        raise TangentMismatchError(
            transformation=f"jvp of {name_of(f)}", argument=f"primal {n}", expected=want, got=got
        )
    return Zero(want) if want.dtype == dtypes.float0 else tangent


def _adopting(x: Any, want: Aval, what: str) -> Any:
    """A raw tangent or cotangent. Python's floats and complex numbers have the width that is wanted."""
    raw = to_raw(x, what)
    if is_weak(x) and aval_of(raw).dtype.kind == want.dtype.kind:
        return convert(raw, want.dtype)
    return raw


@door
def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(f(*primals), f_jvp)`: the value and the derivative at `primals` as a linear function.

    `f_jvp(*tangents)` may be called any number of times; the primal work is done once.
    With `has_aux`, aux comes third.
    """
    FunctionNeededError.check("linearize", f)
    flat, trace, outs, tape, ins = linearize_user(f, primals, has_aux)
    tape = detached(tape)

    def f_jvp(*tangents: Any) -> Any:
        given = tree.flatten_up_to(ins.structure, tuple(tangents), "the tangents")
        ts = [_tangent(f, n, p, t) for n, (p, t) in enumerate(zip(ins.leaves, given, strict=True))]
        held = {*tape.held(), *map(id, ts)}
        return tree.unflatten(flat.out_tree, [fresh(t, held) for t in push_forward(tape, ins, ts)])

    value = tree.unflatten(flat.out_tree, [plain(o) for o in outs])
    return (value, f_jvp, strip_aux(flat.aux, trace)) if has_aux else (value, f_jvp)


def push_forward(tape: Tape, ins: Inputs, tangents: list[Any]) -> list[Any]:
    jaxpr, residuals = tape.freeze()
    ts = [helpers.instantiate(t) for t, nz in zip(tangents, ins.nonzero, strict=True) if nz]
    results = iter(eval_jaxpr(jaxpr, [*residuals, *ts]))
    return [helpers.instantiate(o) if type(o) is Zero else next(results) for o in tape.outs]


# ---------------------------------------------------------------- reverse mode


class Inputs:
    """Flat inputs of a linearization: leaves, structure, and which carry tangents."""

    __slots__ = ("leaves", "nonzero", "structure")

    def __init__(self, leaves: list[Any], structure: Any) -> None:
        self.leaves = leaves
        self.structure = structure
        self.nonzero = [dtypes.is_inexact(aval_of(x).dtype) for x in leaves]


def linearize_user(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    has_aux: bool,
    kwargs: dict[str, Any] | None = None,
    slim: bool = False,
) -> tuple[FlatFunction, LinearizeTrace, list[Any], Tape, Inputs]:
    leaves, structure, weak = flatten_args(args)
    ins = Inputs(leaves, structure)
    flat = FlatFunction(f, structure, kwargs or {}, weak, has_aux, tree.leaves(args))
    trace = linearization(current_trace())
    tracers = [
        trace.arg(x, aval_of(x).tangent()) if nz else x for x, nz in zip(leaves, ins.nonzero, strict=True)
    ]
    invars = [t.tangent for t, nz in zip(tracers, ins.nonzero, strict=True) if nz]
    with scope() as memories, new_trace(trace):
        outs = flat(*tracers)
    trace.tape.live = False
    leaks.check(f"the derivative of {name_of(f)}", trace, flat.aux)
    values, tangents = split_outputs(trace, outs)
    tape = Tape(trace.tape, invars, trace.tape.eqns, tangents)
    del tracers, outs
    if memories.before:  # arrays that it refers to were written into since
        tape = tape.with_residuals([memories.was(x) for x in tape.residuals()])
    if sys.getrefcount(trace) <= ONLY_LOCAL:  # nobody has a traced value, to be told where it was made
        trace.tape.eqns = []  # else its variables and it would keep each other, and their arrays, until gc runs
    if (slim or not is_tracing()) and not memories.before:  # a compiled program decides itself what it keeps
        tape = tape.slim([*leaves, *values])
    if memories.given:
        memories.check(tape.residuals())
    return flat, trace, values, tape, ins


def input_cotangents(ins: Inputs, tape: Tape, cts: list[Any]) -> list[Any]:
    """Raw cotangents of all inputs: Zeros for those without tangents."""
    found = iter(pull_back(tape, cts))
    return [
        beside(x, next(found) if nz else Zero(aval_of(x).tangent()))
        for x, nz in zip(ins.leaves, ins.nonzero, strict=True)
    ]


@door
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False, memory: int | None = None) -> Any:
    """Vector-Jacobian product: `(f(*primals), pullback)`, `pullback(ct) -> cotangents of primals`.

    `ct` has the structure, shapes and dtypes of the result. The pullback may be called any
    number of times; it is a pytree of the values that it has kept. With `has_aux`, aux comes third. With `memory`, a
    number of bytes, no more are needed in between (see `grad`).

    Raises:
        CotangentMismatchError: by the pullback, when `ct` does not fit.
        MemoryBudgetError: no plan that stays within `memory` was found.
    """
    FunctionNeededError.check("vjp", f)
    flat, trace, outs, tape, ins = linearize_user(within(f, memory), primals, has_aux)
    out_avals = [aval_of(o) for o in outs]

    def run(tape: Tape, ct: Any) -> tuple[Any, ...]:
        cts = _cotangents(flat.out_tree, out_avals, ct)
        held = {*tape.held(), *map(id, cts)}
        return tree.unflatten(
            ins.structure, [_materialize(c, held) for c in input_cotangents(ins, tape, cts)]
        )

    value, pullback = tree.unflatten(flat.out_tree, [plain(o) for o in outs]), Pullback(run, detached(tape))
    return (value, pullback, strip_aux(flat.aux, trace)) if has_aux else (value, pullback)


def _cotangents(out_tree: Any, avals: list[Aval], ct: Any) -> list[Any]:
    """Cotangents given by the user as raw values of the right types."""
    paths = tree.paths(out_tree)
    out = []
    for path, aval, x in zip(paths, avals, tree.flatten_up_to(out_tree, ct, "the cotangent"), strict=True):
        want = aval.tangent()
        if want.dtype == dtypes.float0:
            out.append(Zero(want))
            continue
        raw = _adopting(x, want, "a cotangent")
        got = aval_of(raw)
        if got != want:
            raise CotangentMismatchError(path=path, expected=want, got=got)
        out.append(raw)
    return out


def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    memory: int | None = None,
    offload: str | None = None,
) -> Callable[..., Any]:
    """A function that returns `(f(...), gradient)` of a scalar-valued `f`.

    The gradient has the structure of the arguments chosen by `argnums` (a tuple of them if it is
    a sequence). With `has_aux`, `f` returns (value, aux) and the result is ((value, aux), gradient). With `memory`, a
    number of bytes, no more are needed between arguments and results: values are computed again instead of kept, at
    the least cost (see `checkpoint`). With `offload="disk"`, what loops keep is in a temporary file, and the
    function is compiled.

    Raises:
        NonScalarOutputError, NonFloatInputError, NonFloatOutputError, ArgumentCountError, MemoryBudgetError.
    """
    args = f, argnums, has_aux, holomorphic, allow_int, memory, offload
    made = transformed(door(_value_and_grad(*args)), value_and_grad, *args)
    # One program, so that it is known who reads what was written, and when that has failed.
    return made if offload is None else jit(made, fallback=False)


def _value_and_grad(
    f: Any, argnums: Argnums, has_aux: bool, holomorphic: bool, allow_int: bool, memory: Any, offload: Any
) -> Callable[..., Any]:
    FunctionNeededError.check("grad", f)
    planned = within(f, memory, offload)

    @functools.wraps(f)
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        nums = normalize_argnums("grad", f, argnums, len(args))
        _check_inputs(f, args, nums, holomorphic, allow_int)
        chosen = tuple(args[n] for n in nums)
        flat, trace, outs, tape, ins = linearize_user(
            fix_others(planned, args, nums), chosen, has_aux, kwargs
        )
        _check_scalar(f, flat, outs, holomorphic)
        one = aval_of(outs[0]).dtype.type(1)
        cts = input_cotangents(ins, tape, [one])
        held = tape.held() if any(type(c) is np.ndarray or is_elsewhere(c) for c in cts) else ()
        grads = tree.unflatten(ins.structure, [_materialize(c, held) for c in cts])
        value = plain(outs[0])
        result = (value, strip_aux(flat.aux, trace)) if has_aux else value
        return result, grads[0] if isinstance(argnums, int) else grads

    return value_and_grad_f


def fix_others(f: Callable[..., Any], args: tuple[Any, ...], nums: tuple[int, ...]) -> Callable[..., Any]:
    """`f` as a function of the arguments `nums`; the others are its own copies too."""
    if nums == tuple(range(len(args))):
        return f

    def fixed(*chosen: Any, **kwargs: Any) -> Any:
        full = [own_copy(a) for a in args]
        for n, x in zip(nums, chosen, strict=True):
            full[n] = x
        return run_user(f, tuple(full), kwargs)

    fixed.__qualname__ = name_of(f)
    return fixed


def own_copy(arg: Any) -> Any:
    """Arrays in `arg` as fresh boxes, so that writes do not reach the caller; other leaves as they are."""
    return tree.map(lambda x: box(unbox(x), getattr(x, "weak", False)) if _is_array(x) else x, arg)


def _is_array(x: Any) -> bool:
    return isinstance(x, (Box, np.ndarray)) or is_elsewhere(x)


def _check_inputs(
    f: Any, args: tuple[Any, ...], nums: tuple[int, ...], holomorphic: bool, allow_int: bool
) -> None:
    try:
        for n in nums:
            for leaf in tree.leaves(args[n]):
                check_input("grad", "", to_raw(leaf), holomorphic, allow_int)
    except TracejitError:  # once more, with names, which take longer to find than the check
        names = argument_names(f, len(args))
        for n in nums:
            leaves, structure = tree.flatten_with_paths(args[n])
            for k, (path, leaf) in enumerate(leaves):
                where = names[n] + path + tree.field_of(structure, k)
                check_input("grad", where, to_raw(leaf, where), holomorphic, allow_int)
        raise


def _check_scalar(f: Any, flat: FlatFunction, outs: list[Any], holomorphic: bool) -> None:
    if len(outs) != 1 or aval_of(outs[0]).shape != ():
        got = f"{len(outs)} arrays" if len(outs) != 1 else f"an array of shape {aval_of(outs[0]).shape}"
        got = got if outs else "nothing that can be differentiated, as a function without `return` does"
        raise NonScalarOutputError(transformation="grad", function=name_of(f), got=got)
    check_output("grad", f, outs[0], holomorphic)


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    memory: int | None = None,
    offload: str | None = None,
) -> Callable[..., Any]:
    """The gradient of a scalar-valued `f`; arguments as `value_and_grad`. With `has_aux`: (gradient, aux)."""
    args = f, argnums, has_aux, holomorphic, allow_int, memory, offload
    inner = _value_and_grad(*args) if offload is None else value_and_grad(*args)

    @door
    @functools.wraps(f)
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, g = inner(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return transformed(grad_f, grad, *args)
