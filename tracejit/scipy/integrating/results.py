"""`OdeResult` for traced values: SciPy's class, whose fields may be computed when they are first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.tracing import box, caller, to_raw

_MESSAGES = (
    "The solver successfully reached the end of the integration interval.",
    "A termination event occurred.",
)


def _message(status: int) -> str:
    return _MESSAGES[status]


class Later:
    """An array of `count` elements, made by `make` when it is asked for. SciPy has something else in its place where
    there are none (a list, or an array of another shape): only Python gives that."""

    def __init__(self, make: Callable[[], Any], count: Any) -> None:
        self._make = make
        self._count = count
        self._over = caller.does_over()

    def made(self) -> Any:
        if self._over:
            leave_if(compare.eq(to_raw(self._count), np.int64(0)), "the empty result of a solver")
        return self._make()


def settled(x: Any) -> Any:
    """A field's value; lists keep being what they are."""
    if isinstance(x, Later):
        return x.made()
    if type(x) is list and any(isinstance(v, Later) for v in x):
        x[:] = [settled(v) for v in x]
    return x


@functools.cache
def _classes(name: str = "OdeResult") -> tuple[type, type]:
    """SciPy's class, and ours for traced values."""
    integrate = scipy_module("integrate")
    theirs: Any = integrate._ivp.ivp.OdeResult if name == "OdeResult" else integrate._bvp.BVPResult

    class OdeResult(theirs):
        """A result some of whose fields are made when they are asked for."""

        def __getitem__(self, key: Any) -> Any:
            value = settled(dict.__getitem__(self, key))
            dict.__setitem__(self, key, value)
            return value

        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError as e:
                raise AttributeError(name) from e

        def get(self, key: Any, default: Any = None) -> Any:
            return settled(dict.get(self, key, default))

        def values(self) -> Any:
            return [self[k] for k in self]

        def items(self) -> Any:
            return [(k, self[k]) for k in self]

    for cls in (theirs, OdeResult):
        _register(cls, theirs)
    return theirs, OdeResult


def result(
    ts: Any,
    ys: Any,
    counts: tuple[Any, Any, Any],
    sol: Any = None,
    events: tuple[Any, Any] = (None, None),
    ended: Any = None,
) -> Any:
    """The result of a solution that was found. `counts` are those of slopes, Jacobians and factorizations; `ended`:
    whether an event has ended it, None for surely not."""
    nfev, njev, nlu = (n if type(n) is int else box(to_raw(n), True) for n in counts)
    status: Any = 0
    message: Any = _MESSAGES[0]
    if ended is not None:
        status = box(to_raw(ended.astype(np.int64)), True)
        message = caller.text_of(_message, to_raw(status))
    return _classes()[1](
        t=ts,
        y=ys,
        sol=sol,
        t_events=events[0],
        y_events=events[1],
        nfev=nfev,
        njev=njev,
        nlu=nlu,
        status=status,
        message=message,
        success=True,
    )


def boundary_result(sol: Any, p: Any, x: Any, y: Any, f: Any, found: Any) -> Any:
    """The result of `solve_bvp` on a mesh of which `found.count` intervals are in use."""
    last, status = found.count + 1, box(to_raw(found.status), True)
    return _classes("BVPResult")[1](
        sol=sol,
        p=p,
        x=Later(lambda: x[:last], last),
        y=Later(lambda: y[:, :last], last),
        yp=Later(lambda: f[:, :last], last),
        rms_residuals=Later(lambda: found.rms[: found.count], last),
        niter=box(to_raw(found.rounds), True),
        status=status,
        message=caller.text_of(_boundary_message, to_raw(status)),
        success=box(to_raw(found.status == 0), True),
    )


def _boundary_message(status: int) -> str:
    return scipy_module("integrate")._bvp.TERMINATION_MESSAGES[status]


def _register(cls: type, theirs: Any) -> None:
    """SciPy's results are trees of their numbers and arrays."""

    def to_iter(r: Any) -> tuple[list[Any], Any]:
        items = [(k, r[k]) for k in r]
        text = {k: v for k, v in items if type(v) in (str, bool, type(None))}
        held = [k for k in r if k not in text]
        return [r[k] for k in held], (tuple(r), tuple(held), tuple(text.items()))

    def from_iter(aux: Any, children: Any) -> Any:
        values = {**dict(zip(aux[1], children, strict=True)), **dict(aux[2])}
        return theirs(**{k: values[k] for k in aux[0]})

    tree.register(cls, to_iter, from_iter)
