"""Errors of arrays and NumPy functions: dtypes, shapes, axes, indices, and what a traced value cannot do."""

from __future__ import annotations

import re

from tracejit.errors.base import TRACED_SIZE, TracejitError


class UnknownDtypeError(TracejitError, TypeError):
    """A dtype that tracejit cannot compute with: objects, strings, times without a unit, structures."""

    code = "TJ001"
    cause = "{dtype!r} is not a numeric dtype."
    remedies = ("use bool, an integer, float16/32/64, bfloat16, complex64/128, or times of a unit",)
    example = """
        import tracejit as tj
        tj.eval_shape(lambda x: x, tj.ShapeDtypeStruct((2,), "U3"))
    """


class TypeRuleError(TracejitError, TypeError):
    """An operation was given dtypes or a number of operands it does not take."""

    code = "TJ002"
    limit = True
    cause = "{op}: {problem}"
    remedies = ("convert the operands with x.astype(...)",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(tj.lax.add)(np.ones(3), np.ones(3, np.float32))
    """


class ShapeError(TracejitError, ValueError):
    """Shapes that do not fit together."""

    code = "TJ003"
    cause = "{op}: {problem}"
    remedies = ("print the shapes with tj.eval_shape, or insert an axis with x[:, None]",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x, y: x + y)(np.ones(3), np.ones(4))
    """

    @property
    def has_traced_sizes(self) -> bool:
        """Whether sizes of the shapes are traced integers."""
        return any(TRACED_SIZE.search(str(detail)) for detail in self.details.values())

    def _message(self) -> str:
        """Sizes that are traced integers get names, and the remedy for them."""
        names: dict[str, str] = {}

        def named(found: re.Match[str]) -> str:
            name = names.setdefault(found[0], "nmklpq"[len(names) % 6])
            return name if found[1] == "?" else f"{name}<={found[1]}"

        text = TRACED_SIZE.sub(named, self._text())
        if not names:
            return text
        before, last = text.rsplit("\n", 1)
        some = ", ".join(dict.fromkeys(names.values()))
        remedy = (
            f"{some} of these shapes depend on traced integers: mark the arguments that they come from static"
        )
        return f"{before}\n  - {remedy}, jit(f, static_argnums=...)\n{last}"


class AxisError(TracejitError, ValueError, IndexError):
    """An axis outside of the array's dimensions."""

    code = "TJ004"
    cause = "{op}: axis {axis} is out of bounds for an array of {ndim} dimensions."
    remedies = ("axes of an array with n dimensions run from -n to n - 1",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: np.sum(x, axis=2))(np.ones((3, 4)))
    """


class DynamicExtentError(TracejitError, TypeError):
    """An operation cannot take a dimension whose size is a traced integer."""

    code = "TJ008"
    limit = True
    cause = "{op}: {problem}"
    remedies = ("use a static size, or slice from an array whose size bounds it",)
    example = """
        import numpy as np, tracejit as tj

        def step(i, total, x):
            return total + np.sum(np.abs(np.fft.fft(x[:i])))

        tj.jit(lambda x: tj.lax.fori_loop(0, 3, lambda i, t: step(i, t, x), 0.0))(np.ones(4))
    """


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
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: np.insert(x, x > 2, 0.0))(np.arange(6.0))
    """


class NotAnArrayError(TracejitError, TypeError):
    """Something that is neither an array nor a number was given to, or returned from, a traced function."""

    code = "TJ011"
    cause = "{what} is a {type}, which is not an array or a number: {value!r}."
    remedies = (
        "give what is no array by a closure, or to jit as a static argument: lambda x: f(x, {value!r})",
        "register the class of a container with tracejit.tree.register",
        "of a dataclass: mark the field with field(metadata=dict(static=True)), or keep objects of the class "
        "whole with tracejit.tree.register_leaf",
    )
    example = """
        import tracejit as tj
        tj.jit(lambda x: range(3))(1.0)
    """


class TracerBoolError(TracejitError, TypeError):
    """Python needed to know whether a traced value is true, while the program was being recorded.

    `if`, `while`, `and`, `or`, `not`, `assert`, `in`, `min(...)` and chained comparisons ask for it.
    """

    code = "TJ100"
    limit = True
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
    limit = True
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
    """Python needed the value of a traced number: x.as_integer_ratio(), a long list by x.tolist()."""

    code = "TJ102"
    limit = True
    cause = "the value of a traced {aval} is not known while tracing, and a Python number is needed here."
    remedies = (
        "leave x an array: NumPy's functions and math's take it; x.astype(float) converts it",
        "mark the argument it comes from static with static_argnums",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.make_jaxpr(lambda x: x.as_integer_ratio())(np.float64(1))
    """


class LostDerivativeError(TracejitError, TypeError):
    """Code that is not followed, such as a function of C, takes a value that is being differentiated as a number. Such
    a number carries no derivative: the result would silently count as constant. What the function itself writes,
    `float(x)` and `x.item()`, are numbers with derivatives.
    """

    code = "TJ112"
    limit = True
    cause = "a Python number of a differentiated {aval} would lose its derivative."
    remedies = (
        "leave x an array: NumPy's functions and math's take it; x.astype(float) converts it",
        "if no derivative is meant: float(tracejit.lax.stop_gradient(x))",
        "or compile it, as tj.jit(f): there more of Python is followed",
    )
    example = """
        import struct
        import tracejit as tj
        tj.jvp(lambda x: x * len(struct.pack("d", x)), (1.0,), (1.0,))
    """


class ArraySubclassError(TracejitError, TypeError):
    """An array of a class that changes what operations mean, such as np.matrix."""

    code = "TJ013"
    limit = True
    cause = "{what} is a {type}, whose operations are not those of np.ndarray."
    remedies = (
        "pass a plain array: np.asarray(x)",
        "pass what it is made of, as arrays",
    )
    example = """
        import numpy as np, tracejit as tj
        class Angles(np.ndarray):
            def __mul__(self, other): return self
        tj.jit(lambda x: x * x)(np.zeros(2).view(Angles))
    """


class TracerArrayError(TracejitError, TypeError):
    """A traced value was put into a real ndarray, or given to code that only takes real ndarrays."""

    code = "TJ103"
    limit = True
    cause = "a traced {aval} was put into a real ndarray, which cannot hold it."
    remedies = (
        "make the array in the traced function (tracejit.numpy.zeros), or stack a list of values",
        "use x.astype(np.float32) instead of np.float32(x)",
        "run code that needs real arrays outside of the traced function, and pass its result in",
    )
    example = """
        import array, numpy as np, tracejit as tj
        def f(x):
            held = np.frombuffer(array.array("d", [0, 0, 0]))
            held[0] = x
            return held
        tj.jit(f)(1.0)
    """


class UnsupportedFunctionError(TracejitError, NotImplementedError, TypeError):
    """A NumPy function that has no traced implementation was given a traced value."""

    code = "TJ104"
    limit = True
    cause = "{name} has no implementation for traced values."
    remedies = (
        "write it with functions that tracejit.numpy has",
        "call it outside of the traced function, and pass its result in",
        "call it by tracejit.pure_callback, or make it a primitive: tracejit.extend.pointwise",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.make_jaxpr(lambda x: np.frompyfunc(lambda v: v, 1, 1)(x))(np.ones(3))
    """


class TracedMaskError(TracejitError, IndexError):
    """The elements that a mask selects were needed side by side, but each example of a `vmap` has its own mask.

    An array has one number of elements for all examples. Elementwise functions of `x[mask]`, its
    reductions, its size and writing it back under the same mask need no such array.
    """

    code = "TJ105"
    limit = True
    cause = "x[mask] differs in length between the examples of a vmap, so that its elements can't be put side by side."
    remedies = (
        "use np.where(mask, x, 0), or a reduction such as x[mask].sum() or x.sum(where=mask)",
        "x[mask] = value, x[mask] += value and y[mask] = f(x[mask]) work as they are",
        "run over the examples by a loop: tracejit.lax.map(f, xs)",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.vmap(lambda x: np.sort(x[x > 0])[0])(np.ones((2, 3)))
    """


class MaskCountError(TracejitError, ValueError):
    """x[mask] = values needs one value, or one for each selected element; compiled code raises it too."""

    code = "TJ210"
    cause = (
        "boolean array indexing assignment cannot assign {given} input values to the {count} output values "
        "where the mask is true."
    )
    remedies = ("select the values by the same mask: y[mask] = x[mask]", "assign a single value")
    example = """
        import numpy as np, tracejit as tj

        @tj.jit
        def f(x):
            x[x > 0] = np.arange(2.0)
            return x

        f(np.ones(3))
    """


class OuterWriteError(TracejitError, RuntimeError):
    """An inner transformation wrote into an array that it had captured from outside."""

    code = "TJ106"
    limit = True
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
            return tj.vmap(inner)(x)
        tj.make_jaxpr(f)(np.ones(2))
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
        tj.make_jaxpr(lambda x: len(x))(np.ones(()))
    """
