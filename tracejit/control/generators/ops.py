"""The records of draws: `draw`, `enter_generators`, `make_generator`.

All have the effect `drawn`: they happen exactly as often as the program says, and in its order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.control.generators import natives
from tracejit.control.generators.draws import Draw, Result
from tracejit.errors import NotDifferentiableError, RandomLanesError
from tracejit.interpreters import generators
from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import DRAWN
from tracejit.ir.kernel import Entering, Kernel, Opaque, Routine
from tracejit.ir.primitive import (
    FROM_JVP,
    NO_IDENTITIES,
    NO_INPLACE,
    NONLINEAR,
    ZERO_TANGENT,
    Op,
)
from tracejit.ir.values import Zero
from tracejit.ops.building.helpers import plain
from tracejit.tracing import bind

HANDLE = Aval((2,), np.dtype(np.int64))
_EFFECTS = frozenset({DRAWN})


def _refuse_lanes(size: Any, args: Any, dims: Any, **params: Any) -> Any:
    what = params.get("draw", params.get("make"))
    raise RandomLanesError(function="a function" if what is None else what.name)


# ---------------------------------------------------------------- drawing


def _type(*_: Aval, draw: Draw, result: Result, range: Any) -> Aval:
    return result.aval


def _eval(handle: Any, *operands: Any, draw: Draw, result: Result, range: Any) -> Any:
    out = draw(handle, operands, result)
    return out[()] if type(out) is np.ndarray else result.aval.dtype.type(out)


def _effects(params: dict[str, Any]) -> frozenset[str]:
    """A draw may fail where its parameters are operands, if it is no native one: their operands have been checked."""
    draw: Draw = params["draw"]
    native = not draw.kinds or natives.writer_of(draw, params["result"].aval) is not None
    return _EFFECTS if native else _EFFECTS | {"error"}


def _routine(
    k: Any, operands: list[Any], results: list[Any], avals: Any, draw: Draw, result: Result, range: Any
) -> bool:
    found = natives.writer_of(draw, result.aval)
    if found is None or not k.has(f"random:{found[0]}"):
        return False
    bits = k.load(operands[0], 1)
    found[1](k, bits, operands[1:], results[0], result.aval.size)
    return True


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """Numbers that are drawn are constants of the derivative."""
    out, aval = bind(draw_op, *primals, **params), params["result"].aval
    if aval.dtype.kind in "fc" and not all(isinstance(t, Zero) for t in tangents):
        reason = "how the numbers depend on its parameters is not known"
        raise NotDifferentiableError(op=params["draw"].name, reason=reason)
    return out, Zero(aval)


draw_op = Op(
    name="draw",
    doc="a method of a random generator, called while the program runs",
    multi=False,
    type=_type,
    eval=_eval,
    inplace=NO_INPLACE,
    jvp=_jvp,
    linearize=FROM_JVP,
    transpose=NONLINEAR,
    batch=_refuse_lanes,
    simplify=NO_IDENTITIES,
    effects=_effects,
    bounds=lambda _, range, **__: range,
    kernel=Routine(_routine),
)

# ---------------------------------------------------------------- the generators


def _record(name: str, doc: str, type: Any, eval: Any, multi: bool, effects: Any, kernel: Kernel) -> Op:
    return plain(
        name=name,
        doc=doc,
        multi=multi,
        type=type,
        eval=eval,
        jvp=ZERO_TANGENT,
        transpose=NONLINEAR,
        batch=_refuse_lanes,
        effects=effects,
        kernel=kernel,
    )


def _make(*operands: Any, make: Any, count: int) -> list[Any]:
    made = make(operands)
    generators.keep(make, made)
    return list(map(generators.handle_of, made))


enter_op = _record(
    "enter_generators",
    "takes the locks of the generators from which a program draws, and notes their states",
    lambda *_, **__: [],
    lambda *_, **__: [],  # one by one, NumPy takes the lock for each draw
    True,
    lambda params: _EFFECTS,
    Entering(lambda *_, **__: True),
)

make_op = _record(
    "make_generator",
    "new random generators, made while the program runs: their handles",
    lambda *_, count, **__: [HANDLE] * count,
    _make,
    True,
    lambda params: _EFFECTS | {"error"} if params["make"].fails else _EFFECTS,
    Opaque(),
)
