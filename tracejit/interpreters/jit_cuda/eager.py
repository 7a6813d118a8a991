"""Operations on arrays of devices outside of any program: each is a program of its own, which is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import DeviceMixError
from tracejit.interpreters.closed import stage_closed
from tracejit.interpreters.jit_cuda.device import CompiledOnDevice, device_of
from tracejit.ir.avals import aval_of
from tracejit.ir.primitive import Op
from tracejit.tracing import LOCK, bind

_programs: dict[Any, CompiledOnDevice] = {}
_MOST = 1 << 10


def evaluate(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """`op` on the device that operands are on; those of the host are copied there. Raises DeviceMixError."""
    where = None
    for n, x in enumerate(args):
        found = device_of(x)
        if found is not None and where is not None and found is not where:
            raise DeviceMixError(
                function=op.name, device=str(where), argument=f"operand {n}", other=str(found)
            )
        where = where or found
    outs = _program(op, args, params, where)(*args)
    return list(outs) if op.multi else outs[0]


def _program(op: Op, args: tuple[Any, ...], params: dict[str, Any], where: Any) -> CompiledOnDevice:
    avals = [aval_of(x) for x in args]
    key: Any = (op, where, tuple(avals), tuple(params.items()))
    try:
        known = _programs.get(key)
    except TypeError:  # a parameter that can't be hashed
        key, known = None, None
    if known is not None:
        return known
    with LOCK:

        def run(*raw: Any) -> list[Any]:
            out = bind(op, *raw, **params)
            return out if op.multi else [out]

        made = CompiledOnDevice(stage_closed(run, avals, op.name), where, {})
        if key is not None:
            if len(_programs) >= _MOST:
                _programs.clear()
            _programs[key] = made
    return made


def beside(x: Any, host: Any) -> Any:
    """An array of the host as a copy on the device that `x` is on."""
    return device_of(x).array(np.asarray(host))
