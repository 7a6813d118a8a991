"""Variates of SciPy's distributions, of parameters, which may be traced, and a generator's draws.

SciPy's `rvs` asks whether the parameters are in the domain, and makes a whole number Python's: both need values. So it
is written once more here, around the draws of each distribution, which are SciPy's own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import ops
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import has_box, raw, shape_of
from tracejit.ops._lazy import scipy_stats
from tracejit.tracing import Box, box, to_raw

_DOMAIN = (
    "Domain error in arguments. The `scale` parameter must be positive for all distributions, and many distributions "
    "have restrictions on shape parameters. Please see the `scipy.stats.{}` documentation for details."
)


def drawn(own: Any, ppf: Callable[..., Any] | None, args: Any, kwargs: Any, state: Any) -> Any:
    """`own.rvs(*args, **kwargs)` of a distribution of SciPy's, drawn from `state`, which stands for the generator of
    `np.random`; `ppf` gives its quantiles for traced values. NotImplemented where SciPy's own `rvs` does it."""
    stats = scipy_stats()
    base = next((c for c in (stats.rv_continuous, stats.rv_discrete) if isinstance(own, c)), None)
    if base is None or type(own).rvs is not base.rvs or isinstance(own, _sampled()):
        return NotImplemented
    bound = inspect.signature(own._parse_args_rvs).bind(*args, **kwargs)
    size = bound.arguments.pop("size", None)
    shapes, loc, scale = own._parse_args(*bound.args, **bound.kwargs)
    laid = None if has_box((size,)) else _laid_out((*shapes, loc, scale), size)
    if laid is None:
        return NotImplemented
    (*shapes, loc, scale), size = laid
    if not _judged(own, shapes, scale):
        return NotImplemented
    if ppf is not None and type(own)._rvs is base._rvs:
        found = ppf(state.uniform(size=size), *shapes)
    else:
        found = own._rvs(*shapes, size=size, random_state=state)
    found = tnp.add(tnp.multiply(found, scale), loc)
    if base is stats.rv_continuous:
        return found
    found = tnp.astype(tnp.trunc(found), np.int64) if found.dtype.kind == "f" else found
    return box(to_raw(found), weak=True) if size == () else tnp.astype(found, np.int64)


@functools.cache
def _sampled() -> tuple[type, ...]:
    """Classes of distributions that are made of samples or of single probabilities."""
    stats = scipy_stats()
    return stats.rv_histogram, type(stats.rv_discrete(values=([0, 1], [0.5, 0.5])))


def _laid_out(parameters: tuple[Any, ...], size: Any) -> tuple[list[Any], tuple[int, ...]] | None:
    """The parameters, and the shape of the result; None where they are arrays, some of them traced."""
    if all(not shape_of(x if type(x) is Box else raw(x)) for x in parameters):
        given = [x if type(x) is Box else np.asarray(x) for x in parameters]
        return given, () if size is None else tuple(map(int, np.atleast_1d(size)))
    return None


def _judged(own: Any, shapes: list[Any], scale: Any) -> bool:
    """Whether the parameters may be in the domain; the program checks those that it finds."""
    general = type(own)._argcheck is scipy_stats().rv_continuous._argcheck
    inside = [x > 0 for x in shapes] if general else [own._argcheck(*shapes)] if shapes else []
    for holds in (*inside, scale >= 0):
        if type(holds) is not Box:
            if not np.all(holds):
                return False
            continue
        failure = ops.index_check.Raising(ValueError, _DOMAIN.format(own.name))
        ops.index_check.fail_where(ops.compare.not_(to_raw(holds)), failure)
    if type(scale) is Box:
        leave_if(to_raw(scale == 0), "variates of which nothing is drawn")
    return bool(type(scale) is Box or scale != 0)
