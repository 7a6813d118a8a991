"""Iterables of `itertools` and NumPy whose structure loops can see. Most are loops in loops: `itertools.product` and
`combinations`, `numpy.ndindex` and `ndenumerate`.

A `for` over one of them becomes as many loops, one in the other, as it would have been written with `range`:

    for i, j in np.ndindex(n, m): body        for i in range(n):
                                                  for j in range(m): body
"""

from __future__ import annotations

import functools
import itertools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.blocks.terms import NotNative
from tracejit.frontend.rewrite.hooks.iterables import (
    ArraySteps,
    CountedSteps,
    Number,
    RangeSteps,
    ZipSteps,
    is_unknown,
    product_of,
    shared,
    steps_of,
)
from tracejit.frontend.rewrite.hooks.lazies import Lazy
from tracejit.frontend.rewrite.hooks.steps import Part, Steps
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.ufuncs import int_like
from tracejit.tracing import Box, box

_LONGEST_TABLE = 1 << 20  # positions of combinations that are listed
_FAR = 1 << 62  # where ranges without an end end
_LEAPS = 1 << 20  # the longest steps of such


class Nest(Steps):
    """The steps of `outermost`, and in each of them those of `rest(item)`, if there are more; `whole` makes one item of
    both."""

    outermost: Steps

    def rest(self, item: Any) -> Nest | None:
        raise NotImplementedError

    def whole(self, item: Any, inner: Any) -> Any:
        raise NotImplementedError


class Product(Nest):
    """Tuples of an item of each part; the last part's changes fastest."""

    def __init__(self, parts: list[Steps]) -> None:
        super().__init__(product_of([p.count for p in parts]))
        self.parts = parts
        self.outermost = parts[0]

    def rest(self, item: Any) -> Nest | None:
        return Product(self.parts[1:]) if len(self.parts) > 1 else None

    def whole(self, item: Any, inner: Any) -> Any:
        return (item, *inner)

    def item(self, k: Number) -> Any:
        found: list[Any] = []
        for p in self.parts[:0:-1]:
            k, position = shared(k, p.count)
            found.append(p.item(position))
        return (self.parts[0].item(k), *reversed(found))


class Combinations(Nest):
    """`size` items of `pool` in their order, each at most once or, `again`, several times. Those from the position
    `begin` on are an inner loop's, whose number nobody asks for."""

    def __init__(self, pool: Steps, size: int, again: bool, begin: Number = 0) -> None:
        n = pool.count
        count = math.comb(n + size - 1, size) if again else math.comb(n, size)
        super().__init__(count if type(begin) is int and not begin else -1)
        self.pool, self.size, self.again = pool, size, again
        last = n if again else n - size + 1  # there are items for the rest
        self.outermost = CountedSteps(Part(pool, begin, extents.sub(last, begin)), begin)

    def rest(self, item: Any) -> Nest | None:
        if self.size == 1:
            return None
        begin = extents.number(item[0])
        begin = begin if self.again else extents.add(begin, 1)
        return Combinations(self.pool, self.size - 1, self.again, begin)

    def whole(self, item: Any, inner: Any) -> Any:
        return (item[1], *inner)

    def item(self, k: Number) -> Any:
        row = ArraySteps(box(self._positions)).item(k)
        return tuple([self.pool.item(extents.number(row[n])) for n in range(self.size)])

    @functools.cached_property
    def _positions(self) -> np.ndarray:
        choose = itertools.combinations_with_replacement if self.again else itertools.combinations
        return np.array(list(choose(range(self.pool.count), self.size)), np.int64)


class Pairs(Nest):
    """`numpy.ndenumerate`: places and elements."""

    def __init__(self, places: Product, x: Any) -> None:
        super().__init__(places.count)
        self.places, self.x = places, x
        self.outermost = places.outermost

    def rest(self, item: Any) -> Nest | None:
        return self.places.rest(item)

    def whole(self, item: Any, inner: Any) -> Any:
        place = self.places.whole(item, inner)
        return place, self.x[place]

    def item(self, k: Number) -> Any:
        place = self.places.item(k)
        return place, self.x[place]


def _parts(iterables: Any) -> list[Steps] | None:
    """The steps of each, of numbers in an array as they are now; None if one has none."""
    found = []
    for x in iterables:
        steps = steps_of(x.copy() if type(x) is Box and x.aval.ndim == 1 else x)
        if steps is None:
            return None
        found.append(steps)
    return found


def product(*iterables: Any, repeat: Any = 1) -> Any:
    """`itertools.product`, whose structure a loop can see."""
    plain = lambda: itertools.product(*iterables, repeat=repeat)  # noqa: E731
    parts = _parts(iterables) if capturing() is not None else None
    if not parts or type(repeat) is not int or repeat < 1:
        return plain()
    return Lazy(Product(parts * repeat), "itertools.product(...)", plain, parts=iterables)


