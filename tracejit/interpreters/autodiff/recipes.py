"""Eager derivatives of simple operations, without running their rules each time.

A derivative rule may not look at values: what it does depends on the operation, the types of the operands and
which of them have tangents. So for each of these it is staged once, and written as two straight-line Python
functions, the recipe: one for the result, which puts an entry on the tape, and one for the cotangents. A gradient
that is not compiled spends its time in rules and in noting equations; with recipes most of that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.config import config
from tracejit.interpreters.autodiff import provenance
from tracejit.interpreters.autodiff.linearize import LinearizeTrace, LinearizeTracer, linearize_flat
from tracejit.interpreters.autodiff.tangents import Residual
from tracejit.interpreters.autodiff.tape import Application, Tape
from tracejit.interpreters.autodiff.transpose import Accumulators, pull_back
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import TYPES
from tracejit.ir.jaxpr import Eqn, Literal, Var
from tracejit.ir.kernel import Contract, Pointwise, Pull, Reduce
from tracejit.ir.primitive import FROM_JVP, LINEAR, Op, Sentinel
from tracejit.ir.source import user_source
from tracejit.ir.values import Value, Zero
from tracejit.tracing import LOCK, Box, Storage, bind, new_trace

_LIMIT = 4096
#: (operation, types of operands, which of them have tangents, parameters) -> recipe, None if it has none.
_recipes: dict[Any, Any] = {}
#: Met once: a recipe costs as much as a hundred uses save, which a shape that never comes again does not repay.
_MET: Any = object()
_NEW: Any = object()
#: What NumPy's scalars do five times faster by operator than by ufunc, with the same bits.
_SYMBOLS: dict[Any, str] = {np.add: " + ", np.subtract: " - ", np.multiply: " * ", np.negative: "-"}


class EagerTrace(LinearizeTrace):
    """Linearization where everything else is evaluated: simple operations go by recipe."""

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        key: list[Any] = [op]
        primals: list[Any] = []
        tangents: list[Var] = []
        for a in args:
            x = a
            if type(a) is LinearizeTracer and a.trace is self:
                # A user's rule may have given an array of zeros for a tangent.
                if type(a.tangent) is not Var:
                    return super().process(op, args, params)
                tangents.append(a.tangent)
                x = a.primal
                key.append(None)
            if type(x) is np.ndarray:
                key += x.shape, x.dtype
            elif type(x) in TYPES:
                return super().process(op, args, params)  # recipes are NumPy's functions
            else:
                key.append(type(x))
            primals.append(x)
        if tangents and not config.checks:
            recipe = self._recipe(op, key, args, params)
            if recipe is not None:
                return recipe.run(self, *primals, *tangents)
        return super().process(op, args, params)

    def _recipe(self, op: Op, key: list[Any], args: tuple[Any, ...], params: dict[str, Any]) -> Recipe | None:
        if params:
            key += params.items()
        try:
            found = known(tuple(key))
        except TypeError:  # a parameter that cannot be looked up
            return None
        if found is not False:
            return found
        active = [type(a) is LinearizeTracer and a.trace is self for a in args]
        if not _has_recipes(op) or any(
            isinstance(a, Value) and not on for a, on in zip(args, active, strict=True)
        ):
            return remember(key, None)
        return remember(key, recipe(lambda *xs: bind(op, *xs, **params), [aval_of(a) for a in args], active))


def linearization(parent: Any) -> LinearizeTrace:
    """A trace for the linearization of a user's function under `parent`."""
    return EagerTrace(parent) if parent.parent is None else LinearizeTrace(parent)


def known(key: tuple[Any, ...]) -> Any:
    """The recipe kept for a key; None if there is none, and at the first time; False if it is to be made."""
    found = _recipes.get(key, _NEW)
    if found is _NEW:
        remember(key, _MET)
        return None
    return False if found is _MET else found


def remember(key: Sequence[Any], found: Any) -> Any:
    """Keep a recipe, or that there is none; gives it."""
    with LOCK:
        if len(_recipes) >= _LIMIT:
            _recipes.clear()
        _recipes[tuple(key)] = found
    return found


