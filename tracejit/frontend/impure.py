"""What of a library does more than compute: it reads files, draws, or has or asks for settings.

What a compiled program did of this would be done once, while it is traced. So such things are told by the module that
they were made in, wherever they are found (`from scipy.io import loadmat`, `functools.partial(np.load, path)`).
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tracejit.frontend.origins import is_library_class, is_library_function
from tracejit.scipy.hosting.names import COMPUTING

#: Why what acts can't be followed.
ACTS = "it does more than compute, which would happen once, while tracing"
#: Builtins that do more than compute, or that see what stands for the user's objects while tracing.
BUILTINS: dict[str, str] = {
    **dict.fromkeys(("open", "input", "breakpoint", "help"), "it acts outside of the program"),
    **dict.fromkeys(("exec", "eval", "compile"), "the code that it runs is not known"),
    **dict.fromkeys(("id", "memoryview"), "it shows Python's own objects"),
}
_BOUND = (types.BuiltinMethodType, types.MethodType, types.MethodWrapperType)
#: The class of NumPy's functions that other classes of arrays may override, some of which are written in C.
_DISPATCHED = type(np.sum)
#: Packages whose functions and classes compute from what they are given, and do nothing else that can be seen.
_PURE = frozenset(
    {
        *("tracejit", "numpy", "scipy", "numba", "ml_dtypes", "optree", "opt_einsum", "einops"),
        *(*COMPUTING, "array_api_compat", "array_api_strict", "typing_extensions", "attr", "attrs"),
        *("builtins", "math", "cmath", "itertools", "functools", "operator", "collections"),
        *("typing", "types", "dataclasses", "enum", "abc", "copy", "copyreg", "numbers"),
        *("fractions", "statistics", "string", "re", "bisect", "heapq", "contextlib", "array"),
        *("graphlib", "struct", "zlib", "binascii", "base64", "hashlib", "json", "colorsys"),
        *("unicodedata", "difflib", "textwrap", "reprlib", "keyword", "inspect", "weakref"),
        *("__future__", "_operator", "_functools", "_collections", "_collections_abc", "_abc"),
        *("_bisect", "_heapq", "_struct", "_hashlib", "_json", "_weakref", "_sre", "_statistics"),
        *("_typing", "_thread"),
    }
)
#: Parts of them that do.
_ACTING = ("numpy.random", "scipy.io", "scipy.datasets", "sklearn._config")
#: What does more than compute in whichever module of a package.
_ACTING_OF = {
    "numpy": frozenset(
        {
            *("load", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "fromfile"),
            *("fromregex", "memmap", "open_memmap", "DataSource", "printoptions", "array2string"),
            *("array_repr", "array_str", "format_float_positional", "format_float_scientific"),
            *("seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "set_printoptions"),
            *("get_printoptions", "info", "show_config", "show_runtime"),
        }
    ),
    "builtins": frozenset({"print", "input", "exec", "eval", "breakpoint"}),
    "scipy": frozenset(
        {
            *("get_workers", "set_workers", "set_backend", "set_global_backend", "register_backend"),
            *("skip_backend", "use_solver", "errstate", "geterr", "seterr", "show_config"),
        }
    ),
    "sklearn": frozenset(
        {
            *("load_files", "load_svmlight_file", "load_svmlight_files", "dump_svmlight_file"),
            *("get_data_home", "clear_data_home", "show_versions"),
        }
    ),
    "numba": frozenset(
        {"get_num_threads", "set_num_threads", "get_parallel_chunksize", "set_parallel_chunksize"}
    ),
    "hashlib": frozenset({"file_digest"}),
    "inspect": frozenset(  # what looks at objects and classes as Python has them, which stand-ins are not like
        {
            "getmro",
            "getmembers",
            "getmembers_static",
            "getattr_static",
            "classify_class_attrs",
            "getclasstree",
        }
    ),
}


def impure_origin(value: Any) -> str | None:
    """The module of a library that the callable, class, object or module `value` belongs to, if what is in it does
    more than compute."""
    home = _home(value)
    if home is None:
        return None
    if home in ("numpy.random.mtrand", "numpy.random._generator"):
        return "numpy.random"
    top = home.partition(".")[0]
    acts = (
        top not in _PURE
        or _is_acting_part(home)
        or (top in _ACTING_OF and getattr(value, "__name__", None) in _ACTING_OF[top])
    )
    return home if acts else None


def has_acting(module: types.ModuleType) -> bool:
    """Whether something in a library's module may be of this kind, or is called by programs."""
    top = module.__name__.partition(".")[0]
    return top in _ACTING_OF or top in COMPUTING or impure_origin(module) is not None


def is_acting_of_numpy(value: Any) -> bool:
    """Whether `value` is a function of NumPy's of this kind. Some have traced forms, which say why traced values
    can't be given to them."""
    return id(value) in _OF_NUMPY


_OF_NUMPY = frozenset(id(getattr(np, name)) for name in _ACTING_OF["numpy"] if hasattr(np, name))


def _is_acting_part(module: str) -> bool:
    """Whether a module is one of those in `_ACTING`. Of `numpy.random`, what makes generators is told by its class."""
    if module.startswith("numpy.random"):
        return module == "numpy.random"
    return any(module == part or module.startswith(part + ".") for part in _ACTING)


def _home(value: Any) -> str | None:
    """The module that a thing of a library was made in; None for the user's."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, types.FunctionType):
        return value.__globals__.get("__name__") if is_library_function(value) else None
    if type(value) in (types.BuiltinFunctionType, _DISPATCHED) and isinstance(value.__module__, str):
        return value.__module__
    if isinstance(value, type):
        cls = value
    else:
        cls = type(
            value.__self__ if isinstance(value, _BOUND) else value
        )  # nothing is asked of a user's object
    return cls.__module__ if is_library_class(cls) else None
