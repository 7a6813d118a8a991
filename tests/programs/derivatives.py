"""Whether derivatives of programs can be told from the plain ones: of a number that has nothing to do with the program,
by which all is seen as `observe` sees it, and of what the program gives by the numbers that it is given.

Of the second kind, results, state, output and exceptions are compared with those of the plain program on copies of its
arguments, since such transformations give a function copies, and gradients with finite differences of the plain program,
which is made again and run up to the call for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tests.programs.observe import Keywords, Maker, difference, observe, refused
from tracejit.api.fallback import INSIDE
from tracejit.config import config

Transform = Callable[[Any], Any]


def plainly(f: Any) -> Any:
    """The function as it is."""
    return f


def beside(f: Any) -> Any:
    """The function in one of another number that `value_and_grad` runs."""

    def g(*args: Any, **kwargs: Any) -> Any:
        return tj.value_and_grad(lambda x: (x * 1.0, f(*args, **kwargs)), has_aux=True)(1.0)[0][1]

    return g


def eagerly(maker: Maker) -> tuple[str, str]:
    """('same' | 'different', the difference) of a program that an eager transformation of another number runs."""
    found = difference(observe(maker, plainly), observe(maker, beside), "eager")
    return ("same", "") if found is None else ("different", found)


def jitted(maker: Maker) -> tuple[str, str]:
    """('native' | 'fallback' | 'different', the difference or why Python ran it) of a program in a compiled derivative
    of another number."""
    with config.override(fallback=True):
        fast = observe(maker, lambda f: tj.jit(beside(f)))
    return _judged(difference(observe(maker, plainly), fast, "jitted"), fast.fallback)


def _judged(found: str | None, fallback: list[str]) -> tuple[str, str]:
    found = found or next((reason for reason in fallback if INSIDE in reason), None)
    if found is not None:
        return "different", found
    return ("fallback", fallback[0]) if fallback else ("native", "")


def undone(maker: Maker) -> tuple[str, str]:
    """('native' | 'refused' | 'different', the difference or the refusal) of a program in a compiled derivative of
    another number, without fallback: up to the first refusal nothing differs, which leaves all as it was."""
    plain = observe(maker, plainly)
    with config.override(fallback=False):
        fast, refusal, changed = refused(maker, lambda f: tj.jit(beside(f)))
    if changed is not None:
        return "different", changed
    if refusal:
        return "refused", refusal
    found = difference(plain, fast, "jitted")
    return ("native", "") if found is None else ("different", found)


# ---------------------------------------------------------------- derivatives by what a program is given


class _Given(NamedTuple):
    """The arguments of a call: all, and which of them are numbers to differentiate by."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    places: tuple[int, ...]

    @property
    def chosen(self) -> tuple[Any, ...]:
        return tuple(self.args[n] for n in self.places)

    def with_chosen(self, xs: Any) -> list[Any]:
        args = list(self.args)
        for n, x in zip(self.places, xs, strict=True):
            args[n] = x
        return args


def _given(args: Any) -> _Given:
    kwargs = args[-1] if args and type(args[-1]) is Keywords else {}
    args = tuple(args[:-1] if kwargs else args)
    return _Given(args, dict(kwargs), tuple(n for n, x in enumerate(args) if _is_float(x)))


def _is_float(x: Any) -> bool:
    return type(x) is float or (type(x) in (np.ndarray, np.float64) and x.dtype == np.float64)


def total(x: Any) -> Any:
    """One number of all real ones in a result, in which no two have the same share."""
    if isinstance(x, (float, np.floating)):
        return x
    dtype = getattr(x, "dtype", None)  # which traced numbers have, too
    if isinstance(dtype, np.dtype):
        return np.sum(x) if dtype.kind == "f" else 0.0
    found = 0.0
    if isinstance(x, dict):
        for n, key in enumerate(x):
            found = found + total(x[key]) * (1.0 + 0.1 * n)
    elif type(x) in (list, tuple):
        for n, part in enumerate(x):
            found = found + total(part) * (1.0 + 0.1 * n)
    return found


