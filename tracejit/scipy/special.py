"""scipy.special for traced arrays: `from tracejit.scipy.special import logsumexp`.

Every function takes arrays, NumPy and Python scalars, and traced values. Without traced values it is SciPy's own.
User code that is traced may import them from SciPy itself. Names that are not here are SciPy's.
"""

from __future__ import annotations

import importlib as _importlib

from tracejit import numpy as _tnp
from tracejit.ops._lazy import scipy_special as _scipy_special
from tracejit.scipy import formulas as _formulas
from tracejit.scipy import functions as _functions  # noqa: F401  (it registers its functions)
from tracejit.scipy import registry as _registry
from tracejit.scipy.hosting.calls import others as _others

for _name, (_fn, _nin) in _formulas.TABLE.items():
    _registry.ufunc(_name, _fn, _nin)
for _name, _fn in _formulas.PAIRS.items():
    _registry.ufunc(_name, _fn, 1, 2)

_importlib.import_module("tracejit.scipy.harmonics.spherical")
_importlib.import_module("tracejit.scipy.named")  # its functions are made of those above

sinc = _tnp.sinc

globals().update(_registry.NAMES)

__all__ = ["sinc"]
__all__ += list(_registry.NAMES)

__getattr__, __dir__ = _others(__name__, _scipy_special, __all__)
