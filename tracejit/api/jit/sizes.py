"""Python integers that decide what is traced: a shape, an index of Python's, a condition or a loop that can't be
captured. Such arguments are made part of the signature, like static ones: their function is traced again with
their values, and once for each other value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from tracejit.api.jit import arguments
from tracejit.api.jit.signature import Call, as_size
from tracejit.api.jit.varying import JitCapture, Structure, Varying
from tracejit.errors import (
    BranchLeavesError,
    BufferedListError,
    ConcreteValueError,
    DynamicExtentError,
    LoopTypeError,
    NumberError,
    ShapeError,
    TracedIterationError,
    TracedLoopError,
    TracedTextError,
    TracejitError,
    TracerArrayError,
    TracerBoolError,
    TracerIntegerError,
    VariableTypeError,
)
from tracejit.frontend.paths import ATTR
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Eqn, Var
from tracejit.ir.values import Value

#: What tracing raises where the value of a traced integer is needed.
_NEEDED = (ConcreteValueError, TracerIntegerError, TracerBoolError, DynamicExtentError, BufferedListError)
#: The same where a loop must be unrolled: only for small numbers, or if it is one that fills lists.
LOOPS = (TracedIterationError, TracedLoopError, LoopTypeError)
_UNROLLED = (*LOOPS, VariableTypeError)
_MOST_STEPS = 256
#: What the names of the files have that SciPy's sparse arrays are in.
_SPARSE = os.path.join("scipy", "sparse", "")


def sizes_needed(
    error: Exception, call: Call, eqns: Sequence[Eqn], args: Sequence[Any]
) -> frozenset[int | str]:
    """The arguments (positions and keywords) that must be part of the signature for tracing to go on; empty where
    `error` has another reason. `eqns`: what was recorded until then; `args`: the leaves' variables.

    They are the Python integers that the value in question comes from; where that is not known, those that
    extents come from; otherwise all.
    """
    if not isinstance(error, TracejitError):
        return _of_c_code(error, call)
    shapes = isinstance(error, ShapeError) and error.has_traced_sizes
    texts = isinstance(error, TracedTextError) and error.traced
    arrays = isinstance(error, TracerArrayError) and error.traced
    recursive = isinstance(error, BranchLeavesError) and error.traced
    if (
        not shapes
        and not texts
        and not arrays
        and not recursive
        and not isinstance(error, (*_NEEDED, *_UNROLLED))
    ):
        return frozenset()
    owners = [key for key, _ in call.owners()]
    given = _given(call)
    if isinstance(error, _UNROLLED) and not error.fills_lists:
        given = [n for n in given if abs(int(call.leaves[n])) <= _MOST_STEPS]
    found = sources(error.traced or _extents(eqns), eqns, args)
    chosen = [n for n in given if n in found] or given
    return frozenset(owners[n] for n in chosen)


def _of_c_code(error: Exception, call: Call) -> frozenset[int | str]:
    """The same where C code was given a traced integer and takes only Python's, as `deque(maxlen=n)`."""
    if type(error) is not TypeError or "integer" not in str(error):
        return frozenset()
    owners = [key for key, _ in call.owners()]
    return frozenset(owners[n] for n in _given(call))


def _given(call: Call) -> list[int]:
    """The leaves that are Python integers or lie in arguments that are made of these only."""
    owners = [key for key, _ in call.owners()]
    return [n for n, key in enumerate(owners) if as_size(call.argument(key)) is not None]


def decided_by_sizes(values: Iterable[Any], call: Call, eqns: Sequence[Eqn], args: Sequence[Any]) -> bool:
    """Whether arguments that could be part of the signature decide these values, and no others do."""
    given = _given(call)
    found = sources(values, eqns, args) if given else set()
    return bool(found) and found.issubset(given)


def _extents(eqns: Iterable[Eqn]) -> list[Var]:
    """The traced sizes of what was recorded."""
    return [d.var for e in eqns for v in e.outvars for d in v.aval.shape if isinstance(d, Dim)]


def sources(values: Iterable[Any], eqns: Iterable[Eqn], args: Sequence[Any]) -> set[int]:
    """Positions of the arguments that `values` were computed from."""
    makers = {id(v): e for e in eqns for v in e.outvars}
    positions = {id(v): n for n, v in enumerate(args)}
    found: set[int] = set()
    seen: set[int] = set()
    left = [v for v in values if isinstance(v, Value)]
    while left:
        v = left.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        if id(v) in positions:
            found.add(positions[id(v)])
        elif id(v) in makers:
            left += [x for x in makers[id(v)].invars if isinstance(x, Value)]
    return found


def structures_needed(error: Exception, trace: StageTrace, capture: JitCapture) -> list[Any]:
    """The captured integer arrays that the structure of a sparse array comes from, where it must be known."""
    structure = getattr(error, "structure", ())
    if structure:
        found = sources(structure, trace.eqns, [var for var, _ in capture.integers])
        return [Structure(capture.integers[n][1]) for n in found]
    inside = _SPARSE in (getattr(error, "where", None) or "")  # where SciPy's code looks at them
    return [Structure(place) for _, place in capture.integers if inside and place[-1] != (ATTR, "data")]


def inputs_needed(error: Exception, trace: StageTrace, capture: JitCapture) -> list[Any]:
    """The places of outside that must be guarded for tracing to go on after `error`: those that the value comes from
    which was needed, or all that are inputs."""
    needed = list(getattr(error, "places", ()))
    if needed or not capture.inputs:
        return needed or capture.grown
    found = sources(getattr(error, "traced", ()), trace.eqns, [var for var, _ in capture.inputs])
    return [place for n, (_, place) in enumerate(capture.inputs) if n in found or not found] + (
        [] if found else capture.grown
    )


# ---------------------------------------------------------------- what another trace needs


class TraceAgain(Exception):
    """The function is to be traced in another way, which its `Varying` has now."""


class InputsNeeded(Exception):
    """Tracing failed with `error`, since it needs what is at `places` of outside that are inputs."""

    def __init__(self, places: list[Any], error: Exception) -> None:
        super().__init__()
        self.places = places
        self.error = error


def ask_for_more(
    error: Exception, call: Call, trace: StageTrace, capture: JitCapture, args: list[Any], varying: Varying
) -> None:
    """Raise what says with which inputs, sizes or followed arguments tracing may go on after `error`, if it may; or
    that Python has no such exception, where a number was taken for NumPy's."""
    if isinstance(error, TracejitError) and error.shares_arrays and not varying.shares_arrays:
        varying.shares_arrays = True
        raise TraceAgain from None
    if isinstance(error, TracejitError) and error.numbers_tuples and not varying.numbers_tuples:
        varying.numbers_tuples = True
        raise TraceAgain from None
    if isinstance(error, TracejitError) and error.arguments:
        arguments.follow(call, error)
    places = structures_needed(error, trace, capture) or inputs_needed(error, trace, capture)
    if places:
        raise InputsNeeded(places, error) from None
    if sizes := sizes_needed(error, call, trace.eqns, args):
        raise arguments.MoreNeeded(error, sizes) from None
    if trace.settled and not isinstance(error, TracejitError):
        raise NumberError(message=f"NumPy's, and not Python's, raises {type(error).__name__}") from error
