"""Pieces that the rules of region ops (call, cond, while, scan) share.

Jaxprs close over nothing, so every transformation of a region is a new jaxpr
over permuted or extended inputs. `build` records one from a function of raw
values; `permute` rearranges an existing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracejit import dtypes
from tracejit.errors import DynamicExtentError
from tracejit.interpreters.closed import with_constants
from tracejit.interpreters.core import eval_jaxpr, rename_dims
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import StageTrace, arg_avals, make_args
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.check import OperandRef, OutputRef
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.ir.primitive import Op
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import new_trace


class _Recorder(StageTrace):
    """Staging that records everything: nothing is computed, so nothing becomes a constant."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return self.record(op, args, params)


class Typed:
    """Stands for a value of which only the type matters."""

    __slots__ = ("aval", "bounds")

    def __init__(self, aval: Aval, bounds: Any = None) -> None:
        self.aval = aval
        self.bounds = bounds


def build(fn: Callable[..., Sequence[Any]], inputs: Sequence[Any], name: str = "") -> Jaxpr:
    """The jaxpr of `fn(*raw) -> list of raw` over inputs typed like `inputs`.

    `inputs` are variables or `Typed`; an extent that is one of them becomes the new input.
    """
    trace = _Recorder(ROOT, name)
    args = make_args(trace, arg_avals(inputs), [getattr(v, "bounds", None) for v in inputs])
    with new_trace(trace):
        jaxpr = with_constants(*trace.freeze(args, fn(*args)))
    return prune(jaxpr, [True] * len(jaxpr.outs))


def permute(jaxpr: Jaxpr, ins: Sequence[int], outs: Sequence[int] | None = None) -> Jaxpr:
    """`jaxpr` with inputs (and outputs) in the given order."""
    atoms = jaxpr.outs if outs is None else [jaxpr.outs[n] for n in outs]
    return Jaxpr(tuple(jaxpr.invars[n] for n in ins), jaxpr.eqns, tuple(atoms), jaxpr.name)


def prune(jaxpr: Jaxpr, keep: Sequence[bool]) -> Jaxpr:
    """Only the outputs marked by `keep`, and the equations they need (or that have effects)."""
    outs = tuple(a for a, k in zip(jaxpr.outs, keep, strict=True) if k)
    live: set[Any] = set()
    mark(outs, live)
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(v in live for v in eqn.outvars):
            eqns.append(eqn)
            mark((*eqn.invars, *eqn.outvars), live)
    return Jaxpr(jaxpr.invars, tuple(reversed(eqns)), outs, jaxpr.name)


def mark(atoms: Iterable[Any], live: set[Any]) -> None:
    """Atoms and the variables of their extents are needed."""
    for a in atoms:
        if type(a) is Literal:
            continue
        live.add(a)
        live.update(d.var for d in a.aval.shape if isinstance(d, Dim))


def flags(values: Sequence[Any]) -> tuple[bool, ...]:
    """Which tangents or cotangents are not known zeros."""
    return tuple(type(t) is not Zero for t in values)


def pick(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    """The values marked by `which`."""
    return [x for x, w in zip(values, which, strict=True) if w]


def spread(values: Sequence[Any], which: Sequence[bool], rest: Sequence[Any]) -> list[Any]:
    """Undo `pick`: the next of `values` where marked, the entry of `rest` elsewhere."""
    it = iter(values)
    return [next(it) if w else r for w, r in zip(which, rest, strict=True)]


def union(a: Sequence[bool], b: Sequence[bool]) -> tuple[bool, ...]:
    return tuple(x or y for x, y in zip(a, b, strict=True))


def zero_tangents(values: Sequence[Any]) -> list[Zero]:
    """A known-zero tangent for each raw value (or aval holder)."""
    return [Zero(aval_of(v).tangent()) for v in values]


def instantiated(tangent: Any, primal: Any) -> Any:
    """The tangent of `primal` as a value of the current trace."""
    return helpers.instantiate(Zero(aval_of(primal).tangent())) if type(tangent) is Zero else tangent


def differentiable(x: Any) -> bool:
    """Whether a raw value can have a tangent other than float0."""
    return dtypes.is_inexact(aval_of(x).dtype)


def outer_aval(aval: Aval, position: dict[Any, Any], op: str) -> Aval:
    """A region's output type as its op's type rule states it: extents are what `position` refers to.

    Raises:
        DynamicExtentError: the extent is computed inside of the region.
    """
    if aval.is_static:
        return aval
    return aval.with_shape(tuple(_outer_dim(d, position, op) for d in aval.shape))


def _outer_dim(d: Any, position: dict[Any, Any], op: str) -> Any:
    if not isinstance(d, Dim):
        return d
    if isinstance(d.var, Literal):
        return int(d.var.value)
    if d.var not in position:
        raise DynamicExtentError(op=op, problem="an output has a dimension whose size is computed inside")
    return Dim(position[d.var], d.bound)


def region_avals(jaxpr: Jaxpr, operands: Sequence[int], op: str, own: bool = False) -> list[Aval]:
    """The op's output types for `jaxpr`, whose inputs are the op's `operands`; with `own` extents may be
    outputs too."""
    outs = list(enumerate(jaxpr.outs)) if own else []
    position: dict[Any, Any] = {
        a: OutputRef(n) for n, a in reversed(outs)
    }  # the first place of a repeated one
    position.update((v, OperandRef(n)) for v, n in zip(jaxpr.invars, operands, strict=True))
    return [outer_aval(a.aval, position, op) for a in jaxpr.outs]


def zeros_in(aval: Aval, env: dict[Any, Any]) -> Any:
    """Zeros of type `aval`, with extents that are keys of `env` replaced by its values."""
    return helpers.instantiate(Zero(rename_dims(aval, env)))


def union_effects(*jaxprs: Jaxpr) -> frozenset[str]:
    """The effects of a region op with these sub-jaxprs."""
    return frozenset().union(*(j.effects for j in jaxprs))


def with_outputs(jaxpr: Jaxpr, extra: Callable[[dict[Any, Any], list[Any]], list[Any]]) -> Jaxpr:
    """`jaxpr` with its outputs replaced by `extra(env of inputs, outs)`."""

    def fn(*args: Any) -> list[Any]:
        return extra(dict(zip(jaxpr.invars, args, strict=True)), eval_jaxpr(jaxpr, args))

    return build(fn, jaxpr.invars, jaxpr.name)
