"""Eager linearization of elementwise operations, without running their rules each time.

A derivative rule may not look at values: what it does depends on the operation, the types of the operands and
which of them have tangents. So for each of these it is staged once, and written as a straight-line Python function, the
recipe: NumPy's functions for what is computed from primals, and the linear equations, each with a function for
its transpose. A gradient that is not compiled spends its time in rules; recipes take a third of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.interpreters import provenance
from tracejit.interpreters.jvp import apply_jvp
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Eqn, Literal, Var
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import FROM_JVP, LINEAR, Op, Sentinel
from tracejit.ir.values import Linear, Value, Zero
from tracejit.tracing import LOCK, new_trace, use_trace

#: (trace, source, *primals, *tangents of those that have one) -> (out, tangent or None)
Recipe = Callable[..., tuple[Any, Any]]

_LIMIT = 4096
_recipes: dict[Any, Recipe | None] = {}


class TapedEqn(Eqn):
    """A linear equation that knows its transpose: `back(ct, invars) -> cotangents`, None for other operands."""

    __slots__ = ("back",)

    def __init__(
        self, op: Op, invars: Any, out: Var, params: Any, source: Any, back: Callable[..., Any]
    ) -> None:
        self.op = op
        self.invars = invars
        self.outvars = (out,)
        self.params = params
        self.source = source
        self.effects = _NO_EFFECTS
        self.back = back


_NO_EFFECTS: frozenset[str] = frozenset()


def recipe_for(
    op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
) -> Recipe | None:
    """The recipe of an operation on arrays and NumPy scalars; `tangents` are variables or None. None: it has none."""
    key: list[Any] = [op]
    for p, t in zip(primals, tangents, strict=True):
        kind = type(p)
        key.append((p.shape, p.dtype, t is None) if kind is np.ndarray else (kind, t is None))
    if params:
        key.extend(params.items())
    try:
        return _recipes[tuple(key)]
    except KeyError:
        pass
    except TypeError:  # a parameter that cannot be looked up
        return None
    with LOCK:
        if len(_recipes) >= _LIMIT:
            _recipes.clear()
        found = _recipes[tuple(key)] = _make(op, primals, tangents, params)
    return found


def _make(op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Recipe | None:
    if not _has_recipes(op) or any(isinstance(p, Value) for p in primals):
        return None
    return _Writer(op, [aval_of(p) for p in primals], [t is not None for t in tangents], params).write()


def _has_recipes(op: Op) -> bool:
    """Elementwise operations of ours: users' rules may read variables of theirs, which change."""
    return (
        type(op.kernel) is Pointwise
        and not op.multi
        and op.linearize is FROM_JVP
        and (op.jvp is LINEAR or (not isinstance(op.jvp, Sentinel) and _is_ours(op.jvp)))
    )


def _is_ours(rule: Any) -> bool:
    return rule.__module__.startswith("tracejit.ops.")


class _Residual(Value):
    """While a recipe is made: a value of the parent in a linear equation."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
        self.aval = aval_of(value)


class _Tangents(StageTrace):
    """Records what touches tangents; everything else is recorded by the parent, which stages too."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if any(type(a) is Var and a.trace is self for a in args):
            return self.record(op, args, params)
        assert self.parent is not None
        with use_trace(self.parent):
            return self.parent.process(op, args, params)

    def lift(self, x: Any) -> Any:
        if type(x) is Var:
            return x if x.trace is self else _Residual(x)
        return super().lift(x)


