"""Traced integers as sums: `k + 2` minus `k - 2` is 4, and `2 * k` computed twice is one extent, as is `ptr[k]`
read twice."""

from __future__ import annotations

from typing import Any

from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import Eqn, Literal, Var
from tracejit.ir.values import Value
from tracejit.tracing import current_trace

#: (id of a value, factor) for each, and the constant.
Form = tuple[tuple[tuple[int, int], ...], int]
#: Equations that are looked through for the one that made a value.
_LOOK = 256
_MAX_TERMS = 4
#: Equations are compared to this depth of their operands.
_DEPTH = 12


def form_of(a: Any) -> Form:
    """The int or raw int64 value `a` as a sum of products by constants."""
    if type(a) is int:
        return (), a
    if isinstance(a, Literal):
        return (), int(a.value)
    a = outermost(a)
    if type(a) is not Var or not isinstance(a.trace, StageTrace):
        return ((id(a), 1),), 0
    table = a.trace.__dict__.setdefault("_forms", {})
    known = table.get(id(a))
    if known is None:
        known = table[id(a)] = (_computed(a) or _leaf(a), a)  # held, so that its id stays its own
    return known[0]


def outermost(a: Any) -> Any:
    """The value of an enclosing trace that `a` is the constant for, or `a`."""
    while type(a) is Var and isinstance(a.trace, StageTrace):
        outer = a.trace.constant_of(a)
        if not isinstance(outer, Value):
            return a
        a = outer
    return a


def _leaf(a: Var) -> Form:
    return ((id(_first_same(a, _DEPTH)), 1),), 0


def _first_same(a: Any, depth: int) -> Any:
    """The first value of its trace that was computed like `a`, which may be `a`."""
    if not depth or type(a) is not Var or not isinstance(a.trace, StageTrace):
        return a
    table = a.trace.__dict__.setdefault("_same", {})
    known = table.get(id(a))
    if known is None:
        eqn = _maker(a)
        first = a
        if eqn is not None and not eqn.effects and len(eqn.outvars) == 1:
            key = eqn.key([_first_same(x, depth - 1) for x in eqn.invars])
            first = a.trace.__dict__.setdefault("_first_of_key", {}).setdefault(key, a)
        known = table[id(a)] = first, a
    return known[0]


def _computed(a: Var) -> Form | None:
    eqn = _maker(a)
    if (
        eqn is None
        or eqn.op.name not in ("add", "sub", "mul", "neg")
        or any(x.aval != a.aval for x in eqn.invars)
    ):
        return None
    x, *rest = map(form_of, eqn.invars)
    if eqn.op.name == "neg":
        return scaled(x, -1)
    if eqn.op.name in ("add", "sub"):
        return combined(x, rest[0], 1 if eqn.op.name == "add" else -1)
    constants = [f[1] for f in (x, *rest) if not f[0]]
    if eqn.op.name == "mul" and constants:
        return scaled(rest[0] if not x[0] else x, constants[0])
    return None


def _maker(a: Var) -> Eqn | None:
    eqns = a.trace.eqns
    return next((e for e in reversed(eqns[-_LOOK:]) if e.outvars and e.outvars[0] is a), None)


def scaled(f: Form, k: int) -> Form:
    """`k * f`."""
    return (tuple([(n, c * k) for n, c in f[0]]) if k else ()), f[1] * k


def combined(f: Form, g: Form, k: int) -> Form | None:
    """`f + k * g`; None if it gets too long."""
    terms = dict(f[0])
    for n, c in g[0]:
        terms[n] = terms.get(n, 0) + k * c
    left = tuple(sorted((n, c) for n, c in terms.items() if c))
    return (left, f[1] + k * g[1]) if len(left) <= _MAX_TERMS else None


def canonical(a: Any) -> Any:
    """The first value of the current trace that is the same sum as `a`, which may be `a`; an int if it is one."""
    form = form_of(a)
    return form[1] if not form[0] else _first(form, a)


def known_sum(a: Any, b: Any, k: int) -> Any:
    """`a + k * b` if it is an int or has been computed before, else None."""
    parts = form_of(a), form_of(b)
    for x, part in zip((a, b), parts, strict=True):
        if part[0]:
            _first(part, x)  # so that (n - 1) + 1 is n
    form = combined(*parts, k)
    if form is None:
        return None
    return form[1] if not form[0] else _first(form, None)


def _first(form: Form, a: Any) -> Any:
    """The value of the current trace that has `form`; `a` from now on if there is none."""
    found = remembered("_first_of_form", form)
    return (
        table_of(current_trace(), "_first_of_form").setdefault(form, a)
        if found is None and a is not None
        else found
    )


def table_of(trace: Any, name: str) -> dict[Any, Any]:
    """What a trace knows of its values under `name`."""
    return trace.__dict__.setdefault(name, {})


def remembered(name: str, key: Any) -> Any:
    """What the current trace or one around it has for `key`, as a value of the current one; or None."""
    trace = outer = current_trace()
    while outer is not None:
        found = outer.__dict__.get(name, {}).get(key)
        if found is not None:
            if outer is not trace and isinstance(found, Value):
                found = table_of(trace, name).setdefault(key, trace.lift(found))
            return found
        outer = outer.parent if isinstance(trace, StageTrace) else None
    return None
