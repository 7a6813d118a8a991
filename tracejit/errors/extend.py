"""Errors of primitives that users define."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class PrimitiveRuleError(TracejitError, TypeError):
    """A rule given to tracejit.extend returned something of the wrong structure, shape or dtype."""

    code = "TJ155"
    cause = "the {rule} of primitive `{name}`: {problem}."
    remedies = (
        "return what the docstring of tracejit.extend says for that rule, with the dtypes of its operands",
        "convert with .astype(x.dtype)",
    )
    example = """
        import numpy as np, tracejit as tj
        half = tj.extend.pointwise("half", lambda x: (x / 2).sum(), derivatives=(lambda t, ans, x: t / 2,))
        half(np.ones(3))
    """


class PrimitiveNameError(TracejitError, ValueError):
    """A primitive was defined under a name that another one has."""

    code = "TJ156"
    cause = "the name {name!r} is taken by {owner}."
    remedies = ("choose another name", "pass replace=True to define a primitive of your own anew")
    example = """
        import numpy as np, tracejit as tj
        tj.extend.pointwise("sin", np.sin, derivatives=(lambda t, ans, x: np.cos(x) * t,))
    """


class PrimitiveSlotError(TracejitError, TypeError):
    """A primitive was defined with rules that do not fit together, or without one that it needs."""

    code = "TJ157"
    cause = "primitive `{name}`: {problem}."
    remedies = ("see the docstring of tracejit.extend.primitive",)
    example = """
        import numpy as np, tracejit as tj
        tj.extend.primitive("svdvals", eval=np.linalg.svd)
    """
