"""Whose code is it? The user's functions and classes are followed, a library's are not.

Library code is the standard library, installed packages, NumPy and this package, told by
module and file. `FOLLOW` has the top-level packages to follow although they are installed.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
import weakref
from typing import Any

from tracejit.errors import is_internal

#: Installed packages whose functions are followed like the user's own.
FOLLOW: set[str] = set()

_PATHS = tuple(
    os.path.abspath(path) + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_SITE = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
# A different answer at each call: what they give while tracing is kept.
_PLAIN_CLASSES = {
    "argparse.Namespace",
    "collections.UserDict",
    "collections.UserList",
    "collections.ChainMap",
}
_IMPURE = frozenset({"random", "time", "datetime", "secrets", "uuid", "os", "numpy.random"})


@functools.lru_cache(maxsize=4096)
def _is_library_file(filename: str) -> bool:
    if is_internal(filename) or filename.startswith("<frozen"):
        return True
    if filename.startswith("<"):  # typed in, or generated
        return False
    path = os.path.abspath(filename)
    return any(site in path for site in _SITE) or path.startswith(_PATHS)


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def is_library_module(module: types.ModuleType) -> bool:
    """Whether `module` belongs to a library (or is written in C)."""
    name = getattr(module, "__name__", "") or ""
    if _top(name) in FOLLOW or name == "__main__":
        return False
    filename = getattr(module, "__file__", None)
    if filename is None:
        # Namespace packages and modules made by hand have no file either.
        return name in sys.builtin_module_names or (
            module.__spec__ is not None and not hasattr(module, "__path__")
        )
    return not filename.endswith(".py") or _is_library_file(filename)


def is_library_function(fn: types.FunctionType) -> bool:
    """Whether the Python function `fn` was written in a library."""
    if _top(fn.__module__) in FOLLOW:
        return False
    filename = fn.__code__.co_filename
    if filename.startswith("<") and filename[:7] not in ("<frozen", "<tracej"):
        module = sys.modules.get(fn.__globals__.get("__name__", ""))
        return isinstance(module, types.ModuleType) and is_library_module(module)
    return _is_library_file(filename)


def is_library_class(cls: type) -> bool:
    """Whether `cls` comes from C or from a library (but for a few that only hold values)."""
    if type(cls).__hash__ is None:
        return _is_library_class(cls)
    known = _known.get(cls)
    if known is None:
        known = _known[cls] = _is_library_class(cls)
    return known


# Weak: classes made in functions may hold arrays in their closures.
_known: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def _is_library_class(cls: type) -> bool:
    if f"{cls.__module__}.{cls.__qualname__}" in _PLAIN_CLASSES:
        return False
    if not cls.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: not made by a class statement
        return True
    top = _top(cls.__module__)
    if top in FOLLOW or top == "__main__":
        return False
    if top.startswith("_cython_"):  # the classes of Cython's functions and methods
        return True
    module = sys.modules.get(cls.__module__)
    if module is None or not isinstance(module, types.ModuleType):
        return False
    return is_library_module(module)


def is_generated(fn: types.FunctionType) -> bool:
    """Whether dataclasses or namedtuple wrote `fn` (they name no file)."""
    return fn.__code__.co_filename.startswith("<string>") or fn.__code__.co_filename.startswith("<namedtuple")


def impure_origin(value: Any) -> str | None:
    """The impure module that the callable or module `value` belongs to, or None."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if name is None:  # a C object such as a numpy.random.Generator, or a method bound to one
        name = type(getattr(value, "__self__", value)).__module__
    if name in ("numpy.random.mtrand", "numpy.random._generator"):
        return "numpy.random"
    return name if isinstance(name, str) and name in _IMPURE else None
