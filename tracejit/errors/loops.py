"""Loops and branches of users' functions that can't become native ones."""

from __future__ import annotations

from typing import ClassVar

from tracejit.errors.arrays import TracerBoolError
from tracejit.errors.base import TracejitError


class TracedLoopError(TracejitError, TypeError):
    """A Python loop whose length or condition is traced can't become a native loop.

    How often it runs is known only when the program runs, so it can't be unrolled either.
    """

    code = "TJ200"
    limit = True
    cause = "the `{kind}` loop runs over traced values and cannot become a native loop: {reason}."
    remedies = (
        "keep what changes in arrays and numbers: a preallocated array instead of a list that grows",
        "make the number of steps known: a shape, a constant, or an argument in static_argnums",
        "write it with tracejit.lax.while_loop, fori_loop or scan",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(n):
            out = []
            for i in range(n):
                out.append([i])
            return out
        f(np.int64(3))
    """


class LoopTypeError(TracejitError, TypeError):
    """A variable of a loop over traced values changes its shape or structure from step to step.

    A native loop keeps its variables in places of one type. (Numbers are promoted: 0 becomes 0.0.)
    """

    code = "TJ201"
    limit = True
    cause = "the variable `{name}` of the `{kind}` loop is {before} before a step and {after} after it."
    remedies = (
        "give `{name}` the type that it has in the loop before the loop begins",
        "use another name for what has another type",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(x, n):
            for i in range(n):
                x = np.concatenate([x, x])
            return x
        f(np.ones(2), np.int64(3))
    """


class VariableTypeError(TracejitError, TypeError):
    """The two branches of a traced condition leave a variable with different shapes or structures.

    Both branches are part of the program; what comes after needs one type.
    """

    code = "TJ202"
    limit = True
    cause = (
        "after the `{kind}` on a traced condition, {name} would be {a} in one branch and {b} in the other."
    )
    remedies = (
        "give it the same shape and structure in both branches",
        "make the condition known while tracing: an argument in static_argnums",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(x):
            if x.sum() > 0:
                y = x
            else:
                y = None
            return y
        f(np.ones(2))
    """


class BranchLeavesError(TracejitError, TypeError):
    """A branch of a traced condition does something that can't be undone if it is not taken."""

    code = "TJ203"
    limit = True
    cause = "a branch of a traced condition cannot be part of the program: {problem}."
    remedies = (
        "choose between values instead: an array with np.where, a number with a conditional expression",
        "make the condition known while tracing: an argument in static_argnums",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(x):
            found = []
            if x.sum() > 0:
                found.append([x])
            return found
        f(np.ones(2))
    """


class TracedIterationError(TracejitError, TypeError):
    """Something iterates in Python over a number of steps that is traced."""

    code = "TJ204"
    limit = True
    cause = "{what} has a traced number of steps, which only a `for` statement can run over."
    remedies = (
        "write a `for` loop: it becomes a native loop",
        "make the number known while tracing: a shape, a constant, or an argument in static_argnums",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda n: list(range(n)))(np.int64(3))
    """


class CaughtCheckError(TracejitError, RuntimeError):
    """A `try` (or the context manager of a `with`) has a handler for an exception that only compiled code raises.

    Indices, factorisations and the like are checked when the program runs. What such a check raises leaves the
    whole jitted function, past the handlers in it. Under an outermost jit Python does such a call over, with its
    handlers; it can't inside of other transformations, with `fallback=False` and after callbacks of the program.
    """

    code = "TJ212"
    limit = True
    cause = "the handler of this `try` or `with` would not catch the {kind} that {check} raises when the program runs."
    remedies = (
        "ask before: `if 0 <= i < len(x)` becomes a native branch; tracejit.lax.linalg gives NaN for a failure",
        "put the `try` around the call of the jitted function",
        "tj.jit(f, capture=False) leaves `try` as it is, and what compiled code raises uncaught",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(x, i):
            try:
                return x[i]
            except IndexError:
                return 0.0
        f(np.ones(3), 5)
    """


class ChosenArrayError(TracejitError, ValueError):
    """A write into an array that may be another one, or a part of one that can't be followed.

    Which array a name is after a branch or loop is followed, and what is written into it goes into that one. This needs
    one dtype, parts whose extents are known, and not more than a dozen arrays that it may be. Of more it is a
    copy, which may only be looked at; of more than 128 it is refused at once, since tracing would take minutes.
    """

    code = "TJ213"
    limit = True
    cause = (
        "which array this is depends on branches or loops, and what is written into one could not be seen through "
        "the other: they are copies, are parts with extents of the branch or loop, or are too many."
    )
    remedies = (
        "take a copy in the branch or loop: b = a.copy()",
        "write before the branch, or into each array in it",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(a, c):
            b = np.outer(a, a)
            r = (b.T if c else b).reshape(-1)
            r[1] = 0
            return b
        f(np.arange(3.0), np.bool_(True))
    """


class UnknownSourceError(TracerBoolError):
    """A branch on a traced value in a function whose source is not known, so that it can't become a native one.

    `jit` reads the source of functions, which those have not that `exec` or an interactive prompt made.
    """

    code = "TJ211"
    cause = (
        "a traced {aval} is not known while tracing, and the source of `{function}` is not known either, from which "
        "the branch could be made a native one."
    )
    remedies = (
        "put the function into a file",
        "or give linecache its text: linecache.cache[name] = (len(text), None, text.splitlines(True), name), with "
        "compile(text, name, 'exec')",
        "write np.where(condition, a, b), or tracejit.lax.cond and while_loop",
    )
    example = """
        import numpy as np, tracejit as tj
        space = {}
        text = "def f(x):\\n    if x > 0:\\n        return x\\n    return -x"
        exec(compile(text, "made_by_example.py", "exec"), space)
        tj.jit(space["f"])(1.0)
    """


class BufferedListError(TracejitError, TypeError):
    """A list whose length only the program knows is used in a way that needs to know its items.

    Such a list holds numbers, strings, None and tuples of them, or arrays of one shape, and does what most programs do
    with lists; with items of several types it does less. Its arrays are copies of what was put into it, unless it
    matters which of them are one: then they are whole arrays in C order, and no parts of others.
    """

    code = "TJ214"
    limit = True
    cause = "the program cannot use {what} of a list whose length is known only when it runs."
    remedies = (
        "append numbers of one type, arrays of one shape (copies of those that are used otherwise), or tuples of them",
        "return np.array(out), and copies of single items",
        "use a NumPy array of a known size, and a number that says how much of it is filled",
    )
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(x):
            out = []
            for i in range(len(x)):
                if x[i] > 0:
                    out.append(x[i])
            return str(out)
        f(np.ones(100))
    """


class ListRoomError(TracejitError, MemoryError):
    """A list has more items than the program has room for.

    A jitted function is then traced again with more room. Inside of another transformation it can't be.
    """

    code = "TJ215"
    cause = "a list of the program has more than {room} items, for which it has no room."
    remedies = ("call the jitted function once outside of the transformation: it makes room for later calls",)
    example = """
        import numpy as np, tracejit as tj
        @tj.jit
        def f(x):
            out = []
            while x < 1e5:
                out.append(x)
                x = x + 1
            return len(out)
        tj.vmap(f)(np.zeros(2))
    """
    redo: ClassVar[bool] = True
