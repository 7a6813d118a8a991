"""Which tests are to notice a mutant: those that enter what it changes, are called as it is, or name it."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mutants import ROOT, Mutant, names_at

PACKAGE = ROOT / "tracejit"


class Map:
    """Which tests of a recorded run enter a function or a file."""

    def __init__(self, path: Path) -> None:
        kept = json.loads(path.read_text(encoding="utf-8"))
        self.seconds: dict[str, float] = {t: s for t, (s, _) in kept["tests"].items()}
        self.of_families = defaultdict[str, list[float]](list)
        for test, spent in self.seconds.items():
            self.of_families[family(test)].append(spent)
        self.by_function, self.by_file = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for test, (_, numbers) in kept["tests"].items():
            for key in (kept["functions"][n] for n in numbers):
                self.by_function[key].add(test)
                self.by_file[key.split(":")[0]].add(test)

    def seconds_of(self, test: str) -> float:
        """As recorded; of what was not, as of the same test with other parameters, or a tenth of a second."""
        of_family = self.of_families.get(family(test))
        return self.seconds.get(test) or (sum(of_family) / len(of_family) if of_family else 0.1)


def family(test: str) -> str:
    """A test without its parameters."""
    return test.split("[")[0]


def mirror(path: Path) -> str:
    """How the names of a file's own tests begin."""
    inside = path.relative_to(PACKAGE).with_suffix("")
    return f"tests/{inside.parent.as_posix()}/test_{inside.name}".replace("/./", "/")


def in_turn(tests: list[str]) -> Iterator[str]:
    """One of each family, then a second one of each, and so on."""
    families: dict[str, list[str]] = defaultdict(list)
    for t in tests:
        families[family(t)].append(t)
    for row in itertools.zip_longest(*families.values()):
        yield from filter(None, row)


def tests_for(mutant: Mutant, key: str, known: Map, every: list[str], seconds: float) -> list[str]:
    """The tests to run, in order: as many as took `seconds` when they were recorded."""
    near = known.by_file[str(mutant.path.relative_to(ROOT))]
    enter = known.by_function[key]
    own = {t for t in every if t.startswith(mirror(mutant.path))}
    words = {w for w in re.split(r"\W|_", key.partition(":")[2]) if len(w) > 3}
    names = {n for n in names_at(mutant) if len(n) > 2}
    called = {t for t in every if not names.isdisjoint(re.split(r"\W+", t.partition("[")[2]))}
    folder = f"{Path(mirror(mutant.path)).parent}/"
    turns = [
        own & enter,
        enter,
        called,
        own,
        _siblings(enter, every),
        _naming(names, every),
        _beside(enter, every),
        {t for t in every if t.startswith(folder)},
        near,
        _siblings(near, every),
    ]

    def rank(test: str) -> tuple[bool, float]:
        """Tests first whose parameters are called as the function is."""
        return not any(w in test for w in words), known.seconds_of(test)

    order = dict.fromkeys(t for tests in turns for t in in_turn(sorted(tests, key=rank)))
    found, left = [], seconds
    for t in filter(set(every).__contains__, order):
        if known.seconds_of(t) <= left:
            left -= known.seconds_of(t)
            found.append(t)
    return found


#: A name that more files of tests have than these tells nothing.
_COMMON = 5


def _naming(names: set[str], every: list[str]) -> set[str]:
    """The tests of files that have one of these names, which few files have."""
    files = {t.partition("::")[0] for t in every}
    words = {f: _words_of(f) for f in files}
    found = [{f for f in files if n in words[f]} for n in names]
    rare = {f for having in found if len(having) <= _COMMON for f in having}
    return {t for t in every if t.partition("::")[0] in rare}


@functools.cache
def _words_of(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", (ROOT / file).read_text(encoding="utf-8")))


def _beside(tests: set[str], every: list[str]) -> set[str]:
    """All tests of their files."""
    files = {t.partition("::")[0] for t in tests}
    return {t for t in every if t.partition("::")[0] in files}


def _siblings(tests: set[str], every: list[str]) -> set[str]:
    """These with other parameters, of which some were not recorded."""
    families = {family(t) for t in tests}
    return {t for t in every if family(t) in families}