class Slopes:
    """How a program is run for its derivatives, and the gradient of each call: None where it raised, or has no numbers
    to differentiate by."""

    def __init__(self, compiled: bool) -> None:
        self.jit: Transform = tj.jit if compiled else plainly
        self.found: list[tuple[Any, ...] | None] = []
        self.made: dict[Any, Any] = {}

    def __call__(self, made: tuple[Any, Any]) -> Any:
        f, calls = made

        def call(n: int) -> Any:
            given = _given(calls[n])
            self.found.append(None)
            if not given.places:
                return f(*given.args, **given.kwargs)
            if len(given.places) not in self.made:
                self.made[len(given.places)] = self._of(f, given)
            (_, out), self.found[-1] = self.made[len(given.places)](given)
            return out

        return call

    def _of(self, f: Any, given: _Given) -> Any:
        argnums = tuple(range(len(given.places)))
        if given.places == tuple(range(len(given.args))) and not given.kwargs:

            def of_all(*args: Any) -> Any:
                out = f(*args)
                return total(out), out

            all_by = self.jit(tj.value_and_grad(of_all, argnums, has_aux=True))
            return lambda given: all_by(*given.chosen)

        def of_some(xs: Any, args: Any, kwargs: Any) -> Any:
            def inner(*xs: Any) -> Any:
                out = f(*_Given(args, kwargs, given.places).with_chosen(xs), **kwargs)
                return total(out), out

            return tj.value_and_grad(inner, argnums, has_aux=True)(*xs)

        some_by = self.jit(of_some)
        return lambda given: some_by(given.chosen, given.args, given.kwargs)


def _on_copies(made: tuple[Any, Any]) -> Any:
    f, calls = made

    def call(n: int) -> Any:
        given = _given(calls[n])
        return f(
            *given.with_chosen([np.array(x) if type(x) is np.ndarray else x for x in given.chosen]),
            **given.kwargs,
        )

    return call


def _numbered(maker: Maker) -> Maker:
    """The program as one that is given the numbers of its calls, so that its arguments are not looked at."""

    def made() -> Any:
        f, calls, *rest = maker()
        return (f, calls), [(n,) for n in range(len(calls))], *rest

    return made


#: Forward and backward: where the slopes differ there is a kink, as at the border of a condition.
STEPS = (1e-5, 3e-6, -3e-6, -1e-5)
NEAR: Any = {"rtol": 1e-4, "atol": 1e-5}


def _quotients(maker: Maker, n: int, direction: Any) -> tuple[float, ...]:
    """The slope of call `n` in a direction, by a difference of the plain program for each step."""
    values: list[Any] = []

    def moved(step: float) -> Transform:
        def transform(made: Any) -> Any:
            f, calls = made

            def call(k: int) -> Any:
                given = _given(calls[k])
                xs = [np.array(x) if type(x) is np.ndarray else x for x in given.chosen]
                if k == n:
                    xs = [
                        type(x)(x + step * d) if type(x) is float else x + step * d
                        for x, d in zip(xs, direction, strict=True)
                    ]
                out = f(*given.with_chosen(xs), **given.kwargs)
                values.extend([total(out)] if k == n else [])
                return out

            return call

        return transform

    for step in (0.0, *STEPS):
        observe(_numbered(maker), moved(step), n + 1)
    if len(values) <= len(STEPS) or np.spacing(abs(float(values[0]))) > 1e-13:
        return ()  # it raises, or rounding would be seen
    return tuple((float(x) - float(values[0])) / step for x, step in zip(values[1:], STEPS, strict=True))


def derived(maker: Maker, compiled: bool) -> tuple[str, str]:
    """('same' | 'native' | 'fallback' | 'different', the difference or why Python ran it) of the derivatives of a program
    by what it is given, by operations one after the other or compiled."""
    slopes = Slopes(compiled)
    with config.override(fallback=True):
        other = observe(_numbered(maker), slopes)
    plain = observe(_numbered(maker), _on_copies)
    found = difference(plain, other, "jitted" if compiled else "eager") or _steeper(maker, slopes)
    kind, why = _judged(found, other.fallback)
    return ("same" if kind == "native" and not compiled else kind), why


def _scale(x: Any) -> Any:
    """How far a number may be moved: small ones may be bounds, which must stay what they are."""
    size = np.abs(x)
    return np.where((size > 0) & np.isfinite(size), size, 1.0)


def _steeper(maker: Maker, slopes: Slopes) -> str | None:
    """Where the slopes are others than differences give, which must agree with each other."""
    rng = np.random.default_rng(0)
    calls = maker()[1]
    for n, gradient in enumerate(slopes.found):
        given = _given(calls[n])
        if gradient is None:
            continue
        direction = [rng.normal(size=np.shape(x)) * _scale(x) for x in given.chosen]
        with np.errstate(all="ignore"):
            wanted = _quotients(maker, n, direction)
            got = sum(float(np.sum(g * d)) for g, d in zip(gradient, direction, strict=True))
        smooth = wanted and np.all(np.isfinite(wanted)) and np.ptp(wanted) < 2e-4 * (1.0 + abs(wanted[0]))
        middle = (wanted[1] + wanted[2]) / 2 if smooth else 0.0
        if smooth and not np.allclose(got, middle, **NEAR):
            return f"call {n}: the slope is {got}, by differences {wanted}"
    return None
