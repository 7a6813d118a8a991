"""Distributions of whole numbers: the sums of their probabilities, and the least number that reaches a probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import lax
from tracejit import numpy as tnp


def summed(pmf: Callable[[Any], Any], first: Any, last: Any) -> Any:
    """pmf(first) + ... + pmf(last), for each element."""
    start = first + 0.0 * last

    def step(state: Any) -> Any:
        at, total = state
        within = at <= last
        return at + 1, total + tnp.where(within, pmf(tnp.where(within, at, start)), 0.0)

    return lax.while_loop(lambda s: tnp.any(s[0] <= last), step, (start, 0.0 * start))[1]


def least(enough: Callable[[Any], Any], low: Any, high: Any, like: Any) -> Any:
    """The least whole number k between `low` and `high` that is `enough`, for each element: twice as far until one is,
    and by halves from there."""
    low, high = low + 0.0 * like, high + 0.0 * like
    start = tnp.where(tnp.isfinite(low), low, tnp.where(tnp.isfinite(high), high, 0.0))

    def reached(k: Any) -> Any:
        return enough(tnp.clip(k, low, high)) | (k >= high)

    def too_high(s: Any) -> Any:
        return (s[0] >= low) & reached(s[0])

    def too_low(s: Any) -> Any:
        return tnp.logical_not(reached(s[0]))

    def moved(wrong: Callable[[Any], Any], way: int) -> Callable[[Any], Any]:
        def move(s: Any) -> Any:
            more = wrong(s)
            return tnp.where(more, s[0] + way * s[1], s[0]), tnp.where(more, 2 * s[1], s[1])

        return move

    one = tnp.ones_like(start)
    below, _ = lax.while_loop(lambda s: tnp.any(too_high(s)), moved(too_high, -1), (start - 1, one))
    above, _ = lax.while_loop(lambda s: tnp.any(too_low(s)), moved(too_low, 1), (start, one))

    def between(s: Any) -> tuple[Any, Any]:
        middle = tnp.floor((s[0] + s[1]) / 2)
        return middle, (middle > s[0]) & (middle < s[1])

    def halve(s: Any) -> Any:
        middle, open_ = between(s)
        yes = reached(middle)
        return tnp.where(open_ & tnp.logical_not(yes), middle, s[0]), tnp.where(open_ & yes, middle, s[1])

    ends = (tnp.maximum(below, low - 1), tnp.minimum(above, high))
    return lax.while_loop(lambda s: tnp.any(between(s)[1]), halve, ends)[1]
