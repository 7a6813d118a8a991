"""NumPy's functions of what a traced mask selects that need not move the elements: reductions, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.masking.selected import Selected, boxed, elementwise, selection
from tracejit.numpy.dispatch import WAYS
from tracejit.numpy.operands import dtype_of, has_box, raw, shape_of
from tracejit.records import record
from tracejit.tracing import wrap


@record(frozen=True)
class EmptyFailure:
    """Makes the exception of a reduction that has no value for no elements."""

    name: str
    problem: str = "zero-size array to a reduction operation which has no identity"

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return ArgumentError(name=self.name, problem=self.problem, where=where)


def require_some(name: str, count: Any, **problem: str) -> None:
    """Raises ArgumentError where an extent is zero: at once if it is known, else when the program runs."""
    if type(count) is int and count == 0:
        raise EmptyFailure(name, **problem)(())
    if not extents.at_least(count, 1):
        ops.index_check.check_index(np.int64(0), size=count, axis=0, failure=EmptyFailure(name, **problem))


def worst(dtype: np.dtype, least: bool) -> Any:
    """The least (or greatest) value of a dtype."""
    if dtypes.is_inexact(dtype):
        return dtype.type(-np.inf if least else np.inf)
    if dtype.kind == "b":
        return np.bool_(not least)
    info = np.iinfo(dtype)
    return dtype.type(info.min if least else info.max)


def _full_axes(s: Selected, axis: Any) -> tuple[tuple[int, ...], bool] | None:
    """The axes of `full` for axes of the selection, and whether the mask's are among them."""
    if axis is None:
        return tuple(range(len(shape_of(s.full)))), True
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    if not all(isinstance(a, (int, np.integer)) and -s.ndim <= a < s.ndim for a in given):
        return None  # which the function itself refuses
    out: list[int] = []
    for a in sorted({int(a) % s.ndim for a in given}):
        out += s.axes if a == s.first else [a if a < s.first else a + len(s.axes) - 1]
    return tuple(out), any(a in s.axes for a in out)


def _reduction(prepare: Callable[[Selected, str | None], dict[str, Any]]) -> Callable[..., Any]:
    """How a reduction takes a selection; `prepare(s, name)` gives the array and options it is called with.

    `name` is None where an initial value makes it defined for no elements."""

    def reduce(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        a, axis, rest, options = _split(args, kwargs)
        s = selection(a)
        found = _full_axes(s, axis) if s is not None and options.get("where", True) is True else None
        if s is None or found is None:
            return None
        axes, over_mask = found
        if not over_mask:
            out = raw(fn(wrap(s.full), axes, *rest, **options))
            first = s.first if options.get("keepdims") else s.first - sum(a < s.first for a in axes)
            return boxed(out, first, s.mask)
        if options.get("keepdims") and len(s.axes) > 1:
            return None
        if "initial" in options and options["initial"] is np._NoValue:
            del options["initial"]
        prepared = prepare(s, None if "initial" in options else fn.__name__)
        return fn(wrap(prepared.pop("a")), axes, *rest, **prepared, **options)

    return reduce


def _split(args: Any, kwargs: Any) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]]:
    """(array, axis, further positional arguments, keyword arguments)."""
    options = {k: v for k, v in kwargs.items() if k not in ("a", "axis") and v is not np._NoValue}  # type: ignore[attr-defined]
    a = args[0] if args else kwargs.get("a")
    return a, args[1] if len(args) > 1 else kwargs.get("axis"), args[2:], options


def _masked(s: Selected, name: str | None) -> dict[str, Any]:
    return {"a": s.full, "where": wrap(s.where())}


def _zeros(s: Selected, name: str | None) -> dict[str, Any]:
    return {"a": s.filled(0)}


def _extreme(least: bool) -> Callable[[Selected, str | None], dict[str, Any]]:
    def prepare(s: Selected, name: str | None) -> dict[str, Any]:
        if name is not None:
            require_some(name, s.mask.dim.var)
        return {"a": s.filled(worst(dtype_of(s.full), least))}

    return prepare


def _extreme_index(least: bool) -> Callable[..., Any]:
    """argmax, argmin of all elements: the place in the full array, as a number among the selected ones."""

    def find(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        a, axis, rest, options = _split(args, kwargs)
        s = selection(a)
        if s is None or s.ndim != 1 or axis not in (None, 0, -1) or rest or options:
            return None
        require_some(
            fn.__name__, s.mask.dim.var, problem=f"attempt to get {fn.__name__} of an empty sequence"
        )
        at = fn(wrap(s.mask.flat(s.filled(worst(dtype_of(s.full), least)))))
        return wrap(s.mask.flat(s.mask.ranks()))[at]

    return find


def _product(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """dot and its kin of two vectors selected by one mask."""
    pair = [selection(a) for a in args[:2]]
    s = pair[0]
    if len(args) != 2 or kwargs or s is None or s.ndim != 1 or not s.like(pair[1]):
        return None
    return fn(*(wrap(s.mask.flat(p.filled(0))) for p in pair))  # type: ignore[union-attr]


def _elementwise(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if has_box(kwargs.values()):
        return None
    return elementwise(lambda *xs: fn(*xs, **kwargs), args)


WAYS.update(
    {
        **dict.fromkeys((np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all), _reduction(_masked)),
        **dict.fromkeys((np.max, np.amax), _reduction(_extreme(True))),
        **dict.fromkeys((np.min, np.amin), _reduction(_extreme(False))),
        np.count_nonzero: _reduction(_zeros),
        np.argmax: _extreme_index(True),
        np.argmin: _extreme_index(False),
        **dict.fromkeys((np.dot, np.inner, np.vdot, np.matmul), _product),
        **dict.fromkeys(
            (np.where, np.clip, np.round, np.around, np.real, np.imag, np.angle, np.nan_to_num, np.isclose),
            _elementwise,
        ),
    }
)
