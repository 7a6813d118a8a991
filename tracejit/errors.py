"""Every error a user can cause: one class, one stable code, one page.

A class states its code, a one-sentence cause (a format string), and remedies.
`python -m tracejit help TJ012` prints the page. The user's own file and line
are added when the error is raised.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from typing import Any, ClassVar

import numpy as np

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep

CODES: dict[str, type[TracejitError]] = {}


def is_internal(filename: str) -> bool:
    """True for files of this package (frames that no user wrote)."""
    return filename.startswith((_PACKAGE, "<tracejit"))


def is_library(filename: str) -> bool:
    """True for files of this package, of NumPy, and of the import system."""
    return filename.startswith((_PACKAGE, "<tracejit", _NUMPY, "<frozen"))


def user_location() -> str | None:
    """`file:line` of the innermost frame outside the package, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_library(name):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class TracejitError(Exception):
    """Base of all. Subclasses also derive from the builtin exception Python would raise."""

    code: ClassVar[str] = "TJ000"
    cause: ClassVar[str] = ""
    remedies: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""  # Python that raises it; the tests run it

    def __init_subclass__(cls) -> None:
        if "code" in cls.__dict__:
            if cls.code in CODES:
                raise TypeError(f"{cls.__name__} reuses {cls.code}")
            CODES[cls.code] = cls

    def __init__(self, *, where: str | None = None, **details: Any) -> None:
        self.details = details
        self.where = where or user_location()
        super().__init__(self._message())

    def _message(self) -> str:
        lines = [f"[{self.code}] {self.cause.format(**self.details)}"]
        if self.where:
            lines.append(f"  at {self.where}")
        lines += [f"  - {r.format(**self.details)}" for r in self.remedies]
        lines.append(f"  (python -m tracejit help {self.code})")
        return "\n".join(lines)

    def __str__(self) -> str:  # KeyError-like bases would print a repr
        return self.args[0]

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.where, {k: str(v) for k, v in self.details.items()})

    @classmethod
    def page(cls) -> str:
        """The help page: cause, remedies, an example that raises it."""
        out = [f"{cls.code}  {cls.__name__}", "", textwrap.dedent(cls.__doc__ or "").strip(), ""]
        out += ["Message:", f"  {_blanks(cls.cause)}", "", "Remedies:"]
        out += [f"  - {_blanks(r)}" for r in cls.remedies]
        if cls.example:
            out += ["", "Example:", textwrap.indent(textwrap.dedent(cls.example).strip(), "    ")]
        return "\n".join(out)


def _blanks(text: str) -> str:
    """A format string for reading: `{shape!r}` as `<shape>`."""
    return re.sub(r"\{(\w+)[^}]*\}", r"<\1>", text)


def _rebuild(cls: type[TracejitError], where: str | None, details: dict[str, str]) -> TracejitError:
    return cls(where=where, **details)


class UnknownDtypeError(TracejitError, TypeError):
    """A dtype that tracejit cannot compute with: objects, strings, dates, structures."""

    code = "TJ001"
    cause = "{dtype!r} is not a numeric dtype."
    remedies = ("use bool, an integer, float16/32/64, bfloat16 or complex64/128",)
    example = """
        import tracejit as tj
        tj.eval_shape(lambda x: x, tj.ShapeDtypeStruct((2,), "U3"))
    """


class TypeRuleError(TracejitError, TypeError):
    """An operation was given dtypes or a number of operands it does not take."""

    code = "TJ002"
    cause = "{op}: {problem}"
    remedies = ("convert the operands with x.astype(...)",)


