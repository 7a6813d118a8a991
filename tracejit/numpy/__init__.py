"""NumPy's namespace for traced arrays: `import tracejit.numpy as tnp`.

Every function takes arrays, NumPy and Python scalars, sequences and traced
values. Without traced values it is NumPy's own function. `array_ufuncs` and
functions are also what `np.f(x)` calls for a traced `x`.
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from tracejit import ops as _ops  # noqa: F401  (fills the registry)
from tracejit.interpreters import eval as _eval  # noqa: F401  (installs the evaluating trace)
from tracejit.numpy import (  # noqa: F401  (each fills the tables)
    analysis,
    creation,
    dispatch,
    elementwise,
    linalg,
    methods,
    products,
    reductions,
    selection,
    shaping,
    ufuncs,
)
from tracejit.numpy.boxes import at as _at  # noqa: F401
from tracejit.numpy.dispatch import NAMES as _NAMES
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box as _Box

globals().update(_NAMES)

#: Names that are no computations on arrays: NumPy's own.
_FROM_NUMPY = (
    "pi e inf nan euler_gamma newaxis ndarray generic number integer inexact floating complexfloating "
    "signedinteger unsignedinteger bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp int_ uint "
    "byte short intc long longlong ubyte ushort uintc ulong ulonglong single double half float16 float32 float64 "
    "longdouble complex64 complex128 csingle cdouble clongdouble dtype finfo iinfo errstate seterr geterr seterrcall "
    "geterrcall printoptions get_printoptions set_printoptions format_float_positional format_float_scientific "
    "array_repr array_str array2string testing exceptions dtypes typing issubdtype isdtype promote_types broadcast_shapes "
    "ndindex ndenumerate s_ r_ c_ mgrid ogrid index_exp save savez savez_compressed load savetxt loadtxt genfromtxt "
    "fromstring frombuffer fromfile fromiter lib ctypeslib version show_config strings char rec ma polynomial "
    "iterable vectorize nditer broadcast flatiter ufunc matrix memmap recarray str_ bytes_ object_ void datetime64 "
    "timedelta64 character flexible typename mintypecode sctypeDict random fft unravel_index ravel_multi_index "
    "tril_indices triu_indices diag_indices mask_indices tril_indices_from triu_indices_from diag_indices_from "
    "bmat kaiser hamming hanning blackman bartlett may_share_memory shares_memory require test base_repr binary_repr "
    "einsum_path asarray_chkfinite"
).split()

for _name in _FROM_NUMPY:
    if _name not in globals() and hasattr(_np, _name):
        globals()[_name] = getattr(_np, _name)

bool, abs, all, any, max, min, round, sum, pow = (globals()[n] for n in "bool abs all any max min round sum pow".split())  # noqa: A001

__all__ = sorted({*_NAMES, *(n for n in _FROM_NUMPY if n in globals()), "linalg", "NUMPY_TO_TRACEJIT"})


def isarray(x: Any) -> Any:
    """Whether `x` is an array, real or traced."""
    return isinstance(x, (_np.ndarray, _Box))


def __getattr__(name: str) -> Any:
    """NumPy's other functions: they work on values that are not traced, and say so on others."""
    if hasattr(_np, name):
        return getattr(_np, name)
    raise AttributeError(f"neither NumPy nor tracejit.numpy has {name!r}")
