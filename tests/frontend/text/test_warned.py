"""Warnings, and what a function does about them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning, UnfollowedError

X, Z = np.array([1.0, 2.0]), np.array([0.0, 1.0])


def shown(f: Any, *calls: Any) -> Any:
    """What the calls give, and which of the user's warnings are seen."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = [np.asarray(f(*args)).tolist() for args in calls]
        state = list(warnings.filters)
    assert state[0][0] == "always"
    messages = [(str(w.message), w.lineno) for w in seen if w.category is not RuntimeWarning]
    return results, messages, [w for w in seen if w.category is FallbackWarning]


def ignores_all(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("hidden", stacklevel=1)
        y = np.log(x)
    warnings.warn(f"seen {y[1]:.2f}", stacklevel=1)
    return y


def ignores_some(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "one.*")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        for k in range(20):
            warnings.warn("one thing", stacklevel=1)
            if x[k % 2] > 1.5:
                warnings.warn(f"another {k}", stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        with warnings.catch_warnings(action="ignore"):
            warnings.warn("not at all", stacklevel=1)
        warnings.warn("in the end", stacklevel=1)
    return x * 2


def known_ones(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.mean(np.array([]))
    return x + np.nan_to_num(y)


@pytest.mark.parametrize("f", [ignores_all, ignores_some, known_ones])
def test_what_is_ignored_in_a_block(f: Any) -> None:
    fast = tj.jit(f, fallback=False)
    assert shown(fast, (X,), (Z,), (X,)) == shown(f, (X,), (Z,), (X,))
    assert fast.trace_count == 1


def sets(x):
    warnings.simplefilter("ignore")
    return x


def records(x):
    with warnings.catch_warnings(record=True) as w:
        y = 1 / x
    return y, len(w)


def raises(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.log(x)


def in_a_branch(x):
    with warnings.catch_warnings():
        if x[0] > 0:
            warnings.simplefilter("ignore")
        warnings.warn("perhaps", stacklevel=1)
    return x


@pytest.mark.parametrize("f", [sets, records, raises])
def test_what_is_python_s(f: Any) -> None:
    with pytest.raises(UnfollowedError):
        tj.jit(f, fallback=False)(X)


def test_filters_of_branches() -> None:
    with tj.config.override(fallback=True):
        fast = tj.jit(in_a_branch)
        told = shown(fast, (X,), (Z,), (X,))
    assert told[:1] == shown(in_a_branch, (X,), (Z,), (X,))[:1]
    assert [t for t, _ in told[1] if t == "perhaps"] == ["perhaps"]
