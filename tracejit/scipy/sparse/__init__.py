"""SciPy's sparse arrays with traced elements.

In comes SciPy's own Python code, which runs as the user's does (`frontend/origins.py`), on arrays whose structure is
known, or an input where only products need it (`frontend/structures.py`). Where it calls one of its compiled functions
with elements that are traced, the forms here compute. What a function does to elements is asked of the function itself:
given positions in their place, it shows where each goes. Read `forms`, then `products`, `operations`, `moves`, and for
linear equations `solving`, `hosted`, `krylov`, `squares` and `spectra`. (`linalg` has JAX's names, whose matrices are
functions.)
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tracejit import numpy as tnp
from tracejit.lazily import parts
from tracejit.numpy.dispatch import LIBRARIES
from tracejit.numpy.operands import has_box
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.sparse import (
    general,
    gmres,
    graphs,
    hosted,
    krylov,
    moves,
    operations,
    products,
    spectra,
    squares,
)
from tracejit.scipy.sparse.forms import Form, form_of
from tracejit.scipy.sparse.solving import SOLVERS

if TYPE_CHECKING:
    from tracejit.scipy.sparse import linalg

__all__ = [
    "general",
    "gmres",
    "graphs",
    "hosted",
    "krylov",
    "linalg",
    "moves",
    "operations",
    "products",
    "spectra",
    "squares",
]
__getattr__, __dir__ = parts(__name__, ["linalg"])


def _entries(module: Any) -> dict[Any, Form]:
    names = [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("__")]
    entries = {getattr(module, n): form_of(n, getattr(module, n)) for n in names}
    entries[scipy_module("_lib._util")._prune_array] = lambda array: array  # it gives back memory
    sputils, index = scipy_module("sparse._sputils"), scipy_module("sparse._index")
    # They keep what they have found, or catch what is no error of a traced value.
    whole = [sputils.upcast, sputils.upcast_char, sputils.upcast_scalar, sputils.is_pydata_spmatrix]
    whole.append(index._compatible_boolean_index)
    entries[index._broadcast_arrays] = functools.partial(_broadcast, index._broadcast_arrays)
    return entries | {f: functools.partial(f) for f in whole}


def _broadcast(function: Any, *arrays: Any) -> Any:
    """Traced indices have no memory that could be written."""
    return tnp.broadcast_arrays(*arrays) if has_box(arrays) else function(*arrays)


LIBRARIES["scipy.sparse._sparsetools"] = _entries
LIBRARIES["scipy.sparse.linalg"] = lambda module: {getattr(module, n): f for n, f in SOLVERS.items()}