class _Writer:
    """Writes the recipe of one operation."""

    def __init__(self, op: Op, avals: list[Aval], active: list[bool], params: dict[str, Any]) -> None:
        self.op, self.avals, self.active, self.params = op, avals, active, params
        self.names: dict[int, str] = {}
        self.globals: dict[str, Any] = {"Var": Var, "TapedEqn": TapedEqn, "literal": _literal}
        self.lines: list[str] = []

    def write(self) -> Recipe | None:
        forward = StageTrace(None)
        tape = _Tangents(forward)
        primals = [forward.arg(a) for a in self.avals]
        tangents = [Var(tape, a.tangent()) if on else Zero(a.tangent())
                    for a, on in zip(self.avals, self.active, strict=True)]  # fmt: skip
        with new_trace(forward), new_trace(tape):
            out, tangent = apply_jvp(self.op, primals, tangents, self.params)
        if forward.consts or tape.consts or not self._simple([*forward.eqns, *tape.eqns]):
            return None
        variables = [t for t in tangents if type(t) is Var]
        for prefix, values in (("p", primals), ("t", variables)):
            self.names.update({id(v): f"{prefix}{n}" for n, v in enumerate(values)})
        self._forward(forward.eqns)
        used = {id(a.value) for e in tape.eqns for a in e.invars if type(a) is _Residual}
        for v in [*primals, *(v for e in forward.eqns for v in e.outvars)]:
            if id(v) in used:
                self._residual(v)
        for n, e in enumerate(tape.eqns):
            if not self._linear(n, e):
                return None
        result = "None" if type(tangent) is Zero else self._atom(tangent)
        names = ", ".join(["trace", "source", *(self.names[id(v)] for v in (*primals, *variables))])
        body = "\n    ".join([*self.lines, f"return {self._atom(out)}, {result}"])
        exec(
            compile(f"def recipe({names}):\n    {body}\n", f"<{self.op} with tangents>", "exec"), self.globals
        )
        return self.globals["recipe"]

    def _simple(self, eqns: Sequence[Eqn]) -> bool:
        return all(not e.op.multi and e.outvars[0].aval.is_static for e in eqns)

    def _bind(self, kind: str, value: Any) -> str:
        """A global of the recipe."""
        name = f"{kind}{len(self.globals)}"
        self.globals[name] = value
        return name

    def _atom(self, a: Any) -> str:
        return self._bind("c", a.value) if type(a) is Literal else self.names[id(a)]

    def _forward(self, eqns: Sequence[Eqn]) -> None:
        for n, e in enumerate(eqns):
            (v,) = e.outvars
            name = self.names[id(v)] = f"v{n}"
            args = ", ".join(map(self._atom, e.invars))
            params = self._bind("k", e.params)
            more = f", **{params}" if e.params else ""
            self.lines.append(f"{name} = {self._bind('f', e.op.eval)}({args}{more})")
            if v.aval.size * v.aval.dtype.itemsize >= provenance.SMALL and provenance.is_cheap(e.op):
                self.lines.append(f"trace.made.note({self._bind('o', e.op)}, ({args},), {params}, {name})")

    def _residual(self, v: Var) -> None:
        """A value as an atom of the linear equations: a literal if it is 0-d, else what `trace` keeps."""
        name = self.names[id(v)]
        make = "trace.residual" if v.aval.shape else "literal"
        self.lines.append(f"r{name} = {make}({name})")

    def _linear(self, n: int, e: Eqn) -> bool:
        back = _transposed(e)
        if back is None:
            return False
        (v,) = e.outvars
        name = self.names[id(v)] = f"w{n}"
        atoms = [f"r{self.names[id(a.value)]}" if type(a) is _Residual else
                 self._bind("l", a) if type(a) is Literal else self.names[id(a)] for a in e.invars]  # fmt: skip
        self.lines.append(f"{name} = Var(trace, {self._bind('a', v.aval)})")
        parts = [self._bind("o", e.op), f"({', '.join(atoms)},)", name, self._bind("k", e.params), "source"]
        self.lines.append(f"trace.eqns.append(TapedEqn({', '.join(parts)}, {self._bind('b', back)}))")
        return True


def _literal(x: Any) -> Literal:
    return Literal(x if isinstance(x, np.generic) else np.asarray(x).dtype.type(x))


def _transposed(e: Eqn) -> Callable[..., Any] | None:
    """`back(ct, invars) -> cotangents` of one linear equation; None where the rule gives more than values."""
    if isinstance(e.op.transpose, Sentinel) or not _is_ours(e.op.transpose):
        return None
    stage = StageTrace(None)
    ct = stage.arg(e.outvars[0].aval)
    args = [Linear(a.aval) if type(a) is Var else stage.arg(a.aval) for a in e.invars]
    with new_trace(stage):
        outs = e.op.transpose(ct, *args, **e.params)  # type: ignore[operator]
    if stage.consts or any(o is not None and type(o) not in (Var, Zero) for o in outs):
        return None
    if any(q.op.multi for q in stage.eqns):
        return None
    env: dict[str, Any] = {}
    names = {id(ct): "ct"}
    used = {id(a) for q in stage.eqns for a in q.invars} | {id(o) for o in outs}
    lines = [f"x{n} = invars[{n}].value" for n, a in enumerate(args) if id(a) in used]
    names.update({id(a): f"x{n}" for n, a in enumerate(args)})
    for n, q in enumerate(stage.eqns):
        names[id(q.outvars[0])] = f"v{n}"
        env.update({f"f{n}": q.op.eval, f"k{n}": q.params})
        env.update({f"c{n}_{i}": a.value for i, a in enumerate(q.invars) if type(a) is Literal})
        atoms = [f"c{n}_{i}" if type(a) is Literal else names[id(a)] for i, a in enumerate(q.invars)]
        lines.append(f"v{n} = f{n}({', '.join(atoms)}{f', **k{n}' if q.params else ''})")
    result = ", ".join(names[id(o)] if type(o) is Var else "None" for o in outs)
    body = "\n    ".join([*lines, f"return ({result},)"])
    exec(compile(f"def back(ct, invars):\n    {body}\n", f"<{e.op} transposed>", "exec"), env)
    return env["back"]