class ShapeError(TracejitError, ValueError):
    """Shapes that do not fit together."""

    code = "TJ003"
    cause = "{op}: {problem}"
    remedies = ("print the shapes with tj.eval_shape, or insert an axis with x[:, None]",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x, y: x + y)(np.ones(3), np.ones(4))
    """


class AxisError(TracejitError, ValueError, IndexError):
    """An axis outside of the array's dimensions."""

    code = "TJ004"
    cause = "{op}: axis {axis} is out of bounds for an array of {ndim} dimensions."
    remedies = ("axes run from -{ndim} to {ndim} - 1",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: np.sum(x, axis=2))(np.ones((3, 4)))
    """


class LeakedTracerError(TracejitError, RuntimeError):
    """A traced value was used after its transformation had ended.

    It was usually stored in a global, an attribute or a list while tracing.
    """

    code = "TJ005"
    cause = "a traced value {value} was used after the trace that made it had ended."
    remedies = ("return the value from the traced function instead of storing it",)
    example = """
        import numpy as np, tracejit as tj
        kept = []
        tj.jit(lambda x: kept.append(x * 2) or x)(np.ones(3))
        kept[0] + 1
    """


class NotDifferentiableError(TracejitError, TypeError):
    """A derivative of an operation that has none was asked for."""

    code = "TJ006"
    cause = "{op} has no derivative: {reason}"
    remedies = ("wrap the operand in tracejit.lax.stop_gradient", "give the function a custom_jvp rule")


class InternalTypeError(TracejitError, AssertionError):
    """The IR is inconsistent. This is a bug in tracejit, never the user's fault."""

    code = "TJ007"
    cause = "inconsistent IR: {problem}"
    remedies = ("please report it with the program that caused it",)


class DynamicExtentError(TracejitError, TypeError):
    """An operation cannot take a dimension whose size is a traced integer."""

    code = "TJ008"
    cause = "{op}: {problem}"
    remedies = ("use a static size, or slice from an array whose size bounds it",)


class IndexOutOfRangeError(TracejitError, IndexError):
    """An index outside of the array, as NumPy raises it; compiled code raises it too."""

    code = "TJ009"
    cause = "index {index} is out of bounds for axis {axis} with size {size}."
    remedies = ("use x.at[i].get(mode='clip') or mode='fill' for JAX's behaviour",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x, i: x[i])(np.arange(3.0), 7)
    """


class ConcreteValueError(TracejitError, TypeError):
    """The value of a traced array was needed while its program was still being recorded."""

    code = "TJ010"
    cause = "the value of a traced {aval} is not known while tracing."
    remedies = ("use tracejit.lax.cond, where or while_loop", "mark the argument static with static_argnums")


class NotAnArrayError(TracejitError, TypeError):
    """Something that is neither an array nor a number was given to, or returned from, a traced function."""

    code = "TJ011"
    cause = "{what} is a {type}, which is not an array or a number: {value!r}."
    remedies = ("register its class with tracejit.tree.register", "pass it as a static argument")
    example = """
        import tracejit as tj
        tj.jit(lambda x: "text")(1.0)
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


class UnhashableStaticError(TracejitError, ValueError, TypeError):
    """A static argument is part of the key under which the compiled program is kept: it must be hashable."""

    code = "TJ025"
    cause = "static argument {argument} of {function} is a {type}, which cannot be hashed."
    remedies = ("pass a tuple instead of a list", "give its class __hash__ and __eq__")
    example = """
        import tracejit as tj
        tj.jit(lambda x, n: x * n[0], static_argnums=1)(1.0, [2])
    """


class StaticArgumentError(TracejitError, ValueError):
    """static_argnums, donate_argnums and the like name an argument that the function does not have."""

    code = "TJ026"
    cause = "{option}={value!r}: {function} {problem}."
    remedies = ("positions count from 0; use the {option} of arguments in the signature",)
    example = """
        import tracejit as tj
        tj.jit(lambda x: x, static_argnums=3)(1.0)
    """


class ArgumentCountError(TracejitError, TypeError, ValueError):
    """A transformation names an argument position that the call did not have."""

    code = "TJ027"
    cause = "{transformation}: argnums={argnums!r}, but {function} was called with {count} positional arguments."
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
    remedies = ("axes are integers from -ndim to ndim - 1, or None", "in_axes is a tuple with one entry an argument")
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


class DonatedArgumentError(TracejitError, ValueError):
    """A donated array is passed a second time, or cannot be given away."""

    code = "TJ032"
    cause = "argument {argument} of {function} is donated, but {problem}."
    remedies = ("pass a copy in one of the two places", "drop it from donate_argnums")
    example = """
        import numpy as np, tracejit as tj
        x = np.ones(3)
        tj.jit(lambda a, b: a + b, donate_argnums=0)(x, x)
    """


