"""The user's arrays as traced code sees them that captures them by name in an eager transformation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import ConcreteValueError
from tracejit.ir.seen import SeenArray
from tracejit.ir.values import Value
from tracejit.tracing import Box, Storage, is_tracing, new_array, shown


class CapturedArray(SeenArray):
    """A real array as traced code sees it that captures it by name in an eager transformation.

    It is the user's memory, and NumPy computes with it; but where NumPy's own arrays ask for
    integers, it may be indexed by traced values too.
    """

    def __getitem__(self, index: Any) -> Any:
        if type(index) is not int and _has_unknown(index):
            return shown(self.plain)[index]
        return super().__getitem__(index)

    def copied(self, array: np.ndarray) -> Any:
        """A copy is captured no more: while tracing it is a box, which may be assigned traced values."""
        return new_array(array) if is_tracing() and array.dtype.kind in "biufcmM" else array


def _has_unknown(index: Any) -> bool:
    """Whether an index holds a traced value that Python could not turn into an integer."""
    parts = (index.start, index.stop, index.step) if type(index) is slice else index
    if type(parts) is tuple or type(parts) is list:
        return any(map(_has_unknown, parts))
    if type(index) is not Box:
        return False
    if type(index.storage) is not Storage:  # what a traced mask selected
        return True
    value = index.read()
    if not isinstance(value, Value):
        return False
    try:
        value.concrete()
    except ConcreteValueError:
        return True
    return False
