"""Stencils that Numba compiled (`numba.stencil`): the Python function is applied to a window around each element."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled.numbers import as_numba
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.functions.arrays.mapping import mapped
from tracejit.numpy.functions.arrays.shaping import reshape
from tracejit.numpy.operands import cast, dtype_of, filled, has_box, raw, shape_of
from tracejit.tracing import Box, box, new_array

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

#: What Numba says of a stencil for arguments of these types: each time it would compile the stencil anew.
_known: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
_WINDOWS = NP[np.lib.stride_tricks.sliding_window_view]


def wrap_stencil(session: Run, node: Node, value: Any) -> Any:
    """A stencil as the copy of its Python function, applied to windows."""
    kernel = value.kernel_ir.func_id.func
    session.sizes(kernel)
    path = node.attr("kernel_ir").attr("func_id").attr("func")
    return session.remember(value, Stencil(value, session.wrap(path, kernel)))


class Stencil:
    """What stands for a stencil: it has nothing but the call."""

    def __init__(self, original: Any, followed: Any) -> None:
        self._original = original
        self._followed = followed
        self._name = f"`{original.kernel_ir.func_id.func_name}`, a stencil that Numba compiled,"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not has_box(args) and not has_box(kwargs.values()):
            return self._original(*args, **kwargs)
        if kwargs.keys() - {"out"}:
            raise UnfollowedError(what=self._name, reason="it is called with options")
        names = self._original.kernel_ir.arg_names
        absolute = self._original.options.get("standard_indexing", ())
        if len(args) != len(names) or any(len(shape_of(a)) and dtype_of(a) != dtypes.float64 for a in args):
            raise UnfollowedError(
                what=self._name, reason="an argument is no array of float64, or one is missing"
            )
        relative = [len(shape_of(a)) > 0 and n not in absolute for a, n in zip(args, names, strict=True)]
        shape = shape_of(args[0])
        if any(r and shape_of(a) != shape for a, r in zip(args, relative, strict=True)):
            raise UnfollowedError(what=self._name, reason="its arrays have different shapes")
        around, result = self._types(args)
        inner = tuple(max(n - (high - low), 0) for n, (low, high) in zip(shape, around, strict=True))
        out = kwargs.get("out")
        cval = self._original.options.get("cval", 0)
        made = new_array(filled(cval, result, shape)) if out is None else out
        if out is not None and "cval" in self._original.options:
            out[...] = cval
        count = int(np.prod(inner))
        if count:
            computed = self._mapped(args, relative, around, inner, count)
            place = tuple(slice(-low, n - low) for n, (low, _) in zip(inner, around, strict=True))
            made[place] = reshape(computed, inner)
        return made

    def _mapped(
        self, args: Sequence[Any], relative: Sequence[bool], around: Any, inner: tuple[int, ...], count: int
    ) -> Any:
        """The results for all windows that lie within the array, one after another."""
        sizes = tuple(high - low + 1 for low, high in around)
        rows = []
        for a, r in zip(args, relative, strict=True):
            if r:
                rows.append(raw(reshape(_WINDOWS(a, sizes), (count, *sizes))))
        lows = tuple(low for low, _ in around)

        def one(*windows: Any) -> Any:
            left = iter(windows)
            made = [Neighbours(next(left), lows) if r else a for a, r in zip(args, relative, strict=True)]
            found = self._followed(*made)
            return box(cast(raw(found), dtypes.float64)) if type(found) is Box else float(found)

        with as_numba():
            return mapped(one, count, rows, [False] * len(rows), typed=True)[0]

    def _types(self, args: Sequence[Any]) -> tuple[list[tuple[int, int]], np.dtype]:
        """The range of offsets in each dimension, with 0, and the dtype of the result. Numba knows the offsets when it
        has compiled the stencil. Raises UnfollowedError."""
        known = _known.setdefault(self._original, {})
        key = tuple((len(shape_of(a)), dtype_of(a)) for a in args)
        if key not in known:
            known[key] = self._found(args)
        return known[key]

    def _found(self, args: Sequence[Any]) -> tuple[list[tuple[int, int]], np.dtype]:
        samples = [
            np.ones((1,) * len(s), dtype_of(a)) if (s := shape_of(a)) else dtype_of(a).type(1).item()
            for a in args
        ]
        try:
            result = self._original(*samples).dtype
            ranges = [
                (operator.index(low), operator.index(high)) for low, high in self._original.neighborhood
            ]
        except Exception as e:
            raise UnfollowedError(what=self._name, reason=f"it raises {e!r}") from e
        if result != dtypes.float64:
            raise UnfollowedError(what=self._name, reason=f"it gives {result}")
        return [(min(low, 0), max(high, 0)) for low, high in ranges], result


class Neighbours:
    """An array in a stencil's function: indices are relative to the element."""

    def __init__(self, window: Any, lows: tuple[int, ...]) -> None:
        self._window = window
        self._lows = lows

    def __getitem__(self, index: Any) -> Any:
        index = index if type(index) is tuple else (index,)
        return self._window[tuple(i - low for i, low in zip(index, self._lows, strict=True))]

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(
            what=f"`.{name}` of an array in a stencil", reason="only its elements are followed"
        )
