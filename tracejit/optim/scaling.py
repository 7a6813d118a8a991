"""Transformations that scale gradients by what they remember of earlier ones. Each names its source.

Moments have the dtypes of the parameters. Of complex parameters the second moments are those of the absolute value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.errors import OptimizerArgumentError
from tracejit.optim.transformation import (
    GradientTransformation,
    Schedule,
    as_dtype,
    filled,
    squared,
    stateless,
    step_size,
)


class CountState(NamedTuple):
    """The number of steps done."""

    count: Any


class MomentState(NamedTuple):
    """One running average for each parameter."""

    average: Any


class TwoMomentsState(NamedTuple):
    """The number of steps, the running averages of gradients, and of their squares."""

    count: Any
    mu: Any
    nu: Any


def scale(factor: Any) -> GradientTransformation:
    """Multiplies by a number."""
    return stateless(lambda updates, params: tree.map(lambda u: u * as_dtype(factor, u), updates))


def scale_by_learning_rate(learning_rate: float | Schedule) -> GradientTransformation:
    """Multiplies by minus the learning rate, which may be a schedule: what is added goes downhill."""
    if not callable(learning_rate):
        return scale(-learning_rate)

    def update(updates: Any, state: CountState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        step = -step_size(learning_rate, state.count)
        return tree.map(lambda u: u * as_dtype(step, u), updates), CountState(state.count + 1)

    return GradientTransformation(lambda params: CountState(np.int64(0)), update)


def scale_by_schedule(schedule: Schedule) -> GradientTransformation:
    """Multiplies by what a schedule gives."""
    return scale_by_learning_rate(lambda count: -schedule(count))


def trace(decay: float, nesterov: bool = False) -> GradientTransformation:
    """Momentum: `m = g + decay * m` in the place of the gradient g (Polyak 1964); with `nesterov`, `g + decay * m`
    of the new m (Sutskever et al. 2013)."""

    def update(updates: Any, state: MomentState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        m = tree.map(lambda g, m: g + decay * m, updates, state.average)
        out = tree.map(lambda g, m: g + decay * m if nesterov else m, updates, m)
        return out, MomentState(m)

    return GradientTransformation(lambda params: MomentState(filled(params)), update)


def scale_by_adam(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0, nesterov: bool = False
) -> GradientTransformation:
    """Adam: running averages of g and |g|**2 with weights `1 - b1`, `1 - b2`, both divided by the weights so far, then
    `mu / (sqrt(nu + eps_root) + eps)` (Kingma and Ba 2015). With `nesterov`, mu is one step ahead (Dozat 2016)."""

    def update(updates: Any, state: TwoMomentsState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        count = state.count + 1
        mu = tree.map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree.map(lambda g, v: b2 * v + (1 - b2) * squared(g), updates, state.nu)
        # As factors: a division of all parameters takes as long as reading them.
        first, ahead, second = 1 / (1 - b1**count), 1 / (1 - b1 ** (count + 1)), 1 / (1 - b2**count)

        def direction(g: Any, m: Any, v: Any) -> Any:
            if nesterov:
                m = as_dtype(b1 * ahead, v) * m + as_dtype((1 - b1) * first, v) * g
            else:
                m = as_dtype(first, v) * m
            return m / (tnp.sqrt(as_dtype(second, v) * v + eps_root) + eps)

        return tree.map(direction, updates, mu, nu), TwoMomentsState(count, mu, nu)

    return GradientTransformation(
        lambda params: TwoMomentsState(np.int64(0), filled(params), filled(params, real=True)), update
    )


def scale_by_lion(b1: float = 0.9, b2: float = 0.99) -> GradientTransformation:
    """Lion: the sign of `b1 * m + (1 - b1) * g`; m is an average with weight `1 - b2` (Chen et al. 2023)."""

    def update(updates: Any, state: MomentState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        out = tree.map(lambda g, m: tnp.sign(b1 * m + (1 - b1) * g), updates, state.average)
        return out, MomentState(tree.map(lambda g, m: b2 * m + (1 - b2) * g, updates, state.average))

    return GradientTransformation(lambda params: MomentState(filled(params)), update)


def scale_by_rms(decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0) -> GradientTransformation:
    """RMSProp: `g / sqrt(nu + eps)` with the running average nu of |g|**2 (Hinton, Coursera lecture 6e, 2012)."""

    def update(updates: Any, state: MomentState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        nu = tree.map(lambda g, v: decay * v + (1 - decay) * squared(g), updates, state.average)
        return tree.map(lambda g, v: g / tnp.sqrt(v + eps), updates, nu), MomentState(nu)

    return GradientTransformation(
        lambda params: MomentState(filled(params, initial_scale, real=True)), update
    )


def scale_by_stddev(
    decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0
) -> GradientTransformation:
    """Centred RMSProp: `g / sqrt(nu - |mu|**2 + eps)`, mu the running average of g (Graves 2013)."""

    def update(updates: Any, state: TwoMomentsState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        mu = tree.map(lambda g, m: decay * m + (1 - decay) * g, updates, state.mu)
        nu = tree.map(lambda g, v: decay * v + (1 - decay) * squared(g), updates, state.nu)
        out = tree.map(lambda g, m, v: g / tnp.sqrt(v - squared(m) + eps), updates, mu, nu)
        return out, TwoMomentsState(state.count + 1, mu, nu)

    return GradientTransformation(
        lambda params: TwoMomentsState(np.int64(0), filled(params), filled(params, initial_scale, real=True)),
        update,
    )


def scale_by_rss(initial_accumulator_value: float = 0.1, eps: float = 1e-7) -> GradientTransformation:
    """Adagrad: `g / sqrt(s + eps)` with the sum s of all |g|**2, 0 where s is 0 (Duchi et al. 2011)."""

    def update(updates: Any, state: MomentState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        sums = tree.map(lambda g, s: s + squared(g), updates, state.average)
        out = tree.map(lambda g, s: tnp.where(s > 0, g / tnp.sqrt(s + eps), 0 * g), updates, sums)
        return out, MomentState(sums)

    return GradientTransformation(
        lambda params: MomentState(filled(params, initial_accumulator_value, real=True)), update
    )


def scale_by_adadelta(rho: float = 0.9, eps: float = 1e-6) -> GradientTransformation:
    """Adadelta: `sqrt(d + eps) / sqrt(nu + eps) * g` with running averages of |g|**2 and of the squares of the updates
    (Zeiler 2012)."""

    def update(updates: Any, state: TwoMomentsState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        nu = tree.map(lambda g, v: rho * v + (1 - rho) * squared(g), updates, state.nu)
        out = tree.map(lambda g, d, v: tnp.sqrt(d + eps) / tnp.sqrt(v + eps) * g, updates, state.mu, nu)
        moved = tree.map(lambda u, d: rho * d + (1 - rho) * squared(u), out, state.mu)
        return out, TwoMomentsState(state.count + 1, moved, nu)

    return GradientTransformation(
        lambda params: TwoMomentsState(np.int64(0), filled(params, real=True), filled(params, real=True)),
        update,
    )


def scale_by_trust_ratio(
    min_norm: float = 0.0, coefficient: float = 1.0, eps: float = 0.0
) -> GradientTransformation:
    """LAMB's and LARS's layer-wise steps: each leaf is multiplied by `coefficient * |p| / (|u| + eps)`, by 1 where
    one of these norms is 0 (You et al. 2017, 2020)."""

    def each(u: Any, p: Any) -> Any:
        size = tnp.maximum(_norm(p), min_norm)
        length = tnp.maximum(_norm(u), min_norm)
        usable = (size > 0) & (length > 0)
        ratio = coefficient * size / (tnp.where(usable, length, 1) + eps)
        return u * as_dtype(tnp.where(usable, ratio, 1), u)

    return stateless(lambda updates, params: tree.map(each, updates, needed("scale_by_trust_ratio", params)))


def needed(function: str, params: Any) -> Any:
    """The parameters, which `function` can't do without."""
    if params is None:
        raise OptimizerArgumentError(
            function=function, problem="`update` needs the parameters as its third argument"
        )
    return params


def _norm(x: Any) -> Any:
    return tnp.sqrt(tnp.sum(squared(x)))
