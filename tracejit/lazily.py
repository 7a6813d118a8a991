"""Parts of a package that are imported when they are first asked for.

    __getattr__, __dir__ = parts(__name__, ["lax", "nn"], {"tracejit.api.autodiff.taylor": ["jet"]})

is what a package's `__init__` says (PEP 562), beside the same imports for type checkers. Modules that use such a
package import the package, and say `package.part.name` where they need it: what nobody calls is not loaded.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracejit.docstrings import complete


def parts(
    package: str, modules: Iterable[str] = (), names: Mapping[str, Iterable[str]] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package`, whose submodules `modules`, and `names` by the module that has
    them (or the package that they are in), are imported at their first use."""
    places = {name: module for module, there in (names or {}).items() for name in there}
    known = {*modules, *places}

    def get(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in places:
            found = getattr(__import__(places[name], fromlist=[name]), name)  # like `from place import name`
            complete(package, {name: found})
        else:
            found = importlib.import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        """What users are offered: special names, and no modules that happen to be imported."""
        held = vars(sys.modules[package])
        public = held.get("__all__", held)
        return sorted({*public, *known, *(name for name in held if name.startswith("__"))})

    return get, listed


def load(*packages: types.ModuleType) -> None:
    """Import all that these packages have."""
    for package in packages:
        for name in package.__all__:
            part = getattr(package, name)
            if "__getattr__" in vars(part):  # a package that has parts, too
                load(part)


class LazyModule:
    """Stands for the module `name`, or a namespace in it; the first attribute access imports it."""

    def __init__(self, name: str, namespace: str = "") -> None:
        self._name = name
        self._namespace = namespace

    def __getattr__(self, attribute: str) -> Any:
        # Inspection (copy, pickle, doctest) must not import anything.
        if attribute.startswith("__") and attribute not in ("__pyx_capi__", "__version__", "__file__"):
            raise AttributeError(attribute)
        value = getattr(self._load(), attribute)
        setattr(self, attribute, value)
        return value

    def _load(self) -> Any:
        module = importlib.import_module(self._name)
        return getattr(module, self._namespace) if self._namespace else module

    def __repr__(self) -> str:
        return f"LazyModule({self._name!r})"
