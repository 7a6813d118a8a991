"""`library_call`: a library's function that has no traced form, called while the program runs.

It computes and does nothing else, but it may raise, and it may give arrays of other shapes than it was announced to.
Both are failures of a check: Python does the whole call over, and what it then sees is the library's own.

Functions that another compiler made (`natives`) are called by address, and give a status that the program checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.control.callbacks.host import PerLane
from tracejit.control.callbacks.natives import NativeCall, flattened
from tracejit.errors import CallbackBatchError, DynamicExtentError, NotDifferentiableError
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import Routine
from tracejit.ir.primitive import NONLINEAR
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import bind


class Forgiving:
    """A call whose failures nobody sees, as those of a branch that a lane does not take: NaN (or 0) instead."""

    def __init__(self, inner: Any, results: Sequence[Aval]) -> None:
        self.inner = inner
        self.results = tuple(results)
        self.name, self.told, self.reason = inner.name, inner.told, inner.reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Forgiving) and other.inner == self.inner

    def __hash__(self) -> int:
        return hash((Forgiving, self.inner))

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        try:
            return self.inner(*arrays)
        except Exception:
            return [np.full(a.shape, np.nan if a.dtype.kind in "fc" else 0, a.dtype) for a in self.results]


class _Lanes(PerLane):
    """A call that runs lane by lane."""

    def __init__(self, inner: Any, mapped: tuple[bool, ...], results: Sequence[Aval]) -> None:
        super().__init__(inner, mapped, results)
        self.told, self.reason = inner.told, inner.reason


def _type(*_: Aval, results: tuple[Aval, ...], **__: Any) -> list[Aval]:
    return list(results)


def _eval(*args: Any, callback: Callable[..., list[Any]], results: Any, check: bool) -> list[Any]:
    call = callback if check or isinstance(callback, NativeCall) else Forgiving(callback, results)
    return [x[()] for x in call(*args)]


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    outs = bind(library_call_op, *primals, **params)
    smooth = any(a.dtype.kind in "fc" for a in params["results"])
    if smooth and not all(isinstance(t, Zero) for t in tangents):
        call = params["callback"]
        raise NotDifferentiableError(op=call.name, reason=call.reason)
    return outs, [Zero(a) for a in params["results"]]


def _batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[int]]:
    """Lane by lane."""
    callback, results = params["callback"], params["results"]
    if type(size) is not int:
        raise DynamicExtentError(op=callback.name, problem="the number of lanes is computed")
    if isinstance(callback, NativeCall):
        if callback.effects:
            raise CallbackBatchError(
                op="a call", callback=callback.name, problem="its calls are ordered, and lanes have no order"
            )
        call, given, made = flattened(callback, size, args, dims)
        outs = made(bind(library_call_op, *given, **{**params, "callback": call, "results": call.types()}))
        return outs, [0] * len(results)
    moved = helpers.batch_axes_first(args, dims)
    inner = callback if params["check"] else Forgiving(callback, results)
    lanes = _Lanes(inner, tuple(d is not None for d in dims), results)
    stacked = tuple(a.with_shape((size, *a.shape)) for a in results)
    outs = bind(library_call_op, *moved, **{**params, "callback": lanes, "results": stacked})
    return list(outs), [0] * len(results)


def _routine(k: Any, operands: Any, outs: Any, avals: Any, *, callback: Any, **_: Any) -> bool:
    """By address, where it has one."""
    return isinstance(callback, NativeCall) and callback.write(k, operands, outs, avals)


def _effects(params: dict[str, Any]) -> frozenset[str]:
    callback = params["callback"]
    if isinstance(callback, NativeCall):
        return callback.effects
    return frozenset({"error"} if params["check"] else ())


library_call_op = helpers.plain(
    name="library_call",
    doc="a library's function without a traced form, called while the program runs",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    transpose=NONLINEAR,
    batch=_batch,
    effects=_effects,
    kernel=Routine(_routine),
)


def library_call(callback: Any, *operands: Any) -> list[Any]:
    """The raw results of `callback(*arrays)`, which gives arrays of the types `callback.results`.

    `callback` compares by value, and has a `name`, and for people `told` (what it is, and where) and `reason` (why it
    has no derivative)."""
    results = tuple(callback.results)
    return list(bind(library_call_op, *operands, callback=callback, results=results, check=True))


def native_call(call: NativeCall, *operands: Any) -> list[Any]:
    """The raw results of a function that is called by address, the last of which says whether it worked."""
    return list(bind(library_call_op, *operands, callback=call, results=call.types(), check=False))
