"""What the derivative of a function keeps from the function's evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.api.autodiff.derivatives import linearize_user
from tracejit.api.common import argument_names, is_weak, name_of
from tracejit.api.introspect import leaf_aval
from tracejit.api.running import run_user
from tracejit.errors import FunctionNeededError
from tracejit.interpreters.stage import StageTrace, make_args
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal
from tracejit.ir.kernel import CallRegion, ScanRegion
from tracejit.ir.source import Source
from tracejit.records import record
from tracejit.tracing import box, current_trace, new_trace


@record(frozen=True)
class SavedResidual:
    """A value that the derivative keeps. `origin` says what it is: an argument, a captured array, or the
    result of an operation, with the user's line. `free`: it exists anyway, as an argument or result."""

    aval: Aval
    origin: str
    free: bool

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[SavedResidual]:
    """What `vjp` and `grad` of `f` keep at arguments like these (arrays or `ShapeDtypeStruct`s), one entry
    an array. Nothing is computed."""
    FunctionNeededError.check("saved_residuals", f)
    leaves, structure = tree.flatten((args, kwargs))
    trace = StageTrace(current_trace(), name_of(f))
    ins = make_args(trace, [leaf_aval(x) for x in leaves])
    with new_trace(trace):
        boxes = [box(v, is_weak(x)) for v, x in zip(ins, leaves, strict=True)]
        call_args, call_kwargs = tree.unflatten(structure, boxes)

        def pair(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return run_user(f, args, kwargs)

        _, _, outs, tape, _ = linearize_user(pair, (call_args, call_kwargs), False, slim=True)
    names = dict(zip(ins, _names(f, args, kwargs), strict=True))
    origins = _Origins(names, trace.eqns)
    found: dict[Any, SavedResidual] = {}
    results = {id(o) for o in outs}
    for value in tape.residuals():
        aval = aval_of(value)
        if not aval.shape and not hasattr(value, "aval"):
            continue  # a number of the program
        free = value in names if hasattr(value, "aval") else False
        origin = origins.of(value) + (", a result of the function" if id(value) in results else "")
        found[id(value)] = SavedResidual(aval, origin, free or id(value) in results)
    return list(found.values())


def _names(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    known = argument_names(f, len(args))
    labels = [f"{known[n]}{p}" for n, a in enumerate(args) for p, _ in tree.flatten_with_paths(a)[0]]
    return labels + [f"`{k}`{p}" for k in sorted(kwargs) for p, _ in tree.flatten_with_paths(kwargs[k])[0]]


class _Origins:
    """Where the variables of a program come from."""

    def __init__(self, names: dict[Any, str], eqns: Sequence[Eqn]) -> None:
        self.names = names
        self.made = {v: (e, n) for e in eqns for n, v in enumerate(e.outvars)}

    def of(self, value: Any) -> str:
        if value in self.names if hasattr(value, "aval") else False:
            return f"the argument {self.names[value]}"
        if not hasattr(value, "aval") or value not in self.made:
            return "a captured array"
        eqn, n = self.made[value]
        op, source, inner = _inside(eqn, n)
        if inner is not None:  # the region hands an operand on
            return self.of(inner)
        return f"{op}, at {source}" if source else op


def _inside(eqn: Eqn, n: int) -> tuple[str, Source | None, Any]:
    """The operation that made output `n` of an equation, its line, and an operand if it is just that."""
    kernel = eqn.op.kernel
    inner: Jaxpr | None = eqn.params.get("jaxpr") if isinstance(kernel, (CallRegion, ScanRegion)) else None
    if inner is None:
        return f"the result of {eqn.op.name}", eqn.source, None
    atom = inner.outs[n]
    for e in inner.eqns:
        if atom in e.outvars:
            op, source, operand = _inside(e, e.outvars.index(atom))
            where = (
                "" if isinstance(kernel, CallRegion) and eqn.op.name != "checkpoint" else f" in {eqn.op.name}"
            )
            if operand is None:
                return op + where, source or eqn.source, None
    if isinstance(kernel, CallRegion) and type(atom) is not Literal and atom in inner.invars:
        return "", None, eqn.invars[inner.invars.index(atom)]
    return f"the result of {eqn.op.name}", eqn.source, None


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what `vjp` and `grad` of `f` keep at arguments like these: type, bytes, and where it is from."""
    rows = saved_residuals(f, *args, **kwargs)
    width = max((len(str(r.aval)) for r in rows), default=0)
    for r in rows:
        print(f"{r.aval!s:{width}}  {_bytes(r.nbytes):>9}  {r.origin}")
    extra = sum(r.nbytes for r in rows if not r.free)
    total = sum(r.nbytes for r in rows)
    print(f"{_bytes(total)} in all, {_bytes(extra)} besides arguments and results")


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{n} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")
