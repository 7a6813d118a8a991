"""simplify: each op's own identities (`x * 1` is `x`), to a fixpoint; what is left of constants is computed now.

An op's `simplify` slot holds rules `rule(view) -> replacement or None`. The
view shows the equation and the equations that made its operands; the
replacement is an Atom (or a NumPy scalar), a list of them for an op with
several outputs, or `('op', op, invars, params)` for another equation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.config import config
from tracejit.errors import InternalTypeError
from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, effects_of
from tracejit.ir.kernel import CondRegion, Pointwise, Pull, Repeat
from tracejit.ir.primitive import Sentinel
from tracejit.passes.fold import evaluate
from tracejit.passes.rewrite import Env, Pass, alias, everywhere, splice

_MAX_STEPS = 16  # rules that undo each other must not hang a compile


class Makers(dict[Any, Eqn]):
    """The equation that made each variable; `read` are the variables that the equations so far read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: set[Any] = set()

    def add(self, eqn: Eqn) -> None:
        """`eqn` is part of the program."""
        self.update((v, eqn) for v in eqn.outvars)
        self.read.update(a for a in eqn.invars if type(a) is Var)


class View:
    """An equation as a simplification rule sees it."""

    __slots__ = ("_makers", "effects", "invars", "op", "outvars", "params")

    def __init__(self, eqn: Eqn, makers: Makers) -> None:
        self.op = eqn.op
        self.invars = eqn.invars
        self.outvars = eqn.outvars
        self.params = eqn.params
        self.effects = eqn.effects
        self._makers = makers

    @property
    def aval(self) -> Any:
        """The type of the (first) result."""
        return self.outvars[0].aval

    def maker(self, n: int) -> View | None:
        """The equation that made operand `n`, or None (an argument, a literal)."""
        eqn = self._makers.get(self.invars[n])
        return None if eqn is None else View(eqn, self._makers)

    def is_read(self, n: int) -> bool:
        """Whether an earlier equation reads operand `n`."""
        return self.invars[n] in self._makers.read

    def literal(self, n: int) -> np.generic | None:
        """The value of operand `n` if it is a literal."""
        a = self.invars[n]
        return a.value if isinstance(a, Literal) else None


def _simplify(jaxpr: Jaxpr) -> Jaxpr:
    env, eqns, makers = Env(), list[Eqn](), Makers()
    for old in jaxpr.eqns:
        eqn = env.eqn(old)
        if isinstance(eqn.op.kernel, CondRegion) and isinstance(eqn.invars[0], Literal):
            first = len(eqns)
            alias(env, old.outvars, splice(chosen_branch(eqn), eqn.invars[1:], eqns))
            for e in eqns[first:]:
                makers.add(e)
            continue
        eqn = _repeated_result(eqn, eqns, makers)
        done = _rewrite(_with_scalars(eqn, makers), makers)
        known = evaluate(done) if isinstance(done, Eqn) else done
        if known is not None:
            alias(env, old.outvars, known)
        elif isinstance(done, Eqn):
            eqns.append(done)
            makers.add(done)
    return env.jaxpr(jaxpr, eqns)


def _with_scalars(eqn: Eqn, makers: Makers) -> Eqn:
    """An elementwise equation that reads numbers themselves, where it read arrays of one number everywhere.

    Its operands may be 0-d; one keeps the shape of the result."""
    if type(eqn.op.kernel) is not Pointwise or len(eqn.invars) < 2:
        return eqn
    numbers = tuple([_repeated(a, makers) for a in eqn.invars])
    if all(new is old for new, old in zip(numbers, eqn.invars, strict=True)):
        return eqn
    shape = eqn.outvars[0].aval.shape
    if not any(a.aval.shape == shape for a in numbers):
        return eqn
    return eqn.replace(invars=numbers)


