"""Functions of libraries that do more than compute: files, random numbers, settings.

A compiled function would do once what they do, while it is traced. So their use is told to the capture before it
happens, which refuses it where a program is made; the constants of their modules can be used. Printing, logging,
warnings and the clock become part of the program (`frontend.text`).
"""

from __future__ import annotations

import builtins
import csv
import functools
import io
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import CapturedWriteError
from tracejit.frontend import active
from tracejit.frontend.drawing import making
from tracejit.frontend.impure import ACTS, has_acting, impure_origin
from tracejit.frontend.outside import floating, settings
from tracejit.frontend.paths import root
from tracejit.frontend.shadows.randoms import generator_of
from tracejit.frontend.text import clocks, logs, sinks, tables, warned
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.scipy.hosting.names import COMPILED, COMPUTING

#: Modules of libraries whose classes are followed.
_FOLLOWED = ("numba.typed.typedlist", "numba.typed.typeddict")
_CONSTANTS = (int, float, str, bytes, complex, tuple, type(None))
_GENERATORS = (
    "default_rng",
    "RandomState",
    "MT19937",
    "PCG64",
    "PCG64DXSM",
    "Philox",
    "SFC64",
    "SeedSequence",
)


def tell(path: str, value: Any, reason: str = ACTS) -> None:
    """Tell the session that is under way of something that can't be followed."""
    session = active.session()
    if session is not None:
        session.refuse(path, value, reason)


class ActingModule(types.ModuleType):
    """A library's module of which all, or some, does more than compute."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__["_tj_module"] = module

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_tj_module"]
        value = getattr(module, name)
        if not impure_origin(module):
            if isinstance(value, types.ModuleType):
                return as_it_acts(value)
            session = active.session()
            if isinstance(value, type) and value.__module__ in _FOLLOWED and session is not None:
                return session.stand_in(value, f"{self.__name__}.{name}")
            form = _form(value)
            if form is not None:
                return form
            if impure_origin(value) and not _is_exception(value):
                asking = settings.stand_in_for(value)
                if asking is not None:
                    return asking
                tell(f"`{self.__name__}.{name}`", value)
            return value
        of_module = _OF_MODULES.get(self.__name__)
        ours = (of_module(name) if of_module is not None else None) or stand_in_for(value)
        if ours is not None:
            return ours
        if isinstance(value, types.ModuleType):
            return as_it_acts(value)
        session = active.session()
        if generator_of(value) is not None and session is not None and session.draws:
            return session.wrap(root(value, "function", f"{self.__name__}.{name}"), value)
        if isinstance(value, _CONSTANTS) or _is_exception(value) or generator_of(value) is not None:
            return value
        named = isinstance(value, type) or _is_of_another(value)  # as in `isinstance(x, pd.Series)`
        if named and session is not None:
            return session.stand_in(value, f"{self.__name__}.{name}")
        tell(f"`{self.__name__}.{name}`", value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise CapturedWriteError(what=f"attribute `{self.__name__}.{name}`")

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_tj_module"])


def _is_of_another(value: Any) -> bool:
    """Whether a module has got a function from another one, where nothing but computes: `six.moves.reduce`."""
    is_function = type(value) in (types.FunctionType, types.BuiltinFunctionType)
    return is_function and value.__module__ not in (None, "builtins") and impure_origin(value) is None


def _form(value: Any) -> Any:
    """The traced form of a function that a library compiled, or that programs call as it is; or None."""
    called = type(value) is types.FunctionType and value.__module__.partition(".")[0] in COMPUTING
    return NUMPY_TO_TRACEJIT.get(value) if called or type(value).__name__ in COMPILED else None


@functools.cache
def acting_module(module: types.ModuleType) -> ActingModule:
    """The stand-in of a module, one for all."""
    return ActingModule(module)


def as_it_acts(module: types.ModuleType) -> types.ModuleType:
    """What traced code gets for a library's module: the module itself, if nothing in it does more than compute."""
    return acting_module(module) if has_acting(module) else module


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


