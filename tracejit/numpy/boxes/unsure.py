"""Numbers that are Python's or NumPy's, depending on values: `max(0, x[i])`, and `s` after a loop without steps.

s = 0
for j in range(i):
    s += a[j]          # np.float64, but the int 0 if no step was made
b[i] = c[i] - s        # here it is all the same

Their values are computed as NumPy computes them. A box of one has no `weak`, and `Box.__getattr__` is asked for it: it
leaves the program where the number is Python's, which then runs the function. Where the class is all the same, the
number is taken as it is (`taken`), and nothing is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import NumberError
from tracejit.interpreters.stage import StageTrace
from tracejit.interpreters.vmap import BatchTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Eqn, Literal
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import all_hold, is_python, is_zero, leave_if
from tracejit.numpy.operands import convert, dtype_of
from tracejit.tracing import Box, Trace, box, current_trace, to_raw

_weak: Any = Box.__dict__["weak"]
_mixed: Any = Box.__dict__["mixed"]
#: Operators that give a Python number of what they give of NumPy's, with the same value.
_DIVIDING = ("divide", "floor_divide", "remainder")
_ALIKE = frozenset(("add", "subtract", "multiply", "negative", "positive", "absolute", *_DIVIDING))
_EXACT = frozenset(("add", "subtract", "multiply", "negative", "positive"))
#: By the type of a number of either kind, NumPy's types beside which its class decides nothing.
_DECIDING = {
    dtypes.float64: frozenset((dtypes.float64, dtypes.complex128)),
    dtypes.int64: frozenset((dtypes.int64, dtypes.float64, dtypes.complex128)),
}
_COMPARED = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))


def is_unsure(x: Any) -> bool:
    """Whether `x` is a number of either kind."""
    if type(x) is not Box:
        return False
    try:
        _weak.__get__(x)
    except AttributeError:
        return True
    return False


def was_unsure(x: Any) -> bool:
    """Whether `x` is a number of either kind, or was one until it was asked for."""
    if type(x) is not Box:
        return False
    try:
        return x.python is not None
    except AttributeError:
        return False


def is_mixed(x: Any) -> bool:
    """Whether `x` is a number of either kind whose Python number has another type, as in `x[i] if c else 0`."""
    if type(x) is not Box:
        return False
    try:
        return bool(_mixed.__get__(x))
    except AttributeError:
        return False


def is_alike(x: Any) -> bool:
    """Whether `x` is a number of either kind whose Python number is known to be of the same type as NumPy's."""
    if not is_unsure(x):
        return False
    try:
        return _mixed.__get__(x) is False
    except AttributeError:
        return False


def unsure(raw: Any, python: Any, mixed: bool | None = None) -> Box:
    """The number `raw`, which is Python's where the raw truth value `python` holds; `mixed`: one of another type, which
    the program does not have (None: it may be)."""
    out = box(raw)
    if isinstance(python, Value) or python:
        out.python = python  # type: ignore[attr-defined]
        del out.weak
        if mixed is not None:
            out.mixed = mixed  # type: ignore[attr-defined]
    return out


def mark(x: Any, python: Any, whole: bool = False) -> Any:
    """The number `x` as one that is Python's where `python` holds, and is `whole` then; other things as they are."""
    if not isinstance(python, Value) or type(x) is not Box or not x.scalar:
        return x
    if whole and x.aval.dtype == dtypes.float64:
        _leave_if_long(x, python)
        return unsure(x.read(), python, mixed=True)
    return unsure(x.read(), python)


def _leave_if_long(x: Any, python: Any) -> None:
    """Leave the program where one of Python's integers may be no number of the program's floats."""
    size = ops.arithmetic.abs(convert(to_raw(x), dtypes.float64))
    long = ops.compare.gt(size, np.float64(1 << 53))
    leave_if(all_hold(python, long), "an integer of Python's of more than 53 bits")


def python_of(x: Any) -> Any:
    """A raw truth value: whether `x` is one of Python's numbers."""
    return x.python if is_unsure(x) else np.bool_(is_python(x))


def taken(x: Any) -> Any:
    """`x`, as one of NumPy's numbers if it is unsure."""
    return box(x.read()) if is_unsure(x) else x


def settle(x: Box) -> bool:
    """`x.weak` of an unsure number: it is NumPy's, as one of Python's leaves the program here. In a vmap, whose
    results are arrays, it may stay."""
    traces = list(_traces())
    if any(isinstance(trace, BatchTrace) for trace in traces):
        return False
    for trace in traces:
        if isinstance(trace, StageTrace):
            trace.settled = True
            if trace.first is x.python:  # the program would be left in every call
                trace.first_asked = True
                raise NumberError(message="a number that is Python's in the first step of a loop")
    leave_if(x.python, "a number that is Python's or NumPy's", lanes=False)
    if current_trace() is x.storage.trace:  # elsewhere the check may be in a branch that is not taken
        x.weak = False
    return False


def may_have_begun(x: Any) -> bool:
    """Whether one of Python's numbers may be of another type to Python: a loop carries it as a float, say, and began
    with an integer, which no step need have changed, or only by other integers."""
    if type(x) is not Box or x.aval.shape or is_unsure(x) or x.weak is not True:
        return False
    staged = [trace for trace in _traces() if isinstance(trace, StageTrace)]
    found = {v for trace in staged for v in trace.begun}
    if not found:
        return False
    for trace in reversed(staged):
        _spread(trace.eqns, found)
    return _is_in(x.read(), found)


