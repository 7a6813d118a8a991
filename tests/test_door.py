"""One door: whatever way a traced value is looked at, the jitted program can't be told from the plain one.

With fallback Python may give the answer; without, tracejit may refuse, and no handler of the user's code may swallow
that."""

from __future__ import annotations

import random

import pytest

from tests.door.checking import difference, entering
from tests.door.entrances import ENTRANCES
from tests.door.listed import MODULES, looks
from tests.door.looks import GROUPS
from tests.door.values import SOURCES, VALUES

MODES = ("fallback", "alone", "handled")
#: Of the table, `make test` has one entry in so many.
EVERY = 331
ENTRIES = [
    (look, kind, source) for g in GROUPS.values() for look in g for kind in VALUES for source in SOURCES
]


def _wrong(entries: list[tuple[str, str, str]], mode: str) -> list[str]:
    found = ((e, difference(*e, mode)) for e in entries)
    return [f"{look!r} of {kind} ({source})\n{why}" for (look, kind, source), why in found if why is not None]


@pytest.mark.parametrize("mode", MODES)
def test_a_sample_of_the_table(mode: str) -> None:
    entries = ENTRIES[MODES.index(mode) :: EVERY]
    assert len(entries) > 75
    assert not _wrong(entries, mode)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", GROUPS)
def test_the_whole_table(group: str, mode: str) -> None:
    entries = [(look, kind, source) for look in GROUPS[group] for kind in VALUES for source in SOURCES]
    random.Random(0).shuffle(entries)
    assert not _wrong(entries, mode)


def _calls(module: str) -> list[tuple[str, str, str]]:
    return [(look, kind, "computed") for look in looks(module) for kind in VALUES]


@pytest.mark.parametrize("mode", MODES)
def test_a_sample_of_what_modules_take(mode: str) -> None:
    entries = [e for module in MODULES for e in _calls(module)]
    assert len(entries) > 60_000
    assert not _wrong(random.Random(MODES.index(mode)).sample(entries, 80), mode)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("module", MODULES)
def test_all_that_modules_take(module: str, mode: str) -> None:
    assert not _wrong(_calls(module), mode)


@pytest.mark.sample(5)
@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("name", ENTRANCES)
def test_values_enter(name: str, mode: str) -> None:
    kinds = list(VALUES)
    kinds = kinds[len(name) % 3 :: 3]
    wrong = {kind: entering(ENTRANCES[name], kind, mode) for kind in kinds}
    assert not {kind: why for kind, why in wrong.items() if why is not None}


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES[:2])
def test_all_kinds_enter(mode: str) -> None:
    wrong = {(n, kind): entering(p, kind, mode) for n, p in ENTRANCES.items() for kind in VALUES}
    assert not {at: why for at, why in wrong.items() if why is not None}
