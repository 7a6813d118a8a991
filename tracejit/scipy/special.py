"""scipy.special for traced arrays: `from tracejit.scipy.special import logsumexp`.

Every function takes arrays, NumPy and Python scalars, and traced values. Without traced values it is SciPy's own.
User code that is traced may import them from SciPy itself. Names that are not here are SciPy's.
"""

from __future__ import annotations

from typing import Any as _Any

from tracejit import numpy as _tnp
from tracejit.numpy.dispatch import LIBRARIES as _LIBRARIES
from tracejit.ops._lazy import scipy_special as _scipy_special
from tracejit.scipy import functions as _functions  # noqa: F401  (these register their functions)
from tracejit.scipy import named as _named  # noqa: F401
from tracejit.scipy import registry as _registry
from tracejit.scipy.harmonics import spherical as _spherical  # noqa: F401
from tracejit.scipy.hosting.calls import others as _others

sinc = _tnp.sinc

globals().update(_registry.NAMES)

__all__ = ["sinc"]
__all__ += list(_registry.NAMES)


def _entries(module: _Any) -> dict[_Any, _Any]:
    return {getattr(module, name): ours for name, ours in _registry.NAMES.items() if hasattr(module, name)}


_LIBRARIES["scipy.special"] = _entries

__getattr__, __dir__ = _others(__name__, _scipy_special, __all__)