#: Operations whose results may be one of their operands as it is.
_CHOOSING = frozenset(("scan", "while", "select", "max", "min"))


def _spread(eqns: Sequence[Eqn], found: set[Any]) -> None:
    """Enter what is computed of variables that are `found` and of what may be integers, which are constants and what is
    made of integers."""
    whole: set[Any] = set()
    for e in eqns:
        if "branches" in e.params:
            for jaxpr in e.params["branches"]:
                inside = {v for v, x in zip(jaxpr.invars, e.invars[1:], strict=True) if _is_in(x, found)}
                if inside:
                    _spread(jaxpr.eqns, inside)
                    both = zip(e.outvars, jaxpr.outvars, strict=True)
                    found.update(v for v, out in both if _is_in(out, inside))
        elif any(_is_in(x, found) for x in e.invars):
            if e.op.name in _CHOOSING or all(
                type(x) is Literal or x in found or x in whole for x in e.invars
            ):
                found.update(e.outvars)
        elif all(aval_of(x).dtype.kind in "iub" for x in e.invars):
            whole.update(e.outvars)


def _is_in(x: Any, found: set[Any]) -> bool:
    return isinstance(x, Value) and x in found


def _traces() -> Iterator[Trace]:
    """The traces that are at work, without the one that evaluates."""
    trace = current_trace()
    while trace.parent is not None:
        yield trace
        trace = trace.parent


def operands(name: str, args: Sequence[Any]) -> tuple[tuple[Any, ...], Any, bool] | None:
    """Operands of a Python operator some of which are unsure, as NumPy's, where its result is one of Python's, and
    whether that is an integer where NumPy's is none; None if that must be asked."""
    sure = [a for a in args if not is_unsure(a)]
    of = {dtype_of(a) for a in args if is_unsure(a)}
    if name in _COMPARED and all(dtype_of(a).kind in "bif" for a in args):
        return tuple(map(taken, args)), _all_python(args), False
    mixed = [a for a in args if is_mixed(a)]
    if not mixed and of == {dtypes.int64} and name in _EXACT and all(map(_is_whole, sure)):
        # Of Python's integers, the program looks whether they outgrow 64 bits.
        weak = tuple([box(a.read(), weak=True) if is_unsure(a) else a for a in args])
        return weak, _all_python(args), False
    deciding = frozenset.intersection(*(_DECIDING.get(d, frozenset()) for d in of))
    numpys = [dtype_of(a) for a in sure if not is_python(a)]
    if any(d in deciding or (d.kind in "iub" and not mixed and of == {dtypes.float64}) for d in numpys):
        return tuple(map(taken, args)), np.False_, False
    if of != {dtypes.float64} or not all(is_python(a) and dtype_of(a).kind in "if" for a in sure):
        return None
    whole = len(mixed) + sum(dtype_of(a).kind == "i" for a in sure) == len(args) and name != "divide"
    if name in _ALIKE:
        python = _all_python(args)
        for a in sure if whole else ():
            _leave_if_long(a, python)
        if name in _DIVIDING:
            by_zero = all_hold(python, is_zero(taken(args[1]).read() if type(args[1]) is Box else args[1]))
            leave_if(by_zero, "a division by zero of Python's numbers")
        return tuple(map(taken, args)), python, whole
    return None


def _is_whole(x: Any) -> bool:
    """Whether `x` is one of Python's integers or truth values, of no more than 64 bits."""
    if type(x) is Box:
        return is_python(x) and x.aval.dtype.kind in "bi"
    return type(x) is bool or (type(x) is int and -(1 << 63) <= x < 1 << 63)


def powers(x: Any, y: Any) -> Any:
    """For `x ** y` of a number of either kind and a known one of Python's: (NumPy's number, where the power is
    Python's, whether it is an integer then), after leaving the program where Python raises, or has a complex number;
    None if that must be asked."""
    if not is_unsure(x) or type(y) not in (int, float) or dtype_of(x) != dtypes.float64 or not 0 < y <= 64:
        return None
    number = taken(x)
    size = ops.arithmetic.abs(number.read())
    largest = 1e308 ** (1 / y) if y > 1 else math.inf
    fails = ops.compare.gt(size, np.float64(largest))
    if type(y) is float and not y.is_integer():
        fails = ops.compare.or_(fails, ops.compare.lt(number.read(), np.float64(0)))
    leave_if(all_hold(x.python, fails), "a power of one of Python's numbers")
    return number, x.python, is_mixed(x) and type(y) is int


def alike(ufunc: np.ufunc, args: Sequence[Any]) -> tuple[Any, ...]:
    """Operands of a NumPy function, which gives NumPy's numbers: those that are floats of either kind as NumPy's, where
    their class decides nothing, since all others are Python's numbers or as wide. Python's integers among them decide
    where the function gives integers of such."""
    others = [a for a in args if not is_unsure(a)]
    numpys = [a for a in others if not is_python(a)]
    same = all(getattr(a, "dtype", None) in (dtypes.float64, dtypes.complex128) for a in numpys)
    if not numpys and any(map(is_mixed, args)):
        same = (
            same
            and ufunc.resolve_dtypes((dtypes.int64,) * ufunc.nin + (None,) * ufunc.nout)[-1].kind not in "iu"
        )
    return tuple(
        [taken(a) if same and type(a) is Box and a.aval.dtype == dtypes.float64 else a for a in args]
    )


def _all_python(args: Sequence[Any]) -> Any:
    """A raw truth value: whether all numbers are Python's."""
    return all_hold(*map(python_of, args))
