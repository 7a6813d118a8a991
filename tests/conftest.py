"""The climate of the suite: types checked after every trace and pass, no settings from outside."""

from __future__ import annotations

import gc
import itertools
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from _pytest.runner import runtestprotocol
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
    "ci", derandomize=True, deadline=None, suppress_health_check=_QUIET, max_examples=30
)
settings.register_profile("wild", deadline=None, suppress_health_check=_QUIET, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.txt")
    parser.addoption(
        "--thorough", action="store_true", help="no samples: every test does all, optimised by LLVM"
    )
    parser.addoption("--programs", type=int, default=100_000, help="random programs of the exhaustive sweep")
    parser.addoption("--printed", default="0:100000", help="FIRST:END, random programs by Numba as well")


gc.disable()  # what is made until the tests have been collected stays; see pytest_collection_finish


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Only the cases are made that are to run: there are thirty thousand others, and to make and deselect them would
    take as long as collecting these, in each worker. A function of which none is left is made, and deselected.

    Of a test that is marked `sample(n)` every n-th case is run, and of the next marked function of the file those after
    them, so that what one leaves out another one has; but all cases where one is asked for by its name."""
    yield
    cases, definition = metafunc._calls, metafunc.definition
    asked = metafunc.config
    if asked.getoption("--thorough"):
        return
    if asked.getoption("markexpr") == "not exhaustive":
        own = definition.get_closest_marker("exhaustive")
        cases[:] = [c for c in cases if not own and all(m.name != "exhaustive" for m in c.marks)]
    if (mark := definition.get_closest_marker("sample")) and not any("[" in a for a in asked.args):
        (n,), rank = mark.args, _SAMPLED[definition.path]
        cases[:] = cases[rank % n :: n] or cases[:1]
        _SAMPLED[definition.path] += 1


#: How many functions of a file are marked `sample(n)`, of those that have been collected.
_SAMPLED: Counter[Path] = Counter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of leaks first: they look at all objects there are, which become more with every test."""
    items.sort(key=lambda item: "test_leaks.py" not in item.nodeid)


def pytest_collection_finish() -> None:
    """What there is now stays: the modules of the tests and 20,000 items. Each collection of garbage would go through
    all of it, a third of a second; so would the searches for what holds a leak, which pass over frozen objects.
    Garbage is looked for seldom, and every two hundred tests: what most tests make is alive until they end, and looking
    through it meanwhile was a twentieth of the run. The tests that need that done do it themselves."""
    _freeze()
    gc.set_threshold(200_000, 50, 50)
    gc.enable()


_STARTED = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """What tests leave in caches stays, too. It becomes some million objects, which each search for a leak would go
    through, for seconds at the end of the run. Between two times all is young, and need not be looked at again.

    Of a test that passes a worker sends one message, not five: the process that collects them would need a second for
    every two thousand tests."""
    if next(_STARTED) % 200 == 0:
        _freeze()
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def _freeze() -> None:
    gc.collect()
    gc.freeze()


#: Tests of what the machine code is: they get it as users do. Of whole programs and of loops every eighth one does, of
#: the other tests one in 32: LLVM's optimisation takes 30 ms a program, and all the rest of LLVM 5 ms.
_OPTIMIZED = (
    "tests/lowering/llvm/",
    "tests/lowering/runtime/",
    "tests/lowering/loops/test_interrupt",  # loops that take seconds
    "tests/test_programs.py",
    "tests/test_programs_found.py",
    "tests/test_programs_random.py::test_programs_that_failed_once",
    "tests/test_threads",
    "tests/test_config",
)
_EVERY_EIGHTH = ("tests/test_programs_random", "tests/programs/", "tests/lowering/")


_SETTINGS = [f.name for f in fields(config) if f.init]


def _optimizes(request: pytest.FixtureRequest) -> bool:
    name = request.node.nodeid
    if request.config.getoption("--thorough") or name.startswith(_OPTIMIZED):
        return True
    return zlib.crc32(name.encode()) % (8 if name.startswith(_EVERY_EIGHTH) else 32) == 0


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether this test is to do all that it can: `make test-all`, and every sixth one of `make test`."""
    return request.config.getoption("--thorough") or zlib.crc32(request.node.nodeid.encode()) % 6 == 0


@pytest.fixture(autouse=True)
def _climate(request: pytest.FixtureRequest) -> Iterator[None]:
    """Types are checked, and neither a test's settings nor a trace it left current reaches the next one: what the
    test changed by `config.update`, as pages of the documentation do, is put back as well."""
    shown = np.get_printoptions()
    climate = {"debug": 0, "disable_jit": False, "check_types": True, "optimize": _optimizes(request)}
    with config.override(**{name: getattr(config, name) for name in _SETTINGS} | climate):
        yield
    if np.get_printoptions() != shown:  # examples would be written otherwise
        np.set_printoptions(**shown)
    left, tracing.STATE.trace = tracing.STATE.trace, tracing.ROOTS[0]
    tracing.TRACING.clear()
    assert left is tracing.ROOTS[0], "the test left a trace current"