class Seeded:
    """What makes a random generator, such as `np.random.default_rng`. With a known seed its numbers are known while
    tracing; with another one, or none, the program makes the generator at every run."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make
        self.__name__, self.__module__ = make.__name__, make.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        session, given = active.session(), (*args, *kwargs.values())
        unseeded = all(x is None for x in given)
        if session is not None and session.draws and self.make in making.CLASSES:
            return making.generator(session, self.make, args, kwargs)
        if unseeded:
            tell(f"`{self.__name__}()`", self.make, "its numbers are others at every call")
        return self.make(
            *map(making.known_seed, args), **{k: making.known_seed(x) for k, x in kwargs.items()}
        )


_seeded: dict[int, Seeded] = {}  # by the identity of what makes generators


def seeded(make: Any, session: Any = None) -> Seeded | None:
    """What traced code of a run has for what makes generators, the same each time; None for others."""
    if make is random.Random and session is not None and not session.guarded:
        return None
    numbers: Any = sys.modules.get("numpy.random")
    theirs = [getattr(numbers, name) for name in _GENERATORS] if numbers is not None else []
    if not any(make is x for x in (random.Random, *theirs)):
        return None
    return _seeded.setdefault(id(make), Seeded(make))


class errstate:
    """`np.errstate` for traced code. Compiled code tells of no floating-point errors, which is what ignoring them
    asks for; where they shall be raised, called or printed, operations are looked at."""

    __module__ = "numpy"

    def __init__(self, **kinds: Any) -> None:
        self._tj_own = np.errstate(**kinds)
        self._tj_kinds = kinds

    def __enter__(self) -> None:
        self._tj_session = session = active.session()
        is_seen, watched = floating.is_seen(self._tj_kinds.values()), floating.can_be_seen()
        if is_seen and (not watched or (session is not None and np.geterr in session.settings)):
            tell("`np.errstate`", np.errstate, floating.REASON)
        self._tj_own.__enter__()
        self._tj_watch = floating.looking() if (is_seen and watched) or floating.is_looked_at() else None
        if self._tj_watch is not None:
            self._tj_watch.__enter__()
        if session is not None:
            session.in_settings += 1

    def __exit__(self, *error: Any) -> None:
        if self._tj_session is not None:
            self._tj_session.in_settings -= 1
        if self._tj_watch is not None:
            self._tj_watch.__exit__(*error)
        self._tj_own.__exit__(*error)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with errstate(**self._tj_kinds):
                return function(*args, **kwargs)

        return inner


_KINDS = ("all", "divide", "over", "under", "invalid")


def decorated(fn: types.FunctionType) -> errstate | None:
    """What stands for the `np.errstate` with which a function of outside is decorated; None for others."""
    names, cells = fn.__code__.co_freevars, fn.__closure__ or ()
    if "self" not in names or "__wrapped__" not in vars(fn):
        return None
    try:
        own: Any = cells[names.index("self")].cell_contents
    except ValueError:
        return None
    if type(own) is not np.errstate or getattr(own, "_call", None) is not getattr(
        np.errstate(), "_call", own
    ):
        return None
    return errstate(**{k: kind for k in _KINDS if (kind := getattr(own, f"_{k}", None)) is not None})


#: Modules of which some names become part of the program.
_OF_MODULES: dict[str, Callable[[str], Any]] = {
    "sys": sinks.of_module,
    "logging": logs.of_module,
    "csv": tables.of_module,
}
#: Functions that do.
_RECORDED: dict[Any, Any] = {**clocks.CLOCKS, warnings.warn: warned.warn, builtins.print: sinks.print_}


def object_for(value: Any) -> Any:
    """What traced code has in the place of a stream or logger of outside, or of `six.moves`, whose names are Python's
    own; None for other objects."""
    if sinks.is_stream(value):
        return sinks.of_outside(value)
    if type(value).__name__ == "_MovedItems" and isinstance(value, types.ModuleType):
        return acting_module(value)
    return logs.of_outside(value) if logs.is_logger(value) else None


def stand_in_for(value: Any) -> Any:
    """What traced code gets for what makes random generators, for `np.errstate`, and for what prints, warns or reads
    the clock; else None."""
    if value is np.errstate:
        return errstate
    if value is warnings.catch_warnings:
        return warned.catch_warnings
    if value is warnings.simplefilter or value is warnings.filterwarnings:
        return warned.filtering(value)
    if type(value) is types.BuiltinFunctionType and value in _RECORDED:
        return _RECORDED[value]
    if value is io.StringIO:
        return sinks.string_io
    if value is csv.writer or value is csv.reader:
        return tables.of_module(value.__name__)
    asking = settings.stand_in_for(value)
    if asking is not None:
        return asking
    return seeded(value)
