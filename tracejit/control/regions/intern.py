"""Equal jaxprs made the same object, so that what is cached by identity is found again.

A loop that runs eagerly stages its functions at every call (they may have read
something that changed); what comes out is mostly what came out before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Jaxpr, Literal

_SIZE = 512
_table: OrderedDict[Any, Jaxpr] = OrderedDict()
_found: dict[int, Jaxpr] = {}  # those in the table, by identity
_lock = threading.Lock()


def intern_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """An earlier jaxpr equal to `jaxpr` but for names and source lines, or itself."""
    try:
        return _interned(jaxpr)
    except TypeError:  # a param that can't be hashed
        return jaxpr


def _interned(jaxpr: Jaxpr) -> Jaxpr:
    """The same. Raises TypeError if a param can't be hashed."""
    if _found.get(id(jaxpr)) is jaxpr:
        return jaxpr
    key = _key(jaxpr)
    with _lock:
        found = _table.setdefault(key, jaxpr)
        _found[id(found)] = found
        _table.move_to_end(key)
        if len(_table) > _SIZE:
            _found.pop(id(_table.popitem(last=False)[1]), None)
    return found


def _key(jaxpr: Jaxpr) -> Any:
    """Equal keys: the same program. Of the jaxprs in it the interned ones stand for what they compute."""
    number: dict[Any, int] = {}

    def var(v: Any) -> Any:
        if type(v) is Literal:
            return v.aval.dtype.str, v.value.tobytes()
        return number.setdefault(v, len(number))

    def aval(a: Aval) -> Any:
        return a.dtype, tuple((var(d.var), d.bound) if isinstance(d, Dim) else d for d in a.shape)

    ins = tuple((var(v), aval(v.aval), v.bounds) for v in jaxpr.invars)
    eqns = tuple(
        (
            e.op,
            tuple(var(a) for a in e.invars),
            _param(e.params),
            tuple((var(v), aval(v.aval)) for v in e.outvars),
        )
        for e in jaxpr.eqns
    )
    key = ins, eqns, tuple(var(a) for a in jaxpr.outs)
    hash(key)
    return key


def _param(x: Any) -> Any:
    """A param as a key; 1, 1.0 and True differ."""
    if isinstance(x, Jaxpr):
        return _interned(x)
    if isinstance(x, dict):
        return tuple((k, _param(v)) for k, v in x.items())
    if isinstance(x, tuple):
        return type(x), tuple(map(_param, x))
    return (type(x), x.tobytes()) if isinstance(x, np.generic) else (type(x), x)