class ReadOnlyArgumentError(TracejitError, ValueError):
    """The function writes into an argument whose array is read-only."""

    code = "TJ033"
    cause = "{function} writes into argument {argument}, which is read-only."
    remedies = ("pass a copy: x.copy()", "write x = x + 1 instead of x += 1")
    example = """
        import numpy as np, tracejit as tj

        def f(x):
            x += 1
            return x

        x = np.ones(3)
        x.flags.writeable = False
        tj.jit(f)(x)
    """


class TangentMismatchError(TracejitError, TypeError, ValueError):
    """The tangents given to jvp must have the containers, shapes and tangent dtypes of the primals."""

    code = "TJ034"
    cause = "{transformation}: the tangent of {argument} must be {expected}; got {got}."
    remedies = ("convert it with .astype(primal.dtype) and np.reshape", "tangents of integers have dtype float0")
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


class TracerBoolError(TracejitError, TypeError):
    """Python needed to know whether a traced value is true, while the program was being recorded.

    `if`, `while`, `and`, `or`, `not`, `assert`, `in`, `min(...)` and chained comparisons ask for it.
    """

    code = "TJ100"
    cause = "the truth value of a traced {aval} is not known while tracing."
    remedies = (
        "use np.where(condition, a, b), or tracejit.lax.cond and while_loop",
        "use & | ~ instead of and, or, not",
        "mark the argument it comes from static with static_argnums",
    )
    example = """
        import tracejit as tj, tracejit.numpy as tnp
        tj.make_jaxpr(lambda x: 1.0 if tnp.sum(x) > 0 else 2.0)(3.0)
    """


class TracerIntegerError(TracejitError, TypeError):
    """Python needed the value of a traced integer: a shape, an axis, `range`, a list index."""

    code = "TJ101"
    cause = "the value of a traced {aval} is not known while tracing, and a Python integer is needed here."
    remedies = (
        "mark the argument it comes from static with static_argnums",
        "use tracejit.lax.fori_loop instead of range, and an array instead of a list",
    )
    example = """
        import tracejit as tj
        tj.make_jaxpr(lambda n: [0, 1, 2][n])(1)
    """


class TracerFloatError(TracejitError, TypeError):
    """Python needed the value of a traced number: float(x), complex(x), math.sin(x), x.item()."""

    code = "TJ102"
    cause = "the value of a traced {aval} is not known while tracing, and a Python number is needed here."
    remedies = (
        "use NumPy's functions instead of math's, and x.astype(float) instead of float(x)",
        "mark the argument it comes from static with static_argnums",
    )
    example = """
        import math, tracejit as tj
        tj.make_jaxpr(lambda x: math.sin(x))(1.0)
    """


class TracerArrayError(TracejitError, TypeError):
    """A traced value was put into a real ndarray, or given to code that only takes real ndarrays."""

    code = "TJ103"
    cause = "a traced {aval} was put into a real ndarray, which cannot hold it."
    remedies = (
        "make the array in the traced function, with tracejit.numpy.zeros and the like",
        "collect values in a list and use tracejit.numpy.stack",
        "call code that needs real arrays through tracejit.pure_callback",
    )
    example = """
        import numpy, tracejit as tj
        tj.make_jaxpr(lambda x: numpy.asarray(x))(1.0)
    """


