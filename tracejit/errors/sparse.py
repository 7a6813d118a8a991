"""Errors of sparse Jacobians."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class SparsityPatternError(TracejitError, ValueError):
    """The pattern given to tj.jacobian does not fit the function, or is not known where it is needed."""

    code = "TJ158"
    cause = "jacobian of {function}: {problem}."
    remedies = (
        "a pattern has a row for each output and a column for each input, True where one depends on the other",
        "pattern='detect' finds it at the first call",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.jacobian(lambda x: x[1:] - x[:-1], pattern=np.eye(4, dtype=bool))(np.ones(4))
    """
