"""FILE:FUNCTION and --args: a function of a file, and the arguments that it is called with."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tracejit
from tracejit.api.common import misfit
from tracejit.errors import TargetError


@dataclass(frozen=True)
class Target:
    """A function with the arguments of a call; `fresh` gives arguments that a call may write into."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Copies of the arguments, generators of random numbers with their state."""
        return copy.deepcopy((self.args, self.kwargs))


def load(target: str, arguments: str = "") -> Target:
    """The function `FILE:FUNCTION` (or `MODULE:FUNCTION`), and its arguments, which are Python source.

    The source may use the names of the file, and `np` and `tj`. Raises TargetError.
    """
    place, _, name = target.rpartition(":")
    if not place:
        raise TargetError(target=target, reason="it has no colon between the file and the function")
    space = vars(_module(target, place))
    function = _member(target, space, name)
    names = {"np": np, "tj": tracejit, **space, "_arguments": lambda *args, **kwargs: (args, kwargs)}
    try:
        args, kwargs = eval(f"_arguments({arguments})", names)
    except SyntaxError as e:
        raise TargetError(
            target=target, reason=f"the arguments {arguments!r} are no Python: {e.msg}"
        ) from None
    except Exception as e:
        raise TargetError(
            target=target, reason=f"the arguments {arguments!r} raise {type(e).__name__}: {e}"
        ) from e
    if why := misfit(function, args, kwargs):
        raise TargetError(target=target, reason=f"the arguments {arguments!r} don't fit, {why}")
    return Target(function, args, kwargs)


def _module(target: str, place: str) -> Any:
    """The file as a module of its name, as if it had been imported: `if __name__ == "__main__"` is not run."""
    path = Path(place)
    if not path.suffix and not path.exists():
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as e:
            raise TargetError(target=target, reason=f"there is no file or module {e.name}") from None
    if not path.is_file():
        raise TargetError(target=target, reason=f"there is no file {place}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TargetError(target=target, reason=f"{place} is no file of Python's")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # for what lies beside it
    sys.modules[path.stem] = module  # dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def _member(target: str, space: dict[str, Any], name: str) -> Callable[..., Any]:
    first, *rest = name.split(".")
    found = space.get(first)
    for part in rest:
        found = getattr(found, part, None)
    if not callable(found):
        home = space.get("__name__")
        own = [n for n, x in space.items() if callable(x) and getattr(x, "__module__", "") == home]
        own = [n for n in own if n[0] != "_" and not isinstance(space[n], type)]
        there = f"; there are {', '.join(sorted(own))}" if own else ""
        raise TargetError(target=target, reason=f"the file has no function `{name}`{there}")
    return found