class UnsupportedFunctionError(TracejitError, NotImplementedError, TypeError):
    """A NumPy function that has no traced implementation was given a traced value."""

    code = "TJ104"
    cause = "{name} has no implementation for traced values."
    remedies = (
        "write it with functions that tracejit.numpy has",
        "call it through tracejit.pure_callback, with a custom_jvp rule if it is differentiated",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.make_jaxpr(lambda x: np.unique(x))(np.ones(3))
    """


class TracedMaskError(TracejitError, IndexError):
    """The elements that a traced boolean mask selects were needed: their number is not known."""

    code = "TJ105"
    cause = "x[mask] with a traced mask has no known size, so {what} cannot take it."
    remedies = (
        "use np.where(mask, x, 0), or a reduction such as x.sum(where=mask)",
        "x[mask] = value, x[mask] += value and x[mask].sum() work as they are",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.make_jaxpr(lambda x: np.sort(x[x > 0]))(np.ones(3))
    """


class OuterWriteError(TracejitError, RuntimeError):
    """An inner transformation wrote into an array that it had captured from outside."""

    code = "TJ106"
    cause = "an inner transformation writes into a captured {aval}."
    remedies = (
        "pass the array as an argument and return it",
        "write into a copy made inside, and return it",
    )
    example = """
        import numpy as np, tracejit as tj, tracejit.numpy as tnp
        def f(x):
            kept = tnp.zeros(3)
            def inner(y):
                kept[0] = y
                return y
            return tj.jvp(inner, (x,), (1.0,))[0]
        tj.make_jaxpr(f)(1.0)
    """


class ReadOnlyViewError(TracejitError, ValueError):
    """A write into a broadcast view or a diagonal, which NumPy makes read-only."""

    code = "TJ107"
    cause = "assignment destination is read-only."
    remedies = ("write into a copy: x = x.copy()",)
    example = """
        import numpy as np, tracejit as tj, tracejit.numpy as tnp
        def f(x):
            y = tnp.broadcast_to(x, (2, 3))
            y[0, 0] = 1.0
            return y
        tj.make_jaxpr(f)(np.ones(3))
    """


class OutputCastError(TracejitError, TypeError):
    """An in-place operation or `out=` whose result does not fit the array's dtype (NumPy's same_kind rule)."""

    code = "TJ108"
    cause = "cannot cast the result of {name} from {source} to {target} with casting rule '{rule}'."
    remedies = (
        "write x = x {name} y instead of the in-place form",
        "convert the array first: x = x.astype({source})",
    )
    example = """
        import numpy as np, tracejit as tj
        def f(x):
            x += 1.5
            return x
        tj.make_jaxpr(f)(np.arange(3))
    """


class IndexingError(TracejitError, IndexError):
    """An index that NumPy does not take: too many, of a wrong type, or of a wrong shape."""

    code = "TJ109"
    cause = "{problem}."
    remedies = ("indices are integers, slices, None, ..., integer arrays and boolean arrays",)
    example = """
        import numpy as np, tracejit as tj
        tj.make_jaxpr(lambda x: x[0, 0])(np.ones(3))
    """


class ArgumentError(TracejitError, ValueError):
    """An argument of an array function that NumPy would refuse as well."""

    code = "TJ110"
    cause = "{name}: {problem}."
    remedies = ("see the documentation of {name}",)
    example = """
        import numpy as np, tracejit as tj, tracejit.numpy as tnp
        tj.make_jaxpr(lambda x: tnp.split(x, 2))(np.ones(3))
    """


class ArgumentTypeError(TracejitError, TypeError):
    """An argument of a kind that an array function cannot take while tracing."""

    code = "TJ111"
    cause = "{name}: {problem}."
    remedies = ("see the documentation of {name}",)
    example = """
        import numpy as np, tracejit as tj
        tj.make_jaxpr(lambda x: hash(x))(np.ones(3))
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


class CapturedWriteError(TracejitError, RuntimeError):
    """A compiled function assigned to something outside of it: a global, a closure variable, an
    attribute of a captured object, or an entry of a captured container.

    The assignment would happen once, while tracing, and not at later calls. Writing into
    captured arrays, `W[0] = x`, is fine: it happens at every call.
    """

    code = "TJ120"
    cause = "{what} is assigned while the function is traced; the assignment would not be repeated at later calls."
    remedies = (
        "return the new value and assign it outside of the compiled function",
        "pass the object as an argument and return it",
        "make it an array and write into it: counter[...] += 1",
    )
    example = """
        import numpy as np, tracejit as tj
        counter = 0
        def f(x):
            global counter
            counter += 1
            return x * counter
        tj.jit(f)(np.ones(3))
    """


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
