"""Names of a part of SciPy that is imported when one of them is first called without traced values."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.dispatch import LIBRARIES, plain
from tracejit.numpy.operands import has_box
from tracejit.scipy.hosting import narrow
from tracejit.scipy.hosting.calls import others
from tracejit.tracing import call_user, is_tracing

F = TypeVar("F", bound=Callable[..., Any])


def _part(module: Any, name: str) -> Any:
    """What a module has by a name with dots; None if this version of SciPy has no such thing."""
    try:
        return functools.reduce(getattr, name.split("."), module)
    except AttributeError:
        return None


class Part:
    """A module of SciPy: `module` is its name, `load()` imports it, `names` are those that we have."""

    def __init__(self, module: str, load: Callable[[], Any]) -> None:
        self.module = module
        self.load = load
        self.names: dict[str, Any] = {}
        LIBRARIES[module] = self._entries

    def _entries(self, module: Any) -> dict[Any, Any]:
        importlib.import_module(f"tracejit.{self.module}")  # all of it, whatever was imported before
        parts = {name: _part(module, name) for name in self.names}
        return {parts[name]: ours for name, ours in self.names.items() if parts[name] is not None}

    def helper(self, name: str) -> Callable[[F], F]:
        """Decorator: the form of a function of SciPy's own use, by its name in the module. What SciPy makes of it needs
        no form then: its code is followed (`hosting.following`)."""

        def register(fn: F) -> F:
            self.names[name] = fn
            return fn

        return register

    def written(self, module: str, *functions: Callable[..., Any]) -> None:
        """The forms of functions of SciPy's own use that are in its `module`, by their names: Python code over arrays,
        which is followed as a user's is (`scipy.written`)."""
        for fn in functions:
            self.names[f"{module}.{fn.__name__}"] = functools.partial(call_user, fn)

    def function(self, fn: F) -> F:
        """Decorator: SciPy's function of this name where no argument is traced, else `fn`."""
        name = fn.__name__

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("_no_deco", None)  # what functions of scipy.stats say to one another
            scipys = getattr(self.load(), name)
            if has_box(args) or (kwargs and has_box(kwargs.values())):
                out = as_numpys(scipys, args, kwargs, fn(*args, **kwargs), ordered=True)
                narrow.check(scipys, args, kwargs, out)
                return out
            return plain(scipys, args, kwargs)

        if not call.__doc__:
            call.__doc__ = f"`{self.module}.{name}`, for traced values too."
        self.names[name] = call
        return call  # type: ignore[return-value]

    def solver(self, fn: F, own: frozenset[str] = frozenset(), supply: Callable[..., Any] | None = None) -> F:
        """Decorator of what takes a user's function: SciPy's where nothing is traced, else `fn`. The function may read
        traced values, though there are none among the arguments. `own`: keywords that SciPy has not, which say how
        derivatives are found. `supply` adds derivatives to the arguments of SciPy's."""
        name = fn.__name__

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_tracing():
                return fn(*args, **kwargs)
            kwargs = {k: v for k, v in kwargs.items() if k not in own}
            if supply is not None and len(args) >= 2:
                args, kwargs = supply(*args, **kwargs)
            return getattr(self.load(), name)(*args, **kwargs)

        self.names[name] = call
        return call  # type: ignore[return-value]

    def others(self, ours: list[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
        """`__getattr__` and `__dir__` of our module, which has the names `ours` itself."""
        return others(f"tracejit.{self.module}", self.load, ours)
