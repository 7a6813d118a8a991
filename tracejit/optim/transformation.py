"""What an optimiser is made of: gradient transformations, and how they are put together.

A `GradientTransformation` is a pair of functions. `init(params)` gives the first state.
`update(updates, state, params)` takes gradients, or what the transformation before it made of them, and gives the new
updates and the new state. Updates have the structure of the parameters; `apply_updates` adds them. The form is
optax's (https://optax.readthedocs.io, "Gradient transformations").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.errors import OptimizerArgumentError
from tracejit.ir.elsewhere import is_elsewhere

Schedule = Callable[[Any], Any]


class GradientTransformation(NamedTuple):
    """`init(params) -> state` and `update(updates, state, params=None, **extra) -> (updates, state)`.

    `extra` are arguments that only some transformations need, such as the `value_fn` of a line search."""

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


class EmptyState(NamedTuple):
    """The state of a transformation that remembers nothing."""


def stateless(f: Callable[..., Any]) -> GradientTransformation:
    """The transformation `f(updates, params) -> updates` of whole trees, without a state."""

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        return f(updates, params), state

    return GradientTransformation(lambda params: EmptyState(), update)


def identity() -> GradientTransformation:
    """Leaves updates as they are."""
    return stateless(lambda updates, params: updates)


def set_to_zero() -> GradientTransformation:
    """Makes all updates zero: what is frozen."""
    return stateless(lambda updates, params: tree.map(tnp.zeros_like, updates))


def apply_updates(params: Any, updates: Any) -> Any:
    """`params + updates`, leaf by leaf, in the dtypes of `params`.

    Raises:
        PytreeMismatchError: the trees have different structures.
    """
    return tree.map(lambda p, u: tnp.add(p, as_dtype(u, p)).astype(tnp.asarray(p).dtype), params, updates)


def chain(*transformations: Any) -> GradientTransformation:
    """Transformations one after another: each gets the updates of the one before it. The state is the tuple of
    their states. `extra` arguments are given to those whose `update` takes them."""
    calls = [accepting(t.update) for t in transformations]

    def init(params: Any) -> tuple[Any, ...]:
        return tuple(t.init(params) for t in transformations)

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        if len(state) != len(calls):
            problem = f"the state has {len(state)} parts, for a chain of {len(calls)} transformations"
            raise OptimizerArgumentError(function="chain", problem=problem)
        news = []
        for call, part in zip(calls, state, strict=True):
            updates, new = call(updates, part, params, **extra)
            news.append(new)
        return updates, tuple(news)

    return GradientTransformation(init, update)


def accepting(update: Callable[..., Any]) -> Callable[..., Any]:
    """`update`, which is not given the extra arguments that it does not take."""
    taken = inspect.signature(update).parameters
    if any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        return update

    def call(updates: Any, state: Any, params: Any = None, **extra: Any) -> Any:
        return update(updates, state, params, **{k: x for k, x in extra.items() if k in taken})

    return call


def masked(inner: Any, mask: Any) -> GradientTransformation:
    """`inner` for the leaves at which `mask` is true; the other updates are left as they are.

    `mask` is a tree of bools, which may end above the leaves of the parameters, or a function that makes one of the
    parameters. `inner` sees None in the place of the other leaves.
    """
    call = accepting(inner.update)

    def chosen(x: Any) -> list[bool]:
        flags = tree.broadcast_prefix(mask(x) if callable(mask) else mask, x, "the mask")
        return [bool(flag) for flag in flags]

    def part(x: Any, keep: list[bool]) -> Any:
        if x is None:
            return None
        xs, treedef = tree.flatten(x)
        return tree.unflatten(treedef, [leaf if k else None for leaf, k in zip(xs, keep, strict=True)])

    def init(params: Any) -> Any:
        return inner.init(part(params, chosen(params)))

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        keep = chosen(updates if params is None else params)
        new, state = call(part(updates, keep), state, part(params, keep), **extra)
        xs, treedef = tree.flatten(updates)
        done = iter(tree.leaves(new))
        return tree.unflatten(treedef, [next(done) if k else x for x, k in zip(xs, keep, strict=True)]), state

    return GradientTransformation(init, update)


def partition(transformations: Mapping[Any, Any], labels: Any) -> GradientTransformation:
    """Another transformation for each label: `transformations[label]` for the leaves that have it.

    `labels` is a tree of labels, which may end above the leaves of the parameters, or a function that makes one of
    the parameters. The state is a dict by label.

    Raises:
        OptimizerArgumentError: a leaf's label has no transformation.
    """

    def marked(label: Any) -> GradientTransformation:
        def mask(params: Any) -> Any:
            found = tree.broadcast_prefix(
                labels(params) if callable(labels) else labels, params, "the labels"
            )
            lost = [x for x in found if x not in transformations]
            if lost:
                problem = f"there is no transformation for the label {lost[0]!r}"
                raise OptimizerArgumentError(function="partition", problem=problem)
            return tree.unflatten(tree.structure(params), [x == label for x in found])

        return masked(transformations[label], mask)

    parts = {label: marked(label) for label in transformations}

    def init(params: Any) -> dict[Any, Any]:
        return {label: t.init(params) for label, t in parts.items()}

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        news = {}
        for label, t in parts.items():
            updates, news[label] = t.update(updates, state[label], params, **extra)
        return updates, news

    return GradientTransformation(init, update)


class HyperparamsState(NamedTuple):
    """The state of `inject_hyperparams`: the count of steps, the numbers, the state of what they are the numbers of."""

    count: Any
    hyperparams: dict[str, Any]
    inner: Any


def inject_hyperparams(factory: Callable[..., Any], static_args: tuple[str, ...] = ()) -> Callable[..., Any]:
    """`factory` whose numbers are kept in the state, where a program may read and change them:

        optimizer = inject_hyperparams(adam)(learning_rate=1e-3)
        state.hyperparams["learning_rate"] = 1e-4

    Schedules among them are called with the number of the step. Names in `static_args`, masks, line searches, and
    what is neither a number nor a function, are left to the factory.
    """

    def make(*args: Any, **kwargs: Any) -> GradientTransformation:
        given = inspect.signature(factory).bind(*args, **kwargs)
        given.apply_defaults()
        numbers = {k: float(x) for k, x in given.arguments.items() if _is_number(x) and k not in static_args}
        schedules = {
            k: x
            for k, x in given.arguments.items()
            if callable(x) and k not in ("mask", "linesearch", *static_args)
        }

        def rebuilt(hyperparams: dict[str, Any]) -> Any:
            return factory(**{**given.arguments, **hyperparams})

        def init(params: Any) -> HyperparamsState:
            now = {**numbers, **{k: s(0) for k, s in schedules.items()}}
            return HyperparamsState(np.int64(0), now, rebuilt(now).init(params))

        def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
            now = {**state.hyperparams, **{k: s(state.count) for k, s in schedules.items()}}
            updates, inner = accepting(rebuilt(now).update)(updates, state.inner, params, **extra)
            return updates, HyperparamsState(state.count + 1, now, inner)

        return GradientTransformation(init, update)

    return make


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.floating, np.integer)) and not isinstance(x, bool)


def as_dtype(value: Any, x: Any) -> Any:
    """A number or array in the dtype of the array `x`: a float64 count must not widen float32 parameters. The real
    dtype of a complex `x`, if `value` is real. Python's numbers adopt the dtype by themselves."""
    if type(value) in (bool, int, float, complex):
        return value
    dtype, own = tnp.asarray(x).dtype, tnp.asarray(value).dtype
    wanted = dtype if own.kind == "c" else real_dtype(dtype)
    return value if own == wanted else tnp.asarray(value).astype(wanted)


def real_dtype(dtype: Any) -> Any:
    """The dtype of the real part."""
    return np.zeros((), dtype).real.dtype if np.dtype(dtype).kind == "c" else dtype


def filled(params: Any, value: float = 0.0, real: bool = False) -> Any:
    """A tree of arrays like `params` that hold `value`, with `real` in the real dtypes. Where a parameter has no
    dimensions it is a scalar, as it is after a compiled step, which would be traced again for another kind."""

    def one(p: Any) -> Any:
        dtype = tnp.asarray(p).dtype
        dtype = real_dtype(dtype) if real else dtype
        if is_elsewhere(p):  # on its device
            return tnp.full_like(p, value, dtype)
        made = np.full(tnp.shape(p), value, dtype)
        return made if made.ndim else made[()]

    return tree.map(one, params)


def step_size(rate: Any, count: Any) -> Any:
    """A learning rate at a step: a number as it is, or what a schedule gives."""
    return rate(count) if callable(rate) else rate


def squared(x: Any) -> Any:
    """|x|**2 in the real dtype of `x`, without a square root."""
    x = tnp.asarray(x)
    return tnp.square(x) if x.dtype.kind != "c" else tnp.square(x.real) + tnp.square(x.imag)
