"""Errors of optimisers."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class OptimizerArgumentError(TracejitError, ValueError):
    """An optimiser, a schedule or a step of one that is not given what it needs."""

    code = "TJ180"
    cause = "{function}: {problem}."
    remedies = ("see `help(tracejit.optim.{function})` for what it takes",)
    example = """
        import tracejit as tj
        tj.optim.cosine_decay_schedule(0.1, decay_steps=0)
    """
