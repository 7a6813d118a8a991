"""Errors of NumPy functions that cannot take traced values: results of unknown length, no arithmetic at all."""

from __future__ import annotations

from tracejit.errors.arrays import ConcreteValueError, UnsupportedFunctionError
from tracejit.errors.base import TracejitError


class DataDependentShapeError(ConcreteValueError):
    """A function whose result's length depends on values that are not known while tracing, where that can't be traced.

    Eagerly (in grad, jvp …) the values are known, and the function works. Under jit and vmap they are not.
    """

    code = "TJ047"
    limit = True
    cause = "the length of what {name} gives depends on the values of a traced {aval}."
    remedies = (
        "{remedy}",
        "call it outside of jit and vmap, and pass its result in",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: np.unique(x, axis=0))(np.ones((3, 2)))
    """


class RefusedFunctionError(UnsupportedFunctionError, AttributeError):
    """A NumPy function or attribute that is not for traced values: it reads files, prints, asks about memory
    or dates. (As an AttributeError, too, so that `hasattr` says no.)"""

    code = "TJ048"
    cause = "{name} does not take traced values: {reason}."
    remedies = ("{remedy}",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: x.resize(2))(np.ones(3))
    """


class TruthValueError(TracejitError, ValueError):
    """The truth value of an array with more than one element, which NumPy does not tell either."""

    code = "TJ014"
    cause = "the truth value of an array with more than one element is ambiguous; use a.any() or a.all()"
    remedies = (
        "np.where(condition, a, b) chooses for each element",
        "x[condition] = value writes those elements for which it holds",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.grad(lambda x: (x if x > 0 else -x).sum())(np.ones(3))
    """
