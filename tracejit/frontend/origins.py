"""Whose code is it? The user's functions and classes are followed, a library's are not.

Library code is the standard library, this package, and the installed packages in `_OPAQUE`, told by module and file.
Other installed packages are followed and guarded like the user's own code: most of them are Python over NumPy.
"""

from __future__ import annotations

import abc
import dis
import enum
import functools
import os
import re
import sys
import sysconfig
import types
import typing
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError, is_internal
from tracejit.ir.seen import asked
from tracejit.numpy.boxes.conversions import class_of
from tracejit.tracing import Box

#: Installed packages that are not followed. Some compute in C, and traced code knows their functions or must not hand
#: anything to them; the others compute with what is not numbers, draw, talk or test, or are tools of Python's.
_PACKAGES = (
    "tracejit numpy scipy numba llvmlite ml_dtypes optree sklearn joblib opt_einsum einops array_api_compat"
    " array_api_strict threadpoolctl attr attrs typing_extensions"
    " cupy cupyx cupy_backends cuda numba_cuda torch torchvision tensorflow keras jax jaxlib mlx"
    " pandas polars pyarrow narwhals xarray dask distributed zarr h5py netCDF4 awkward"
    " sympy mpmath gmpy2 symengine"
    " matplotlib mpl_toolkits plotly bokeh PIL cv2 IPython ipykernel traitlets"
    " pytest _pytest pluggy hypothesis coverage debugpy rich tqdm click"
    " pydantic requests urllib3 cloudpickle dill cffi Cython psutil setuptools"
    " pkg_resources pip resvg_py onnx platformdirs"
)
_OPAQUE = frozenset(_PACKAGES.split())

