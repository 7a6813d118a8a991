"""Functions that Numba compiled: their Python functions are followed, and what they give is Python's; and functions of
`np.vectorize`.

Numba is not imported for this. A number that a dispatcher gives to Python is a `float`, an `int`, a `bool` or a
`complex`, also where the Python function would give one of NumPy's.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import objects
from tracejit.numpy.functions.arrays.mapping import vectorize
from tracejit.numpy.operands import cast, has_box, raw
from tracejit.tracing import Box, box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_PYTHONS = {
    "b": dtypes.bool_,
    "i": dtypes.int64,
    "u": dtypes.int64,
    "f": dtypes.float64,
    "c": dtypes.complex128,
}


def is_compiled(value: Any) -> bool:
    """Whether `value` is a dispatcher of Numba."""
    cls = type(value)
    return cls.__module__.startswith("numba.") and isinstance(
        getattr(value, "py_func", None), types.FunctionType
    )


def wrap_compiled(session: Run, node: Node, value: Any) -> Any:
    """The copy of the Python function behind a dispatcher, with Python's numbers as results."""
    session.check(node, "is", value)
    known = session.known(value)
    if known is not None:
        return known
    followed = session.wrap(node.named(value).attr("py_func"), value.py_func)

    @functools.wraps(value.py_func)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return _boxed(followed(*args, **kwargs))

    return session.remember(value, compiled)


def _boxed(x: Any) -> Any:
    """A result as Numba gives it to Python. Raises UnfollowedError for 64 bits without a sign: they may be no int64."""
    if isinstance(x, tuple):
        parts = map(_boxed, x)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if isinstance(x, np.generic):
        return x.item()
    if type(x) is not Box or not x.scalar or x.weak:
        return x
    if x.aval.dtype == np.uint64:
        raise UnfollowedError(what="an unsigned integer that Numba gives", reason="it may be no int64")
    return box(cast(x.read(), _PYTHONS[x.aval.dtype.kind]), weak=True)


# ---------------------------------------------------------------- numba.vectorize


def is_vectorized(value: Any) -> bool:
    """Whether `value` is a ufunc of Numba's (`numba.vectorize`)."""
    cls = type(value)
    return cls.__module__ == "numba.np.ufunc.dufunc" and cls.__name__ == "DUFunc"


def wrap_vectorized(session: Run, node: Node, value: Any) -> Any:
    """A ufunc of Numba's as the copy of its Python function, applied to each element.

    It is followed where all of its numbers have 64 bits: with smaller ones, and with truth values, Numba computes the
    parts of a formula in other types than NumPy does, and it divides complex numbers as Python does. Calls with `out`
    and the like are not followed, nor are its methods."""
    session.check(node, "is", value)
    known = session.known(value)
    if known is not None:
        return known
    path = node.named(value).attr("_dispatcher").attr("py_func")
    return session.remember(value, Vectorized(value, session.wrap(path, value._dispatcher.py_func)))


def wrap_numpys(session: Run, node: Node, value: Any) -> Any:
    """`np.vectorize` of a function: the traced form, of the copy of the function."""
    if value.pyfunc is np._NoValue:  # a decorator with options
        return objects.wrap_object(session, node, value)
    session.check(node, "is", value)
    known = session.known(value)
    if known is not None:
        return known
    here = node.named(value)
    options = {n: getattr(value, n) for n in ("otypes", "cache", "signature")}
    for name, held in options.items():
        session.check(here.attr(name), "value", held)
    session.check(here.attr("excluded"), "set", frozenset(value.excluded))
    followed = session.wrap(here.attr("pyfunc"), value.pyfunc)
    made = vectorize(followed, excluded=value.excluded, **options)
    return session.remember(value, made, node)


class Vectorized:
    """What stands for a ufunc of Numba's: it has nothing but the call."""

    def __init__(self, original: Any, followed: Any) -> None:
        self._original = original
        self._followed = followed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not has_box(args) and not has_box(kwargs.values()):
            return self._original(*args, **kwargs)
        name = getattr(self._original, "__name__", "a ufunc")
        if kwargs or len(args) != self._original.nin:
            raise UnfollowedError(what=f"`{name}`, which Numba compiled,", reason="it is called with options")
        *given, result = self._loop(
            name, [x.aval.dtype if type(x) is Box else np.asarray(x).dtype for x in args]
        )
        xs = [box(cast(raw(x), d)) for x, d in zip(args, given, strict=True)]
        out = vectorize(self._followed, otypes=[result])(*xs)
        return box(raw(out)) if not out.aval.shape else out

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(
            what=f"`.{name}` of a ufunc that Numba compiled", reason="only its calls are followed"
        )

    def _loop(self, name: str, given: list[np.dtype]) -> tuple[np.dtype, ...]:
        """The dtypes of Numba's loop for such arguments, and of its result; compiled, if there is none yet."""
        try:
            self._original(*[np.empty(0, d) for d in given])
            found = self._original.ufunc.resolve_dtypes((*given, *[None] * self._original.nout))
        except Exception as e:
            raise UnfollowedError(what=f"`{name}`, which Numba compiled,", reason=f"it raises {e!r}") from e
        *ins, out = (d.char for d in found)
        if len(ins) != len(given) or not {"l", "q", "d"}.issuperset(ins) or out not in "?lqd":
            reason = (
                "Numba computes with truth values, complex numbers, and those of 32 bits as NumPy does not"
            )
            raise UnfollowedError(what=f"`{name}`, which Numba compiled,", reason=reason)
        return found
