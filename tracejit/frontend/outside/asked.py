"""Functions of libraries that only ask: for what is in a file, for settings, or for text that settings decide.

They change nothing, so that a program may ask before it begins. The call is a step of a path as an attribute is: guards
make it anew, and numbers and arrays that it gives are inputs.
"""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.frontend import active
from tracejit.frontend.impure import ACTS
from tracejit.frontend.paths import root
from tracejit.frontend.shadows.refusing import held
from tracejit.frontend.text.written import writing
from tracejit.ir.jaxpr import Eqn
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box, current_trace

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_ARRAYS = ("load", "loadtxt", "genfromtxt", "fromfile", "fromregex")
_TEXTS = ("array2string", "array_repr", "array_str")
#: Text of a number that no setting decides.
_NUMBERS = ("format_float_positional", "format_float_scientific")
_SETTINGS = ("geterr", "getbufsize", "get_printoptions", "geterrcall")
_OF_NUMPY = {id(f): f for f in (getattr(np, name) for name in (*_ARRAYS, *_TEXTS, *_NUMBERS, *_SETTINGS))}
#: Others, by the module that they are found in.
_OF_OTHERS = (
    *(("scipy.special", "geterr"), ("sklearn", "get_config")),
    *(("os", "cpu_count"), ("multiprocessing", "cpu_count"), ("os", "getcwd"), ("platform", "system")),
)
#: Of these, what no program changes.
_FIXED = ("cpu_count", "system")
_KNOWN = (str, bytes, int, float, complex, bool, type(None), type(...), np.generic, np.dtype)
_KNOWN += (type(np.sum), np.ufunc)
#: What sets one setting, and leaves the others.
_SETS = ("seterr", "setbufsize", "set_printoptions")
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def stand_in_for(value: Any) -> Asking | None:
    """The stand-in of a function that only asks, or None."""
    if id(value) in _OF_NUMPY:
        return Asking(value)
    for module, name in _OF_OTHERS:
        if module in sys.modules and getattr(sys.modules[module], name, None) is value:
            return Asking(value)
    return None


class Asking:
    """What traced code has in the place of the function `tj_own`."""

    def __init__(self, own: Any) -> None:
        self.tj_own = own
        self.__name__ = self.__qualname__ = own.__name__
        self.__module__, self.__doc__ = own.__module__, own.__doc__

    def __eq__(self, other: object) -> bool:
        return other is self.tj_own or (type(other) is type(self) and other.tj_own is self.tj_own)

    def __hash__(self) -> int:
        return hash(self.tj_own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        session = active.session()
        if session is None or not session.guarded:
            return NUMPY_TO_TRACEJIT.get(self.tj_own, self.tj_own)(*args, **kwargs)
        if self.__name__ in _NUMBERS:
            arrays = any(type(x) is Box and x.aval.shape for x in (*args, *kwargs.values()))
            return (NUMPY_TO_TRACEJIT[self.tj_own] if arrays else writing(self.tj_own))(*args, **kwargs)
        try:
            args, kwargs = tuple(map(known, args)), {k: known(x) for k, x in kwargs.items()}
        except ValueError:
            if self.__name__ in _TEXTS:
                return writing(self.tj_own)(*args, **kwargs)
            session.refuse(path_of(self.tj_own), self.tj_own, ACTS)
        return self.tj_called(session, args, kwargs)

    def tj_called(self, session: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the call gives, for arguments that are known."""
        return call_of(session, self.tj_own, args, kwargs)


def path_of(function: Any) -> str:
    """How messages call a function."""
    return f"{function.__module__.partition('.')[0]}.{function.__name__}"


def call_of(session: Run, function: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
    """What a function gives for arguments that are the same at each call. Raises UnfollowedError."""
    path, trace, options = path_of(function), session.capture.trace, kwargs or {}
    if function in session.settings:
        value = session.settings[function]
        return dict(value) if type(value) is dict else value
    fixed = function.__name__ in _FIXED
    if current_trace() is not trace and not fixed:
        session.refuse(path, function, "a loop, a branch or a transformation asks for it")
    changed = session.in_settings or session.sees_warnings
    if not fixed and (changed or any(map(_matters, trace.eqns))):
        session.refuse(path, function, "what the function has done before may matter")

    def ask(own: Any) -> Any:
        return own(*args, **options)

    try:
        value = ask(function)
    except Exception as e:  # which the function may catch, and which another call may not raise
        session.refuse(path, function, f"it raises {type(e).__name__} here")
        raise
    if not _is_plain(value):
        if callable(close := getattr(value, "close", None)):  # an archive is a file that is open
            close()
        session.refuse(path, function, f"it gives a {type(value).__name__} here")
    made = session.wrap(root(function, "result of", f"{path}(...)").applied(ask), value)
    # Each call gives a dict of its own: its entries are guarded, and not which dict it is.
    return {key: made[key] for key in made} if type(value) is dict else made


def _matters(e: Eqn) -> bool:
    """Whether an operation does something that can be asked for; what sets one setting leaves the others."""
    return bool(e.effects) and getattr(e.params.get("callback"), "name", None) not in _SETS


def known(x: Any) -> Any:
    """An argument as the function gets it at each call. Raises ValueError for what may be another then."""
    if type(x) in (tuple, list):
        return type(x)(map(known, x))
    if type(x) is dict:
        return {k: known(v) for k, v in x.items()}
    if type(x) is Box:
        value = extents.known(x.read())
        if value is None:
            raise ValueError
        return np.array(value)[()] if x.scalar else np.array(value)
    if type(x) is np.ndarray:
        return x.copy()
    x = held(x)
    if type(x) in (pathlib.PosixPath, pathlib.WindowsPath):  # it is guarded by identity, and never changes
        return x
    if isinstance(x, _KNOWN) or (isinstance(x, type) and issubclass(x, (_PLAIN, np.generic))):
        return x
    raise ValueError


def _is_plain(x: Any) -> bool:
    """Whether it is an array of numbers, or of what never changes: no object that two calls of the function would not
    both know."""
    if type(x) is np.ndarray:
        return x.dtype.kind in "biufc"
    if type(x) is dict:
        return all(type(v) in _PLAIN for v in x.values())
    return type(x) in _PLAIN
