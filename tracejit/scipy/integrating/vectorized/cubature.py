"""`cubature` for traced values: integrals over boxes of several dimensions, as native loops.

The box with the largest error is halved along each axis until the sum of the errors is small enough (Genz and Malik
1980). The rules are products of Gauss-Kronrod rules, and Genz and Malik's own. Derivatives, by the limits too, are
those of the sum over the points that were chosen.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.integrating.gauss_kronrod import RULE15, RULE21
from tracejit.scipy.integrating.recording import check_room, put
from tracejit.scipy.integrating.vectorized.elements import real, values
from tracejit.scipy.solving import ask
from tracejit.tracing import box, caller, to_raw

#: Boxes that there is room for at first, and the most points of a rule.
_FIRST, _POINTS = 512, 1 << 20
_RULES = {"gauss-kronrod": RULE21, "gk21": RULE21, "gk15": RULE15}
_STATUS = ("not_converged", "converged")


def _refuse(problem: str, remedy: str) -> None:
    raise SolverOptionError(function="cubature", problem=problem, remedy=remedy)


@functools.cache
def _result_class() -> Any:
    theirs: Any = scipy_module("integrate")._cubature.CubatureResult

    class CubatureResult(theirs):
        """A result without the list of boxes."""

        @property
        def regions(self) -> Any:
            _refuse("`regions` of its result", "use estimate, error, status, subdivisions")

        @regions.setter
        def regions(self, value: Any) -> None:
            pass

    return CubatureResult


@functools.cache
def _genz_malik(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on [-1, 1]**d, the weights of degree 7, and those of degree 5 (Genz and Malik 1980)."""
    near, far, corner = (9 / 70) ** 0.5, (9 / 10) ** 0.5, (9 / 19) ** 0.5
    eye = np.eye(d)
    pairs = [
        s * eye[i] + t * eye[j]
        for i, j in itertools.combinations(range(d), 2)
        for s in (1, -1)
        for t in (1, -1)
    ]
    corners = corner * np.array(list(itertools.product((1.0, -1.0), repeat=d)))
    groups = [np.zeros((1, d)), near * np.vstack([eye, -eye]), far * np.vstack([eye, -eye])]
    groups += [far * np.array(pairs), corners]
    high = [
        2**d * (12824 - 9120 * d + 400 * d * d) / 19683,
        2**d * 980 / 6561,
        2**d * (1820 - 400 * d) / 19683,
        2**d * 200 / 19683,
        6859 / 19683,
    ]
    low = [
        2**d * (729 - 950 * d + 50 * d * d) / 729,
        2**d * 245 / 486,
        2**d * (265 - 100 * d) / 1458,
        2**d * 25 / 729,
        0.0,
    ]
    sizes = [len(g) for g in groups]
    return np.vstack(groups), np.repeat(high, sizes), np.repeat(low, sizes)


