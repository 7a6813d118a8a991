"""Errors of linear algebra."""

from __future__ import annotations

import numpy as np

from tracejit.errors.base import TracejitError


class MatrixDtypeError(TracejitError, TypeError):
    """Linear algebra computes in float32, float64, complex64 and complex128, as NumPy's does."""

    code = "TJ041"
    cause = "{op}: array type {dtype} is unsupported in linalg"
    remedies = ("convert the operands, for instance with x.astype(np.float32)",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(np.linalg.inv)(np.eye(3, dtype=np.float16))
    """


class MatrixShapeError(TracejitError, np.linalg.LinAlgError):
    """A function of matrices was given an array of another shape."""

    code = "TJ042"
    cause = "{op}: {problem}."
    remedies = ("matrices are in the last two axes; leading axes are stacks of them",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(np.linalg.inv)(np.ones((2, 3)))
    """


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
