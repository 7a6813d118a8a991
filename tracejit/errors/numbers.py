"""Errors of Python's numbers: what Python raises where NumPy warns, and what native code does not have.

An outermost jit runs the user's function in Python when a program fails with one of these, which then raises Python's
own error or gives the right number. What is said here is seen where nobody can do that: inside of a transformation.
"""

from __future__ import annotations

from typing import ClassVar

from tracejit.errors.base import TracejitError


class NumberError(TracejitError, ArithmeticError):
    """A Python number that native code does not have: an integer beyond 64 bits, a root that is complex, a decimal
    rounding that takes more digits than there are.

    A jitted function runs in Python then. Inside of another transformation it can't.
    """

    code = "TJ160"
    limit = True
    cause = "native code does not have the number that Python gives here: {message}"
    remedies = (
        "use NumPy's numbers, such as np.float64(x) or np.int64(n), if their results are right too",
        "call the function outside of the transformation for this argument",
    )
    example = """
        import tracejit as tj
        tj.grad(lambda x: (x ** 0.5).real)(-2.0)
    """
    redo: ClassVar[bool] = True


class NumberDivisionError(TracejitError, ZeroDivisionError):
    """A Python number divided by zero, where NumPy's numbers give an infinity or NaN."""

    code = "TJ161"
    cause = "{message}"
    remedies = ("divide by a NumPy number, such as np.float64(x), to get an infinity or NaN",)
    example = """
        import tracejit as tj
        tj.grad(lambda x: 1 / x)(0.0)
    """
    redo: ClassVar[bool] = True


class NumberDomainError(TracejitError, ValueError):
    """A function of `math`, or a conversion, has no value for this number."""

    code = "TJ162"
    cause = "{message}"
    remedies = ("use NumPy's function of that name, which gives NaN",)
    example = """
        import math, tracejit as tj
        tj.grad(lambda x: math.log(x))(-1.0)
    """
    redo: ClassVar[bool] = True


class NumberRangeError(TracejitError, OverflowError):
    """The result is too large for a Python number, where NumPy's numbers give an infinity."""

    code = "TJ163"
    cause = "{message}"
    remedies = ("use NumPy's function of that name, or NumPy's numbers, which give an infinity",)
    example = """
        import math, tracejit as tj
        tj.grad(lambda x: math.exp(x))(1000.0)
    """
    redo: ClassVar[bool] = True


class NumberSizeError(TracejitError, OverflowError):
    """A Python integer beyond 64 bits is used where a program needs a number: an argument, an operand."""

    code = "TJ164"
    cause = "{what} is the integer {value}, which 64 bits do not hold."
    remedies = (
        "mark an argument static with static_argnums, if it is not computed with",
        "give it as a float, or take it apart before",
    )
    example = """
        import tracejit as tj
        tj.jit(lambda x, n: x + n, fallback=False)(1.0, 10**30)
    """
