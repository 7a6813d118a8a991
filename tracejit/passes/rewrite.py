"""What the passes share: the pass record, substitution, recursion into bodies.

A pass is a pure function of a jaxpr. It returns the same object when there was
nothing to do, so that "did it change anything" is an identity test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, effects_of
from tracejit.ir.kernel import CallRegion, CondRegion, ScanRegion, WhileRegion
from tracejit.records import record

REGIONS = (CallRegion, CondRegion, ScanRegion, WhileRegion)


@record(frozen=True)
class Pass:
    """A named rewrite of jaxprs."""

    name: str
    fn: Callable[[Jaxpr], Jaxpr]

    def __call__(self, jaxpr: Jaxpr) -> Jaxpr:
        return self.fn(jaxpr)


class Env:
    """A substitution of variables by atoms, applied to operands, outputs and extents."""

    __slots__ = ("map",)

    def __init__(self) -> None:
        self.map: dict[Any, Atom] = {}

    def atom(self, a: Atom) -> Atom:
        return self.map.get(a, a)

    def atoms(self, xs: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """`xs` substituted; the same tuple if nothing in it changed."""
        get = self.map.get
        for x in xs:
            if x in self.map:
                return tuple(get(y, y) for y in xs)
        return xs

    def aval(self, aval: Aval) -> Aval:
        """`aval` with the extents substituted: one that became a literal is static."""
        if aval.is_static:
            return aval
        shape = tuple(self._dim(d) for d in aval.shape)
        return aval if shape == aval.shape else aval.with_shape(shape)

    def _dim(self, d: Any) -> Any:
        new = self.map.get(d.var) if isinstance(d, Dim) else None
        if new is None:
            return d
        return int(new.value) if isinstance(new, Literal) else Dim(new, d.bound)

    def binder(self, v: Var) -> Var:
        """`v`, or a new variable for it if its extents changed."""
        aval = self.aval(v.aval)
        return v if aval is v.aval else self.fresh(v, aval)

    def fresh(self, v: Var, aval: Aval | None = None) -> Var:
        """A new variable that replaces `v` from here on."""
        new = Var(v.trace, self.aval(v.aval) if aval is None else aval, v.bounds)
        self.map[v] = new
        return new

    def eqn(self, eqn: Eqn) -> Eqn:
        """`eqn` with operands and extents substituted; itself if nothing changed."""
        invars = self.atoms(eqn.invars)
        outvars = self.binders(eqn.outvars)
        if invars is eqn.invars and outvars is eqn.outvars:
            return eqn
        return Eqn(eqn.op, invars, outvars, eqn.params, eqn.source, eqn.effects)

    def binders(self, vs: tuple[Var, ...]) -> tuple[Var, ...]:
        for v in vs:
            if not v.aval.is_static:
                new = tuple(self.binder(v) for v in vs)
                return vs if all(a is b for a, b in zip(new, vs, strict=True)) else new
        return vs

    def jaxpr(self, jaxpr: Jaxpr, eqns: list[Eqn]) -> Jaxpr:
        """`jaxpr` with `eqns`, its outputs substituted."""
        return rebuild(jaxpr, eqns, self.atoms(jaxpr.outs))


def rebuild(jaxpr: Jaxpr, eqns: list[Eqn], outs: tuple[Atom, ...]) -> Jaxpr:
    """`jaxpr` with new equations and outputs; itself if they are the old ones."""
    same = len(eqns) == len(jaxpr.eqns) and outs is jaxpr.outs
    if same and all(a is b for a, b in zip(eqns, jaxpr.eqns, strict=True)):
        return jaxpr
    return Jaxpr(jaxpr.invars, tuple(eqns), outs, jaxpr.name)


def splice(jaxpr: Jaxpr, args: tuple[Atom, ...], out: list[Eqn]) -> tuple[Atom, ...]:
    """Append the equations of `jaxpr` applied to `args`, with new variables; its outputs."""
    inner = Env()
    inner.map.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        invars = inner.atoms(eqn.invars)
        outvars = tuple(inner.fresh(v) for v in eqn.outvars)
        out.append(Eqn(eqn.op, invars, outvars, eqn.params, eqn.source, eqn.effects))
    return inner.atoms(jaxpr.outs)


def alias(env: Env, olds: tuple[Var, ...], news: tuple[Atom, ...]) -> None:
    """From here on `olds` are `news`."""
    env.map.update(zip(olds, news, strict=True))


def with_params(eqn: Eqn, params: dict[str, Any]) -> Eqn:
    """`eqn` with other params, and the effects they have."""
    return eqn if params is eqn.params else eqn.replace(params=params, effects=effects_of(eqn.op, params))


def map_bodies(params: dict[str, Any], fn: Callable[[Jaxpr], Jaxpr]) -> dict[str, Any]:
    """`params` with `fn` applied to every jaxpr in them; itself if none changed."""
    new = None
    for key, value in params.items():
        if isinstance(value, Jaxpr):
            changed: Any = fn(value)
        elif type(value) is tuple and any(isinstance(v, Jaxpr) for v in value):
            changed = tuple(fn(v) if isinstance(v, Jaxpr) else v for v in value)
            if all(a is b for a, b in zip(changed, value, strict=True)):
                continue
        else:
            continue
        if changed is not value:
            new = {**params} if new is None else new
            new[key] = changed
    return params if new is None else new


def has_bodies(eqn: Eqn) -> bool:
    """Whether the passes should look into the params of `eqn`."""
    return isinstance(eqn.op.kernel, REGIONS)


def everywhere(level: Callable[[Jaxpr], Jaxpr]) -> Callable[[Jaxpr], Jaxpr]:
    """`level`, a rewrite of one jaxpr's own equations, for all bodies too, innermost first.

    A body that occurs several times is rewritten once.
    """

    def run(jaxpr: Jaxpr) -> Jaxpr:
        done: dict[Jaxpr, Jaxpr] = {}

        def visit(j: Jaxpr) -> Jaxpr:
            if j not in done:
                done[j] = level(_visit_eqns(j, visit))
            return done[j]

        return visit(jaxpr)

    return run


def _visit_eqns(jaxpr: Jaxpr, visit: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
    eqns = [with_params(e, map_bodies(e.params, visit)) if has_bodies(e) else e for e in jaxpr.eqns]
    return rebuild(jaxpr, eqns, jaxpr.outs)
