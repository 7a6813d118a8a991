"""Ufuncs in derivatives that are not compiled: by recipe, from the operands as the user gives them to the box.

Promotion, conversion of Python's numbers and broadcasting are decided by types alone, so they are part of the
recipe (see interpreters.autodiff.recipes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tracejit.config import config
from tracejit.errors import TracejitError
from tracejit.errors.refusals import attempt
from tracejit.interpreters.autodiff import recipes
from tracejit.interpreters.autodiff.linearize import LinearizeTracer
from tracejit.interpreters.autodiff.recipes import EagerTrace, Recipe
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import TYPES
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes.layouts import order_of
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.operands import kind_of
from tracejit.tracing import STATE, Box, box, current_trace, to_raw

_PYTHON = (bool, int, float, complex)


class Traced(Protocol):
    """What recipes ask of a ufunc (`numpy/ufuncs`)."""

    def loop(self, *kinds: Any) -> tuple[np.dtype, ...]:
        """The dtypes of the loop that NumPy would run."""
        ...

    def apply(self, args: Any, /) -> Any:
        """The result, the general way."""
        ...


def by_recipe(ufunc: Traced, args: tuple[Any, ...], operator: bool) -> Any:
    """`ufunc(*args)`, or the Python operator that it is, by recipe. None: it has to go the general way."""
    trace = current_trace()
    if type(trace) is not EagerTrace or config.checks:
        return None
    key: list[Any] = [ufunc, operator, STATE.numbers]
    primals, tangents = [], []
    for a in args:
        kind = type(a)
        if kind is Box:
            if (a.chain or a.storage.layout is not None) and order_of(a) is not None:
                return None  # its result lies so, too
            key.append(a.weak)
            a = a.storage.value if not a.chain else a.read()
            kind = type(a)
        elif kind is CapturedArray:
            a = a.raw()
            kind = type(a)
        elif kind is np.ndarray:
            a = to_raw(a)  # as it is now
        if kind is LinearizeTracer:
            if a.trace is not trace or type(a.tangent) is not Var:
                return None
            key.append(None)
            tangents.append(a.tangent)
            a = a.primal
            kind = type(a)
        if kind is np.ndarray:
            if a.ndim > 1 and not a.flags.c_contiguous:
                return None
            key += a.shape, a.dtype
        elif kind in TYPES:
            return None
        else:
            key.append(kind)
        primals.append(a)
    if not tangents:
        return None
    found = recipes.known(tuple(key))
    if found is False:
        found = recipes.remember(key, _make(ufunc, args, primals, trace, operator))
    return None if found is None else found.run(trace, *primals, *tangents)


def _make(ufunc: Traced, args: Any, primals: list[Any], trace: EagerTrace, operator: bool) -> Recipe | None:
    """The recipe for operands of these types. What raises an exception has none: the general way says why."""
    if any(isinstance(p, (Value, list, tuple)) for p in primals):
        return None
    kinds = [kind_of(a) for a in args]
    try:
        return _recipe(ufunc, args, primals, kinds, trace, operator)
    except (TracejitError, TypeError, ValueError):
        return None


def _recipe(
    ufunc: Traced, args: Any, primals: list[Any], kinds: list[Any], trace: EagerTrace, operator: bool
) -> Recipe | None:
    with attempt(TracejitError):
        loop = ufunc.loop(*kinds)
        avals = [
            Aval((), d) if type(p) in _PYTHON else aval_of(p) for p, d in zip(primals, loop, strict=False)
        ]
        weak = [a.weak if type(a) is Box else type(a) in _PYTHON for a in args]
        active = [_is_active(a, trace) for a in args]
        if ufunc.loop(*(_kind(a.dtype, w) for a, w in zip(avals, weak, strict=True))) != loop:
            return None
        shape = np.broadcast_shapes(*(a.shape for a in avals))
        lead = [_converter(d) if type(p) in _PYTHON else None for p, d in zip(primals, loop, strict=False)]
        return recipes.recipe(
            lambda *xs: ufunc.apply(tuple(box(x, w) for x, w in zip(xs, weak, strict=True))),
            avals, active, (operator and all(weak), not shape), lead,
        )  # fmt: skip


def _is_active(a: Any, trace: EagerTrace) -> bool:
    raw = a.read() if type(a) is Box else a.raw() if type(a) is CapturedArray else a
    return type(raw) is LinearizeTracer and raw.trace is trace


def _kind(dtype: np.dtype, weak: bool) -> Any:
    return kind_of(box(dtype.type(0), weak))


def _converter(dtype: np.dtype) -> Callable[[Any], Any]:
    """Python's numbers as NumPy has them. The function raises OverflowError for integers that do not fit."""
    return dtype.type if dtype == np.float64 else lambda x: np.asarray(x, dtype)[()]