def _combinations(name: str, again: bool) -> Callable[..., Any]:
    choose = getattr(itertools, name)

    def combinations(iterable: Any, r: Any) -> Any:
        plain = lambda: choose(iterable, r)  # noqa: E731
        parts = _parts([iterable]) if capturing() is not None else None
        if not parts or type(parts[0].count) is not int or type(r) is not int or r < 1:
            return plain()
        steps = Combinations(parts[0], r, again) if again or parts[0].count >= r else None
        small = steps is not None and 0 < steps.count * r <= _LONGEST_TABLE
        if steps is None or not small:
            return plain()
        return Lazy(steps, f"itertools.{name}(...)", plain, parts=[iterable])

    combinations.__name__ = name
    combinations.__doc__ = f"`itertools.{name}`, whose structure a loop can see."
    return combinations


combinations = _combinations("combinations", again=False)
combinations_with_replacement = _combinations("combinations_with_replacement", again=True)


class Neighbours(ZipSteps):
    """`itertools.pairwise`. The first of two numbers is the second of the step before, even if its array has been
    written since."""

    def __init__(self, steps: Steps) -> None:
        super().__init__([steps, steps.after(1)])
        x = steps.x if type(steps) is ArraySteps and steps.x.aval.ndim == 1 else None
        self.storage = None if x is None else x.storage
        self.value = None if x is None else x.storage.value

    def item(self, k: Number) -> Any:
        if self.storage is not None and self.storage.value is not self.value:
            raise NotNative("it writes the array over whose neighbours it runs")
        return super().item(k)


def pairwise(iterable: Any, /) -> Any:
    """`itertools.pairwise`, whose structure a loop can see."""
    steps = steps_of(iterable) if capturing() is not None else None
    if steps is None:
        return itertools.pairwise(iterable)
    plain = lambda: itertools.pairwise(iterable)  # noqa: E731
    return Lazy(Neighbours(steps), "itertools.pairwise(...)", plain, parts=[iterable])


def ndindex(*shape: Any) -> Any:
    """`numpy.ndindex`, of extents that may be traced, whose structure a loop can see."""
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    unknown = any(map(is_unknown, given))
    if capturing() is None or not given:
        return np.ndindex(*shape)
    plain = None
    if not unknown:
        np.ndindex(*given)  # raises what NumPy raises
        plain = lambda: iter(np.ndindex(*given))  # noqa: E731
    return Lazy(_places([extents.number(n) for n in given]), "numpy.ndindex(...)", plain)


def _places(shape: list[Number]) -> Product:
    return Product([RangeSteps(0, n, 1) for n in shape])


def ndenumerate(arr: Any) -> Any:
    """`numpy.ndenumerate`, of traced arrays too."""
    if type(arr) is CapturedArray and arr.is_traced():
        arr = arr.boxed()
    if type(arr) is not Box and not (isinstance(arr, np.ndarray) and capturing() is not None):
        return np.ndenumerate(arr)
    x = arr if type(arr) is Box else box(arr)
    if capturing() is None or not x.aval.shape:
        return _elements(x)
    places = _places([extents.of_dim(d) for d in x.aval.shape])
    return Lazy(Pairs(places, x), "numpy.ndenumerate(...)")


def _elements(x: Box) -> Iterator[Any]:
    for place in np.ndindex(*x.aval.shape):
        yield place, x[place]


def count(start: Any = 0, step: Any = 1) -> Any:
    """`itertools.count`, which counts in steps of 1 from an integer where it is given a truth value of Python's."""
    is_truth = type(start) is Box and is_python(start) and start.aval.dtype.kind == "b"
    by_one = is_truth and (step.aval.dtype.kind in "bi" if type(step) is Box else type(step) in (int, bool))
    first: Any = int_like(start) if by_one and step == 1 else start
    made: Any = itertools.count
    return made(first, step)


def iterated(f: Any) -> Any:
    """`f` of `for item in f(...)`. An `itertools.count` that only this loop knows is a range without an end: elsewhere
    another may take the numbers after those of a native loop."""
    return _endless if f is count and capturing() is not None else f


class _From(Steps):
    """`itertools.count(start, step)` of a traced integer, from which nothing is known to stay within 64 bits."""

    def __init__(self, start: Any, step: int) -> None:
        super().__init__(_FAR // abs(step))
        self.start, self.step = start, step

    def item(self, k: Number) -> Any:
        steps: Any = k if type(k) is int else box(k, weak=True)
        return self.start + steps * self.step


def _endless(start: Any = 0, step: Any = 1) -> Any:
    plain = count(start, step)
    if type(step) is not int or not 0 < abs(step) <= _LEAPS:
        return plain
    if is_unknown(start) and is_python(start) and start.aval.dtype == np.int64:
        steps: Steps = _From(start, step)
    elif type(start) is int and abs(start) < _FAR:
        steps = RangeSteps(start, start + _FAR // abs(step) * step, step)
    else:
        return plain
    steps.endless = True
    return Lazy(steps, "itertools.count(...)", lambda: plain)


OF_ITERTOOLS = types.SimpleNamespace(
    product=product,
    combinations=combinations,
    combinations_with_replacement=combinations_with_replacement,
    pairwise=pairwise,
    count=count,
)
