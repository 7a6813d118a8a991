"""Settings: read from the environment once, changed for a block, never misspelt."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tracejit.config import Config, config


def test_override_restores_also_after_errors() -> None:
    before = config.debug
    with pytest.raises(ZeroDivisionError), config.override(debug=3, cache_size=7):
        assert (config.debug, config.cache_size) == (3, 7)
        1 / 0
    assert config.debug == before and config.cache_size == Config().cache_size


def test_unknown_settings() -> None:
    with pytest.raises(AttributeError, match=r"no setting 'debgu'.*debug"):
        with config.override(debgu=1):
            pass


@pytest.mark.parametrize(
    ("variable", "value", "expression", "want"),
    [
        ("TRACEJIT_DEBUG", "2", "config.debug", "2"),
        ("TRACEJIT_DEBUG", "loud", "config.debug", "0"),
        ("TRACEJIT_DISABLE_JIT", "1", "config.disable_jit", "True"),
        ("TRACEJIT_DISABLE_JIT", "off", "config.disable_jit", "False"),
        ("TRACEJIT_CHECK_TYPES", "yes", "config.check_types", "True"),
        ("TRACEJIT_CACHE_SIZE", "12", "config.cache_size", "12"),
    ],
)
def test_the_environment(variable: str, value: str, expression: str, want: str) -> None:
    code = f"from tracejit.config import config; print({expression})"
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, variable: value, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() == want
