"""Functions that jit can't compile, or not soon enough, and what is told when Python runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.errors.base import TracejitError


class FallbackWarning(TracejitError, UserWarning):
    """A jitted function does something that tracing can't follow, so Python runs it as it is, on NumPy.

    The result is the right one; what is lost is the speed. It is told once a function.
    """

    code = "TJ220"
    cause = "{function} is run by Python, not compiled: {reason}"
    remedies = (
        "{remedy}",
        "jit(..., fallback=False) or tj.config.fallback = False (TRACEJIT_FALLBACK=0) make this an error",
        "silence it by warnings.filterwarnings('ignore', category=tj.errors.FallbackWarning)",
    )
    example = """
        import warnings
        import numpy as np, tracejit as tj
        warnings.simplefilter("error")

        def f(x):
            return {"total": x.sum().as_integer_ratio()}

        with tj.config.override(fallback=True):
            tj.jit(f)(np.ones(3))
    """


class CompileBudgetError(TracejitError, TimeoutError):
    """Tracing and compiling a function take more than `config.compile_budget` seconds of a processor's time, so Python
    runs the call. Tracing is then given up; compiling goes on in the background, and serves later calls.

    Usually a loop over a Python list, or a recursion, is unrolled into thousands of operations.
    """

    #: Does what is left to do of the machine code, and gives it; None if all was given up.
    rest: Callable[[], Any] | None = None
    #: Does it for a program, which calls then find complete.
    program_rest: Callable[[], Any] | None = None

    code = "TJ223"
    limit = True
    cause = "{doing} takes longer than {seconds:g} s."
    remedies = (
        "put the elements into an array, so that the loop over them can be native",
        "tj.config.compile_budget = 60 (TRACEJIT_COMPILE_BUDGET; 0: no limit) waits longer",
    )
