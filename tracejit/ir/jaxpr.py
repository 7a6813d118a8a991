"""Jaxprs: frozen programs in administrative normal form.

A `Jaxpr` takes `invars`, runs `eqns` in order, returns `outs`. It closes over
nothing: captured arrays are leading invars (`ClosedJaxpr` pairs a jaxpr with
their values). Sub-jaxprs live in equation params.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.drawn import Drawn
from tracejit.ir.primitive import NO_EFFECTS, Op, Sentinel
from tracejit.ir.source import Source
from tracejit.ir.values import Value

NO_PARAMS: dict[str, Any] = {}


class Var(Value):
    """A variable: at once the staging trace's tracer and the jaxpr's name for it.

    `bounds` is (lo, hi) for 0-d integers whose range is known, else None.
    """

    __slots__ = ("bounds",)

    def __init__(self, trace: Any, aval: Aval, bounds: tuple[int, int] | None = None) -> None:
        self.trace = trace
        self.aval = aval
        self.bounds = bounds

    def __reduce__(self) -> Any:
        """Pickled without the trace that has recorded it, which has ended."""
        return Var, (None, self.aval, self.bounds)

    def __repr__(self) -> str:
        return f"v{id(self) % 0xFFFF:04x}"


class Literal:
    """A 0-d constant in an equation: a NumPy scalar."""

    __slots__ = ("aval", "value")

    def __init__(self, value: np.generic) -> None:
        self.value = value
        self.aval = aval_of(value)

    def __repr__(self) -> str:
        return str(self.value)


Atom = Var | Literal


class Eqn:
    """`outvars = op(invars; params)`, with the user's line and effects. `checked`: its types were."""

    __slots__ = ("checked", "effects", "invars", "op", "outvars", "params", "source")

    def __init__(
        self,
        op: Op,
        invars: tuple[Atom, ...],
        outvars: tuple[Var, ...],
        params: dict[str, Any] = NO_PARAMS,
        source: Source | None = None,
        effects: frozenset[str] = frozenset(),
    ) -> None:
        self.op = op
        self.invars = invars
        self.outvars = outvars
        self.params = params
        self.source = source
        self.effects = effects
        self.checked = False

    def replace(self, **changes: Any) -> Eqn:
        """A copy with some slots changed."""
        fields = {name: getattr(self, name) for name in Eqn.__slots__[1:]}
        return Eqn(**{**fields, **changes})

    def key(self, invars: Iterable[Any] | None = None) -> Any:
        """Equal for equations that compute the same, of their own operands or of `invars`. Their types agree
        then too."""
        params = self.params
        frozen = tuple((k, _frozen(params[k])) for k in sorted(params)) if params else ()
        return self.op, tuple(map(_atom_key, self.invars if invars is None else invars)), frozen

    def __repr__(self) -> str:
        return f"{' '.join(map(repr, self.outvars))} = {self.op} {' '.join(map(repr, self.invars))}"


def _atom_key(a: Atom) -> Any:
    # Bits, since 0.0 and -0.0 are equal and NaN is not equal to itself.
    return (a.aval.dtype, a.value.tobytes()) if type(a) is Literal else a


def _frozen(value: Any) -> Any:
    """`value` as a hashable that keeps 1, 1.0, True and -0.0 apart; identity if it has no hash."""
    kind = type(value)
    if kind is tuple:
        return tuple(map(_frozen, value))
    if kind is float or kind is complex:
        return kind, repr(value)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return "id", id(value)  # alive as long as the equation is
    return kind, value


def effects_of(op: Op, params: dict[str, Any]) -> frozenset[str]:
    """The effects of one application of `op`, those of its sub-jaxprs included."""
    if isinstance(op.effects, Sentinel):
        assert op.effects is NO_EFFECTS
        return frozenset()
    return op.effects(params)


def has_side_effects(effects: frozenset[str]) -> bool:
    """Whether something is seen outside of the program: callbacks, printing. Checks may run again."""
    return not effects <= _REPEATABLE


def can_be_done_over(effects: frozenset[str]) -> bool:
    """Whether a program that ends with a failed check can be as if it had not run: it calls nothing, what it
    has drawn from generators is taken back, and its entries are put off until it has ended."""
    return effects <= _TAKEN_BACK


#: The effect of what only people see, in a bar on the terminal: it stays where it is, and may happen again.
SHOWN = "shown"
_REPEATABLE = frozenset({"error", SHOWN})
#: The effect of draws from random generators: they are never reordered, dropped or duplicated.
DRAWN = "drawn"
#: The effect of entries (`control.callbacks.journal`): ordered ones, which can be put off to a program's end.
JOURNAL = "journal"
_TAKEN_BACK = frozenset({"error", DRAWN, JOURNAL, SHOWN})


class Jaxpr(Drawn):
    """invars, eqns, outs; `effects` is the union of the equations'. Frozen and hashed by identity. `checked`: its types
    were, and need not be again in each jaxpr that holds it."""

    __slots__ = ("__weakref__", "checked", "effects", "eqns", "invars", "name", "outs")

    def __init__(
        self, invars: tuple[Var, ...], eqns: tuple[Eqn, ...], outs: tuple[Atom, ...], name: str = ""
    ) -> None:
        self.invars = tuple(invars)
        self.eqns = tuple(eqns)
        self.outs = tuple(outs)
        self.name = name
        self.checked = False
        self.effects = frozenset().union(*(e.effects for e in self.eqns if e.effects))

    @property
    def in_avals(self) -> list[Aval]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Aval]:
        return [v.aval for v in self.outs]

    def __repr__(self) -> str:
        return f"<Jaxpr {self.name or 'anonymous'}: {len(self.invars)} in, {len(self.eqns)} eqns, {len(self.outs)} out>"


class ClosedJaxpr(Drawn):
    """A jaxpr with the values of its leading invars: `jaxpr.invars[:len(consts)]`."""

    __slots__ = ("consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: tuple[Any, ...]) -> None:
        self.jaxpr = jaxpr
        self.consts = tuple(consts)

    @property
    def in_avals(self) -> list[Aval]:
        return self.jaxpr.in_avals[len(self.consts) :]

    @property
    def out_avals(self) -> list[Aval]:
        return self.jaxpr.out_avals


def sub_jaxprs(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs in an equation's params (directly, or in a tuple)."""
    for p in params.values():
        if isinstance(p, Jaxpr):
            yield p
        elif isinstance(p, tuple):
            yield from (q for q in p if isinstance(q, Jaxpr))


def contains(eqn: Eqn, kernels: tuple[type, ...]) -> bool:
    """Whether `eqn`, or an equation in its regions, has a kernel of these forms."""
    if isinstance(eqn.op.kernel, kernels):
        return True
    return any(contains(e, kernels) for sub in sub_jaxprs(eqn.params) for e in sub.eqns)


def used_vars(jaxpr: Jaxpr) -> set[Var]:
    """Variables read by an equation or returned."""
    used = {a for e in jaxpr.eqns for a in e.invars if type(a) is Var}
    used.update(a for a in jaxpr.outs if type(a) is Var)
    return used
