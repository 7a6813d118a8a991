"""Functions that Numba compiled (`njit`): their Python functions are followed, and what they give is Python's."""

from __future__ import annotations

import functools
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled.instances import numba_type
from tracejit.frontend.shadows.compiled.numbers import as_numba
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.functions.arrays.mapping import PYTHONS
from tracejit.numpy.operands import cast, kind_of
from tracejit.tracing import STATE, Box, box, users_own

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


def is_compiled(value: Any) -> bool:
    """Whether `value`, of a class of Numba's, is a dispatcher."""
    return isinstance(getattr(value, "py_func", None), types.FunctionType)


def wrap_compiled(session: Run, node: Node, value: Any) -> Any:
    """The copy of the Python function behind a dispatcher, with numbers typed as Numba types them."""
    session.sizes(value.py_func)
    followed = session.wrap(node.attr("py_func"), value.py_func)

    @functools.wraps(value.py_func)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        if STATE.numbers is not None:  # called by another function of Numba's
            return followed(*args, **kwargs)
        with as_numba():
            out = followed(*map(_entering, args), **{k: _entering(x) for k, x in kwargs.items()})
        return _given(out, _result_type(value, args, kwargs) if _is_unsure(out) else None)

    return session.remember(value, compiled)


def _entering(x: Any) -> Any:
    """An argument as Numba takes it: NumPy's numbers of the types of Python's numbers are these."""
    if isinstance(x, np.generic):
        return x.item() if x.dtype in PYTHONS.values() else x
    if type(x) is Box and x.scalar and not x.weak and x.aval.dtype in PYTHONS.values():
        return box(x.read(), weak=True)
    return x


def wrap_callback(session: Run, node: Node, value: Any) -> Any:
    """A C callback, whose call from Python is one of the Python function."""
    return session.remember(value, Callback(value, session.wrap(node.attr("__wrapped__"), value.__wrapped__)))


class Callback:
    """What stands for a C callback: its other attributes are those of the machine code."""

    def __init__(self, original: Any, followed: Any) -> None:
        self._original = original
        self._followed = followed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._followed(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _is_unsure(x: Any) -> bool:
    """Whether Numba may give a result another type: an integer that is a float by another `return` or assignment."""
    if isinstance(x, (tuple, list)):
        return any(map(_is_unsure, x))
    return is_python(x) and np.dtype(kind_of(x)).kind in "bi"


def _result_type(dispatcher: Any, args: Any, kwargs: Any) -> Any:
    """Numba's type of the result, for such arguments; the function is compiled, if it is not yet."""
    try:
        types_ = [type_of(x) for x in args]
        named = {name: type_of(x) for name, x in kwargs.items()}
        _, _, folded, _ = dispatcher.get_call_template(types_, named)
        return dispatcher.overloads[tuple(folded)].signature.return_type
    except Exception as e:
        name = getattr(dispatcher, "__name__", "a function")
        raise UnfollowedError(what=f"`{name}`, which Numba compiled,", reason=f"it raises {e!r}") from e


def type_of(x: Any) -> Any:
    """Numba's type of an argument."""
    numba: Any = sys.modules["numba"]
    return numba_type(x) or numba.typeof(_sample(x))


def _sample(x: Any) -> Any:
    """A value of the type that Numba sees in the place of `x`."""
    if isinstance(x, tuple):
        parts = map(_sample, x)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if type(x) is not Box:
        return users_own(x)
    d = x.aval.dtype
    if x.aval.shape or not x.scalar:
        return np.empty((0,) * len(x.aval.shape), d)
    return d.type(1).item() if x.weak else d.type(1)


def _given(x: Any, type_: Any) -> Any:
    """A result as Numba gives it to Python, of Numba's type if that is known.

    Raises UnfollowedError for 64 bits without a sign: they may be no int64."""
    if isinstance(x, tuple):
        of = [None] * len(x) if type_ is None else list(type_)
        parts = map(_given, x, of)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if type(x) is types.GeneratorType:
        raise UnfollowedError(what="a generator of Numba's", reason="its steps would be Python's elsewhere")
    if type(x) is list:
        x[:] = [_given(part, getattr(type_, "dtype", None)) for part in x]
        return x
    if isinstance(x, np.generic):
        x = x.item()
    if type(x) is Box and x.scalar and not x.weak:
        if x.aval.dtype == np.uint64:
            raise UnfollowedError(what="an unsigned integer that Numba gives", reason="it may be no int64")
        x = box(cast(x.read(), PYTHONS[x.aval.dtype.kind]), weak=True)
    wanted = _wanted(type_) if is_python(x) else None
    if wanted is None:
        return x
    if type(x) is not Box:
        return wanted.type(x).item()
    return x if x.aval.dtype == wanted else box(cast(x.read(), wanted), weak=True)


def _wanted(type_: Any) -> np.dtype | None:
    """The dtype of the number that Python gets for a result of this type of Numba's; None: it is not known."""
    types_: Any = sys.modules["numba"].types
    if isinstance(type_, types_.Optional):
        type_ = type_.type
    kinds = {types_.Boolean: "b", types_.Integer: "i", types_.Float: "f", types_.Complex: "c"}
    return next((PYTHONS[k] for cls, k in kinds.items() if isinstance(type_, cls)), None)
