"""The typechecker: every variable bound once before use, every equation's types as its rule says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.errors import InternalTypeError
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var, effects_of, sub_jaxprs
from tracejit.ir.pretty import Namer, headline


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raises InternalTypeError if `jaxpr` is inconsistent. Recurses into sub-jaxprs that were not checked yet."""
    if jaxpr.checked:
        return
    bound: set[Any] = set()
    for v in jaxpr.invars:
        _bind(v, bound, jaxpr)
    for eqn in jaxpr.eqns:
        _check_eqn(eqn, bound, jaxpr)
    for a in jaxpr.outs:
        if not isinstance(a, Literal) and a not in bound:
            _fail(jaxpr, f"output {a!r} is used before it is bound")
    jaxpr.checked = True


def _fail(jaxpr: Jaxpr, problem: str) -> None:
    raise InternalTypeError(problem=f"{problem}\nin\n{jaxpr}")


def _bind(v: Var, bound: set[Any], jaxpr: Jaxpr) -> None:
    if v in bound:
        _fail(jaxpr, f"variable {v!r}:{v.aval} is bound twice")
    bound.add(v)
    for d in v.aval.shape:
        if isinstance(d, Dim) and d.var not in bound and not isinstance(d.var, Literal):
            _fail(jaxpr, f"the extent of {v!r}:{v.aval} is not bound before it")


def _check_eqn(eqn: Eqn, bound: set[Any], jaxpr: Jaxpr) -> None:
    def fail(problem: str) -> None:  # the equation's text is made only here: it takes longer than the checks
        _fail(jaxpr, problem.replace("{text}", f"`{headline(eqn, Namer(), False)}`"))

    for a in eqn.invars:
        if not isinstance(a, Literal) and a not in bound:
            fail(f"operand of {{text}} {a!r} is used before it is bound")
    for v in eqn.outvars:
        _bind(v, bound, jaxpr)
    if not eqn.checked:
        _check_types(eqn, fail)
        eqn.checked = True


def _check_types(eqn: Eqn, fail: Callable[[str], None]) -> None:
    for sub in sub_jaxprs(eqn.params):
        check_jaxpr(sub)
    types = [with_outputs(t, eqn.outvars) for t in apply_type_rule(eqn.op, eqn.invars, eqn.params)]
    if len(types) != len(eqn.outvars):
        fail(f"{{text}} has {len(eqn.outvars)} outputs, its rule gives {len(types)}")
    if effects_of(eqn.op, eqn.params) != eqn.effects:
        fail("{text} has wrong effects")
    for v, t in zip(eqn.outvars, types, strict=True):
        if v.aval != t:
            fail(f"{{text}}: its rule gives {t}, the variable has {v.aval}")


def apply_type_rule(op: Any, atoms: Any, params: dict[str, Any]) -> list[Aval]:
    """The output avals of `op` on `atoms`.

    A type rule sees only avals. Where a result's extent is the value of an
    operand, it writes `Dim(OperandRef(n), bound)`; here that becomes the operand.
    `Dim(OutputRef(n), bound)`, the value of an earlier output, is left to `with_outputs`.
    """
    out = op.type(*(a.aval for a in atoms), **params)
    outs = list(out) if op.multi else [out]
    return [resolve_dims(t, atoms) for t in outs]


class OperandRef:
    """In a type rule's result: "the value of operand `index`" as an extent."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class OutputRef:
    """In a type rule's result: "the value of output `index`" of the same equation as an extent."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def with_outputs(aval: Aval, outs: Any) -> Aval:
    """`aval` with output references replaced by the equation's variables `outs`."""
    if aval.is_static:
        return aval
    return aval.with_shape(tuple(_of_outputs(d, outs) for d in aval.shape))


def _of_outputs(d: Any, outs: Any) -> Any:
    return Dim(outs[d.var.index], d.bound) if isinstance(d, Dim) and type(d.var) is OutputRef else d


def resolve_dims(aval: Aval, atoms: Any) -> Aval:
    """`aval` with operand references replaced by the operands (literals by their values)."""
    if aval.is_static:
        return aval
    return aval.with_shape(tuple(_resolve(d, atoms) for d in aval.shape))


def _resolve(d: Any, atoms: Any) -> Any:
    if isinstance(d, Dim) and type(d.var) is OperandRef:
        atom = atoms[d.var.index]
        return int(atom.value) if isinstance(atom, Literal) else Dim(atom, d.bound)
    return d
