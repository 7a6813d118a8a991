"""Structured arrays of traced values: bundles of columns, one for each field.

    particles = np.zeros(n, dtype=[("x", "f8"), ("id", "i4")])
    particles["x"] += dt          # the column `x` is an array of its own
    near = particles[particles["x"] < 1]

In come NumPy's structured arrays, tuples and numbers; out go the same. While tracing, an array is a `Structured`, whose
columns are boxes: what is written into a field is written into the column, and a view has views of the columns. Those
of an argument, or of an array that the function reads by name, are the fields of this array, in its memory. A result is
put together from its columns in NumPy's layout; what consists of views of an array of outside is a view of it. Fields
that hold no numbers may be there, but can't be used. Read `array.py` first.
"""

from __future__ import annotations

from tracejit.numpy.structured import nodes
from tracejit.numpy.structured.calls import made
from tracejit.numpy.structured.nodes import (
    adopted,
    in_gaps,
    is_new,
    is_structured,
    judge_choice,
    settled,
    unfollowed,
    whole,
)
from tracejit.numpy.structured.views import seen_in

__all__ = [
    "adopted",
    "in_gaps",
    "is_new",
    "is_structured",
    "judge_choice",
    "made",
    "seen_in",
    "settled",
    "unfollowed",
    "whole",
]

nodes.enter()
