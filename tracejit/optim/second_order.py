"""L-BFGS and truncated Newton steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.api.autodiff.derivatives import grad as grad_of
from tracejit.api.autodiff.derivatives import jvp
from tracejit.errors import OptimizerArgumentError
from tracejit.flatten_util import ravel_pytree
from tracejit.optim.linesearch import zoom_linesearch
from tracejit.optim.scaling import needed, scale, scale_by_learning_rate
from tracejit.optim.transformation import GradientTransformation, Schedule, chain


class LBFGSState(NamedTuple):
    """The number of steps; the last point and gradient, shape (n,); the last `memory_size` differences of points and of
    gradients, shape (memory_size, n), in a ring; and one over their inner products, 0 where a pair can't be used."""

    count: Any
    params: Any
    grad: Any
    steps: Any
    changes: Any
    weights: Any


def scale_by_lbfgs(memory_size: int = 10, scale_init_precond: bool = True) -> GradientTransformation:
    """Multiplies gradients by the inverse Hessian that the last `memory_size` steps show (Liu and Nocedal 1989).

    The recursion starts from the identity, times s.y / y.y of the newest pair with `scale_init_precond`, and before
    the first step from one over the gradient's norm, at most 1. Pairs without positive curvature are not used.

    Raises:
        OptimizerArgumentError: `memory_size` is not positive, or `update` was not given the parameters.
    """
    if memory_size < 1:
        problem = f"`memory_size` must be positive, not {memory_size}"
        raise OptimizerArgumentError(function="scale_by_lbfgs", problem=problem)

    def init(params: Any) -> LBFGSState:
        point = ravel_pytree(params)[0]
        none = tnp.zeros_like(point)
        rows, weights = (tnp.zeros_like(point, shape=(memory_size, *s)) for s in (point.shape, ()))
        return LBFGSState(np.int64(0), none, none, rows, rows.copy(), weights)

    def update(updates: Any, state: LBFGSState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        point = ravel_pytree(needed("scale_by_lbfgs", params))[0]
        g, unravel = ravel_pytree(updates)
        state = _remember(state, point, g, memory_size)
        newest = (state.count - 1) % memory_size
        curved = _row(state.weights, newest) > 0
        y = _row(state.changes, newest)
        first = tnp.minimum(1.0, 1 / tnp.sqrt(tnp.maximum(tnp.dot(g, g), np.finfo(g.dtype).tiny)))
        usual = 1 / tnp.where(curved, _row(state.weights, newest) * tnp.dot(y, y), 1)
        start = tnp.where(curved, usual if scale_init_precond else 1.0, first).astype(g.dtype)
        out = _two_loops(g, state, start, memory_size)
        return unravel(out), state._replace(count=state.count + 1, params=point, grad=g)

    return GradientTransformation(init, update)


def _remember(state: LBFGSState, point: Any, g: Any, size: int) -> LBFGSState:
    """The pair of the last step put in the place of the oldest one; not before there was a step."""
    s, y = point - state.params, g - state.grad
    product = tnp.dot(s, y)
    usable = (state.count > 0) & (product > np.finfo(g.dtype).eps * tnp.dot(y, y))
    weight = tnp.where(usable, 1 / tnp.where(usable, product, 1), 0).astype(g.dtype)
    row = (state.count - 1) % size
    return state._replace(
        steps=_with_row(state.steps, row, s),
        changes=_with_row(state.changes, row, y),
        weights=_with_row(state.weights, row, weight),
    )


def _row(rows: Any, row: Any) -> Any:
    return lax.dynamic_index_in_dim(rows, row, 0, keepdims=False)


def _with_row(rows: Any, row: Any, new: Any) -> Any:
    return lax.dynamic_update_index_in_dim(rows, new, row, 0)


def _two_loops(g: Any, state: LBFGSState, start: Any, size: int) -> Any:
    """The product with the inverse Hessian (Nocedal and Wright, algorithm 7.4); pairs of weight 0 change nothing."""
    newest = state.count - 1

    def backward(i: Any, carry: Any) -> Any:
        q, alphas = carry
        row = (newest - i) % size
        alpha = _row(state.weights, row) * tnp.dot(_row(state.steps, row), q)
        return q - alpha * _row(state.changes, row), _with_row(alphas, row, alpha)

    def forward(i: Any, r: Any) -> Any:
        row = (newest - (size - 1) + i) % size
        beta = _row(state.weights, row) * tnp.dot(_row(state.changes, row), r)
        return r + (_row(alphas, row) - beta) * _row(state.steps, row)

    q, alphas = lax.fori_loop(0, size, backward, (g, tnp.zeros_like(state.weights)))
    return lax.fori_loop(0, size, forward, start * q)


def lbfgs(
    learning_rate: float | Schedule | None = None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: Any = None,
) -> GradientTransformation:
    """L-BFGS with a search for the strong Wolfe conditions along each direction.

        optimizer = lbfgs()
        value, grad = value_and_grad_from_state(f)(params, state=state)
        updates, state = optimizer.update(grad, state, params, value=value, grad=grad, value_fn=f)

    With a `learning_rate`, steps are that long and no search is made. `linesearch` may be any transformation that
    takes `value`, `grad` and `value_fn`.
    """
    last = scale_by_learning_rate(learning_rate) if learning_rate is not None else scale(-1.0)
    search = [] if learning_rate is not None else [linesearch or zoom_linesearch()]
    return chain(scale_by_lbfgs(memory_size, scale_init_precond), last, *search)


class NewtonState(NamedTuple):
    """The number of steps of conjugate gradients in the last step."""

    inner_steps: Any


def scale_by_newton_cg(max_inner_steps: int | None = None) -> GradientTransformation:
    """Multiplies gradients by the inverse Hessian, as conjugate gradients find it with Hessian-vector products
    (Nocedal and Wright, algorithm 7.1).

    They end where the residual is below `min(0.5, sqrt(|g|)) * |g|`, after `max_inner_steps` (20 times the number of
    parameters, at most 1000), or at a direction of negative curvature, which is then taken or, at the first
    step, the gradient. `update` needs `value_fn=`, a function of the parameters.
    """

    def update(
        updates: Any, state: NewtonState, params: Any = None, *, value_fn: Any, **extra: Any
    ) -> tuple[Any, Any]:
        point, unravel = ravel_pytree(needed("scale_by_newton_cg", params))
        g = ravel_pytree(updates)[0]
        slope = grad_of(lambda x: value_fn(unravel(x)))
        norm = tnp.sqrt(tnp.dot(g, g))
        enough = (tnp.minimum(0.5, tnp.sqrt(norm)) * norm) ** 2
        most = min(20 * point.size, 1000) if max_inner_steps is None else max_inner_steps

        def going(s: Any) -> Any:
            steps, _, r, _, curved = s
            return curved & (steps < most) & (tnp.dot(r, r) > enough)

        def inner(s: Any) -> Any:
            steps, z, r, d, _ = s
            bent = jvp(slope, (point,), (d,))[1]
            curvature, rr = tnp.dot(d, bent), tnp.dot(r, r)
            curved = curvature > 0
            alpha = tnp.where(curved, rr / tnp.where(curved, curvature, 1), 0)
            new_z = tnp.where(curved, z + alpha * d, tnp.where(steps == 0, d, z))
            new_r = r - alpha * bent
            beta = tnp.dot(new_r, new_r) / tnp.where(rr > 0, rr, 1)
            return steps + 1, new_z, new_r, new_r + beta * d, curved

        init = (np.int64(0), tnp.zeros_like(g), g, g, np.bool_(True))
        steps, z, *_ = lax.while_loop(going, inner, init)
        return unravel(z), NewtonState(steps)

    return GradientTransformation(lambda params: NewtonState(np.int64(0)), update)


def newton_cg(max_inner_steps: int | None = None, linesearch: Any = None) -> GradientTransformation:
    """Newton's method whose steps conjugate gradients find, with a line search; called as `lbfgs` is."""
    return chain(scale_by_newton_cg(max_inner_steps), scale(-1.0), linesearch or zoom_linesearch())
