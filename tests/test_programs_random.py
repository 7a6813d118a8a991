"""Random whole programs of every primitive, dtype and structure (`tests/fuzz`) mean what they mean by NumPy.

A program that fails is minimised and saved in `tests/regressions`, which are run again from then on.
`make test` runs the first hundred and twenty-five; `pytest --programs=N -m exhaustive` runs N.
"""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.fuzz.checking import check_many, fails
from tests.fuzz.grammar import program
from tests.fuzz.minimise import FOLDER, minimise, save
from tests.fuzz.program import Saved
from tracejit.config import config
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import REGISTRY, Op
from tracejit.ops.elementwise.arithmetic import add, neg

TOGETHER = 25
FEW = range(0, 125, TOGETHER)
#: Beyond the first ones; a chunk is one test, so that processes share them.
CHUNK = 1000


def check(first: int, count: int) -> None:
    """Every program of these seeds that fails is saved and reported."""
    found = reports(first, count)
    assert not found, "\n\n".join(found)


def reports(first: int, count: int) -> list[str]:
    return [r for start in range(first, first + count, TOGETHER) for r in failures(start)]


def reports_of_a_child(first: int, count: int) -> list[str]:
    """The same from a process of its own, so that what a process keeps of its programs does not add up."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=in_a_child) as pool:
        return pool.submit(reports, first, count).result()


def in_a_child() -> None:
    """The climate of the suite, which a new process does not have from pytest."""
    warnings.simplefilter("error")
    config.check_types = True


def failures(first: int) -> Iterator[str]:
    programs = [program(seed) for seed in range(first, first + TOGETHER)]
    for n, (how, text) in check_many(programs).items():
        small = minimise(programs[n], how)
        path = save(small, how, text)
        yield f"program {programs[n].seed} under {how}, saved as {path}:\n{text}\n{small.source}"


@pytest.mark.sample(4)
@pytest.mark.parametrize("first", FEW)
def test_programs_mean_what_they_mean_by_numpy(first: int) -> None:
    check(first, TOGETHER)


@pytest.mark.exhaustive
def test_many_programs(chunk: int) -> None:
    found = reports_of_a_child(len(FEW) * TOGETHER + chunk * CHUNK, CHUNK)
    assert not found, "\n\n".join(found)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chunk" in metafunc.fixturenames:
        metafunc.parametrize("chunk", range(metafunc.config.getoption("--programs") // CHUNK))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_programs_that_failed_once(path: Any) -> None:
    saved = Saved(path)
    assert not fails(saved, saved.how)


# ---------------------------------------------------------------- the check itself


def wrong(monkeypatch: pytest.MonkeyPatch, op: Op, **slots: Any) -> None:
    """Slots of a record are others for a while."""
    for slot, value in slots.items():
        monkeypatch.setitem(vars(op), slot, value)


def caught(how: str, word: str, smallest: bool = True) -> str:
    """The source of the first program with `word` that fails, minimised if it is to be the smallest."""
    for seed in range(400):
        p = program(seed)
        if word in p.source and fails(p, how):
            return (minimise(p, how) if smallest else p).source
    raise AssertionError(f"a wrong rule is not found out under {how}")


@pytest.mark.exhaustive
def test_a_wrong_kernel_is_found_and_minimised(monkeypatch: pytest.MonkeyPatch) -> None:
    minimum = REGISTRY["minimum"].kernel
    assert isinstance(minimum, Pointwise)
    wrong(monkeypatch, REGISTRY["maximum"], kernel=minimum)
    source = caught("jit", "np.maximum(")
    assert any(
        f in source for f in ("np.maximum(", "clip", "np.choose(")
    )  # the others compute a maximum, too
    assert len(source.splitlines()) < 32


def test_a_wrong_derivative_is_found_and_minimised(monkeypatch: pytest.MonkeyPatch) -> None:
    right = REGISTRY["tanh"].jvp
    wrong(monkeypatch, REGISTRY["tanh"], jvp=lambda p, t: (lambda y, dy: (y, neg(dy)))(*right(p, t)))  # type: ignore[operator]
    source = caught("derivatives", "np.tanh(")
    assert "np.tanh(" in source and len(source.splitlines()) < 32


@pytest.mark.exhaustive
def test_a_wrong_transposition_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = REGISTRY["sub"].transpose
    twice = lambda ct, *args: right(add(ct, ct), *args)  # type: ignore[operator]
    wrong(monkeypatch, REGISTRY["sub"], transpose=twice)
    assert caught("derivatives", " - ", smallest=False)


@pytest.mark.exhaustive
def test_a_wrong_batch_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong(monkeypatch, REGISTRY["rev"], batch=lambda size, args, dims, **params: (args[0], dims[0]))
    assert "flip" in caught("vmap", "np.flip")


def test_a_chunk_reports_all_its_failures(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    here = sys.modules[__name__]
    broken = {3: ("jit", "Mismatch: one"), 24: ("vmap", "Mismatch: two")}
    monkeypatch.setattr(here, "check_many", lambda programs: broken)
    monkeypatch.setattr(here, "minimise", lambda p, how: p)
    monkeypatch.setattr(here, "save", functools.partial(save, folder=tmp_path))
    with pytest.raises(AssertionError) as info:
        check(0, 2 * TOGETHER)
    assert all(f"program {n} under" in str(info.value) for n in (3, 24, 28, 49))
    assert len(list(tmp_path.glob("*.py"))) == 4


def test_minimised_programs_are_saved_and_found_again(tmp_path: Any) -> None:
    p = dataclasses.replace(program(3))
    path = save(p, "jit", "Mismatch: a test", tmp_path)
    saved = Saved(path)
    assert (saved.seed, saved.how) == (3, "jit") and not fails(saved, "jit")
    assert "def program" in path.read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_program() -> None:
    assert [program(s).source for s in range(20)] == [program(s).source for s in range(20)]
    assert np.unique([program(s).source for s in range(20)]).size == 20