#: Modules of libraries that compute with arrays in Python, and are followed as well: SciPy's sparse arrays.
_FOLLOWED = "scipy.sparse"
#: Where classes of ours say that they are, which stand for lists and dicts of Numba's.
_TYPED = "numba.typed.traced"
_SOLVERS = frozenset(
    {
        "scipy.sparse.linalg",
        "scipy.sparse.csgraph._laplacian",
        "scipy.sparse.linalg._interface",
        *(f"scipy.sparse.linalg._isolve.{name}" for name in ("iterative", "utils", "minres", "lsqr", "lsmr")),
    }
)
_NOT_FOLLOWED = ("scipy.sparse._sparsetools", "scipy.sparse._csparsetools")  # written in C
#: Where functions of libraries, but no classes, are followed: SciPy's computations that are written in Python, and ours
#: of what it has in C. Which of the public ones traced code may call so says `tracejit.scipy.hosting.names`.
_COMPUTING = (
    *(
        f"scipy.{part}."
        for part in ("signal", "stats", "linalg", "ndimage", "spatial", "cluster", "special", "fft", "_lib")
    ),
    "tracejit.scipy.written.",
)
#: Those of them whose classes are followed as well.
_CLASSES = frozenset(("scipy.signal._ltisys", "scipy.signal._czt"))
_PATHS = tuple(
    os.path.abspath(path) + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_SITE = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_PLAIN_CLASSES = {
    "argparse.Namespace",
    "collections.UserDict",
    "collections.UserList",
    "collections.ChainMap",
    "statistics.NormalDist",
}
#: Classes of libraries whose objects only hold names for numbers.
_STATELESS = {"pywt._extensions._pywt._Modes"}


@functools.lru_cache(maxsize=4096)
def is_library_file(filename: str) -> bool:
    """Whether a file is one of the standard library, of an installed package that is not followed, or ours."""
    if is_internal(filename) or filename.startswith("<frozen"):
        return True
    if filename.startswith("<"):  # typed in, or generated
        return False
    path = os.path.abspath(filename)
    for site in _SITE:
        _, found, inside = path.rpartition(site)
        if found:
            return inside.partition(os.sep)[0].removesuffix(".py") in _OPAQUE
    return path.startswith(_PATHS)


#: Code of Python's that asks for the class of a value as its caller does: abstract classes, dispatch by class.
_ASKING = frozenset(("<frozen abc>", abc.__file__, typing.__file__, functools.__file__))
_NUMBA = os.sep + "numba" + os.sep


def is_told(frame: Any, x: Any = None) -> bool | type:
    """Whether the code of `frame`, which asks for `x.__class__` or by `isinstance`, is told the class of the value for
    which `x` stands: the user's is. We are told what stands for a value, and so are libraries that would take an array
    for one of C's. Of numbers all others are told. A list, to who would warn of what it can't shuffle."""
    asking = frame
    while frame.f_code.co_filename in _ASKING and frame.f_back is not None:
        frame = frame.f_back
    filename = frame.f_code.co_filename
    if not is_library_file(filename):
        if asking is frame or type(x) is not Box or not _shuffles(asking, frame):
            return True
        if x.aval.ndim > 1:
            reason = "NumPy would exchange parts of it as if they were copies"
            raise UnfollowedError(what="`shuffle` of a traced array", reason=reason)
        return list
    return (
        not is_internal(filename)
        and _NUMBA not in filename
        and type(x) is Box
        and class_of(x) is not np.ndarray
    )


def _shuffles(asking: Any, frame: Any) -> bool:
    """Whether the code of `frame` calls a generator's `shuffle`, which asks by `asking`: code of C that asks for a
    sequence, in a line that does not ask itself."""
    if asking.f_locals.get("cls") is not Sequence:
        return False
    line: list[Any] = []
    for step in dis.get_instructions(frame.f_code):
        if step.offset > frame.f_lasti:
            break
        line = [] if step.starts_line else line
        line.append(step.argval)
    return "isinstance" not in line


asked.is_told = is_told


class StandsFor:
    """What stands for a container or value of another class than its own."""

    __slots__ = ()

    @property
    def tj_kind(self) -> type:
        """The class that it stands for. Raises UnfollowedError where that is not known."""
        raise NotImplementedError

    @property
    def __class__(self) -> type:
        return self.tj_kind if is_told(sys._getframe(1)) else type(self)


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def is_part_followed(module: Any) -> bool:
    """Whether a module is one of those in `_FOLLOWED`. They are taken as they are, as other code of libraries is: what
    is in them is not guarded."""
    if module == _TYPED:
        return True
    if type(module) is not str or not module.startswith(_FOLLOWED):
        return False
    if module == _FOLLOWED or module in _SOLVERS:
        return True
    return module.startswith(f"{_FOLLOWED}._") and module not in _NOT_FOLLOWED


def is_computing(module: Any) -> bool:
    """Whether a module of a library is one of those whose functions are followed."""
    return type(module) is str and (
        module.startswith(_COMPUTING) or (module == "statistics" and _is_standard(module))
    )


def _is_standard(module: str) -> bool:
    """Whether it is not a module of the user's with this name."""
    filename = getattr(sys.modules.get(module), "__file__", None)
    return filename is not None and is_library_file(filename)


def is_part_of_library(root: Any) -> bool:
    """Whether a path begins at code of such a module: its names, a class's members, a function or a property."""
    cls = type(root)
    if cls is dict:
        name = root.get("__name__")
        return is_part_followed(name) or is_computing(name)
    if cls is types.MappingProxyType:
        return is_part_followed(root.get("__module__")) or root.get("__module__") in _CLASSES
    root = root.fget if cls is property else root
    if type(root) is not types.FunctionType:
        return False
    return is_part_followed(root.__module__) or is_computing(root.__globals__.get("__name__"))


def is_library_module(module: types.ModuleType) -> bool:
    """Whether `module` belongs to a library (or is written in C)."""
    name = getattr(module, "__name__", "") or ""
    if is_part_followed(name) or name == "__main__":
        return False
    filename = getattr(module, "__file__", None)
    if filename is None:
        # Namespace packages and modules made by hand have no file either.
        return name in sys.builtin_module_names or (
            module.__spec__ is not None and not hasattr(module, "__path__")
        )
    return not filename.endswith(".py") or (is_library_file(filename) and not is_computing(name))


def is_library_function(fn: types.FunctionType) -> bool:
    """Whether the Python function `fn` was written in a library, and is not followed."""
    if is_of_library(fn):
        return False
    filename = fn.__code__.co_filename
    if filename.startswith("<") and filename[:7] not in ("<frozen", "<tracej"):
        module = sys.modules.get(fn.__globals__.get("__name__", ""))
        return isinstance(module, types.ModuleType) and is_library_module(module)
    return is_library_file(filename)


def is_of_library(fn: types.FunctionType) -> bool:
    """Whether the Python function `fn` is a library's, though it may be followed."""
    return is_part_followed(fn.__module__) or is_computing(fn.__globals__.get("__name__"))


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
    if is_computing(cls.__module__):
        return cls.__module__ not in _CLASSES
    if is_part_followed(cls.__module__) or top == "__main__":
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


def why_not(cls: type) -> str | None:
    """Why objects of `cls` can't be followed, or None."""
    if type(cls).__hash__ is None:
        return "its metaclass makes classes that can't be hashed"
    if issubclass(cls, enum.Enum):
        return "it is a member of an enumeration"
    if is_library_class(cls):
        return "its class comes from a library or is written in C"
    for base in cls.__mro__[:-1]:
        if not base.__flags__ & (1 << 9):
            return f"its class derives from {base.__name__}, which is written in C"
        if "__getattribute__" in vars(base):
            return "its class defines __getattribute__"
    return None


def is_quiet(cls: type) -> bool:
    """Objects without state to speak of: nothing to report when they are used as they are."""
    constant = (enum.Enum, BaseException, slice, range, type(...), type(NotImplemented), re.Pattern)
    return (
        issubclass(cls, constant)
        or cls.__module__ in ("typing", "types", "inspect", "dataclasses")
        or f"{cls.__module__}.{cls.__qualname__}" in _STATELESS
    )