def _has_recipes(op: Op) -> bool:
    """Simple operations of ours: users' rules may read variables of theirs, which change."""
    return (
        type(op.kernel) in (Pointwise, Pull, Reduce, Contract)
        and not op.multi
        and op.linearize is FROM_JVP
        and (op.jvp is LINEAR or (not isinstance(op.jvp, Sentinel) and _is_ours(op.jvp)))
    )


def _is_ours(rule: Any) -> bool:
    return rule.__module__.startswith("tracejit.ops.")


class Recipe:
    """`run(trace, *primals, *tangents)` computes and records. `back(entry, ct, table, add)` adds the cotangents of
    the entry's tangents to those in `table` (of Accumulators), where there are some by `add`."""

    __slots__ = ("_tape", "back", "run")

    def __init__(self, tape: Tape, back: Callable[..., Any]) -> None:
        self._tape = tape
        self.back = back
        self.run: Callable[..., Any] = lambda *_: None

    def equations(self, entry: Application) -> list[Eqn]:
        """The linear equations that an entry stands for."""
        tape = self._tape
        order, residuals = _order(tape), tape.residuals()
        _, out, source, *values = entry
        atoms: dict[int, Any] = dict(zip(map(id, order), values[len(residuals) :], strict=True))
        for mine, x in zip(residuals, values, strict=False):
            atoms[id(mine)] = Residual(x) if np.ndim(x) else _literal(x)
        atoms[id(tape.outs[0])] = out
        eqns = []
        for e in tape.eqns:
            (v,) = e.outvars
            var = atoms.setdefault(id(v), Var(out.trace, v.aval))
            ins = tuple([a if type(a) is Literal else atoms[id(a.value if type(a) is Residual else a)]
                         for a in e.invars])  # fmt: skip
            eqns.append(Eqn(e.op, ins, (var,), e.params, source, e.effects))
        return eqns


def _literal(x: Any) -> Literal:
    return Literal(x if isinstance(x, np.generic) else np.asarray(x).dtype.type(x))


def _order(tape: Tape) -> list[Var]:
    """The tangents in the order in which cotangents reach them: in reverse if each has an equation of its own."""
    return tape.invars[::-1] if len(tape.eqns) > 1 else tape.invars


def recipe(
    fn: Callable[..., Any],
    avals: Sequence[Aval],
    active: Sequence[bool],
    wrapped: tuple[bool, bool] | None = None,
    lead: Sequence[Callable[[Any], Any] | None] = (),
) -> Recipe | None:
    """The recipe of `fn(*raw) -> raw` at operands of these types, of which `active` have tangents.

    `wrapped` makes `run` give a box, with these marks `weak` and `scalar`. A function in `lead` is applied to
    the operand first. None: it has none, since it captures arrays or has a tangent of another kind.
    """
    forward = StageTrace(None)
    primals = [forward.arg(a) for a in avals]
    with new_trace(forward):
        (out,), tape = linearize_flat(lambda *xs: [fn(*xs)], primals, active)
    (tangent,) = tape.outs
    simple = all(not e.op.multi and e.outvars[0].aval.is_static for e in (*forward.eqns, *tape.eqns))
    known = all(type(v) is Var for v in (out, tangent, *tape.residuals()))
    if forward.consts or not simple or not known:
        return None
    back = _back(tape)
    if back is None:
        return None
    made = Recipe(tape, back)
    made.run = _Writer().run(made, forward.eqns, primals, out, tape, wrapped, lead)
    return made


