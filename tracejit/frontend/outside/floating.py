"""Floating-point errors that the function wants to see: in `with np.errstate(divide="raise")`, after
`np.seterr(all="raise")`, and where warnings are errors or are recorded.

Compiled code does not look for such errors. While one of these is in force, each operation that may meet one gets a
check, which is stricter than NumPy: where a result is not finite (or may be too small, if that is asked for), Python
does the call over, and raises, warns or does nothing. An operation of which it is not known what NumPy looks for is
refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.interpreters.stage import StageTrace, bounds_of
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.ir.primitive import Op
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import caller, current_trace, use_trace

REASON = "compiled code does not look for floating-point errors"
_WHAT = "a floating-point error"
#: What NumPy is told to do about errors, by which nothing is raised, printed or called.
_QUIET = (None, "ignore", "warn")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Operations that only move, choose and compare, and those of the program's own.
_FREE = _names(
    "and_ not_ or_ xor eq ne lt le gt ge isfinite isinf isnan signbit select copy reshape transpose rev slice "
    "slice_update pad concatenate expand_dims squeeze broadcast_in_dim dynamic_slice dynamic_update_slice gather "
    "scatter iota full constant check_index sort argsort argmax argmin reduce_and reduce_or real imag conj "
    "stop_gradient optimization_barrier name bitcast bitcast_split bitcast_join shift_right bitwise_count "
    "copysign counted debug_callback"
)
#: Those with a result that is not finite where NumPy may have met an error.
_SHOWN = _names(
    "add sub mul div square sqrt reciprocal integer_pow pow exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin "
    "arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh cbrt hypot floor_divide remainder fmod divmod neg "
    "abs sign floor ceil rint trunc maximum minimum fmax fmin clamp reduce_max reduce_min cummax cummin reduce_sum "
    "cumsum reduce_prod cumprod dot_general convert_element_type shift_left scatter_add slice_add dynamic_slice_add"
)
#: Of these, what is never too small without being exact; and what is so only if the result is.
_NEVER_SMALL = _names(
    "add sub sqrt log log2 log10 neg abs sign floor ceil rint trunc maximum minimum fmax fmin clamp reduce_max "
    "reduce_min cummax cummin reduce_sum cumsum"
)
_SMALL = _names("mul div square integer_pow reciprocal exp exp2 convert_element_type")
#: Whose result is exact where the first operand is zero, as that of `mul` is where any is; of the others none is.
_SMALL_OF_ZERO = ("div", "square", "integer_pow", "convert_element_type")
#: Those of integers that may leave their type, and those that divide.
_LEAVING = ("add", "sub", "mul", "square", "neg")
_DIVIDING = ("floor_divide", "remainder", "divmod", "fmod")


def is_seen(kinds: Any) -> bool:
    """Whether one of these answers to errors is more than to ignore them or to warn."""
    return any(kind not in _QUIET for kind in kinds)


class Watch:
    """Lets the program leave a call to Python in which an operation may have met an error. `small`: also one whose
    result is too small."""

    def __init__(self, small: bool) -> None:
        self.small = small
        self._busy = False
        self._looked_at: dict[int, Any] = {}  # results of operations, by identity

    def __call__(self, trace: StageTrace, op: Op, args: tuple[Any, ...], outs: Any, params: Any) -> None:
        """Look at what an operation gives, which `trace` has recorded."""
        outs = list(outs) if op.multi else [outs]
        if self._busy:  # a check's own
            self._looked_at |= {id(x): x for x in outs}
            return
        if op.name in _FREE:
            return
        inner = list(sub_jaxprs(params))
        if inner:
            if not all(map(self._has_seen, inner)):
                raise _refused(op.name)
            return
        if op.name not in _SHOWN or any(aval_of(x).dtype.kind not in "biuf" for x in (*args, *outs)):
            raise _refused(op.name)
        self._busy = True
        try:
            with use_trace(trace):
                self._check(op.name, args, outs)
        finally:
            self._busy = False
        self._looked_at |= {id(x): x for x in outs}

    def _has_seen(self, jaxpr: Jaxpr) -> bool:
        """Whether all operations of a loop's step, or of a branch, were looked at when they were recorded."""
        for e in jaxpr.eqns:
            inner = list(sub_jaxprs(e.params))
            seen = e.op.name in _FREE or all(id(v) in self._looked_at for v in e.outvars)
            if not (all(map(self._has_seen, inner)) if inner else seen):
                return False
        return True

    def _check(self, name: str, args: tuple[Any, ...], outs: list[Any]) -> None:
        compare, kind = ops.compare, aval_of(outs[0]).dtype.kind
        if kind == "f":
            for out in outs:
                _leave_where(compare.not_(compare.isfinite(out)))
            if self.small and name not in _NEVER_SMALL:
                _look_for_small(name, args, outs[0])
        elif kind in "iu":
            if name in _DIVIDING:
                _leave_where(compare.eq(args[1], aval_of(args[1]).dtype.type(0)))
            elif name == "convert_element_type":
                _look_at_integer_of(args[0], aval_of(outs[0]).dtype)
            elif not aval_of(outs[0]).shape:
                _look_at_number(name, args, outs[0])


