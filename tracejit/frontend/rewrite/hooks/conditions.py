"""`and`, `or`, `not`, chained comparisons and `assert` where an operand may be traced."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.frontend.rewrite import same
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.blocks.terms import Spec
from tracejit.frontend.rewrite.hooks.branches import ifexp, run_if
from tracejit.frontend.rewrite.hooks.calls import contains
from tracejit.frontend.rewrite.hooks.predicates import asked, raw_truth, truth
from tracejit.frontend.rewrite.source.matches import is_singleton
from tracejit.frontend.variants import uses
from tracejit.frontend.variants.node import Variant
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import is_python, leave_if
from tracejit.numpy.operands import dtype_of
from tracejit.tracing import Box, box, unbox

Thunk = Callable[[], Any]


def _asked(x: Any) -> Any:
    return asked(x) if capturing() is not None else x


def _known(x: Any) -> bool | None:
    return truth(x) if capturing() is not None else bool(x)


def and_(first: Any, *rest: Thunk) -> Any:
    """`first and rest[0]() and …`."""
    if not rest:
        return first
    test = _asked(first)
    known = _known(test)
    if known is None:
        return ifexp(test, lambda: and_(rest[0](), *rest[1:]), lambda: first)
    return and_(rest[0](), *rest[1:]) if known else first


def or_(first: Any, *rest: Thunk) -> Any:
    """`first or rest[0]() or …`."""
    if not rest:
        return first
    test = _asked(first)
    known = _known(test)
    if known is None:
        return ifexp(test, lambda: first, lambda: or_(rest[0](), *rest[1:]))
    return first if known else or_(rest[0](), *rest[1:])


def all_(first: Any, *rest: Thunk) -> Any:
    """Whether `first and rest[0]() and …` is true."""
    test = _asked(first)
    known = _known(test)
    if known is False or not rest:
        return _truth(test, known)
    if known:
        return all_(rest[0](), *rest[1:])
    return ifexp(test, lambda: all_(rest[0](), *rest[1:]), lambda: False)


def any_(first: Any, *rest: Thunk) -> Any:
    """Whether `first or rest[0]() or …` is true."""
    test = _asked(first)
    known = _known(test)
    if known or not rest:
        return _truth(test, known)
    if known is False:
        return any_(rest[0](), *rest[1:])
    return ifexp(test, lambda: True, lambda: any_(rest[0](), *rest[1:]))


def _truth(test: Any, known: bool | None) -> Any:
    return box(raw_truth(test), weak=True) if known is None else known


def not_(x: Any) -> Any:
    """`not x`."""
    x = _asked(x)
    known = _known(x)
    return box(ops.compare.not_(raw_truth(x)), weak=True) if known is None else not known


def in_(item: Any, container: Any, negated: bool) -> Any:
    """`item in container`, or `item not in container`."""
    if capturing() is None:
        return (item not in container) if negated else item in container
    found = contains(item, container)
    found = box(found.read(), weak=True) if type(found) is Box else bool(found)
    return not_(found) if negated else found


def is_(x: Any, y: Any, negated: bool) -> Any:
    """`x is y`, or `x is not y`. A traced Python boolean may be `True` or `False` themselves."""
    if capturing() is None:
        return x is not y if negated else x is y
    if type(x) is Variant or type(y) is Variant:
        found = x is y or uses.is_one(x, y, lambda a, b: is_(a, b, False))
    elif x is None or y is None:
        found = x is y
    elif type(y) is bool:
        found = is_singleton(x, y)
    elif type(x) is bool:
        found = is_singleton(y, x)
    elif x is y:
        found = True
    elif _is_singleton(x) and _is_singleton(y):
        found = box((x == y).read(), weak=True)
    elif _is_number(x) and _is_number(y):
        found = _is_one_number(x, y)
    else:
        found = _truth_of(same.are_one(x, y))
    return not_(found) if negated else found


def _is_singleton(x: Any) -> bool:
    """Whether it is one of NumPy's two truth values, which there are once."""
    return type(x) is np.bool_ or (type(x) is Box and x.scalar and x.aval.dtype.kind == "b" and not x.weak)


def _truth_of(raw: Any) -> Any:
    """A raw truth value as a Python boolean, which may be traced."""
    return box(raw, weak=True) if isinstance(raw, Value) else bool(raw)


def _is_number(x: Any) -> bool:
    return (x.scalar or is_python(x)) if type(x) is Box else isinstance(x, np.generic) or is_python(x)


def _is_one_number(x: Any, y: Any) -> Any:
    """Whether two numbers are one object: not if they are of two types or values. Python says it where they are equal,
    as one may have been chosen among others that the other is of."""
    if type(x) is not Box and type(y) is not Box:
        return x is y
    if is_python(x) != is_python(y) or dtype_of(x) != dtype_of(y):
        return False
    equal = ops.compare.eq(unbox(x), unbox(y))
    if dtype_of(x).kind in "fc":
        are_nan = ops.compare.and_(ops.compare.ne(unbox(x), unbox(x)), ops.compare.ne(unbox(y), unbox(y)))
        equal = ops.compare.or_(equal, are_nan)
    leave_if(equal, "whether two equal numbers are one object")
    return False


def chain(names: tuple[str, ...], left: Any, right: Any, *rest: Thunk) -> Any:
    """`left < right <= rest[0]() …`, comparisons given by name."""
    compare = _BY_NAME.get(names[0]) or getattr(operator, names[0])
    first = compare(left, right)
    if not rest:
        return first
    return and_(first, lambda: chain(names[1:], right, rest[0](), *rest[1:]))


_BY_NAME: dict[str, Callable[[Any, Any], Any]] = {
    "is": functools.partial(is_, negated=False),
    "is not": functools.partial(is_, negated=True),
    "in": functools.partial(in_, negated=False),
    "not in": functools.partial(in_, negated=True),
}


def assert_(test: Any, message: Thunk) -> None:
    """`assert test, message`."""

    def fail() -> None:
        raise raised(AssertionError(*message()))

    test = _asked(test)
    if _known(test) is None:
        run_if(test, None, fail, Spec("assert", message.__code__.co_firstlineno), message)
    elif not test:
        raise AssertionError(*message())


def raised(error: Any) -> Any:
    """An exception that the user's function raises itself: compiled code may raise it too."""
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if isinstance(error, BaseException) and capturing() is not None:
        error._tj_raised = error._tj_thrown = True  # type: ignore[attr-defined]
    return error


def thrown(error: Any) -> Any:
    """An exception that the user's function raises where it may catch it: no check, but no Ctrl-C either."""
    if isinstance(error, type) and issubclass(error, BaseException) and not issubclass(error, Exception):
        error = error()
    if isinstance(error, BaseException) and not isinstance(error, Exception):
        error._tj_thrown = True  # type: ignore[attr-defined]
    return error
