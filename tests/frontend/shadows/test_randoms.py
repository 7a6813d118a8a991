"""Random generators that live on outside of jitted functions."""

from __future__ import annotations

import pickle
import random
import statistics
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import tracejit as tj
from tracejit.errors import RandomStateError
from tracejit.frontend.shadows import randoms

RNG = np.random.default_rng(0)
BITS = np.random.PCG64(0)


def test_drawing_from_what_is_not_followed_is_refused_and_undone() -> None:
    state = randoms.state_of(BITS)
    with pytest.raises(RandomStateError, match="`BITS` of a random generator"):
        tj.jit(lambda x: x + BITS.random_raw() % 2, fallback=False)(np.zeros(3))
    assert randoms.state_of(BITS) == state


def test_generators_that_nothing_is_drawn_from_are_no_matter() -> None:
    assert tj.jit(lambda x: x + (RNG is not None))(1.0) == 2.0


def test_draws_from_the_generators_of_the_process_are_noticed() -> None:
    before = [randoms.state_of(g) for g in (random._inst, np.random.mtrand._rand)]
    with pytest.raises(RandomStateError, match="not followed"):
        tj.jit(lambda x: x * scipy.stats.random_correlation.rvs((0.5, 1.5)).sum(), fallback=False)(
            np.zeros(3)
        )
    assert [randoms.state_of(g) for g in (random._inst, np.random.mtrand._rand)] == before


def test_samples_of_pythons_normal_distribution() -> None:
    def f(m: float) -> list[float]:
        return statistics.NormalDist(m, 2.0).samples(3)

    compiled, made = tj.jit(f), []
    for g in (f, compiled):
        random.seed(7)
        made.append(([g(1.0), g(2.0)], random.getstate()))
    assert made[0] == made[1]


def test_libraries_that_make_generators_without_a_seed_are_noticed() -> None:
    with pytest.raises(tj.TracejitError, match="a generator without a seed"):
        tj.jit(lambda x: x * scipy.stats.qmc.Halton(1).random(2), fallback=False)(np.zeros(2))


def test_modules_that_are_imported_by_traced_code_may_make_generators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `scipy.stats` does, which a module runs once: plain Python would import it then, too."""
    (tmp_path / "drawing.py").write_text(
        "import numpy as np\n\nSIZE = np.random.default_rng().random(3).size\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def f(x):
        import drawing  # type: ignore[import-not-found]

        return x * drawing.SIZE

    assert tj.jit(f, fallback=False)(2.0) == 6.0


@pytest.mark.parametrize(
    ("make", "seeded"),
    [
        (lambda: np.random.RandomState(3), [True]),
        (lambda: pickle.loads(pickle.dumps(np.random.default_rng(3))), [True]),
        (lambda: np.random.RandomState(), [False]),
        (lambda: np.random.RandomState(3) and np.random.default_rng(), [True, False]),
        (lambda: np.random.PCG64(), [False]),
        (lambda: np.random.default_rng(3), []),
    ],
)
def test_which_generators_get_a_seed_afterwards(make, seeded, monkeypatch) -> None:
    seen = []

    def randbits(bits: int) -> int:
        seen.append(randoms._is_seeded_afterwards(sys._getframe(1)))
        return 1

    monkeypatch.setattr(np.random.bit_generator, "randbits", randbits)
    make()
    assert seen == seeded


@pytest.mark.parametrize(
    "g",
    [
        np.random.default_rng(1),
        np.random.RandomState(1),
        np.random.Generator(np.random.MT19937(1)),
        np.random.Philox(1),
        random.Random(1),
    ],
    ids=lambda g: type(g).__name__,
)
def test_states_are_put_back(g) -> None:
    draw = getattr(g, "random", None) or getattr(g, "rand", None) or g.random_raw
    state = randoms.state_of(g)
    first = [draw() for _ in range(3)]
    assert randoms.state_of(g) != state
    randoms.restore(g, state)
    assert [draw() for _ in range(3)] == first


def test_classes_of_generators_are_those_that_are_named() -> None:
    rng, state, python = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)

    def f(x):
        bits = rng.bit_generator
        classes = [bits.__class__ is np.random.PCG64, state.__class__ is np.random.RandomState]
        return classes, python.__class__ is random.Random, type(python) is random.Random, x

    assert tj.jit(f, fallback=False)(1.0) == f(1.0) == ([True, True], True, True, 1.0)
