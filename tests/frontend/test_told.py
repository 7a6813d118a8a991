"""Warnings while a program is made."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.told import Told


def test_python_gives_the_warning_at_each_call() -> None:
    f = tj.jit(lambda x: x * np.mean([]), fallback=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(3):
            f(1.0)
            texts = [str(w.message) for w in seen if str(w.message) == "Mean of empty slice"]
            assert len(texts) == n + 1


def test_what_the_filters_hold_back_is_no_reason() -> None:
    f = tj.jit(lambda x: x * np.mean([]), fallback=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(f(1.0))


def test_without_fallback_it_is_given_at_each_call() -> None:
    f = tj.jit(lambda x: x * np.median([]), fallback=False)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"), np.errstate(all="ignore"):
            f(1.0)


def test_other_threads_warn_as_ever() -> None:
    def warn() -> None:
        warnings.warn("from there", stacklevel=1)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with Told() as told:
            thread = threading.Thread(target=warn)
            thread.start()
            thread.join()
            warnings.warn("from here", stacklevel=1)
            assert [str(w.message) for w in seen] == ["from there"]
        told.give()
        assert [str(w.message) for w in seen] == ["from there", "from here"]


def test_hooks_that_end_in_another_order_are_taken_out() -> None:
    before = warnings.showwarning
    first, second = Told(), Told()
    first.__enter__()
    second.__enter__()
    first.__exit__(None)
    assert warnings.showwarning is second.hook
    second.__exit__(None)
    assert warnings.showwarning is before


# ---- the same warnings at each call, from the same line, as the filters let them

N = 3


def in_a_row(x: Any) -> Any:
    return x * np.mean([]), np.nanmean([np.nan]), np.var([1.0], ddof=1)


def in_a_loop(x: Any) -> Any:
    s = x[0] * 0
    for i in range(x.shape[0]):
        if x[i] > 1:
            s = s + np.polyfit([1, 1, 1], [1, 2, 3], 2)[0]
    return s


def twice_the_same_line(x: Any) -> Any:
    for _ in range(2):
        x = x + np.array([1 + 2j]).astype(float)
    return x, np.median([])


def among_what_it_warns_itself(x: Any) -> Any:
    warnings.warn(f"{x[0]}", UserWarning, stacklevel=1)
    m = np.nanmax([np.nan])
    warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=1)
    return x + m


def without_dimensions_left(x: Any) -> Any:
    return np.mean(x[:0]), np.nanmean(x[:0]), np.var(x[:1], ddof=1)


def by_methods(x: Any) -> Any:
    y = x[:0]
    return (
        y.mean(),
        y.var(axis=0),
        x[:1].std(ddof=1),
        np.std(x[:1], ddof=1),
        np.nanstd(y),
        x.mean(where=False),
    )


def in_branches_and_loops(x: Any) -> Any:
    s = x[0] * 0
    if x[0] > 0:
        s = s + x[:0].mean()
    for i in range(x.shape[0]):
        if x[i] > 1:
            s = s + x[:0].mean()
    return s


def masks_and_no_output(x: Any) -> Any:
    return (
        np.sqrt(x * x, where=x > 1),
        np.add(x, 1.0, out=None, where=x > 1),
        np.add(x, 1.0, None, where=False),
    )


def of_other_functions(x: Any) -> Any:
    s = np.median(x[:0]) + np.average(x[:0])
    return s + x[:0].mean() if x[0] > 0 else s


def _warned(f: Any, xs: Any, action: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter(action)
        vars(warnings)["onceregistry"].clear()
        found = []
        for x in xs:
            f(x)
            found.append([(str(w.message), w.category, w.filename, w.lineno) for w in caught])
            caught.clear()
    return found


@pytest.mark.sample(4)
@pytest.mark.parametrize("action", ["always", "default", "once", "module", "ignore"])
@pytest.mark.parametrize(
    "f",
    [
        *(in_a_row, in_a_loop, twice_the_same_line, among_what_it_warns_itself, without_dimensions_left),
        *(by_methods, in_branches_and_loops, masks_and_no_output),
    ],
)
def test_the_same_warnings_at_the_same_lines(f: Any, action: Any) -> None:
    xs = [np.arange(N) + k for k in (0.5, 1.5, -4.0)]
    assert _warned(tj.jit(f, fallback=False), xs, action) == _warned(f, xs, action)


def test_functions_of_numpys_that_warn_by_others() -> None:
    """Where Python may not do the call, the user's line is named."""
    xs = [np.arange(N) + k for k in (0.5, -4.0, 1.5)]
    told = _warned(of_other_functions, xs, "always")
    assert _warned(tj.jit(of_other_functions, fallback=True), xs, "always")[1:] == told[1:]
    short = [[w[:2] for w in call] for call in told]
    assert [[w[:2] for w in c] for c in _warned(tj.jit(of_other_functions), xs, "always")] == short


def test_a_fit_that_is_poorly_conditioned_is_warned_of() -> None:
    f = tj.jit(lambda x, y: np.polyfit(x, y, 2), fallback=True)
    x = np.arange(4.0)
    assert np.allclose(f(x, x**2), [1, 0, 0])
    with pytest.warns(np.exceptions.RankWarning):
        f(x[:2], x[:2])
