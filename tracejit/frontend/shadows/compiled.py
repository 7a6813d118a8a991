"""Functions that Numba compiled: their Python functions are followed, and what they give is Python's.

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
from tracejit.numpy.operands import cast
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
