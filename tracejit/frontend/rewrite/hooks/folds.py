"""`any` and `all`, which stop at the first item that decides: what comes after it has not happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import TracejitError
from tracejit.errors.refusals import attempt
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.rewrite.blocks.cells import cells_of, get
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.blocks.state import Frame
from tracejit.frontend.rewrite.hooks.predicates import asked, raw_truth, truth
from tracejit.interpreters.stage import StageTrace
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box, box, current_trace, new_trace

Function = Callable[[Any], Any]
_NUMPYS: dict[Any, Any] = {any: np.any, all: np.all}


def any_(xs: Any) -> Any:
    """`any`."""
    return _of_values(any, xs)


def all_(xs: Any) -> Any:
    """`all`."""
    return _of_values(all, xs)


def over(fold: Any, iterable: Any, element: Function, test: Function | None = None) -> Any:
    """`any(element(item) for item in iterable if test(item))`, or `all`."""
    if capturing() is None or fold not in _NUMPYS:
        return fold(element(item) for item in iterable if test is None or test(item))
    steps = iter(iterable)
    first: Any = None
    for item in steps:
        first = _truth(fold, element, test, item)
        if first is (fold is any):
            return first
        if type(first) is not bool:
            break
    else:
        return fold is all
    rest = None if steps is iterable else list(steps)
    if rest is not None and _changes_nothing(fold, element, test, rest):
        return _folded(fold, [first, *(_truth(fold, element, test, item) for item in rest)])
    for x in _each(first, fold, element, test, steps if rest is None else rest):
        if bool(x) is (fold is any):
            return fold is any
    return fold is all


def _each(first: Any, fold: Any, element: Function, test: Function | None, rest: Any) -> Iterator[Any]:
    yield first
    for item in rest:
        yield _truth(fold, element, test, item)


def _truth(fold: Any, element: Function, test: Function | None, item: Any) -> Any:
    """Whether an item counts: a bool, or a box if the program has to say. An item that the test leaves out decides
    nothing."""
    if test is not None:
        left_in = asked(test(item))
        known = truth(left_in)
        if known is False:
            return fold is all
        if known is None:
            inside, value = raw_truth(left_in), raw_truth(asked(element(item)))
            combined = ops.compare.and_(inside, value)
            return box(
                combined if fold is any else ops.compare.or_(ops.compare.not_(inside), value), weak=True
            )
    value = asked(element(item))
    known = truth(value)
    return box(raw_truth(value), weak=True) if known is None else known


def _changes_nothing(fold: Any, element: Function, test: Function | None, items: Sequence[Any]) -> bool:
    """Whether nothing tells that all items were computed: no name, array, container, object or generator has changed,
    nothing was printed. It is tried in a branch, which leaves everything as it was."""
    cells = cells_of(element, test)
    trace = StageTrace(current_trace(), "branch", eager_constants=True)
    frame = Frame(trace, cells)
    try:
        with attempt(TracejitError), new_trace(trace), frame:
            for item in items:
                _truth(fold, element, test, item)
            bound = any(get(cell) is not frame.before[name] for name, cell in cells.items())
            written = bound or bool(frame.written()) or bool(frame.containers.iterators)
    except Exception:
        return False
    written |= bool(frame.listed)
    acts = any(not e.effects <= {"error"} for e in trace.eqns)
    return not (written or acts or frame.changed or frame.places or frame.turns or frame.late)


def _of_values(fold: Any, xs: Any) -> Any:
    """`any` or `all` of what is there, some of which may be traced; of an iterator, item by item."""
    xs = xs.tj_array() if type(xs) is Buffer else xs
    if type(xs) is Box and xs.aval.ndim == 1:
        return box(NUMPY_TO_TRACEJIT[_NUMPYS[fold]](xs).read(), weak=True)
    return fold(xs) if hasattr(xs, "__next__") else _folded(fold, xs)


def _folded(fold: Any, xs: Any) -> Any:
    traced = []
    for x in map(asked, xs):
        known = truth(x)
        if known is (fold is any):
            return known
        if known is None:
            traced.append(raw_truth(x))
    if not traced:
        return fold is all
    out = traced[0]
    for t in traced[1:]:
        out = ops.compare.or_(out, t) if fold is any else ops.compare.and_(out, t)
    return box(out, weak=True)
