"""Learning rates that depend on the step: functions of the count of steps done so far, which is 0 at the first.

They take Python's integers, NumPy's and traced ones, and give a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import OptimizerArgumentError
from tracejit.optim.transformation import Schedule


def constant_schedule(value: float) -> Schedule:
    """`value` at every step."""
    return lambda count: value


def linear_schedule(
    init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """From `init_value` to `end_value` in `transition_steps` equal steps, after `transition_begin` steps.

    Raises:
        OptimizerArgumentError: `transition_steps` is not positive.
    """
    return polynomial_schedule(init_value, end_value, 1.0, transition_steps, transition_begin)


def polynomial_schedule(
    init_value: float, end_value: float, power: float, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """`end + (init - end) * (1 - t)**power`, where t goes from 0 to 1 in `transition_steps` steps.

    Raises:
        OptimizerArgumentError: `transition_steps` is not positive.
    """
    _positive("polynomial_schedule", "transition_steps", transition_steps)

    def schedule(count: Any) -> Any:
        left = 1 - _between(count - transition_begin, transition_steps)
        return end_value + (init_value - end_value) * left**power

    return schedule


def cosine_decay_schedule(
    init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0
) -> Schedule:
    """Half a cosine wave from `init_value` to `alpha * init_value` in `decay_steps` steps (Loshchilov and Hutter 2017).

    Raises:
        OptimizerArgumentError: `decay_steps` is not positive.
    """
    _positive("cosine_decay_schedule", "decay_steps", decay_steps)

    def schedule(count: Any) -> Any:
        wave = 0.5 * (1 + tnp.cos(np.pi * _between(count, decay_steps)))
        return init_value * ((1 - alpha) * wave**exponent + alpha)

    return schedule


def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """`init_value * decay_rate ** (steps / transition_steps)`, after `transition_begin` steps.

    With `staircase` the exponent is an integer. `end_value` bounds the result: from below if the rate is
    below 1, else from above.

    Raises:
        OptimizerArgumentError: `transition_steps` or `decay_rate` is not positive.
    """
    _positive("exponential_decay", "transition_steps", transition_steps)
    _positive("exponential_decay", "decay_rate", decay_rate)

    def schedule(count: Any) -> Any:
        exponent = tnp.maximum(count - transition_begin, 0) / transition_steps
        if staircase:
            exponent = tnp.floor(exponent)
        value = init_value * decay_rate**exponent
        if end_value is None:
            return value
        return tnp.maximum(value, end_value) if decay_rate < 1 else tnp.minimum(value, end_value)

    return schedule


def inverse_time_decay(init_value: float, transition_steps: int, decay_rate: float) -> Schedule:
    """`init_value / (1 + decay_rate * steps / transition_steps)`.

    Raises:
        OptimizerArgumentError: `transition_steps` is not positive.
    """
    _positive("inverse_time_decay", "transition_steps", transition_steps)
    return lambda count: init_value / (1 + decay_rate * (count / transition_steps))


def piecewise_constant_schedule(
    init_value: float, boundaries_and_scales: dict[int, float] | None = None
) -> Schedule:
    """`init_value`, multiplied by a scale from each boundary on: `{1000: 0.1}` is a tenth after 1000 steps.

    Raises:
        OptimizerArgumentError: a scale is negative.
    """
    scales = sorted((boundaries_and_scales or {}).items())
    if any(scale < 0 for _, scale in scales):
        raise OptimizerArgumentError(function="piecewise_constant_schedule", problem="a scale is negative")

    def schedule(count: Any) -> Any:
        value = init_value
        for boundary, scale in scales:
            value = value * tnp.where(count >= boundary, scale, 1.0)
        return value

    return schedule


def warmup_constant_schedule(init_value: float, peak_value: float, warmup_steps: int) -> Schedule:
    """From `init_value` to `peak_value` in `warmup_steps` equal steps, then constant."""
    return linear_schedule(init_value, peak_value, warmup_steps)


def warmup_cosine_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    decay_steps: int,
    end_value: float = 0.0,
    exponent: float = 1.0,
) -> Schedule:
    """From `init_value` to `peak_value` in `warmup_steps` equal steps, then by `cosine_decay_schedule` to `end_value`,
    which is reached after `decay_steps` steps in all.

    Raises:
        OptimizerArgumentError: `decay_steps` is not above `warmup_steps`.
    """
    _positive("warmup_cosine_decay_schedule", "decay_steps - warmup_steps", decay_steps - warmup_steps)
    alpha = end_value / peak_value if peak_value else 0.0
    parts = [
        linear_schedule(init_value, peak_value, warmup_steps),
        cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent),
    ]
    return join_schedules(parts, [warmup_steps])


def warmup_exponential_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """From `init_value` to `peak_value` in `warmup_steps` equal steps, then `exponential_decay`."""
    parts = [
        linear_schedule(init_value, peak_value, warmup_steps),
        exponential_decay(peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value),
    ]
    return join_schedules(parts, [warmup_steps])


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Schedules one after another: from step `boundaries[i]` on `schedules[i + 1]`, which counts from there.

    Raises:
        OptimizerArgumentError: there are not as many boundaries as schedules, less one.
    """
    if len(boundaries) != len(schedules) - 1:
        problem = f"{len(schedules)} schedules have {len(schedules) - 1} boundaries between them, not {len(boundaries)}"
        raise OptimizerArgumentError(function="join_schedules", problem=problem)

    def schedule(count: Any) -> Any:
        value = schedules[0](count)
        for boundary, part in zip(boundaries, schedules[1:], strict=True):
            value = tnp.where(count < boundary, value, part(tnp.maximum(count - boundary, 0)))
        return value

    return schedule


def _between(count: Any, steps: int) -> Any:
    """The part of `steps` that is done, from 0 to 1."""
    return tnp.clip(count, 0, steps) / steps


def _positive(function: str, name: str, value: Any) -> None:
    if not value > 0:
        raise OptimizerArgumentError(function=function, problem=f"`{name}` must be positive, not {value}")
