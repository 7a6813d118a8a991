"""Callbacks: programs that call the user's Python functions while they run.

`pure_callback` may be dropped, moved and repeated; `io_callback` and `debug_callback` have an effect,
so they happen exactly as often as the program says, and in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control.callbacks.host import HostFunction, PerLane, announced, is_array_like
from tracejit.errors import (
    CallbackArgumentError,
    CallbackBatchError,
    DynamicExtentError,
    NotDifferentiableError,
)
from tracejit.interpreters import nans
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import UserCode
from tracejit.ir.primitive import (
    NONLINEAR,
    ZERO_TANGENT,
    not_differentiable,
)
from tracejit.ops.building import helpers
from tracejit.tracing import bind, to_raw, users_own, wrap

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")

# ---------------------------------------------------------------- records


def _type(*_: Aval, results: tuple[Aval, ...], **__: Any) -> list[Aval]:
    return list(results)


def _eval(*args: Any, callback: Callable[..., list[Any]], **params: Any) -> list[Any]:
    if nans.one_by_one() and "results" not in params:  # it has been printed
        return []
    return [x[()] for x in callback(*args)]


def _per_lane(size: Any, args: Any, dims: Any, callback: Any, results: Any) -> tuple[list[Any], Any, Any]:
    """(operands, callback, results) of a call that runs `callback` lane by lane."""
    moved = helpers.batch_axes_first(args, dims)
    lanes = PerLane(callback, tuple(d is not None for d in dims), results)
    return moved, lanes, _batched(size, results)


def _batched(size: Any, results: Sequence[Aval]) -> tuple[Aval, ...]:
    if type(size) is not int:
        raise DynamicExtentError(op="callback", problem="the number of lanes is computed")
    return tuple(a.with_shape((size, *a.shape)) for a in results)


def _pure_batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[int]]:
    callback, results, method = params["callback"], params["results"], params["vmap_method"]
    if method is None:
        raise CallbackBatchError(op="pure_callback", callback=callback.name, problem="vmap_method is None")
    if method.startswith("sequential"):
        args, callback, results = _per_lane(size, args, dims, callback, results)
    else:
        args = [_with_lanes(x, d, size, method) for x, d in zip(args, dims, strict=True)]
        results = _batched(size, results)
        callback = callback.with_results(results)
    outs = bind(pure_callback_op, *args, callback=callback, results=results, vmap_method=method)
    return list(outs), [0] * len(results)


def _with_lanes(x: Any, dim: int | None, size: Any, method: str) -> Any:
    """An operand with its lanes in front: one lane of 1, copies, or nothing where it is not mapped."""
    if dim is None and method == "legacy_vectorized":
        return x
    if dim is None and method == "expand_dims":
        return helpers.broadcast_batch(x, 0, 1)
    return helpers.to_batch_axis(x, dim, 0, size)


def _io_batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[int]]:
    if params["ordered"]:
        problem = "its calls are ordered, and lanes have no order"
        raise CallbackBatchError(op="io_callback", callback=params["callback"].name, problem=problem)
    args, callback, results = _per_lane(size, args, dims, params["callback"], params["results"])
    outs = bind(io_callback_op, *args, **{**params, "callback": callback, "results": results})
    return list(outs), [0] * len(results)


def _debug_batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[int]]:
    args, callback, _ = _per_lane(size, args, dims, params["callback"], ())
    bind(debug_callback_op, *args, **{**params, "callback": callback})
    return [], []


def _effects(params: dict[str, Any]) -> frozenset[str]:
    """That of the callback itself, if it has one; the user's are ordered or not."""
    own = getattr(params["callback"], "effect", None)
    return frozenset({own or ("ordered" if params["ordered"] else "unordered")})


_REASON = (
    "its derivative is not known: give the function that calls it one by custom_jvp or custom_vjp, "
    "or apply stop_gradient to its arguments"
)


def _pure_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    op, reason = getattr(params["callback"], "no_derivative", ("pure_callback", _REASON))
    raise NotDifferentiableError(op=op, reason=reason)


pure_callback_op = helpers.plain(
    name="pure_callback",
    doc="a Python function without side effects, called while the program runs",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_pure_jvp,
    transpose=NONLINEAR,
    batch=_pure_batch,
    kernel=UserCode(),
)