def _refused(name: str) -> UnfollowedError:
    return UnfollowedError(what=f"`{name}` where floating-point errors are seen", reason=REASON)


def _leave_where(bad: Any) -> None:
    shape = aval_of(bad).shape
    leave_if(ops.reduce.reduce_or(bad, axes=tuple(range(len(shape)))) if shape else bad, _WHAT)


def _look_for_small(name: str, args: tuple[Any, ...], out: Any) -> None:
    if name not in _SMALL:
        raise _refused(name)
    compare, arithmetic, dtype = ops.compare, ops.arithmetic, aval_of(out).dtype
    bad = compare.lt(arithmetic.abs(out), np.finfo(dtype).tiny)
    for x in args if name == "mul" else args[:1] if name in _SMALL_OF_ZERO else ():
        if aval_of(x).dtype.kind != "f":
            return  # an integer is no small number
        bad = compare.and_(bad, compare.ne(x, aval_of(x).dtype.type(0)))
    _leave_where(bad)


def _look_at_integer_of(x: Any, dtype: np.dtype) -> None:
    """A float that becomes an integer fits there."""
    given = aval_of(x).dtype
    if given.kind != "f":
        return
    info, compare = np.iinfo(dtype), ops.compare
    low, high = (given.type(float(n)) for n in (info.min, info.max // 2))
    _leave_where(compare.not_(compare.and_(compare.ge(x, low), compare.le(x, high))))


def _look_at_number(name: str, args: tuple[Any, ...], out: Any) -> None:
    """NumPy tells of an integer (no array) that leaves its type."""
    if name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "dot_general", "sign"):
        return
    if (
        name in ("maximum", "minimum", "clamp", "floor", "ceil", "rint", "trunc")
        or bounds_of(out) is not None
    ):
        return
    if name not in _LEAVING:
        raise _refused(name)
    wide = [ops.create.convert_element_type(x, dtype=np.dtype(np.float64)) for x in args]
    info, compare = np.iinfo(aval_of(out).dtype), ops.compare
    made = getattr(ops.arithmetic, name)(*wide)
    inside = compare.and_(compare.gt(made, float(info.min / 2)), compare.lt(made, float(info.max / 2)))
    _leave_where(compare.not_(inside))


def can_be_seen() -> bool:
    """Whether operations that are traced now can be looked at: Python does the calls over that it leaves."""
    session = active.session()
    return (
        session is not None
        and session.guarded
        and isinstance(current_trace(), StageTrace)
        and caller.does_over()
    )


def look() -> None:
    """From now on operations of the current trace are looked at, as NumPy's settings and the filters say. What NumPy
    computes while tracing raises, and is left to Python."""
    session, trace = active.session(), current_trace()
    assert session is not None and isinstance(trace, StageTrace)
    raised = "warn" if session.sees_warnings else "raise"
    answers: dict[str, Any] = {k: "raise" if kind == raised else kind for k, kind in np.geterr().items()}
    np.seterr(**answers)
    trace.watch = Watch(is_seen([answers["under"]])) if is_seen(answers.values()) else None


def leave(what: str) -> None:
    """Leave the call to Python, where a loop or branch comes here. Raises UnfollowedError where each call does."""
    session = active.session()
    if session is None or current_trace() is session.capture.trace or not can_be_seen():
        raise UnfollowedError(what=what, reason="no program has it")
    leave_if(np.True_, what)


def is_looked_at() -> bool:
    """Whether operations of the current trace are looked at."""
    trace = current_trace()
    return isinstance(trace, StageTrace) and (trace.watch is not None or _sees_warnings())


def _sees_warnings() -> bool:
    session = active.session()
    return session is not None and session.sees_warnings


@contextlib.contextmanager
def looking() -> Iterator[None]:
    """For a block. See `look`."""
    trace = current_trace()
    assert isinstance(trace, StageTrace)
    before = trace.watch
    with np.errstate():
        try:
            look()
            yield
        except FloatingPointError as e:
            if _sees_warnings():
                raise UnfollowedError(what="what NumPy warns of while tracing", reason=REASON) from e
            raise
        finally:
            trace.watch = before
