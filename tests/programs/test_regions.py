"""Programs that fall back, with all parts of them compiled: nothing tells them apart, and what takes long is native."""

from __future__ import annotations

import inspect

import pytest

from tests.programs import corpus_regions
from tests.programs.observe import PROGRAMS, all_parts, verdict
from tests.programs.test_corpus import PROGRAMS as ALL  # all corpora are there
from tracejit.api.regions import copies

HERE = [name for name in PROGRAMS if name.startswith("corpus_regions.")]


def native_lines() -> set[int]:
    """The lines of this corpus that were run natively."""
    found: set[int] = set()
    for callee in copies.known():
        for lines, gain in callee.measured():
            if callee.file == corpus_regions.__file__ and gain.native_runs + gain.traced:
                found |= set(range(lines[0], lines[1] + 1))
    return found


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", HERE)
def test_what_takes_long_is_native(name: str) -> None:
    with all_parts():
        kind, why = verdict(PROGRAMS[name])
    assert kind in ("native", "fallback"), why
    lines, start = inspect.getsourcelines(PROGRAMS[name])
    marked = {start + n for n, line in enumerate(lines) if "# native" in line}
    if kind == "fallback":
        assert marked <= native_lines(), why


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", list(ALL)[::25])
def test_nothing_tells_them_apart(name: str) -> None:
    with all_parts():
        kind, why = verdict(PROGRAMS[name])
    assert kind in ("native", "fallback"), why


#: They ask for what docs/jit.md says that results of compiled parts may have otherwise: the array that they are part of.
_ASK_FOR_BASES = {"views: whether_a_chosen_array_owns_its_memory"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [n for n in ALL if n not in list(ALL)[::25] and n not in _ASK_FOR_BASES])
def test_nothing_tells_any_of_them_apart(name: str) -> None:
    test_nothing_tells_them_apart(name)
