"""Errors of random numbers: by key, and of NumPy's and Python's generators."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class RandomKeyError(TracejitError, TypeError):
    """A key, a seed, or what is asked of one is of the wrong type.

    Keys are arrays of two uint32 words. Each is used once; `split` and `fold_in` make new ones.
    """

    code = "TJ170"
    cause = "{problem}."
    remedies = ("make a key by tracejit.random.key(seed)", "more keys: k1, k2 = tracejit.random.split(key)")
    example = """
        import numpy as np, tracejit as tj
        tj.random.uniform(np.zeros(3))
    """


class RandomArgumentError(TracejitError, ValueError, TypeError):
    """A distribution's argument has a dtype, shape or value that makes no sense."""

    code = "TJ171"
    cause = "random.{function}: {problem}."
    remedies = ("see help(tracejit.random.{function})",)
    example = """
        import tracejit as tj
        tj.random.normal(tj.random.key(0), (3,), dtype=int)
    """


class RandomStateError(TracejitError, TypeError):
    """Something is done with a random generator that a compiled program can't do at every call.

    Draws are part of compiled programs, but not what looks at a generator's state, sets it, copies the generator, or
    gives bytes or objects. A jitted function that does this is run by Python.
    """

    code = "TJ122"
    limit = True
    cause = "{function} of a random generator can't be part of a compiled program: {problem}."
    remedies = (
        "do it outside of the compiled function, and pass the generator or the numbers as an argument",
        "numbers that are the same at every call: np.random.default_rng(seed) inside",
    )
    example = """
        import numpy as np, tracejit as tj
        rng = np.random.default_rng()
        tj.jit(lambda x: x + rng.bit_generator.state["state"]["inc"] % 2)(1.0)
    """


class RandomLanesError(TracejitError, TypeError):
    """A random generator of NumPy's or Python's is used under `vmap` in a compiled program.

    The lanes of a vmap have no order, but a generator gives its numbers one after the other. Numbers by key
    (`tracejit.random`) depend on nothing but their key, so each lane can have its own.
    """

    code = "TJ172"
    limit = True
    cause = "{function} draws from a random generator under vmap, whose lanes have no order."
    remedies = (
        "map over keys: vmap(lambda key, x: x + tracejit.random.normal(key))(tracejit.random.split(key, n), x)",
        "draw all numbers before, and map over them",
    )
    example = """
        import numpy as np, tracejit as tj
        rng = np.random.default_rng()
        tj.vmap(tj.jit(lambda x: x + rng.normal()))(np.zeros(3))
    """
