"""Errors of convolutions and of reductions of windows."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class ConvolutionLayoutError(TracejitError, ValueError):
    """Dimension numbers or padding that do not say where the axes of a convolution are, or how it is padded."""

    code = "TJ045"
    cause = "{op}: {problem}."
    remedies = (
        "give three strings such as ('NHWC', 'HWIO', 'NHWC'): batch N and features C, output features O and "
        "input features I of the kernel, and the same letters for the spatial axes in all three",
        "give the padding as 'SAME', 'VALID' or one pair (before, after) a spatial axis",
    )
    example = """
        import numpy as np, tracejit as tj
        x, w = np.ones((1, 5, 5, 2)), np.ones((3, 3, 2, 4))
        tj.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWOO", "NHWC"))
    """


class WindowComputationError(TracejitError, TypeError):
    """The function that reduces windows does not give a number of the type of those it takes."""

    code = "TJ046"
    cause = "reduce_window: the computation takes {wanted} twice, and gives {found}."
    remedies = ("return one number of the operand's dtype, for several operands a tuple of them",)
    example = """
        import numpy as np, tracejit as tj
        tj.lax.reduce_window(np.ones(4), 0.0, lambda a, b: a > b, (2,), (1,), "VALID")
    """
