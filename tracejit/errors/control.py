"""Errors of control flow and of custom rules."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class CarryTypeError(TracejitError, TypeError):
    """A loop's body gave back a carry of another type than it was given.

    Loops are compiled once, so that types can't change from step to step.
    Python scalars at the start take the type that the body gives.
    """

    code = "TJ140"
    cause = "{op}: {path} goes into the body as {before} and comes out as {after}."
    remedies = ("start the loop with the type that the body returns", "convert in the body: x.astype(...)")
    example = """
        import numpy as np, tracejit as tj
        tj.lax.fori_loop(0, 3, lambda i, x: x * 1j, np.ones(2))
    """


class CarryStructureError(TracejitError, TypeError):
    """A loop's body gave back a carry of another pytree structure than it was given."""

    code = "TJ141"
    cause = "{op}: the carry goes into the body as {before} and comes out as {after}."
    remedies = ("return the same containers with the same keys as the body gets",)
    example = """
        import tracejit as tj
        tj.lax.while_loop(lambda c: c[0] < 3, lambda c: c[0] + 1, (0,))
    """


class BranchTypeError(TracejitError, TypeError):
    """The branches of a cond or switch give different types or structures."""

    code = "TJ142"
    cause = "{op}: at {path}, {first} gives {a} and {second} gives {b}."
    remedies = ("make all branches return the same structure, shapes and dtypes",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: tj.lax.cond(x[0] > 0, lambda: x, lambda: x[:2]))(np.ones(3))
    """


class PredicateError(TracejitError, TypeError):
    """A condition or branch index that is no single boolean or integer."""

    code = "TJ143"
    cause = "{op}: the condition is {aval}, not {wanted}."
    remedies = ("reduce it with .all() or .any()", "use where or select to choose element by element")
    example = """
        import numpy as np, tracejit as tj
        tj.lax.cond(np.array([True, False]), lambda: 1, lambda: 2)
    """


class LoopLengthError(TracejitError, ValueError, TypeError):
    """The number of steps of a loop is missing, contradictory or not an integer."""

    code = "TJ144"
    cause = "the number of steps of the loop is not clear: {problem}."
    remedies = ("give arrays of equal length, or length=", "use fori_loop for a traced number of steps")
    example = """
        import numpy as np, tracejit as tj
        tj.lax.scan(lambda c, x: (c, x), 0.0, (np.ones(3), np.ones(4)))
    """


class ScanResultError(TracejitError, TypeError):
    """The function given to scan did not return a pair."""

    code = "TJ145"
    cause = "scan: the function must return a pair (carry, y), not a {found}."
    remedies = ("return carry, None if there is nothing to stack",)
    example = """
        import tracejit as tj
        tj.lax.scan(lambda c, x: c, 0.0, length=3)
    """


class CustomRuleError(TracejitError, TypeError):
    """A rule given to custom_jvp or custom_vjp returned something of the wrong structure or type."""

    code = "TJ146"
    cause = "{rule}: {problem}."
    remedies = (
        "a jvp rule returns (out, tangent_out), both like the function's result",
        "a bwd rule returns one cotangent an argument, each like the argument (or None for zero)",
    )
    example = """
        import numpy as np, tracejit as tj
        f = tj.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, (x, y)), lambda res, g: (g,))
        tj.grad(f)(1.0, 2.0)
    """


class LinearSolveError(CustomRuleError):
    """A function given to custom_linear_solve returns something that is not like b."""

    code = "TJ062"
    cause = "custom_linear_solve: {function} gives {given}, where b is {needed}."
    remedies = (
        "matvec and solve return a tree of arrays like b",
        "pass has_aux=True where solve returns (x, aux)",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.lax.custom_linear_solve(lambda x: x[:2] * 2.0, np.ones(3), lambda matvec, b: b / 2.0)
    """


class NotAFunctionError(TracejitError, TypeError):
    """A loop or branch was given something else where it needs a function."""

    code = "TJ063"
    cause = "{op}: {name} is a function, but this is of type {type}."
    remedies = ("pass the function, not what it returns: `lambda x: ...`",)
    example = """
        import tracejit as tj
        tj.lax.cond(True, 1.0, 2.0)
    """


class MissingRuleError(TracejitError, AttributeError):
    """A function with custom rules was called before its rules were given."""

    code = "TJ147"
    cause = "{name} has no rule yet: {missing} was not called."
    remedies = ("call {missing} right after the definition",)
    example = """
        import tracejit as tj
        f = tj.custom_jvp(lambda x: x)
        tj.grad(f)(1.0)
    """


class ClosureDerivativeError(TracejitError, TypeError):
    """A derivative with respect to something that a function with custom rules closes over was asked for.

    The rule knows the function's arguments only.
    """

    code = "TJ148"
    cause = "{name} has custom rules and closes over a value that is being differentiated."
    remedies = ("pass the value as an argument", "wrap it in tracejit.lax.stop_gradient")
    example = """
        import tracejit as tj
        def outer(y):
            f = tj.custom_jvp(lambda x: x * y)
            f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
            return f(2.0)
        tj.grad(outer)(3.0)
    """


class UnboundAxisError(TracejitError, NameError):
    """A collective names an axis that no surrounding vmap has."""

    code = "TJ149"
    cause = "{op}: no vmap around this call has the axis name {name!r}."
    remedies = ("give the name to the vmap: vmap(f, axis_name={name!r})",)
    example = """
        import tracejit as tj
        tj.lax.psum(1.0, "batch")
    """


class LonelyLaneError(TracejitError, TypeError):
    """A collective between lanes that don't run together: their arrays have extents of their own."""

    code = "TJ061"
    limit = True
    cause = (
        "a collective over axis {axis!r} stands where each lane runs by itself, since extents in it differ "
        "between the lanes."
    )
    remedies = (
        "use arrays of the same size in all lanes, with a mask: `np.where(np.arange(n) < k, x, 0)`",
        "move the collective out of the loop or branch",
    )
    example = """
        import numpy as np, tracejit as tj

        def f(k, x):
            return tj.lax.fori_loop(0, 3, lambda i, t: t + tj.lax.psum(np.sum(x[:k]), "lanes"), 0.0)

        tj.vmap(f, axis_name="lanes")(np.array([1, 2]), np.ones((2, 4)))
    """
