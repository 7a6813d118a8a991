"""Random stateful programs (`tests/storms`) do under jit what they do in plain Python, in all that can be observed.

`make test` runs the first sixty; `pytest -m exhaustive` ten thousand. A program that fails is minimised and saved in
`tests/regressions/stateful`, which are run again from then on. `python -m tests.storms FIRST COUNT` says how the
programs of other seeds run.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storms.checking import Outcome, check
from tests.storms.minimise import FOLDER, minimise, save
from tests.storms.worlds import source
from tracejit.numpy.boxes import numbers

FEW, TOGETHER, MANY = 36, 12, 10_000
CHUNK = 250


@pytest.fixture(autouse=True)
def _warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def failures(first: int, count: int) -> tuple[list[str], collections.Counter[str]]:
    """What is wrong with the programs of these seeds, each saved as a smaller one, and how many ran in which way."""
    kinds: collections.Counter[str] = collections.Counter()
    found = []
    for seed in range(first, first + count):
        text = source(seed)
        outcome = check(text)
        kinds[outcome.kind] += 1
        if outcome.fails:
            small = minimise(text)
            path = save(small, f"seed_{seed}", outcome)
            found.append(f"program {seed}, saved as {path}: {outcome.why}\n{small}")
    return found, kinds


@pytest.mark.sample(3)
@pytest.mark.parametrize("first", range(0, FEW, TOGETHER))
def test_nothing_tells_them_apart(first: int) -> None:
    found, kinds = failures(first, TOGETHER)
    assert not found, "\n\n".join(found)
    assert kinds["native"] >= TOGETHER // 3, kinds  # else they would say little


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(FEW, MANY, CHUNK))
def test_nothing_tells_many_apart(first: int) -> None:
    found, kinds = failures(first, CHUNK)
    assert not found, "\n\n".join(found)
    assert kinds["native"] >= CHUNK // 2, kinds


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_programs_that_failed_once(path: Path) -> None:
    outcome = check(path.read_text(encoding="utf-8"))
    assert outcome.kind in ("native", "fallback"), outcome.why


# ---------------------------------------------------------------- the check itself


def test_the_same_seed_gives_the_same_program() -> None:
    assert [source(s) for s in range(20)] == [source(s) for s in range(20)]
    assert len({source(s) for s in range(20)}) == 20


def test_a_missing_check_is_found_and_minimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """If integers beyond 64 bits did not leave the program, programs would be found that show it."""
    monkeypatch.setattr(numbers, "leave_if", lambda *args, **kwargs: None)
    assert check(CUBES).kind == "different"
    small = minimise(CUBES, 150)
    assert "n * n" in small and len(small.splitlines()) < len(CUBES.splitlines())


CUBES = """
def program():
    seen = []
    def f(n, x):
        a = 2.0 * x
        if x > 3.0:
            a = a + 1.0
        b = n * n * n
        return a, b
    return f, [(2, 1.0), (2**30, 4.0)], lambda: seen
"""


def test_a_program_without_end_is_none() -> None:
    text = (
        "def program():\n    def f(n):\n        while n:\n            n = n + 1\n    return f, [(1,)], None\n"
    )
    assert check(text).kind == "invalid"


def test_a_minimised_program_is_saved(tmp_path: Path) -> None:
    path = save("def program():\n    pass\n", "seed_0", Outcome("different", 'call 0 """ of it'), tmp_path)
    compile(path.read_text(encoding="utf-8"), str(path), "exec")
