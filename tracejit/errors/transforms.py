"""Errors of the derivatives and of vmap."""

from __future__ import annotations

from typing import Any

from tracejit.errors.base import TracejitError


class FunctionNeededError(TracejitError, TypeError):
    """A transformation was given something else than a function: most often the result of a call."""

    code = "TJ024"
    cause = "{transformation} takes a function, not {type}."
    remedies = (
        "give the function itself, and the arguments to what comes back: tj.grad(f)(x), not tj.grad(f(x))",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.grad(np.sum(np.ones(3)))
    """

    @classmethod
    def check(cls, transformation: str, f: Any) -> None:
        """Raises it if `f` can't be called."""
        if not callable(f):
            raise cls(transformation=transformation, type=type(f).__name__)


class TargetError(TracejitError, ValueError):
    """A subcommand of `python -m tracejit` was not told which function it is about, or with which arguments."""

    code = "TJ290"
    cause = "`{target}` can't be called: {reason}."
    remedies = (
        "write the file, a colon and the function: python -m tracejit show mine.py:step",
        "give the arguments as in a call: --args 'np.ones(3), n=2'",
    )
    example = """
        from tracejit.terminal import targets
        targets.load("nothing.py:step")
    """


class NotDifferentiableError(TracejitError, TypeError):
    """A derivative of an operation that has none was asked for."""

    code = "TJ006"
    limit = True
    cause = "{op} has no derivative: {reason}"
    remedies = ("wrap the operand in tracejit.lax.stop_gradient", "give the function a custom_jvp rule")
    example = """
        import tracejit as tj
        f = tj.custom_vjp(lambda x: x * x)
        f.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))
        tj.jvp(f, (1.0,), (1.0,))
    """


class MemoryBudgetError(TracejitError, ValueError):
    """A derivative was to stay within so many bytes, and no plan that was found does."""

    code = "TJ038"
    cause = "no plan for the derivative of {function} stays within the budget: {problem}."
    remedies = (
        "give it as many bytes as it says, which count all that lies between arguments and results",
        "compute in float32, or on fewer examples at a time",
        "write long chains as a loop, and its number of steps as a constant: tj.grad(lambda x: f(x, 50), memory=...)",
    )
    example = """
        import numpy as np, tracejit as tj
        def f(x):
            for _ in range(3):
                x = np.tanh(x @ x)
            return x.sum()
        tj.grad(f, memory=1000)(np.ones((100, 100)))
    """


class NotLinearError(TracejitError, TypeError):
    """linear_transpose was given a function that is not linear in its arguments."""

    code = "TJ012"
    cause = "{function} is not linear in its arguments."
    remedies = ("take the derivative first: tj.linearize gives a linear function", "use tj.vjp")
    example = """
        import numpy as np, tracejit as tj
        tj.linear_transpose(lambda x: np.sin(x), np.ones(3))(np.ones(3))
    """


class PytreeMismatchError(TracejitError, TypeError, ValueError):
    """Two trees that must have the same containers do not: in_axes and arguments, tangents and primals."""

    code = "TJ020"
    cause = "{what}{path} does not fit: {problem}."
    remedies = ("compare the two with tracejit.tree.structure",)
    example = """
        import tracejit as tj
        tj.tree.map(lambda a, b: a + b, {"w": 1.0, "b": 2.0}, {"w": 1.0})
    """


class NonScalarOutputError(TracejitError, TypeError):
    """grad needs a function whose result is one number."""

    code = "TJ021"
    cause = "{transformation} needs a function that returns a scalar; {function} returned {got}."
    remedies = ("reduce the result, for instance with np.sum", "use jacrev, jacfwd or vjp")
    example = """
        import numpy as np, tracejit as tj
        tj.grad(lambda x: x * 2)(np.ones(3))
    """


class NonFloatInputError(TracejitError, TypeError):
    """A derivative with respect to an integer, a boolean, or (without holomorphic=True) a complex input."""

    code = "TJ022"
    cause = "{transformation} needs {needed} inputs; {argument} has dtype {dtype}."
    remedies = (
        "convert the argument with .astype(float), or write 3.0 for 3",
        "differentiate with respect to another argument with argnums, if it is a key, an index or a flag",
        "pass allow_int=True for float0 gradients, or holomorphic=True for complex inputs",
    )
    example = """
        import tracejit as tj
        tj.grad(lambda x: x * 2.0)(3)
    """


class NonFloatOutputError(TracejitError, TypeError):
    """A gradient of a function whose result is an integer, a boolean, or unexpectedly complex."""

    code = "TJ023"
    cause = "{transformation} needs a function with {needed} outputs; {function} returned dtype {dtype}."
    remedies = ("return a float, for instance with .astype(float)", "use np.real, or holomorphic=True")
    example = """
        import numpy as np, tracejit as tj
        tj.grad(lambda x: (x > 0).sum())(np.ones(3))
    """


class ArgumentCountError(TracejitError, TypeError, ValueError):
    """A transformation names an argument position that the call did not have."""

    code = "TJ027"
    cause = (
        "{transformation}: argnums={argnums!r}, but {function} was called with {count} positional arguments."
    )
    remedies = ("positions count from 0", "pass the argument by position, not by keyword")
    example = """
        import tracejit as tj
        tj.grad(lambda x, y: x * y, argnums=2)(1.0, 2.0)
    """


class VmapSizeError(TracejitError, ValueError):
    """The arguments of a vmapped function have different sizes along their mapped axes."""

    code = "TJ028"
    cause = "vmap of {function}: the mapped axes have different sizes: {sizes}."
    remedies = ("set in_axes to None for arguments that all calls share", "choose other axes with in_axes")
    example = """
        import numpy as np, tracejit as tj
        tj.vmap(lambda x, y: x + y)(np.ones(3), np.ones(4))
    """


class VmapAxisError(TracejitError, ValueError, IndexError):
    """in_axes or out_axes is not an axis of the array it belongs to."""

    code = "TJ029"
    cause = "vmap of {function}: {what} is {axis!r}: {problem}."
    remedies = (
        "axes are integers from -ndim to ndim - 1, or None",
        "in_axes is a tuple with one entry an argument",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.vmap(lambda x: x, in_axes=1)(np.ones(3))
    """


class VmapNothingMappedError(TracejitError, ValueError):
    """No argument is mapped, so that the size of the new axis is unknown."""

    code = "TJ030"
    cause = "vmap of {function}: every in_axes is None and axis_size is not given."
    remedies = ("map at least one argument", "pass axis_size")
    example = """
        import tracejit as tj
        tj.vmap(lambda x: x, in_axes=None)(1.0)
    """


class VmapOutputError(TracejitError, ValueError):
    """out_axes says None for a result that differs from call to call."""

    code = "TJ031"
    cause = "vmap of {function}: output{path} has out_axes=None but depends on a mapped argument."
    remedies = ("give it an axis in out_axes",)
    example = """
        import numpy as np, tracejit as tj
        tj.vmap(lambda x: x, out_axes=None)(np.ones(3))
    """


class TangentMismatchError(TracejitError, TypeError, ValueError):
    """The tangents given to jvp must have the containers, shapes and tangent dtypes of the primals."""

    code = "TJ034"
    cause = "{transformation}: the tangent of {argument} must be {expected}; got {got}."
    remedies = (
        "convert it with .astype(primal.dtype) and np.reshape",
        "tangents of integers have dtype float0",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.jvp(lambda x: x * 2, (np.ones(3),), (np.ones(4),))
    """


class CotangentMismatchError(TracejitError, TypeError, ValueError):
    """The cotangent given to a pullback must have the containers, shapes and dtypes of the function's result."""

    code = "TJ035"
    cause = "the cotangent of output{path} must be {expected}; got {got}."
    remedies = ("pass np.ones_like(result), or whatever weights its elements",)
    example = """
        import numpy as np, tracejit as tj
        _, pullback = tj.vjp(lambda x: x * 2, np.ones(3))
        pullback(np.ones(4))
    """