io_callback_op = helpers.plain(
    name="io_callback",
    doc="a Python function with side effects, called exactly where the program says",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=not_differentiable(_REASON),
    transpose=NONLINEAR,
    batch=_io_batch,
    effects=_effects,
    kernel=UserCode(),
)

debug_callback_op = helpers.plain(
    name="debug_callback",
    doc="a Python function that looks at values while the program runs, and gives nothing",
    multi=True,
    type=lambda *_, **__: [],
    eval=_eval,
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_debug_batch,
    effects=_effects,
    kernel=UserCode(),
)

# ---------------------------------------------------------------- for users


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """`callback(*args, **kwargs)`, called with plain NumPy values while the program runs.

    `result_shape_dtypes` is a tree of `ShapeDtypeStruct` (or arrays) like the result. The function has to be
    pure: calls may be dropped, repeated and moved. What it raises comes out of the compiled function as it is.

    `vmap_method` says what `vmap` does: 'sequential' calls once a lane; 'expand_dims' calls once, operands
    with a leading axis (of size 1 where they are not mapped), 'broadcast_all' with all of them mapped,
    'legacy_vectorized' with those that are not mapped as they were. The result then has the leading axis too.
    `sharding` is JAX's, and has no meaning here.

    Raises:
        CallbackArgumentError: `result_shape_dtypes` or `vmap_method` make no sense.
        CallbackResultError: the callback returns something else than was announced.
        CallbackBatchError: under vmap, if `vmap_method` is None.
        NotDifferentiableError: it is differentiated; give the caller a rule by custom_jvp or custom_vjp.
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        problem = f"vmap_method is one of {', '.join(VMAP_METHODS)} or None, not {vmap_method!r}"
        raise CallbackArgumentError(op="pure_callback", problem=problem)
    host, raw = _host("pure_callback", callback, args, kwargs, result_shape_dtypes)
    outs = bind(pure_callback_op, *raw, callback=host, results=host.results, vmap_method=vmap_method)
    return tree.unflatten(host.out_tree, [wrap(x) for x in outs])


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """`callback(*args, **kwargs)`, called with plain NumPy values exactly where the program says.

    Calls are never dropped or repeated. `result_shape_dtypes` is a tree of `ShapeDtypeStruct` (or arrays) like
    the result, None if there is none. With `ordered`, calls keep their order among all ordered ones.

    Raises:
        CallbackArgumentError: `result_shape_dtypes` makes no sense.
        CallbackResultError: the callback returns something else than was announced.
        CallbackBatchError: under vmap, if `ordered`.
        NotDifferentiableError: it is differentiated; give the caller a rule by custom_jvp or custom_vjp.
    """
    host, raw = _host("io_callback", callback, args, kwargs, result_shape_dtypes)
    outs = bind(io_callback_op, *raw, callback=host, results=host.results, ordered=bool(ordered))
    return tree.unflatten(host.out_tree, [wrap(x) for x in outs])


def debug_callback(
    callback: Callable[..., Any], *args: Any, ordered: bool = False, partitioned: bool = False, **kwargs: Any
) -> None:
    """Call `callback(*args, **kwargs)` with plain NumPy values while the program runs; its result is ignored.

    Under vmap it is called once a lane, under derivatives with the values of the forward pass. It is never
    dropped, repeated or moved before another callback. `partitioned` is JAX's, and has no meaning here.

    A function that itself reads a list which a callback changes is traced again when it has changed: hand on
    `lambda x: log.append(x)`, which is not followed, rather than `log.append`.
    """
    host, raw = _host("debug.callback", callback, args, kwargs)
    bind(debug_callback_op, *raw, callback=host, ordered=bool(ordered))


def _host(op: str, fn: Any, args: Any, kwargs: Any, spec: Any = ...) -> tuple[HostFunction, list[Any]]:
    if not callable(fn):
        raise CallbackArgumentError(op=op, problem=f"the callback is a {type(fn).__name__}, not a function")
    out_tree, results = (None, []) if spec is ... else announced(op, spec)
    leaves, in_tree = tree.flatten((args, kwargs))
    static = {n: users_own(x) for n, x in enumerate(leaves) if not is_array_like(x)}
    raw = [to_raw(x, "an argument of a callback") for n, x in enumerate(leaves) if n not in static]
    return HostFunction(op, users_own(fn), in_tree, static, out_tree, results), raw
