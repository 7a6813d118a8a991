"""NumPy's namespace for traced arrays: `import tracejit.numpy as tnp`.

Every function takes arrays, NumPy and Python scalars, sequences and traced
values. Without traced values it is NumPy's own function. They are also what
`np.f(x)` calls for a traced `x`. Importing this package fills the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _np

from tracejit import dtypes as _dtypes
from tracejit import ops as _ops
from tracejit import tree as _tree
from tracejit.docstrings import complete as _complete
from tracejit.interpreters import eval as _eval
from tracejit.lazily import parts as _parts
from tracejit.numpy import dispatch
from tracejit.numpy.boxes import at as _at
from tracejit.numpy.boxes import conversions as _conversions
from tracejit.numpy.boxes import flags as _flags
from tracejit.numpy.boxes import methods as _methods
from tracejit.numpy.boxes import operators as _operators
from tracejit.numpy.boxes import pythons as _pythons
from tracejit.numpy.dispatch import NAMES as _NAMES
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.functions import questions as _questions
from tracejit.numpy.functions import refused as _refused
from tracejit.numpy.functions.algebra import products as _products
from tracejit.numpy.functions.arrays import creation as _creation
from tracejit.numpy.functions.arrays import grids as _grids
from tracejit.numpy.functions.arrays import iterators as _iterators
from tracejit.numpy.functions.arrays import joining as _joining
from tracejit.numpy.functions.arrays import mapping as _mapping
from tracejit.numpy.functions.arrays import padding as _padding
from tracejit.numpy.functions.arrays import pieces as _pieces
from tracejit.numpy.functions.arrays import positions as _positions
from tracejit.numpy.functions.arrays import ranges as _ranges
from tracejit.numpy.functions.arrays import shaping as _shaping
from tracejit.numpy.functions.arrays import splitting as _splitting
from tracejit.numpy.functions.arrays import windows as _windows
from tracejit.numpy.functions.numerics import analysis as _analysis
from tracejit.numpy.functions.numerics import bits as _bits
from tracejit.numpy.functions.numerics import calculus as _calculus
from tracejit.numpy.functions.numerics import convolutions as _convolutions
from tracejit.numpy.functions.numerics import of_one_variable as _of_one_variable
from tracejit.numpy.functions.numerics import polynomials as _polynomials
from tracejit.numpy.functions.numerics import series as _series
from tracejit.numpy.functions.order import searching as _searching
from tracejit.numpy.functions.order import selection as _selection
from tracejit.numpy.functions.order import sets as _sets
from tracejit.numpy.functions.order import sorting as _sorting
from tracejit.numpy.functions.statistics import covariances as _statistics
from tracejit.numpy.functions.statistics import histograms as _histograms
from tracejit.numpy.functions.statistics import nanreductions as _nanreductions
from tracejit.numpy.functions.statistics import quantiles as _quantiles
from tracejit.numpy.functions.statistics import reductions as _reductions
from tracejit.numpy.times import calls as _times

if TYPE_CHECKING:
    from tracejit.numpy import fft, linalg

_part, _ = _parts(__name__, ["fft", "linalg", "ma", "structured"])

__all__ = ["NUMPY_TO_TRACEJIT", "fft", "linalg"]
__all__ += list(_NAMES)


def _filled(part: str) -> dict[Any, Any]:
    """What enters the table with a part of NumPy: importing ours fills it."""
    _part(part)
    return {}


def _adopted(value: Any) -> Any:
    """What stands for a masked array, a structured array or a polynomial."""
    if type(value).__module__ == "numpy.ma":
        return _part("ma").adopted(value)
    if isinstance(value, _np.ndarray):
        return _part("structured").adopted(value) if _dtypes.structure_of(value.dtype) else None
    return _of_one_variable.adopted(value)


dispatch.LIBRARIES["numpy.fft"] = lambda module: _filled("fft")
dispatch.OBJECTS["numpy"] = _adopted
_tree.LATER["numpy.ma"] = lambda: _part("ma")
dispatch.LIBRARIES["numpy.ma"] = lambda module: _part("ma").entries(module)
dispatch.LIBRARIES["numpy.linalg"] = lambda module: _filled("linalg")


def __getattr__(name: str) -> Any:
    """Our functions; of NumPy's other names dtypes, constants, and functions of values that are not traced."""
    if name in ("fft", "linalg"):
        return _part(name)
    if name in _NAMES:  # asked for the first time: now it is worth a whole docstring
        found = globals()[name] = _NAMES[name]
        _complete(__name__, {name: found})
        return found
    if hasattr(_np, name):
        return getattr(_np, name)
    raise AttributeError(f"neither NumPy nor tracejit.numpy has {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *dir(_np), "fft", "linalg"})
