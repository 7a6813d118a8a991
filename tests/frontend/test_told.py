"""Warnings while a program is made."""

from __future__ import annotations

import threading
import warnings

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


def test_without_fallback_it_is_given_when_tracing_is_over() -> None:
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"), np.errstate(all="ignore"):
        tj.jit(lambda x: x * np.mean([]), fallback=False)(1.0)


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
