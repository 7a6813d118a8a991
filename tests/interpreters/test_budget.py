"""Budgets of a processor's time."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.errors import CompileBudgetError
from tracejit.interpreters import budget


def test_the_budget_is_the_processors_time() -> None:
    with budget.within(0.1) as own:
        time.sleep(0.15)
        left = budget.left()
        assert own and left is not None and left > 0.0
        with budget.within(100.0) as inner:
            assert not inner and (budget.left() or 0.0) <= left
        while budget.left():
            pass
        with pytest.raises(CompileBudgetError, match=r"waiting takes longer than 0\.1 s"):
            budget.check("waiting")
    assert budget.left() is None
    budget.check("waiting")


@pytest.mark.parametrize("fallback", [False, True])
def test_tracing_that_takes_long_says_so_once(fallback: bool, monkeypatch: Any, caplog: Any) -> None:
    def unrolled(xs):
        return [[(a - b) ** 2 for a in xs] for b in xs]  # the line

    monkeypatch.setattr(budget, "_PATIENCE", 0.0)
    with config.override(fallback=fallback, compile_budget=0.0), caplog.at_level(logging.WARNING, "tracejit"):
        tj.make_jaxpr(lambda x: x)(1.0)
        tj.jit(unrolled).lower([float(n) for n in range(12)])
    assert not [r for r in caplog.records if "takes long" in r.message]
    with config.override(fallback=fallback, compile_budget=0.0), caplog.at_level(logging.WARNING, "tracejit"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tj.jit(unrolled)([float(n) for n in range(20)])
    (told,) = [r.getMessage() for r in caplog.records if "takes long" in r.getMessage()]
    line = unrolled.__code__.co_firstlineno + 1
    assert f"test_budget.py:{line}" in told and told.startswith("tracing takes long: ")
