"""Programs with dates: what primitives may do with them, and what native code sees of them."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

DAYS = np.arange(4).astype("M8[D]")


def test_primitives_that_look_at_elements_refuse_times() -> None:
    for f in (tj.lax.sort, tj.lax.exp, lambda x: tj.lax.convert_element_type(x, np.float64), tj.lax.cummax):
        with pytest.raises(tj.errors.TypeRuleError):
            tj.jit(f, fallback=False)(DAYS)


def test_native_code_has_integers_and_results_their_dtype() -> None:
    lowered = tj.jit(lambda x: x[1:] + np.timedelta64(1, "h"), fallback=False).lower(DAYS)
    assert "datetime" not in lowered.as_text("jaxpr") + lowered.as_text("loops")
    assert lowered.compile()(DAYS).dtype == np.dtype("M8[h]")


def test_shapes_of_times_are_known_without_a_run() -> None:
    out = tj.eval_shape(lambda x: x - x[0], DAYS)
    assert (out.shape, out.dtype) == ((4,), np.dtype("m8[D]"))


def test_loops_and_branches_carry_times() -> None:
    def last(x: np.ndarray, n: int) -> np.datetime64:
        found = x[0]
        for k in range(n):
            found = found + np.timedelta64(k, "D") if found < x[2] else found
        return found

    assert tj.jit(last, fallback=False)(DAYS, 5) == last(DAYS, 5)
    with tj.config.override(disable_jit=True):
        assert tj.jit(last)(DAYS, 5) == last(DAYS, 5)
