"""Functions of slices and elements: apply_along_axis, apply_over_axes, vectorize."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcreteValueError,
    TracerArrayError,
    TracerBoolError,
    TracerFloatError,
    TracerIntegerError,
)
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.numpy.dispatch import (
    broadcast_shapes,
    cast,
    dtype_of,
    has_box,
    implements,
    plain,
    publish,
    raw,
    shape_of,
)
from tracejit.numpy.functions.joining import stack
from tracejit.numpy.functions.reductions import axes_of, axis_of
from tracejit.numpy.functions.shaping import box_of, expand_dims, moveaxis, reshape
from tracejit.tracing import box, call_user, to_raw, wrap

# What a function raises that looks at the values of its arguments.
_NEEDS_VALUES = (ConcreteValueError, TracerArrayError, TracerBoolError, TracerFloatError, TracerIntegerError)


def mapped(
    fn: Callable[..., Any], count: int, rows: Sequence[Any], weak: Sequence[bool] | None = None
) -> Any:
    """`fn` of each of `count` rows of raw arrays, as a tree of boxes with a leading axis.

    All rows at once where `fn` is a formula; one after the other where it looks at values
    and they are known.
    """
    structure: list[Any] = []
    weak = weak or [False] * len(rows)

    def flat(*raws: Any) -> list[Any]:
        leaves, treedef = tree.flatten(call_user(fn, *(box(r, w) for r, w in zip(raws, weak, strict=True))))
        structure[:] = [treedef]
        return [to_raw(x, "an output") for x in leaves]

    try:
        outs, dims = batch_flat(flat, count, rows, [0] * len(rows))
    except _NEEDS_VALUES:
        results = [call_user(fn, *(wrap(r)[n] for r in rows)) for n in range(count)]
        leaves = [tree.flatten(r) for r in results]
        columns = zip(*(xs for xs, _ in leaves), strict=True)
        return tree.unflatten(leaves[0][1], [stack([box_of(x) for x in column]) for column in columns])
    full = [batch_to_front(o, d, count) for o, d in zip(outs, dims, strict=True)]
    return tree.unflatten(structure[0], [wrap(o) for o in full])


@implements(np.apply_along_axis, "apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of every one-dimensional slice: of all at once where it is a formula."""
    x = box_of(arr)
    n = axis_of("apply_along_axis", axis, x.ndim)
    x = moveaxis(x, n, -1)
    lead = x.shape[:-1]
    rows = reshape(x, (int(np.prod(lead, dtype=int)), x.shape[-1]))
    if not rows.shape[0]:
        raise ArgumentError(
            name="apply_along_axis",
            problem="cannot apply_along_axis when any iteration dimensions are 0",
        )
    out = mapped(lambda row: box_of(func1d(row, *args, **kwargs)), rows.shape[0], [raw(rows)])
    out = reshape(out, (*lead, *out.shape[1:]))
    extra = out.ndim - len(lead)
    return moveaxis(out, tuple(range(len(lead), out.ndim)), tuple(range(n, n + extra))) if extra else out


@implements(np.apply_over_axes, "apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """`func(a, axis)` for one axis after the other; axes that it removes come back with size 1."""
    x = box_of(a)
    n = x.ndim
    for axis in axes_of("apply_over_axes", axes if isinstance(axes, (tuple, list)) else (axes,), n):
        out = box_of(func(x, axis))
        out = out if out.ndim == n else expand_dims(out, axis)
        if out.ndim != n:
            problem = "function is not returning an array of the correct shape"
            raise ArgumentError(name="apply_over_axes", problem=problem)
        x = out
    return x


# ---------------------------------------------------------------- vectorize

_CORE = re.compile(r"\(([^()]*)\)")


class vectorize:
    """`np.vectorize`: a function of scalars (or of cores, by `signature`) as one of arrays.

    The function runs once, on all elements at a time, where it is a formula of its arguments.
    """

    def __init__(
        self, pyfunc: Any = None, otypes: Any = None, doc: str | None = None, excluded: Any = None,
        cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        self._options: dict[str, Any] = {
            "otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature,
        }  # fmt: skip
        self._excluded = set(excluded or ())
        self.pyfunc = pyfunc
        self.signature = signature
        if pyfunc is not None:
            functools.update_wrapper(self, pyfunc)
        self.__doc__ = doc if doc is not None else getattr(pyfunc, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is None:  # a decorator with options
            return vectorize(args[0], **self._options)
        if not (has_box(args) or has_box(kwargs.values())):
            return plain(np.vectorize(self.pyfunc, **self._options), args, kwargs)
        varying = [n for n in range(len(args)) if n not in self._excluded]
        names = [k for k in kwargs if k not in self._excluded]
        given = [box_of(args[n]) for n in varying] + [box_of(kwargs[k]) for k in names]

        def fn(*elements: Any) -> Any:
            it = iter(elements)
            full = [next(it) if n in varying else a for n, a in enumerate(args)]
            return self.pyfunc(*full, **{k: next(it) if k in names else v for k, v in kwargs.items()})

        if not given:
            return self.pyfunc(*args, **kwargs)
        return self._apply(fn, given)

    def _apply(self, fn: Any, xs: list[Any]) -> Any:
        cores = self._core_ranks(len(xs))
        shapes = [x.aval.shape for x in xs]
        if any(len(s) < c for s, c in zip(shapes, cores, strict=True)):
            problem = f"an argument has too few dimensions for the signature {self.signature!r}"
            raise ArgumentError(name="vectorize", problem=problem)
        split = [len(s) - c for s, c in zip(shapes, cores, strict=True)]
        loop = broadcast_shapes("vectorize", [s[:k] for s, k in zip(shapes, split, strict=True)])
        count = int(np.prod(loop, dtype=int))
        if not count and self._options["otypes"] is None:
            raise ArgumentError(
                name="vectorize", problem="cannot call `vectorize` on size 0 inputs unless `otypes` is set"
            )
        rows = []
        for x, s, k in zip(xs, shapes, split, strict=True):
            wide = ops.shape.broadcast_to(raw(x), (*loop, *s[k:]))
            rows.append(ops.shape.reshape(wide, shape=(count, *s[k:])))
        out = mapped(fn, count, rows, [x.weak for x in xs])
        many = isinstance(out, (tuple, list))
        leaves = [reshape(o, (*loop, *o.shape[1:])) for o in (out if many else [out])]
        leaves = [self._typed(o, n) for n, o in enumerate(leaves)]
        return tuple(leaves) if many else leaves[0]

    def _core_ranks(self, count: int) -> list[int]:
        if self.signature is None:
            return [0] * count
        left = self.signature.split("->")[0]
        ranks = [len([d for d in c.split(",") if d.strip()]) for c in _CORE.findall(left)]
        if len(ranks) != count:
            raise ArgumentTypeError(
                name="vectorize", problem=f"wrong number of arguments for the signature {self.signature!r}"
            )
        return ranks

    def _typed(self, x: Any, n: int) -> Any:
        otypes = self._options["otypes"]
        if otypes is None:
            return x
        d = dtypes.canonical(otypes[n])
        return x if dtype_of(raw(x)) == d else x.astype(d)


publish(np.vectorize, vectorize, "vectorize")
