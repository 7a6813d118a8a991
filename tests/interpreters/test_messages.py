"""The debug dial and the log of compilations."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config


def program(x: Any) -> Any:
    return np.sum(np.sin(x) * 1.0 + np.sin(x))


@pytest.mark.parametrize("level", range(5))
def test_the_dial(level: int, capsys: Any) -> None:
    f = tj.jit(lambda x: program(x))
    with config.override(debug=level):
        f(np.ones(3))
        f(np.ones(4))
    out, err = capsys.readouterr()
    assert out == ""
    assert ("compiled" in err and "ms" in err) == (level >= 1)
    assert ("is traced again: argument `x` changed from f64[3] to f64[4]" in err) == (level >= 1)
    assert ("sin" in err and "f64[3]" in err and "reduce_sum" in err) == (level >= 2)
    assert ("cse" in err) == (level >= 3)
    assert ("define i32" in err or "define" in err) == (level >= 4)


def test_the_dial_from_outside() -> None:
    code = "import tracejit as tj, numpy as np; tj.jit(lambda x: np.sin(x))(1.0)"
    env = {**os.environ, "TRACEJIT_DEBUG": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert "tracejit: compiled <lambda>" in run.stderr and run.stdout == ""


def test_compilations_are_logged(caplog: Any) -> None:
    @tj.jit
    def f(x: Any, n: Any) -> Any:
        return np.sin(x) * n

    with config.override(log_compiles=True):
        f(np.ones(3), np.float32(2))
        f(np.ones(3), np.float32(2))
    (record,) = caplog.records
    assert record.name == "tracejit" and record.levelno == logging.WARNING
    assert "Compiling" in record.message and "(f64[3], f32[]) in" in record.message
    f(np.ones(4), np.float32(2))
    assert len(caplog.records) == 1


def test_reasons_are_logged(caplog: Any) -> None:
    f = tj.jit(lambda x: np.sin(x))
    with config.override(log_compiles=True):
        f(np.ones(3))
        f(np.ones((3, 2)))
    messages = [r.message for r in caplog.records]
    assert any("traced again: argument `x` changed from f64[3] to f64[3,2]" in m for m in messages)


def test_logging_is_not_imported_for_nothing() -> None:
    code = "import sys, tracejit as tj, numpy as np; tj.jit(np.sin); print('logging' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_cache_events(capsys: Any) -> None:
    f, g = tj.jit(lambda x: x + 0.5), tj.jit(lambda x: x * 0.25)
    with config.override(debug=1, cache_size=1):
        f(1.0)
        f(1.0)
        g(1.0)
        f(1.0)
    lines = capsys.readouterr().err.splitlines()
    assert sum("tracejit: traced" in line and "1 equations" in line for line in lines) == 3
    assert sum("dropped a program of" in line and "cache is full" in line for line in lines) >= 2
