"""List comprehensions: loops that append to a list of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.config import config
from tracejit.errors import TracedIterationError, TracedLoopError
from tracejit.errors.refusals import attempt
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.blocks.terms import Spec
from tracejit.frontend.rewrite.hooks import branches
from tracejit.frontend.rewrite.hooks.iterables import steps_of
from tracejit.frontend.rewrite.hooks.loops import loop
from tracejit.frontend.rewrite.hooks.steps import Steps
from tracejit.numpy.boxes import extents


def comprehension(
    iterable: Any, element: Callable[[Any], Any], line: int, test: Callable[[Any], Any] | None = None
) -> list[Any]:
    """`[element(item) for item in iterable if test(item)]`."""
    if capturing() is None:
        return [element(item) for item in iterable if test is None or test(item)]
    steps = steps_of(iterable)
    count = 0 if steps is None else steps.count
    traced = type(count) is not int
    if test is None and _is_short(steps):
        return [element(item) for item in iterable]
    items: Any = []

    def body(item: Any) -> None:
        if test is None:
            items.append(element(item))
            return

        def add() -> None:
            items.append(element(item))

        add.of = element  # type: ignore[attr-defined]
        branches.run_if(test(item), add, None, Spec("if", line), add)

    body.of = element  # type: ignore[attr-defined]
    if _is_short(steps):
        for item in iterable:
            body(item)
        return items
    spec = "comprehension", line, *((),) * 7, (("items", None, 0),)
    try:
        with attempt(TracedLoopError):
            loop(iterable, body, spec)
        return items
    except TracedLoopError:
        if not traced or steps is None:
            raise
    items.clear()
    for k in range(extents.settled(count, lambda: _refusal(count))):
        body(steps.item(k))
    return items


def _refusal(count: Any) -> TracedIterationError:
    error = TracedIterationError(what="a comprehension")
    error.traced, error.fills_lists = (count,), True
    return error


def _is_short(steps: Steps | None) -> bool:
    """Whether Python runs over it while it traces."""
    return steps is None or (type(steps.count) is int and steps.count <= config.unroll)
