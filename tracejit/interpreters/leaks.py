"""Looking for traced values that outlive their trace, with `config.check_tracer_leaks`.

Called right after a user's function was run on tracers. What is still alive then is held by something
of the user's: a global, a list, an attribute. The search goes through all objects of the process.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from tracejit.config import config
from tracejit.errors import TracerLeakError
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.ir.values import Value, made_at
from tracejit.tracing import Box

_SHOWN = 3  # leaks in one message
_DEPTH = 4  # containers between a value and a name
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def check(function: str, trace: Any, allowed: Any = None) -> None:
    """Raises TracerLeakError if boxes of the ended `trace` are alive, but for those in `allowed`.

    Does nothing unless `config.check_tracer_leaks`."""
    if config.check_tracer_leaks:
        _check(function, trace, [allowed])


def check_jaxpr(function: str, jaxpr: Jaxpr) -> None:
    """The same for the trace that `jaxpr` comes from; functions in it (custom rules) may hold boxes."""
    if config.check_tracer_leaks:
        for v in (*jaxpr.invars, *(v for e in jaxpr.eqns for v in e.outvars)):
            _check(function, v.trace, [*_params(jaxpr)])
            return


def _params(jaxpr: Jaxpr) -> Iterable[Any]:
    for eqn in jaxpr.eqns:
        yield from eqn.params.values()
        for sub in sub_jaxprs(eqn.params):
            yield from _params(sub)


def _check(function: str, trace: Any, allowed: Sequence[Any]) -> None:
    leaked = _boxes_of(trace)
    if leaked:
        del leaked
        gc.collect()  # those in cycles are gone then
        mine = _reachable(allowed)
        leaked = [b for b in _boxes_of(trace) if id(b) not in mine]
    if not leaked:
        return
    lines = []
    shown = leaked[:_SHOWN]
    for b in shown:
        source = made_at(b.storage.held)
        where = f"made at {source.full()}" if source else "an argument, or its origin is not recorded"
        lines.append(f"a {b.aval} ({where}) held by {holder(b, {id(leaked), id(shown)})}")
    if len(leaked) > _SHOWN:
        lines.append(f"{len(leaked) - _SHOWN} more")
    count = len(leaked)
    del leaked, shown, b
    raise TracerLeakError(function=function, count=count, leaks="; ".join(lines))


def _boxes_of(trace: Any) -> list[Box]:
    return [o for o in gc.get_objects() if type(o) is Box and _belongs(o.storage.held, trace)]


def _belongs(raw: Any, trace: Any) -> bool:
    return isinstance(raw, Value) and raw.trace is trace


def _reachable(roots: Iterable[Any]) -> set[int]:
    """The ids of what the roots refer to, not through modules, classes and plain global names."""
    seen: dict[int, Any] = {}
    todo = [r for r in roots if r is not None]
    while todo:
        x = todo.pop()
        # By its type: a weak proxy would ask what it stands for, which may be gone.
        if id(x) in seen or issubclass(type(x), (types.ModuleType, type, types.FrameType)):
            continue
        seen[id(x)] = x
        todo.extend(_parts(x) if type(x) is types.FunctionType else gc.get_referents(x))
    return set(seen)


def _parts(f: types.FunctionType) -> list[Any]:
    guarded = [] if type(f.__globals__) is dict else [f.__globals__]
    return [*(f.__closure__ or ()), f.__defaults__, f.__kwdefaults__, f.__dict__, *guarded]


# ---------------------------------------------------------------- who holds it


def holder(obj: Any, skip: set[int], depth: int = 0) -> str:
    """What holds `obj`, in words: a global, a closure variable, an attribute, or a container held by one."""
    found = [r for r in gc.get_referrers(obj) if id(r) not in skip and not _is_passing(r)]
    skip = skip | {id(found), id(obj)}
    for r in found:
        named = _named(r, obj)
        if named:
            return named
    for r in found:
        if depth < _DEPTH and isinstance(r, _CONTAINERS):
            return f"a {type(r).__name__} in {holder(r, skip, depth + 1)}"
    kinds = sorted({type(r).__name__ for r in found})
    return f"a {' and a '.join(kinds)}" if kinds else "a local variable"


def _is_passing(r: Any) -> bool:
    return isinstance(r, (types.FrameType, types.GeneratorType)) or type(r).__name__ == "list_iterator"


def _named(r: Any, obj: Any) -> str | None:
    """What `r`, which refers to `obj`, calls it."""
    if isinstance(r, types.CellType):
        return _cell(r)
    if isinstance(r, dict):
        key = next((k for k, v in r.items() if v is obj), None)
        owner = next((o for o in gc.get_referrers(r) if getattr(o, "__dict__", None) is r), None)
        if isinstance(owner, types.ModuleType) or "__builtins__" in r:
            return f"global `{key}`"
        return None if owner is None else f"attribute `{key}` of a {type(owner).__name__}"
    for name, value in _attributes(r):
        if value is obj:
            return f"attribute `{name}` of a {type(r).__name__}"
    return None


def _attributes(r: Any) -> list[tuple[str, Any]]:
    """The attributes of a user's object."""
    if isinstance(r, (type, types.ModuleType, Box)) or type(r).__module__.startswith("tracejit"):
        return []
    try:
        return list(vars(r).items())
    except TypeError:
        return []


def _cell(cell: types.CellType) -> str:
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple):
            for f in gc.get_referrers(closure):
                if isinstance(f, types.FunctionType) and f.__closure__ is closure:
                    name = f.__code__.co_freevars[[c is cell for c in closure].index(True)]
                    return f"closure variable `{name}` of {f.__qualname__}"
    return "a closure variable"
