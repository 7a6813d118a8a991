"""Optimisers: chains of transformations that end with minus the learning rate.

    optimizer = adam(1e-3)
    state = optimizer.init(params)

    @tj.jit
    def step(params, state, batch):
        value, grads = tj.value_and_grad(loss)(params, batch)
        updates, state = optimizer.update(grads, state, params)
        return apply_updates(params, updates), state, value

A learning rate is a number, or a schedule: a function of the count of steps (`schedules`).
"""

from __future__ import annotations

from typing import Any

from tracejit.optim.regularization import add_decayed_weights
from tracejit.optim.scaling import (
    scale_by_adadelta,
    scale_by_adam,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
    scale_by_trust_ratio,
    trace,
)
from tracejit.optim.transformation import GradientTransformation, Schedule, chain, identity

Rate = float | Schedule


def sgd(learning_rate: Rate, momentum: float | None = None, nesterov: bool = False) -> GradientTransformation:
    """Stochastic gradient descent, with Polyak's momentum or Nesterov's if `momentum` is given (see `trace`)."""
    first = identity() if momentum is None else trace(momentum, nesterov)
    return chain(first, scale_by_learning_rate(learning_rate))


def momentum(learning_rate: Rate, decay: float = 0.9) -> GradientTransformation:
    """Gradient descent with Polyak's momentum."""
    return sgd(learning_rate, decay)


def nesterov(learning_rate: Rate, decay: float = 0.9) -> GradientTransformation:
    """Gradient descent with Nesterov's momentum."""
    return sgd(learning_rate, decay, nesterov=True)


def adam(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam (see `scale_by_adam`); NAdam with `nesterov`."""
    return chain(scale_by_adam(b1, b2, eps, eps_root, nesterov), scale_by_learning_rate(learning_rate))


def adamw(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    weight_decay: float = 1e-4,
    mask: Any = None,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam whose weights decay by `learning_rate * weight_decay` at each step, apart from the gradient
    (Loshchilov and Hutter 2019). `mask` says which (see `add_decayed_weights`)."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, nesterov),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def lion(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.99, weight_decay: float = 1e-3, mask: Any = None
) -> GradientTransformation:
    """Lion (see `scale_by_lion`) with decoupled weight decay."""
    return chain(
        scale_by_lion(b1, b2), add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate)
    )


def rmsprop(
    learning_rate: Rate,
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    centered: bool = False,
    momentum: float | None = None,
    nesterov: bool = False,
) -> GradientTransformation:
    """RMSProp (see `scale_by_rms`, and `scale_by_stddev` with `centered`), with momentum of the scaled steps."""
    scaled = (scale_by_stddev if centered else scale_by_rms)(decay, eps, initial_scale)
    last = identity() if momentum is None else trace(momentum, nesterov)
    return chain(scaled, scale_by_learning_rate(learning_rate), last)


def adagrad(
    learning_rate: Rate, initial_accumulator_value: float = 0.1, eps: float = 1e-7
) -> GradientTransformation:
    """Adagrad (see `scale_by_rss`)."""
    return chain(scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate))


def adadelta(
    learning_rate: Rate = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    weight_decay_mask: Any = None,
) -> GradientTransformation:
    """Adadelta (see `scale_by_adadelta`), with decay of the weights before the step is scaled."""
    decay = add_decayed_weights(weight_decay, weight_decay_mask) if weight_decay else identity()
    return chain(decay, scale_by_adadelta(rho, eps), scale_by_learning_rate(learning_rate))


def lamb(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
    eps_root: float = 0.0,
    weight_decay: float = 0.0,
    mask: Any = None,
) -> GradientTransformation:
    """LAMB: Adam with weight decay, whose steps have the size of the weights of their leaf (You et al. 2020)."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_trust_ratio(),
        scale_by_learning_rate(learning_rate),
    )
