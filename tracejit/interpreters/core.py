"""Running a jaxpr by binding its equations again, so that any interpreter can interpret it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Atom, Jaxpr, Literal
from tracejit.ir.source import replay
from tracejit.ir.values import Value
from tracejit.tracing import current_trace


def eval_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """The outputs of `jaxpr` on raw values `args`, every equation bound in the current trace.

    Values are dropped after their last use, so that memory follows liveness.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
    trace = current_trace()
    last = _last_uses(jaxpr)
    before = replay.source
    try:
        for n, eqn in enumerate(jaxpr.eqns):
            values = tuple([a.value if type(a) is Literal else env[a] for a in eqn.invars])
            replay.source = eqn.source
            out = trace.process(eqn.op, values, eqn.params)
            env.update(zip(eqn.outvars, out if eqn.op.multi else (out,), strict=True))
            for v in last.get(n, ()):
                env.pop(v, None)
    finally:
        replay.source = before
    return [read(env, a) for a in jaxpr.outs]


def read(env: dict[Any, Any], a: Atom) -> Any:
    return a.value if type(a) is Literal else env[a]


def _last_uses(jaxpr: Jaxpr) -> dict[int, list[Any]]:
    """Equation number -> variables that nothing reads after it."""
    last: dict[Any, int] = {}
    for n, eqn in enumerate(jaxpr.eqns):
        for a in eqn.invars:
            if type(a) is not Literal:
                last[a] = n
    for a in jaxpr.outs:
        last.pop(a, None)
    out: dict[int, list[Any]] = {}
    for v, n in last.items():
        out.setdefault(n, []).append(v)
    return out


def rename_dims(aval: Aval, env: dict[Any, Any]) -> Aval:
    """`aval` with each extent that is a key of `env` replaced by the value there."""
    if aval.is_static:
        return aval
    return aval.with_shape(tuple(_renamed(d, env) for d in aval.shape))


def _renamed(d: Any, env: dict[Any, Any]) -> Any:
    if not isinstance(d, Dim) or d.var not in env:
        return d
    value = env[d.var]
    return Dim(value, d.bound) if isinstance(value, (Value, Literal)) else int(value)
