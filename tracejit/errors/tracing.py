"""Errors of tracing and of jit: leaked values, captured state, static, donated and read-only arguments."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class LeakedTracerError(TracejitError, RuntimeError):
    """A traced value was used after its transformation had ended.

    It was usually stored in a global, an attribute or a list while a function was run by `vmap`, `checkpoint` or a
    function of `lax`. What else a differentiated function stores in objects, lists and globals becomes a value when the
    outermost derivative is taken.
    """

    code = "TJ005"
    limit = True
    cause = "a traced value {value} was used after the trace that made it had ended."
    remedies = ("return the value from the traced function instead of storing it",)
    example = """
        import numpy as np, tracejit as tj
        kept = []
        tj.vmap(lambda x: kept.append(x * 2) or np.sum(x))(np.ones((2, 3)))
        kept[0] + 1
    """


class ArgumentContainerError(TracejitError, TypeError):
    """A jitted function that is transformed itself, or to which the argument is donated, put something else into a
    dict, list or object it was given: the caller's has not changed. So did one whose argument has nodes of a class that
    was registered as a pytree. Arrays that it holds may be written into.
    """

    code = "TJ121"
    limit = True
    cause = "{function} puts something else into its argument {argument}; the caller's own would not change."
    remedies = (
        "change a copy and return it: params = dict(params)",
        "write into the array it holds: state['x'][...] = value, instead of state['x'] = value",
    )
    example = """
        import numpy as np, tracejit as tj

        def step(state):
            state["y"] = 2 * state["x"]

        tj.vmap(tj.jit(step))({"x": np.ones(3)})
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


class CapturedWriteError(TracejitError, RuntimeError):
    """A compiled function assigned to something outside of it (a global, a closure variable, an attribute of an
    object, an entry of a container) in a way that its program can't repeat at every call.

    Most such assignments are compiled. Those are not that a transformation of a jitted function would have to carry
    out, as here; that happen inside of a function which is differentiated or batched; that a callback might see; that
    go past a class, by `object.__setattr__`; and those of a function that is traced again at every call for them.
    """

    code = "TJ120"
    limit = True
    cause = "{what} is assigned, which a compiled program cannot repeat at every call here."
    remedies = (
        "return the new value, and assign it outside of the compiled function",
        "pass the object as an argument and return it",
        "make it an array and write into it: counter[...] += 1",
    )
    example = """
        import numpy as np, tracejit as tj
        counter = 0
        def f(x):
            global counter
            counter += 1
            return (x * counter).sum()
        tj.grad(tj.jit(f))(np.ones(3))
    """


class UnfollowedError(TracejitError, TypeError):
    """A jitted function uses something whose state or effects tracing can't see: an object of a C extension, a file
    that it opens, a socket. What it does would happen once, while tracing, and its results would be kept."""

    code = "TJ221"
    limit = True
    cause = "{what} can't be followed while tracing: {reason}."
    remedies = (
        "call it outside of the compiled function, and pass what it gives as an argument",
        "tj.debug.print prints values of a compiled function, tj.pure_callback calls a Python function at every run",
    )
    example = """
        import numpy as np, tracejit as tj

        def f(x):
            return x + len(open("settings.txt").read())

        tj.jit(f)(np.ones(3))
    """


class UnknownMemberError(TracejitError, AttributeError):
    """A jitted function asks a traced value for a method or an attribute that NumPy's or Python's own has, and that
    no program can have."""

    code = "TJ228"
    limit = True
    cause = "`{name}` of a traced {aval} is not known while tracing."
    remedies = ("ask for it outside of the compiled function",)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: x.__array_interface__["data"])(np.ones(3))
    """


class TracedTextError(TracejitError, TypeError):
    """A jitted function looks at text of a traced value, which is not known while tracing. It may print such text,
    return it and put it into other text; a key of a dict and what splits or searches it need its characters."""

    code = "TJ222"
    limit = True
    cause = "text of a traced {aval} is not known while tracing: {use} can't be had."
    remedies = (
        "return the text, or the value, and look at it outside of the compiled function",
        "decide by the value instead of its text",
    )
    example = """
        import numpy as np, tracejit as tj

        def f(x):
            return {f"sum {x.sum()}": x}

        tj.jit(f)(np.ones(3))
    """
