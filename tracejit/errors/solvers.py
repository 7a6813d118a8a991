"""Errors of optimisers and of solvers."""

from __future__ import annotations

from typing import ClassVar

from tracejit.errors.base import TracejitError
from tracejit.errors.loops import ListRoomError


class OptimizerArgumentError(TracejitError, ValueError):
    """An optimiser, a schedule or a step of one that is not given what it needs."""

    code = "TJ180"
    cause = "{function}: {problem}."
    remedies = ("see `help(tracejit.optim.{function})` for what it takes",)
    example = """
        import tracejit as tj
        tj.optim.cosine_decay_schedule(0.1, decay_steps=0)
    """


class SolverFailedError(TracejitError, RuntimeError):
    """A solver that did not come to its end: steps became too small, a root was not bracketed, or it took more steps
    than it may.

    A jitted function runs in Python then, where SciPy's solver reports it. Inside of another transformation it can't.
    """

    code = "TJ181"
    limit = True
    cause = "{message}"
    remedies = (
        "look at the function near that point; outside of the transformation SciPy's solver says more",
    )
    example = """
        import numpy as np, scipy.integrate, tracejit as tj
        def last(k):
            return scipy.integrate.solve_ivp(lambda t, y: k * y * y, (0, 2), [1.0], t_eval=np.array([2.0])).y[0, 0]
        tj.grad(last)(1.0)
    """
    redo: ClassVar[bool] = True


class SolverRoomError(ListRoomError):
    """A solver takes more steps, or boxes, than the program has room for.

    A jitted function is then traced again with more room. Inside of another transformation it can't be.
    """

    code = "TJ185"
    cause = "a solver takes more than {room} steps or boxes, for which the program has no room."
    remedies = (
        "differentiate or batch inside of `jit`, which makes room: jit(grad(f)) instead of grad(f)",
        "give `t_eval` to `solve_ivp`: the result has those times then, and any number of steps between them",
    )
    example = """
        import numpy as np, scipy.integrate, tracejit as tj
        def last(k):
            return scipy.integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], max_step=1e-4).y[0, -1]
        tj.grad(last)(1.0)
    """


class RootBracketError(TracejitError, ValueError):
    """A root is looked for in an interval at whose ends the function has values of the same sign.

    A jitted function runs in Python then, and SciPy raises its own ValueError. Inside of another transformation and
    with `fallback=False` this error is raised.
    """

    code = "TJ184"
    limit = True
    cause = "{message}."
    remedies = ("give an interval at whose ends the signs differ",)
    example = """
        import scipy.optimize, tracejit as tj
        tj.grad(lambda c: scipy.optimize.brentq(lambda x: x * x + c, 0.0, 5.0))(2.0)
    """
    redo: ClassVar[bool] = True


class SolverOptionError(TracejitError, ValueError):
    """An option of a solver that has no traced form."""

    code = "TJ182"
    limit = True
    cause = "{function} has no traced form with {problem}."
    remedies = ("{remedy}", "outside of transformations, SciPy's own function runs")
    example = """
        import numpy as np, scipy.integrate, tracejit as tj
        tj.grad(lambda x: scipy.integrate.romb(x * np.ones(5), show=True))(1.0)
    """


class LibraryResultError(TracejitError, ValueError):
    """A function of SciPy that a program calls as it is gave something else than it gave for the sample values with
    which it was asked while tracing: other shapes, dtypes or classes; or it warned. Or compiled code of Numba's that is
    called by its address raised an exception, wrote into an argument or gave one, or gave an array of another shape.

    A jitted function runs in Python then. Inside of another transformation it can't.
    """

    code = "TJ183"
    limit = True
    cause = "{function}, which has no traced form and is called by the program, {problem}."
    remedies = ("call it outside of the transformation", "use a function whose results have known shapes")
    example = """
        import ctypes, numba, tracejit as tj

        cbrt = ctypes.CDLL(None).cbrt  # of C's library
        cbrt.argtypes, cbrt.restype = [ctypes.c_double], ctypes.c_double

        @numba.njit
        def f(x):
            if x < 0:
                raise ValueError("negative")
            return cbrt(x)

        g = tj.jit(f, fallback=False)
        g(8.0)
        g(-8.0)
    """
    redo: ClassVar[bool] = True
