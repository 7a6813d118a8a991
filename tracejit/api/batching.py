"""vmap: a function of one example as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit import tree
from tracejit.api.common import FlatFunction, argument_names, flatten_args, name_of, plain
from tracejit.api.running import run_user
from tracejit.api.tracebacks import door
from tracejit.control.regions.staging import unaliased
from tracejit.control.transformed import transformed
from tracejit.errors import (
    FunctionNeededError,
    VmapAxisError,
    VmapNothingMappedError,
    VmapOutputError,
    VmapSizeError,
)
from tracejit.interpreters import leaks
from tracejit.interpreters.vmap import BatchTrace, BatchTracer
from tracejit.ir.avals import aval_of
from tracejit.ops.building import helpers
from tracejit.tracing import current_trace, new_trace


def vmap(
    f: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """Map `f` over an axis of its arguments, as if called once for every position.

    `in_axes`: an int or None (not mapped), or a tuple with an entry an argument; entries may be trees
    that are prefixes of the argument's. Keyword arguments are mapped over axis 0. `out_axes` likewise
    for the result. `axis_name` names the axis for collectives (`lax.psum` …).
    `spmd_axis_name` is accepted for compatibility: there is one device.

    Raises:
        VmapSizeError: mapped axes of different sizes. VmapAxisError: an axis that does not exist.
        VmapNothingMappedError: nothing is mapped and `axis_size` is not given.
        VmapOutputError: `out_axes` None for a result that is mapped.
    """
    FunctionNeededError.check("vmap", f)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    @door
    @functools.wraps(f)
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        raw, structure, weak = flatten_args((args, kwargs))
        dims = _input_dims(f, in_axes, args, kwargs, raw)
        size = _axis_size(f, args, kwargs, raw, dims, axis_size)
        flat = FlatFunction(_on_pair(f), structure, {}, weak)
        trace = BatchTrace(current_trace(), size, axis_name)
        with new_trace(trace):
            outs = flat(*[trace.tracer(x, d) for x, d in zip(raw, dims, strict=True)])
        leaks.check(f"vmap of {name_of(f)}", trace)
        axes = _output_axes(f, out_axes, flat.out_tree)
        paths = tree.paths(flat.out_tree)
        results = [_place(f, trace, o, a, p) for o, a, p in zip(outs, axes, paths, strict=True)]
        return tree.unflatten(flat.out_tree, unaliased([plain(r) for r in results], raw))

    return transformed(vmapped, vmap, f, in_axes, out_axes, axis_name, axis_size)


def _on_pair(f: Callable[..., Any]) -> Callable[..., Any]:
    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return run_user(f, args, kwargs)

    return call


def _input_dims(
    f: Any, in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any], raw: list[Any]
) -> list[Any]:
    """The batch dimension of every leaf, non-negative, or None."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        problem = f"it has {len(in_axes)} entries for {len(args)} arguments"
        raise VmapAxisError(function=name_of(f), what="in_axes", axis=in_axes, problem=problem)
    _check_axes(f, "in_axes", in_axes)
    axes = tree.flatten_axes("in_axes", tree.structure(args), in_axes)
    axes += [0] * (len(raw) - len(axes))
    return [_normal_axis(f, a, aval_of(x).ndim, "in_axes") for a, x in zip(axes, raw, strict=True)]


def _check_axes(f: Any, what: str, axes: Any) -> None:
    for a in tree.leaves(axes):
        if type(a) is bool or not hasattr(a, "__index__"):
            raise VmapAxisError(function=name_of(f), what=what, axis=a, problem="axes are integers or None")


def _normal_axis(f: Any, axis: Any, ndim: int, what: str) -> int | None:
    if axis is None:
        return None
    if not -ndim <= axis < ndim:
        problem = f"the array has {ndim} dimension{'s' if ndim != 1 else ''}"
        raise VmapAxisError(function=name_of(f), what=what, axis=axis, problem=problem)
    return int(axis) % ndim


def _axis_size(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], raw: list[Any], dims: list[Any], given: int | None
) -> Any:
    sizes = [None if d is None else aval_of(x).shape[d] for x, d in zip(raw, dims, strict=True)]
    distinct = {s for s in sizes if s is not None}
    if given is not None:
        distinct.add(given)
    if len(distinct) > 1:
        raise VmapSizeError(function=name_of(f), sizes=_describe_sizes(f, args, kwargs, sizes, given))
    if not distinct:
        raise VmapNothingMappedError(function=name_of(f))
    return distinct.pop()


def _describe_sizes(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: list[Any], given: Any
) -> str:
    names = argument_names(f, len(args))
    labels = [f"{names[n]}{p}" for n, a in enumerate(args) for p, _ in tree.flatten_with_paths(a)[0]]
    labels += [f"`{k}`{p}" for k in sorted(kwargs) for p, _ in tree.flatten_with_paths(kwargs[k])[0]]
    parts = [f"{label} has {s}" for label, s in zip(labels, sizes, strict=False) if s is not None]
    return ", ".join(parts + ([f"axis_size is {given}"] if given is not None else []))


def _output_axes(f: Any, out_axes: Any, out_tree: Any) -> list[Any]:
    _check_axes(f, "out_axes", out_axes)
    return tree.flatten_axes("out_axes", out_tree, out_axes)


def _place(f: Any, trace: BatchTrace, out: Any, axis: int | None, path: str) -> Any:
    """An output's value in the parent trace with its batch dimension at `axis`."""
    mine = type(out) is BatchTracer and out.trace is trace
    value, dim = (out.value, out.dim) if mine else (out, None)
    if axis is None:
        if dim is not None:
            raise VmapOutputError(function=name_of(f), path=path)
        return value
    target = _normal_axis(f, axis, aval_of(out).ndim + 1, "out_axes")
    assert target is not None
    placed = helpers.to_batch_axis(value, dim, target, trace.size)
    # A stack of one captured array is no view of it: later writes there are not seen in the result.
    return unaliased([placed], [value])[0] if dim is None else placed
