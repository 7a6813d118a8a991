"""Ufuncs that Numba compiled (`vectorize` and `guvectorize`): their Python functions are applied to each element, or to
the core dimensions of each. In them a division by zero is NumPy's: infinite, or NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import Node
from tracejit.frontend.rewrite.names import NAMES
from tracejit.numpy.functions.arrays.mapping import vectorize
from tracejit.numpy.functions.arrays.shaping import reshape
from tracejit.numpy.operands import cast, dtype_of, filled, has_box, kind_of, raw, shape_of
from tracejit.tracing import STATE, box, new_array

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


def wrap_vectorized(session: Run, node: Node, value: Any) -> Any:
    """A ufunc of Numba's as the copy of its Python function, applied to each element.

    It is followed where all of its numbers have 64 bits: with smaller ones, and with truth values, Numba computes the
    parts of a formula in other types than NumPy does, and it divides complex numbers as Python does. Calls with `out`
    and the like are not followed, nor are its methods."""
    path = node.attr("_dispatcher").attr("py_func")
    session.sizes(value._dispatcher.py_func)
    return session.remember(value, Vectorized(value, session.wrap(path, value._dispatcher.py_func)))


def wrap_generalized(session: Run, node: Node, value: Any) -> Any:
    """A generalized ufunc of Numba's as the copy of its Python function, applied to the core dimensions."""
    path = node.attr("gufunc_builder").attr("py_func")
    followed = session.wrap(path, value.gufunc_builder.py_func)
    return session.remember(value, Generalized(value, followed))


class _Called:
    """What stands for a ufunc: it has nothing but the call."""

    def __init__(self, original: Any, followed: Any) -> None:
        self._original = original
        self._followed = followed
        self._name = f"`{getattr(original, '__name__', 'a ufunc')}`, which Numba compiled,"

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(
            what=f"`.{name}` of a ufunc that Numba compiled", reason="only its calls are followed"
        )

    def _loop(self, samples: Sequence[Any], given: Sequence[Any], outputs: int) -> tuple[np.dtype, ...]:
        """The dtypes of Numba's loop for the arguments `given`, and of its results; compiled for `samples` like them,
        if there is none yet. Raises UnfollowedError."""
        try:
            self._original(*samples)
            found = self._original.ufunc.resolve_dtypes((*_kinds(given), *[None] * outputs))
        except Exception as e:
            raise UnfollowedError(what=self._name, reason=f"it raises {e!r}") from e
        ins, outs = [d.char for d in found[: len(given)]], [d.char for d in found[len(given) :]]
        if len(found) != len(given) + outputs or not ({"l", "q", "d"} >= {*ins} and {*"?lqd"} >= {*outs}):
            reason = (
                "Numba computes with truth values, complex numbers, and those of 32 bits as NumPy does not"
            )
            raise UnfollowedError(what=self._name, reason=reason)
        return found


class Vectorized(_Called):
    """What stands for what `numba.vectorize` gives."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not has_box(args) and not has_box(kwargs.values()):
            return self._original(*args, **kwargs)
        if kwargs or len(args) != self._original.nin:
            raise UnfollowedError(what=self._name, reason="it is called with options")
        *given, result = self._loop([np.empty(0, dtype_of(x)) for x in args], args, 1)
        xs = [box(cast(raw(x), d)) for x, d in zip(args, given, strict=True)]
        out = vectorize(self._typed, otypes=[result])(*xs)
        return box(raw(out)) if not out.aval.shape else out

    def _typed(self, *args: Any) -> Any:
        """The function of one element: a name that is an integer in one branch and a float in another is a float."""
        outside, NAMES.one_type = NAMES.one_type, True
        try:
            return self._followed(*args)
        finally:
            NAMES.one_type = outside


class Generalized(_Called):
    """What stands for what `numba.guvectorize` gives. Elements of results that the function does not write are zero,
    where Numba leaves what was in memory."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not has_box(args) and not has_box(kwargs.values()):
            return self._original(*args, **kwargs)
        builder = self._original.gufunc_builder
        ins, outs = builder.sin, builder.sout
        if kwargs.keys() - {"out"} or builder.writable_args:
            raise UnfollowedError(
                what=self._name, reason="it is called with options, or writes its arguments"
            )
        given, results = args[: len(ins)], args[len(ins) :]
        if "out" in kwargs:
            out = kwargs["out"]
            results = out if isinstance(out, tuple) else (out,)
        if len(given) != len(ins) or (results and len(results) != len(outs)):
            raise UnfollowedError(what=self._name, reason=f"it takes {len(ins)} arguments")
        *types_, sizes = self._types(given, results)
        xs = [box(cast(raw(x), d)) for x, d in zip((*given, *results), types_, strict=False)]
        text = ",".join(f"({','.join(map(str, core))})" for core in (*ins, *(outs if results else ())))
        text += "->" + ",".join(f"({','.join(map(str, core))})" for core in outs)
        kernel = self._kernel(len(ins), outs, types_[len(ins) :], sizes)
        found: Any = vectorize(kernel, signature=text)(*xs)
        found = list(found) if isinstance(found, tuple) else [found]
        if results:
            for r, f in zip(results, found, strict=True):
                r[...] = f
            found = list(results)
        found = [box(raw(f)) if not shape_of(f) else f for f in found]
        return found[0] if len(found) == 1 else tuple(found)

    def _types(self, given: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """The dtypes of Numba's loop, and the sizes of the core dimensions."""
        builder = self._original.gufunc_builder
        sizes: dict[str, Any] = {}
        for x, core in zip(
            (*given, *results), (*builder.sin, *(builder.sout if results else ())), strict=False
        ):
            shape = np.shape(x)
            sizes.update(zip(core, shape[len(shape) - len(core) :], strict=False))
        missing = {d for core in builder.sout for d in core} - sizes.keys()
        if missing or any(type(n) is not int for n in sizes.values()):
            raise UnfollowedError(what=self._name, reason="the sizes of its results are not known")
        samples = [
            _sample(x, core)
            for x, core in zip((*given, *results), (*builder.sin, *builder.sout), strict=False)
        ]
        return [*self._loop(samples, given, len(builder.sout)), sizes]

    def _kernel(self, count: int, outs: Any, types_: Any, sizes: dict[str, int]) -> Any:
        """The function of one element of the loop: it gives the arrays that Numba's function writes."""

        def kernel(*cores: Any) -> Any:
            made = [new_array(raw(c)) for c in cores[count:]] or [
                new_array(filled(0, d, tuple(sizes[n] for n in core) or (1,)))
                for core, d in zip(outs, types_, strict=True)
            ]
            made = [m if shape_of(m) else reshape(m, (1,)) for m in made]
            self._followed(*cores[:count], *made)
            left = [m if core else m[0] for m, core in zip(made, outs, strict=True)]
            return tuple(left) if len(left) > 1 else left[0]

        return kernel


def _kinds(given: Sequence[Any]) -> list[Any]:
    """What NumPy chooses a loop by: beside arrays Python's numbers are of no dtype, and fit the first loop that takes
    numbers of their kind. Numba's code has typed them."""
    found = list(map(kind_of, given))
    weak = STATE.numbers is None and any(isinstance(k, np.dtype) for k in found)
    return found if weak else [np.dtype(k) for k in found]


def _sample(x: Any, core: Any) -> Any:
    """An array like an argument for which the loop is empty, as far as it has one."""
    rank = len(np.shape(x))
    return np.zeros((0,) * (rank - len(core)) + (1,) * len(core), dtype_of(x))
