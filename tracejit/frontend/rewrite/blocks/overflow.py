"""Python's integers have no bounds, those of native loops have 64 bits: which loops may tell the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.blocks.results import Result
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var, sub_jaxprs
from tracejit.ir.values import Value

_GROWING = frozenset({"mul", "integer_pow", "pow", "shift_left"})
_ADDING = frozenset({"add", "sub"})
_EXACT = _GROWING | _ADDING
_FAR = 1 << 62
#: The least end of the ranges that checks of products leave (`numpy.boxes.numbers`).
_CHECKED = (1 << 63) - (1 << 31)
#: More steps than a call makes, those of all its loops together: they take days.
_ENDLESS = 1 << 48
_ONCE = 1 << 20
#: Loops of more steps count as endless ones: `_grown` then adds up what loops in loops add.
_MANY = 1 << 24


def outgrows(result: Result) -> str | None:
    """What may outgrow 64 bits: an operation on integers whose range is known, such as the loop's position, or a name
    that starts as a Python integer and is multiplied, or added to another such.

    What is added to it otherwise makes it grow no faster than the number of steps."""
    beyond = _beyond(result.trace.eqns)
    if beyond is not None:
        return f"the result of {beyond}"
    names = _python_integers(result)
    tainted = {c for c in names if isinstance(c, Var)}
    if not tainted or not _grow(result.trace.eqns, tainted):
        return None
    return f"`{next(iter(names.values()))}`"


def _beyond(eqns: Sequence[Eqn]) -> str | None:
    """An operation on known ranges whose result is known not to fit at their ends."""
    for eqn in eqns:
        v = eqn.outvars[0] if eqn.outvars else None
        if eqn.op.name in _EXACT and v is not None and _is_checked(v) and v.aval.dtype == np.int64:
            if not v.aval.shape and all(map(_is_known, eqn.invars)):
                return eqn.op.name
        for inner in sub_jaxprs(eqn.params):
            if found := _beyond(inner.eqns):
                return found
    return None


def _is_known(x: Any) -> bool:
    """Whether the range of an integer says more than that it has 64 bits."""
    found = bounds_of(x)
    return found is not None and found[0] > -_FAR and found[1] < _FAR


def _is_checked(v: Var) -> bool:
    """Whether an integer's range is not known, or only that which a check of its operands leaves."""
    return v.bounds is None or v.bounds[1] >= _CHECKED


def _python_integers(result: Result) -> dict[Any, str]:
    """The inputs that are Python's integers, known before the loop, with their names."""
    found: dict[Any, str] = {}
    carried = iter(result.carried)
    for name, (form, weak) in result.names.items():
        for _leaf, w in zip(form.dynamic, weak, strict=True):
            c = next(carried)
            if w and c.var is not None and c.var.aval.dtype.kind == "i" and not isinstance(c.init, Value):
                found[c.var] = name
    return found


def _grow(eqns: Sequence[Eqn], tainted: set[Any]) -> bool:
    """Whether a value computed from `tainted` ones may not fit; what is computed is added to them."""
    for eqn in eqns:
        ours = [a in tainted for a in eqn.invars if type(a) is not Literal]
        if not any(ours):
            continue
        for inner in sub_jaxprs(eqn.params):
            if _inside(inner, eqn, tainted):
                return True
        for v in eqn.outvars:
            if v.aval.shape or v.aval.dtype.kind != "i":
                continue
            if _is_checked(v):
                if eqn.op.name in _GROWING or (eqn.op.name in _ADDING and len(ours) == 2 and all(ours)):
                    return True
                tainted.add(v)
    return False


def _inside(inner: Jaxpr, eqn: Eqn, tainted: set[Any]) -> bool:
    """The same in a branch or the body of a loop, whose last inputs are the equation's last operands."""
    pairs = zip(reversed(inner.invars), reversed(eqn.invars), strict=False)
    return _grow(inner.eqns, {v for v, a in pairs if type(a) is not Literal and a in tainted})


def _grown(step: int, steps: int | None) -> int:
    """How far a number moves in a loop whose step moves it by `step` at most.

    A step may itself be a loop. All loops of a call together make fewer than `_ENDLESS` steps, so what inner loops
    add in all of them does not grow with the steps of the outer one: with ``step = e * _ENDLESS + c``, where `e` is
    what a step of the inner loops adds, the number moves by less than ``(e + c) * _ENDLESS``."""
    if not step:
        return 0
    inner, own = divmod(step, _ENDLESS)
    if steps is not None and (steps <= _MANY or inner + own > _FAR // _ENDLESS):
        # Constants of the step count once: it may put the number there, and then go on.
        return _ONCE + step * steps
    return (inner + own) * _ENDLESS


class Ranges:
    """The ranges of a loop's integers: what is assumed of a step is compared with what the step then gives, until it
    is true. First a number grows by one a step, as counters do; then it stays where it starts or a step puts it;
    then it grows by what a step adds."""

    def __init__(self) -> None:
        self._growth: dict[Any, tuple[int, int] | None] = {}  # by how much a step makes it smaller, larger
        self._inside: dict[Any, tuple[int, int]] = {}  # where every step puts it
        self._tries: dict[Any, int] = {}

    def assumed(self, key: Any, start: Any, steps: int | None) -> tuple[int, int] | None:
        """The range of an integer of Python's that starts as `start`, in a loop of at most `steps`."""
        first = bounds_of(start)
        growth = self._growth.setdefault(key, (0, 1))
        if first is None or growth is None:
            return None
        if key in self._inside:
            low, high = self._inside[key]
            return min(first[0], low), max(first[1], high)
        low, high = first[0] - _grown(growth[0], steps), first[1] + _grown(growth[1], steps)
        return (low, high) if low >= -_FAR and high <= _FAR else None

    def holds(self, key: Any, before: tuple[int, int] | None, out: Any) -> bool:
        """Whether a step gives `out` for a number in the range `before`, as assumed; otherwise more is assumed."""
        growth = self._growth.get(key)
        if before is None or growth is None:
            return True
        after = bounds_of(out)
        inside = self._inside.pop(key, None)
        if after is not None:
            low, high = growth if inside is None else (0, 0)
            if before[0] - after[0] <= low and after[1] - before[1] <= high:
                if inside is not None:
                    self._inside[key] = inside
                return True
        tries = self._tries[key] = self._tries.get(key, 0) + 1
        if after is None or tries > 3:
            self._growth[key] = None
        elif tries == 1:
            self._inside[key] = after
        else:
            self._growth[key] = max(0, before[0] - after[0]), max(0, after[1] - before[1])
        return False
