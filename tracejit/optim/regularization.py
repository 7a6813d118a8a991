"""Clipping and weight decay: transformations of gradients before, or of steps after, they are scaled."""

from __future__ import annotations

from typing import Any

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.errors import OptimizerArgumentError
from tracejit.optim.scaling import needed
from tracejit.optim.transformation import GradientTransformation, as_dtype, masked, squared, stateless


def global_norm(updates: Any) -> Any:
    """The Euclidean norm of all elements of a tree together, in the widest dtype of its leaves."""
    return tnp.sqrt(sum((_sum_of_squares(u) for u in tree.leaves(updates)), start=0.0))


def clip(max_delta: float) -> GradientTransformation:
    """Each element is brought into [-max_delta, max_delta]."""
    return stateless(lambda updates, params: tree.map(lambda u: tnp.clip(u, -max_delta, max_delta), updates))


def clip_by_norm(max_norm: float) -> GradientTransformation:
    """Each leaf whose Euclidean norm is above `max_norm` is made that long."""
    return stateless(
        lambda updates, params: tree.map(lambda u: _shortened(u, global_norm(u), max_norm), updates)
    )


def clip_by_global_norm(max_norm: float) -> GradientTransformation:
    """All leaves together, if their norm is above `max_norm`, are made that long (Pascanu et al. 2013)."""

    def clipped(updates: Any, params: Any) -> Any:
        norm = global_norm(updates)
        return tree.map(lambda u: _shortened(u, norm, max_norm), updates)

    return stateless(clipped)


def adaptive_grad_clip(clipping: float, eps: float = 1e-3) -> GradientTransformation:
    """Clips the norm of each unit's gradient to `clipping` times the norm of its weights, at least `eps` (Brock et al.
    2021). A unit is a vector, or the weights into one output: all axes but the last."""

    def clipped(u: Any, p: Any) -> Any:
        most = clipping * tnp.maximum(_unit_norm(p), eps)
        norm = _unit_norm(u)
        return tnp.where(norm < most, u, u * (most / tnp.maximum(norm, 1e-6)))

    return stateless(lambda updates, params: tree.map(clipped, updates, needed("adaptive_grad_clip", params)))


def add_decayed_weights(weight_decay: float, mask: Any = None, order: int = 2) -> GradientTransformation:
    """Adds `weight_decay` times the gradient of |p|**2 / 2 (`order` 2: p itself) or of |p| (`order` 1: its sign).

    `mask` is a tree of bools, or a function of the parameters that makes one: where it is true, weights decay.

    Raises:
        OptimizerArgumentError: `order` is neither 1 nor 2, or `update` was not given the parameters.
    """
    if order not in (1, 2):
        raise OptimizerArgumentError(
            function="add_decayed_weights", problem=f"`order` is 1 or 2, not {order!r}"
        )

    def added(u: Any, p: Any) -> Any:
        slope = p if order == 2 else tnp.sign(p)
        return u + as_dtype(weight_decay, u) * slope

    all_of_it = stateless(
        lambda updates, params: tree.map(added, updates, needed("add_decayed_weights", params))
    )
    return all_of_it if mask is None else masked(all_of_it, mask)


def _shortened(u: Any, norm: Any, max_norm: float) -> Any:
    """`u` scaled by max_norm / norm where that is below 1: untouched, to the bit, otherwise."""
    fits = norm <= max_norm
    return tnp.where(fits, u, u * as_dtype(max_norm / tnp.where(fits, 1, norm), u))


def _unit_norm(x: Any) -> Any:
    x = tnp.asarray(x)
    axes = tuple(range(x.ndim - 1)) if x.ndim > 1 else None
    return tnp.sqrt(tnp.sum(squared(x), axis=axes, keepdims=True))


def _sum_of_squares(x: Any) -> Any:
    return tnp.sum(squared(x))
