"""The climate of the suite: types checked after every trace and pass, no settings from outside."""

from __future__ import annotations

import gc
import os
import zlib
from collections.abc import Iterator
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, settings

for _name in [n for n in os.environ if n.startswith("TRACEJIT_")]:
    del os.environ[_name]
os.environ["TRACEJIT_CACHE"] = "off"  # of child processes too: no test reads or writes the user's folder

# What jit can't do is an error in the tests, unless they ask for Python to take over.
os.environ["TRACEJIT_FALLBACK"] = "0"

from tracejit import tracing  # noqa: E402  (after the environment is clean)
from tracejit.config import config  # noqa: E402

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=_QUIET, max_examples=50
)
settings.register_profile("wild", deadline=None, suppress_health_check=_QUIET, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.txt")
    parser.addoption(
        "--thorough", action="store_true", help="no samples: every test does all, optimised by LLVM"
    )
    parser.addoption("--programs", type=int, default=100_000, help="random programs of the exhaustive sweep")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of leaks first: they look at all objects there are, which become more with every test."""
    items.sort(key=lambda item: "test_leaks.py" not in item.nodeid)


def pytest_collection_finish() -> None:
    """What there is now stays: the modules of the tests and 25,000 items. Each collection of garbage would go through
    all of it, a third of a second; so would the searches for what holds a leak, which pass over frozen objects."""
    gc.collect()
    gc.freeze()


#: Tests of what the machine code is: they get it as users do. Of whole programs and of loops every second one does, of
#: the other tests every eighth: LLVM's optimisation takes 30 ms a program, and all the rest of LLVM 5 ms.
_OPTIMIZED = (
    "tests/lowering/llvm/",
    "tests/lowering/runtime/",
    "tests/lowering/foreign/",
    "tests/lowering/loops/",
    "tests/test_programs.py",
    "tests/test_programs_found.py",
    "tests/test_programs_random.py::test_programs_that_failed_once",
    "tests/test_threads",
    "tests/test_config",
)
_EVERY_SECOND = ("tests/test_programs_random", "tests/programs/", "tests/lowering/")


_SETTINGS = [f.name for f in fields(config) if f.init]


def _optimizes(request: pytest.FixtureRequest) -> bool:
    name = request.node.nodeid
    if request.config.getoption("--thorough") or name.startswith(_OPTIMIZED):
        return True
    return zlib.crc32(name.encode()) % (2 if name.startswith(_EVERY_SECOND) else 8) == 0


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether this test is to do all that it can: `make test-all`, and every third one of `make test`."""
    return request.config.getoption("--thorough") or zlib.crc32(request.node.nodeid.encode()) % 3 == 0


@pytest.fixture(autouse=True)
def _climate(request: pytest.FixtureRequest) -> Iterator[None]:
    """Types are checked, and neither a test's settings nor a trace it left current reaches the next one: what the
    test changed by `config.update`, as pages of the documentation do, is put back as well."""
    climate = {"debug": 0, "disable_jit": False, "check_types": True, "optimize": _optimizes(request)}
    with config.override(**{name: getattr(config, name) for name in _SETTINGS} | climate):
        yield
    left, tracing.STATE.trace = tracing.STATE.trace, tracing.ROOTS[0]
    tracing.TRACING.clear()
    assert left is tracing.ROOTS[0], "the test left a trace current"