def _repeated_result(eqn: Eqn, eqns: list[Eqn], makers: Makers) -> Eqn:
    """An elementwise equation whose operands all repeat one number, as what repeats its value for these; that is
    known, or an equation of its own."""
    if type(eqn.op.kernel) is not Pointwise or len(eqn.outvars) != 1 or eqn.effects:
        return eqn
    (out,) = eqn.outvars
    numbers = tuple([_repeated(a, makers) for a in eqn.invars])
    repeats = next((m for a in eqn.invars if (m := makers.get(a)) and _repeats_to(m, out)), None)
    if repeats is None or any(a.aval.shape for a in numbers):
        return eqn
    small = eqn.replace(invars=numbers, outvars=(Var(None, out.aval.with_shape(())),))
    known = evaluate(small)
    if known is None:
        eqns.append(small)
        makers.add(small)
    return repeats.replace(invars=known or small.outvars, outvars=eqn.outvars, source=eqn.source)


def _repeats_to(maker: Eqn, out: Var) -> bool:
    """Whether an equation repeats one number to the shape of `out`."""
    one = len(maker.invars) == 1 and not maker.invars[0].aval.shape
    return isinstance(maker.op.kernel, Repeat) and one and maker.outvars[0].aval.shape == out.aval.shape


def _repeated(a: Atom, makers: Makers) -> Atom:
    """The 0-d atom that `a` repeats, or `a` itself."""
    maker = makers.get(a)
    while (
        maker is not None
        and isinstance(maker.op.kernel, Pull)
        and len(maker.invars) == 1
        and not maker.effects
    ):
        if not maker.invars[0].aval.shape:
            return a if _is_size(maker.invars[0], maker.outvars[0]) else maker.invars[0]
        maker = makers.get(maker.invars[0])
    return a


def _is_size(number: Atom, out: Var) -> bool:
    """Whether `out` is made of its own length (as `arange` is), which is none of its elements."""
    return any(isinstance(d, Dim) and d.var is number for d in out.aval.shape)


def chosen_branch(eqn: Eqn) -> Jaxpr:
    """The branch that a cond with a literal index takes (out of range: the nearest)."""
    branches = eqn.params["branches"]
    return branches[min(max(int(eqn.invars[0].value), 0), len(branches) - 1)]  # type: ignore[union-attr]


def _rewrite(eqn: Eqn, makers: Makers) -> Eqn | tuple[Atom, ...]:
    for _ in range(_MAX_STEPS):
        if isinstance(eqn.op.simplify, Sentinel):
            return eqn
        new = _first_match(eqn, makers)
        if new is None or isinstance(new, tuple):
            return eqn if new is None else new
        eqn = new
    return eqn


def _first_match(eqn: Eqn, makers: Makers) -> Eqn | tuple[Atom, ...] | None:
    view = View(eqn, makers)
    for rule in eqn.op.simplify:  # type: ignore[union-attr]
        new = rule(view)
        if new is not None:
            new = _replacement(eqn, new)
            if new is not None:
                return new
    return None


def _replacement(eqn: Eqn, new: Any) -> Eqn | tuple[Atom, ...] | None:
    if isinstance(new, tuple) and len(new) == 4 and new[0] == "op":
        _, op, invars, params = new
        return Eqn(op, tuple(map(_atom, invars)), eqn.outvars, params, eqn.source, effects_of(op, params))
    atoms = tuple(_atom(a) for a in (new if isinstance(new, list) else [new]))
    if all(a.aval == v.aval for a, v in zip(atoms, eqn.outvars, strict=True)):
        return atoms
    if config.check_types:
        raise InternalTypeError(problem=f"an identity of {eqn.op} gave {atoms}, not {eqn.outvars[0].aval}")
    return None


def _atom(a: Any) -> Atom:
    return a if isinstance(a, (Var, Literal)) else Literal(np.asarray(a)[()])  # type: ignore[arg-type]


simplify = Pass("simplify", everywhere(_simplify))