class _Writer:
    """Writes functions of straight-line code, with constants as globals."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.globals: dict[str, Any] = {}
        self.lines: list[str] = []

    def bind(self, kind: str, value: Any) -> str:
        """A global of the function."""
        name = f"{kind}{len(self.globals)}"
        self.globals[name] = value
        return name

    def run(
        self, made: Recipe, eqns: Sequence[Eqn], primals: Any, out: Any, tape: Tape, wrapped: Any, lead: Any
    ) -> Callable[..., Any]:
        """`run` of a recipe."""
        self.globals.update(recipe=made, Var=Var, Application=Application, Tracer=LinearizeTracer)
        self.globals.update(Box=Box, Storage=Storage, user_source=user_source)
        tangents = dict(zip(map(id, tape.invars), (f"t{n}" for n in range(len(tape.invars))), strict=True))
        self.names = {id(v): f"p{n}" for n, v in enumerate(primals)}
        for n, convert in enumerate(lead):
            if convert is not None:
                self.lines.append(f"p{n} = {self.bind('f', convert)}(p{n})")
        self.compute(eqns, True)
        aval, name = self.bind("a", out.aval), self.names[id(out)]
        (tangent,) = tape.outs
        if id(tangent) in tangents:
            linear = tangents[id(tangent)]
        else:
            linear = "w"
            values = [self.names[id(v)] for v in tape.residuals()]
            entry = ", ".join(["recipe, w, user_source()", *values, *(tangents[id(v)] for v in _order(tape))])
            self.lines += [
                "tape = trace.tape",
                f"w = Var(tape, {self.bind('a', tangent.aval)})",
                f"tape.eqns.append(Application(({entry})))",
            ]
        result = f"Tracer(trace, {name}, {linear}, {aval})"
        if wrapped is not None:
            result = f"Box(Storage({result}, trace), (), {aval}, {wrapped[0]}, {wrapped[1]})"
        parameters = ["trace", *(f"p{n}" for n in range(len(primals))), *tangents.values()]
        return self.function(parameters, result)

    def compute(self, eqns: Sequence[Eqn], note: bool) -> None:
        """Lines that evaluate equations."""
        for e in eqns:
            (v,) = e.outvars
            name = self.names[id(v)] = f"v{len(self.names)}"
            atoms = [self.bind("c", a.value) if type(a) is Literal else self.names[id(a)] for a in e.invars]
            args, symbol = ", ".join(atoms), _SYMBOLS.get(e.op.eval)
            params = self.bind("k", e.params)
            if symbol is not None and v.aval.dtype.kind == "f":
                self.lines.append(f"{name} = {symbol.join(atoms) if len(atoms) > 1 else symbol + args}")
            else:
                more = f", **{params}" if e.params else ""
                self.lines.append(f"{name} = {self.bind('f', e.op.eval)}({args}{more})")
            if (
                note
                and v.aval.size * v.aval.dtype.itemsize >= provenance.SMALL_ARRAY
                and provenance.is_cheap(e.op)
            ):
                made = f"trace.tape.made.note({self.bind('o', e.op)}, ({args},), {params}, {name})"
                self.lines.append(made)

    def function(self, parameters: Sequence[str], result: str) -> Callable[..., Any]:
        body = "\n    ".join([*self.lines, f"return {result}"])
        text = f"def recipe_({', '.join(parameters)}):\n    {body}\n"
        exec(compile(text, "<tracejit recipe>", "exec"), self.globals)
        return self.globals["recipe_"]


class _OfAPart(Exception):
    """A cotangent is an addition to a part of what is there already."""


class _Plain(Accumulators):
    """Takes whole cotangents only."""

    def _add_into(self, var: Any, ct: Any) -> None:
        raise _OfAPart

    def clear(self, var: Any, ct: Any, rule: Any) -> None:
        raise _OfAPart


def _back(tape: Tape) -> Callable[..., Any] | None:
    """`back` of a recipe, or None where a cotangent is not a whole one."""
    stage = StageTrace(None)
    ct = stage.arg(tape.outs[0].aval)
    values = [stage.arg(aval_of(x)) for x in tape.residuals()]
    with new_trace(stage):
        try:
            cts = pull_back(tape.with_residuals(values), [ct], _Plain())
        except _OfAPart:
            return None
    if stage.consts:
        return None
    writer = _Writer()
    writer.names = {id(ct): "ct", **{id(v): f"x{n}" for n, v in enumerate(values)}}
    order = [f"t{n}" for n in range(len(tape.invars))]
    writer.lines.append(", ".join(["_, _, _", *(f"x{n}" for n in range(len(values))), *order]) + " = entry")
    writer.compute(stage.eqns, False)
    found = dict(zip(map(id, tape.invars), cts, strict=True))
    for name, v in zip(order, _order(tape), strict=True):
        if type(found[id(v)]) is not Zero:
            value = writer.names[id(found[id(v)])]
            writer.lines += [
                f"if {name} in table: add({name}, {value})",
                f"else: table[{name}] = [{value}, False]",
            ]
    return writer.function(["entry", "ct", "table", "add"], "None")
