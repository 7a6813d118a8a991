"""Settings: read from the environment once, changed for a block, never misspelt."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tracejit.config import Config, config
from tracejit.errors import SettingValueError, UnknownSettingError


def _override(name: str, value: Any) -> None:
    with config.override(**{name: value}):
        pass


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
        ("TRACEJIT_CACHE_SIZE", "-3", "config.cache_size", "1"),
        ("TRACEJIT_NUM_THREADS", "3", "config.num_threads", "3"),
        ("TRACEJIT_NUM_THREADS", "0", "config.num_threads", "1"),
        ("TRACEJIT_CACHE", "", "config.cache", "on"),
        ("TRACEJIT_CACHE", "OFF", "config.cache", "off"),
        ("TRACEJIT_CACHE", "0", "config.cache", "off"),
        ("TRACEJIT_CACHE", "ro", "config.cache", "ro"),
        ("TRACEJIT_CACHE", "/a/../b", "config.cache", "/b"),
        ("TRACEJIT_CACHE", "ro:/a/b", "config.cache", "ro:/a/b"),
        ("TRACEJIT_CUDA", "sanitize", "config.cuda", "sanitize"),
        ("TRACEJIT_CUDA_SANITIZE", "1", "config.cuda", "auto"),
        ("TRACEJIT_CACHE_MB", "12", "config.cache_mb", "12"),
        ("TRACEJIT_DEBUG", "9", "config.debug", "4"),
        (
            "TRACEJIT_DEBUG_NANS",
            "1",
            "(config.debug_nans, config.checks, config.fast)",
            "(True, True, False)",
        ),
        ("TRACEJIT_DEBUG_INFS", "1", "config.debug_infs", "True"),
        ("TRACEJIT_OPTIMIZE", "0", "config.optimize", "False"),
        ("TRACEJIT_LOG_COMPILES", "1", "config.log_compiles", "True"),
        ("TRACEJIT_CHECK_TRACER_LEAKS", "1", "config.check_tracer_leaks", "True"),
    ],
)
def test_the_environment(
    variable: str, value: str, expression: str, want: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    read = runpy.run_path(str(sys.modules["tracejit.config"].__file__), run_name="tracejit.config")["config"]
    assert str(eval(expression, {"config": read})) == want


def test_the_environment_of_a_process() -> None:
    out = subprocess.run(
        [sys.executable, "-c", "from tracejit.config import config; print(config.cache_size)"],
        env={
            **os.environ,
            "TRACEJIT_CACHE_SIZE": "12",
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() == "12"


@pytest.mark.parametrize("change", [config.update, lambda n, v: setattr(config, n, v), _override])
def test_values_are_checked(change: Callable[[str, Any], None]) -> None:
    for name, value, wanted in [
        ("debug", "loud", "an integer from 0 to 4"),
        ("debug", 5, "an integer from 0 to 4"),
        ("debug", 1.0, "an integer"),
        ("cache_size", 0, "a positive integer"),
        ("cache", 3, "'on', 'off', 'ro', a folder"),
        ("cache_mb", 0, "a positive integer"),
        ("disable_jit", "yes", "True or False"),
        ("debug_nans", 2, "True or False"),
        ("log_compiles", None, "True or False"),
    ]:
        before = getattr(config, name)
        with pytest.raises((ValueError, TypeError), match=f"{name} is {wanted}") as caught:
            change(name, value)
        assert isinstance(caught.value, SettingValueError) and getattr(config, name) == before
    for name in ("debgu", "checks", "fast", "update"):
        with pytest.raises(UnknownSettingError, match=f"no setting '{name}'"):
            change(name, True)


def test_update_and_the_names_of_jax() -> None:
    with config.override(debug_nans=False):
        config.update("jax_debug_nans", True)
        assert config.debug_nans is True and config.checks and not config.fast
        config.update("debug_nans", 0)
        assert config.debug_nans is False and not config.checks and config.fast
    config.update("jax_enable_x64", True)  # it is always so
    config.update("jax_platforms", "cpu")
    with pytest.raises(SettingValueError):
        config.update("jax_enable_x64", False)
    with pytest.raises(UnknownSettingError):
        config.update("jax_unknown", True)


def test_one_wrong_value_changes_nothing() -> None:
    before = config.debug
    with pytest.raises(SettingValueError), config.override(debug=3, cache_size=-1):
        pass
    assert config.debug == before


def test_num_threads_is_the_number_of_processors_unless_set() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        if hasattr(os, "sched_setaffinity")
        else ""
    )
    env = {k: v for k, v in os.environ.items() if k != "TRACEJIT_NUM_THREADS"}
    code += "from tracejit.config import config; print(config.num_threads)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert int(out.stdout) == (1 if hasattr(os, "sched_setaffinity") else os.cpu_count())
    for wrong in (0, -1, 1.5, "2", 5000):
        with pytest.raises(SettingValueError, match="from 1 to 1024"):
            config.update("num_threads", wrong)


def test_watchers_see_every_change() -> None:
    settings, seen = Config(num_threads=4), list[int]()
    settings.watch("num_threads", seen.append)
    with settings.override(num_threads=2):
        settings.num_threads = 3
    settings.debug = 1
    assert seen == [4, 2, 3, 4]
