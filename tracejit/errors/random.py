"""Errors of random numbers by key."""

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
