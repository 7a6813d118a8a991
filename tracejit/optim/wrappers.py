"""Transformations around others: gradients of several batches, steps that are not finite, averages, scaled losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.errors import OptimizerArgumentError
from tracejit.optim.transformation import GradientTransformation, accepting, as_dtype, filled


class AccumulationState(NamedTuple):
    """How many gradients are in `mean`, the number of steps taken, and the state of the optimiser."""

    mini_step: Any
    step: Any
    mean: Any
    inner: Any


def accumulate_gradients(inner: Any, every: int) -> GradientTransformation:
    """Takes a step of `inner` with the mean of `every` gradients; the updates before it are zeros.

    Raises:
        OptimizerArgumentError: `every` is not positive.
    """
    if every < 1:
        problem = f"`every` must be positive, not {every}"
        raise OptimizerArgumentError(function="accumulate_gradients", problem=problem)
    call = accepting(inner.update)

    def init(params: Any) -> AccumulationState:
        return AccumulationState(np.int64(0), np.int64(0), filled(params), inner.init(params))

    def update(updates: Any, state: AccumulationState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        count = state.mini_step + 1
        weight = 1 / count
        mean = tree.map(lambda g, m: m + (g - m) * as_dtype(weight, m), updates, state.mean)

        def step(mean: Any, held: Any) -> Any:
            out, new = call(mean, held, params, **extra)
            out = tree.map(lambda u, g: tnp.asarray(u).astype(tnp.asarray(g).dtype), out, mean)
            return out, new, tree.map(tnp.zeros_like, mean)

        def wait(mean: Any, held: Any) -> Any:
            return tree.map(tnp.zeros_like, mean), held, mean

        full = count == every
        out, new, mean = lax.cond(full, step, wait, mean, state.inner)
        return out, AccumulationState(count % every, state.step + as_dtype(full, state.step), mean, new)

    return GradientTransformation(init, update)


class FiniteState(NamedTuple):
    """How many updates in a row, and how many in all, were not finite; whether the last one was; the inner state."""

    notfinite_count: Any
    total_notfinite: Any
    last_finite: Any
    inner: Any


def apply_if_finite(inner: Any, max_consecutive_errors: int = 10) -> GradientTransformation:
    """Steps of `inner` where all gradients are finite, zeros and the old state otherwise. After more than
    `max_consecutive_errors` such steps in a row they are taken as they are, so that the trouble is seen."""
    call = accepting(inner.update)

    def init(params: Any) -> FiniteState:
        return FiniteState(np.int64(0), np.int64(0), np.bool_(True), inner.init(params))

    def update(updates: Any, state: FiniteState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        finite = all_finite(updates)
        row = tnp.where(finite, 0, state.notfinite_count + 1)
        out, new = call(updates, state.inner, params, **extra)
        use = finite | (row > max_consecutive_errors)
        out = select_tree(use, out, tree.map(tnp.zeros_like, out))
        total = state.total_notfinite + tnp.where(finite, 0, 1)
        return out, FiniteState(row, total, finite, select_tree(use, new, state.inner))

    return GradientTransformation(init, update)


class AverageState(NamedTuple):
    """The number of values seen, and their running average."""

    count: Any
    average: Any


def ema(decay: float, debias: bool = True) -> GradientTransformation:
    """The exponential moving average of the updates, with weight `1 - decay` for the newest; with `debias` divided by
    the weights so far. Given parameters instead of gradients it averages these."""

    def init(params: Any) -> AverageState:
        return AverageState(np.int64(0), filled(params))

    def update(updates: Any, state: AverageState, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        count = state.count + 1
        average = tree.map(lambda x, m: decay * m + (1 - decay) * x, updates, state.average)
        weights = 1 - decay**count
        out = tree.map(lambda m: m / as_dtype(weights, m), average) if debias else average
        return out, AverageState(count, average)

    return GradientTransformation(init, update)


def incremental_update(new: Any, old: Any, step_size: float) -> Any:
    """`step_size * new + (1 - step_size) * old`, leaf by leaf: Polyak averages of parameters."""
    return tree.map(lambda n, o: step_size * n + (1 - step_size) * o, new, old)


def all_finite(values: Any) -> Any:
    """Whether all elements of a tree are finite numbers, as one bool."""
    found = np.bool_(True)
    for x in tree.leaves(values):
        found = found & tnp.all(tnp.isfinite(x))
    return found


def select_tree(condition: Any, on_true: Any, on_false: Any) -> Any:
    """One of two trees of the same structure and dtypes, by a bool that may be traced."""
    return tree.map(lambda a, b: tnp.where(condition, a, b), on_true, on_false)


class LossScale(NamedTuple):
    """A factor by which losses in half precision are multiplied, so that small gradients don't become zero
    (Micikevicius et al. 2018). It is halved when a gradient is not finite, and doubled after `period` steps in
    which all were.

        loss_scale = dynamic_loss_scale()
        grads = loss_scale.unscale(tj.grad(lambda p: loss_scale.scale(loss(p)))(params))
        finite = all_finite(grads)
        loss_scale = loss_scale.adjust(finite)
        params = select_tree(finite, apply_updates(params, updates), params)
    """

    factor: Any
    counter: Any
    period: Any
    smallest: Any

    def scale(self, values: Any) -> Any:
        """The loss, or a tree of values, times the factor."""
        return tree.map(lambda x: x * as_dtype(self.factor, x), values)

    def unscale(self, values: Any) -> Any:
        """Gradients divided by the factor, in float32 at least."""
        return tree.map(lambda x: _wide(x) * as_dtype(1 / self.factor, _wide(x)), values)

    def adjust(self, finite: Any) -> LossScale:
        """The scale for the next step, by whether all gradients of this one were finite."""
        done = self.counter == self.period - 1
        grown = tnp.where(done & tnp.isfinite(2 * self.factor), 2 * self.factor, self.factor)
        less = tnp.maximum(self.factor / 2, self.smallest)
        counter = tnp.where(finite & ~done, self.counter + 1, 0)
        return self._replace(factor=tnp.where(finite, grown, less), counter=counter)


def dynamic_loss_scale(initial: float = 2.0**15, period: int = 2000, smallest: float = 1.0) -> LossScale:
    """A `LossScale` that begins with `initial`."""
    return LossScale(np.float32(initial), np.int64(0), np.int64(period), np.float32(smallest))


def _wide(x: Any) -> Any:
    x = tnp.asarray(x)
    return x if x.dtype.itemsize > 2 else x.astype(np.float32)
