"""Trees of arrays as one vector, and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.docstrings import complete as _complete
from tracejit.errors import ShapeError

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves of a tree in one vector, and the function that makes the tree of such a vector.

    Parameters
    ----------
    pytree
        A tree of arrays and numbers. The vector has the dtype to which all of theirs promote (float64 for a tree
        without leaves), and n elements, the sum of their sizes, in the order of `tree.leaves`, each leaf in C order.

    Returns
    -------
    vector
        An array of shape (n,).
    unravel
        A function of an array of shape (n,), which gives a tree of the same structure, shapes and dtypes. It raises
        ShapeError for another shape.
    """
    leaves, treedef = tree.flatten(pytree)
    arrays = [tnp.asarray(x) for x in leaves]
    if not arrays:
        return np.zeros(0), lambda vector: tree.unflatten(treedef, [])
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    dtype = np.result_type(*dtypes)
    sizes = [int(np.prod(shape)) for shape in shapes]
    ends = list(itertools.accumulate(sizes))

    def unravel(vector: Any) -> Any:
        vector = tnp.asarray(vector)
        if vector.shape != (ends[-1],):
            problem = f"the tree has {ends[-1]} elements, the vector has shape {vector.shape}"
            raise ShapeError(op="unravel", problem=problem)
        parts = [
            vector[end - size : end].reshape(shape).astype(own)
            for end, size, shape, own in zip(ends, sizes, shapes, dtypes, strict=True)
        ]
        return tree.unflatten(treedef, parts)

    return tnp.concatenate([x.reshape(-1).astype(dtype) for x in arrays]), unravel


_complete(__name__)
