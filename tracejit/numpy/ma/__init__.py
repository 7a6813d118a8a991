"""Masked arrays that hold traced values: `numpy.ma` in traced code.

In come masked arrays, boxes and numbers; out go the same. NumPy has masked arrays in Python, as a subclass of its
arrays with functions around it. That code is what runs here, in copies (`copies`) whose arrays are boxes and whose
base class is `array.Array`, so that the rules of `numpy.ma` are NumPy's own: what lies under a mask, when a mask is
shared, which fill value a result has. Masked arrays are nodes of trees (`nodes`), of their data and their mask.
Read `array.py` first.
"""

from __future__ import annotations

from typing import Any

from tracejit.numpy.ma import nodes
from tracejit.numpy.ma.copies import entries, public
from tracejit.numpy.ma.nodes import adopted

__all__ = ["adopted", "entries", "namespace"]

nodes.enter()


class _Namespace:
    """What traced code sees as the module `numpy.ma`."""

    def __getattr__(self, name: str) -> Any:
        return public(name)


namespace = _Namespace()