@functools.cache
def _product(name: str, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and weights of the product of a Gauss-Kronrod rule with itself, and those of Gauss' rule."""
    rule = _RULES[name]
    grid = np.stack([g.ravel() for g in np.meshgrid(*[rule.nodes] * d, indexing="ij")], axis=-1)
    high, low = (functools.reduce(np.multiply.outer, [w] * d).ravel() for w in (rule.kronrod, rule.gauss))
    return grid, high, low


def _rule(name: Any, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not isinstance(name, str):
        _refuse("a rule of one's own", "name one")
    if name == "genz-malik":
        if d < 2:
            raise ValueError("Genz-Malik cubature is only defined for ndim >= 2")
        return _genz_malik(d)
    if name not in _RULES:
        raise ValueError(f"unknown rule {name}")
    if len(_RULES[name].nodes) ** d > _POINTS:
        _refuse(f"{d} dimensions by a product of rules", "use genz-malik")
    return _product(name, d)


def _parts(a: Any, b: Any, at: Any) -> tuple[Any, Any]:
    """The lower and upper corners of the boxes that a point cuts a box into."""
    sides = np.array(list(itertools.product((False, True), repeat=a.shape[0])))
    return tnp.where(sides, at, a), tnp.where(sides, b, at)


def _infinite(f: Callable[[Any], Any], a: Any, b: Any) -> tuple[Callable[[Any], Any], Any, Any, bool]:
    """The function and limits, where there are infinite ones, by x = a + (1 - t)/t and x = (1 - |t|)/t."""
    if isinstance(to_raw(a), Value) or isinstance(to_raw(b), Value):
        some = tnp.any(tnp.isinf(a) | tnp.isinf(b))
        fail_if(to_raw(some), SolverFailedError, "A traced limit of an integral is infinite.")
        return f, a, b, False
    a, b = np.array(a), np.array(b)
    whole, half = np.isinf(a) & np.isinf(b), np.isfinite(a) & np.isinf(b)
    if not np.any(np.isinf(a) | np.isinf(b)):
        return f, a, b, False
    if np.any(np.isinf(a) & ~whole):
        _refuse("a limit from -inf to a finite one", "mirror the function: SciPy's own does not")
    start = np.where(half, a, 0.0)

    def g(t: Any) -> Any:
        safe = tnp.where(whole | half, t, 1.0)
        x = tnp.where(whole, (1 - tnp.abs(t)) / safe, tnp.where(half, start + (1 - t) / safe, t))
        values = f(x)
        return values * (1 / tnp.prod(safe**2, axis=-1)).reshape(-1, *[1] * (values.ndim - 1))

    low = np.where(whole, -1.0, np.where(half, 0.0, a))
    return g, low, np.where(whole | half, 1.0, b), True


def _cut(a: Any, b: Any, points: Any) -> tuple[Any, Any]:
    """The boxes that `points` cut the first box into: all of it is known."""
    boxes = [(a, b)]
    for point in points:
        cut = []
        for low, high in boxes:
            within = np.all(low <= point) and np.all(point <= high)
            if not within or np.all(point == low) or np.all(point == high):
                cut.append((low, high))
                continue
            lows, highs = (np.asarray(x) for x in _parts(low, high, point))
            cut += [(x, y) for x, y in zip(lows, highs, strict=True) if not np.any(x == y)]
        boxes = cut
    return np.stack([x for x, _ in boxes]), np.stack([y for _, y in boxes])


def cubature(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    rule: Any = "gk21",
    rtol: Any = 1e-8,
    atol: Any = 0,
    max_subdivisions: Any = 10000,
    args: Any = (),
    workers: Any = 1,
    points: Any = None,
) -> Any:
    """The integral of `f(x, *args)`, which takes points as rows and gives a number or array for each, over the box with
    the corners `a` and `b`.

    Raises SolverOptionError for other rules than those that have a name, `workers`, and points where a limit is traced
    or infinite."""
    if workers != 1:
        _refuse("the option `workers`", "leave it away")
    a, b = tnp.broadcast_arrays(real("cubature", a), real("cubature", b))
    if not a.size:
        raise ValueError("`a` and `b` must be nonempty")
    if a.ndim != 1:
        raise ValueError("`a` and `b` must be 1D arrays")
    nodes, high, low = _rule(rule, a.shape[0])
    sign = tnp.where(tnp.sum(a > b) % 2 == 1, -1.0, 1.0)

    def plain(x: Any) -> Any:
        return values("cubature", ask(f, x, *args))

    g, a, b, infinite = _infinite(plain, tnp.minimum(a, b), tnp.maximum(a, b))
    given = [] if points is None else [tnp.asarray(p) for p in points]
    known = not isinstance(to_raw(a), Value) and not isinstance(to_raw(b), Value)
    if given and (infinite or not known or any(isinstance(to_raw(p), Value) for p in given)):
        _refuse("points and a traced or an infinite limit", "split the integral")
    if infinite:
        given = [np.zeros(a.shape)]
    lows, highs = _cut(np.asarray(a), np.asarray(b), map(np.asarray, given)) if given else (a[None], b[None])

    def apply(low_corner: Any, high_corner: Any) -> tuple[Any, Any]:
        length = high_corner - low_corner
        size = tnp.prod(length) / 2 ** a.shape[0]
        out = g((nodes + 1) * (length * 0.5) + low_corner)
        error = tnp.abs(tnp.tensordot(high - low, lax.stop_gradient(out), 1) * lax.stop_gradient(size))
        return tnp.tensordot(high, out, 1) * size, error

    most = (
        None if max_subdivisions is None or max_subdivisions == np.inf else operator.index(max_subdivisions)
    )
    estimate, error, count, good = _adaptive(apply, lows, highs, (atol, rtol, most))
    made = _result_class()
    status = caller.text_of(_STATUS.__getitem__, to_raw(good.astype(np.int64)))
    return made(sign * estimate, error, status, None, box(to_raw(count), True), atol, rtol)


def _adaptive(apply: Callable[[Any, Any], Any], lows: Any, highs: Any, how: Any) -> tuple[Any, Any, Any, Any]:
    """The sum over the boxes, its error, how many boxes were cut, and whether the error is small enough."""
    atol, rtol, most = how
    d = lows.shape[1]

    def each(lows: Any, highs: Any) -> Any:
        return lax.scan(lambda c, x: (c, apply(*x)), None, (lows, highs))[1]

    estimates, errors = each(lows, highs)
    n = lows.shape[0]
    room = n + _FIRST * caller.room()
    most = None if most is None else max(most, 1)  # the first cut is not asked about
    room = room if most is None else min(room, n + most * (2**d - 1))

    def held(x: Any) -> Any:
        return tnp.concatenate([x, tnp.zeros((room - n, *x.shape[1:]), x.dtype)]) if room > n else x

    def worst(e: Any) -> Any:
        return tnp.max(e.reshape(e.shape[0], -1), axis=1)

    def wanting(estimate: Any, error: Any) -> Any:
        return tnp.any(error > atol + rtol * tnp.abs(lax.stop_gradient(estimate)))

    def unfinished(s: Any) -> Any:
        return wanting(s[0], s[1]) & (True if most is None else s[3] < most)

    def going(s: Any) -> Any:
        return unfinished(s) & (s[2] + 2**d - 1 <= room)

    def cut(s: Any) -> Any:
        estimate, error, count, cuts, lows, highs, estimates, errors = s
        at = tnp.argmax(worst(errors))
        low, high, old, old_error = (
            lax.dynamic_index_in_dim(x, at, 0, keepdims=False) for x in (lows, highs, estimates, errors)
        )
        corners = _parts(low, high, (low + high) / 2)
        new, new_errors = each(*corners)
        estimate = estimate - old + tnp.sum(new, axis=0)
        error = error - old_error + tnp.sum(new_errors, axis=0)
        for n in range(2**d):
            place = at if n == 0 else count + (n - 1)
            lows, highs = put(lows, corners[0][n], place), put(highs, corners[1][n], place)
            estimates, errors = put(estimates, new[n], place), put(errors, new_errors[n], place)
        return estimate, error, count + 2**d - 1, cuts + 1, lows, highs, estimates, errors

    sums = tnp.sum(estimates, axis=0), tnp.sum(errors, axis=0)
    start = (*sums, np.int64(n), np.int64(0), *map(held, (lows, highs, estimates, errors)))
    s = lax.while_loop(going, cut, start)
    check_room(unfinished(s) & (s[2] + 2**d - 1 > room), room)
    # SciPy asks for the number of cuts after each, whatever the error is then.
    good = ~wanting(s[0], s[1]) if most is None else ~wanting(s[0], s[1]) & (s[3] < most)
    return s[0], s[1], s[3], good
