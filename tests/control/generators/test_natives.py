"""Draws of compiled programs are NumPy's and Python's own, bit for bit, and leave the generators where these do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.generators.tables import KINDS, OF_GENERATOR, pcg, same, state

_IDS = [make.__name__ for make, _ in KINDS]


@pytest.mark.parametrize(("make", "table"), KINDS, ids=_IDS)
def test_all_methods_one_after_the_other(make: Any, table: Any) -> None:
    cases = [(name, args) for name, rows in table.items() for args in rows]

    def f(rng):
        return [getattr(rng, name)(*args) for name, args in cases]

    ours, theirs, compiled = make(5), make(5), tj.jit(f, fallback=False)
    for _ in range(2):
        for case, got, want in zip(cases, compiled(ours), f(theirs), strict=True):
            assert same(got, want), (case, got, want)
        assert state(ours) == state(theirs)
    assert compiled.trace_count == 1
    assert (
        same(compiled(make(6)), f(make(6))) and compiled.trace_count == 1
    )  # another generator: no new trace


@pytest.mark.parametrize(("make", "table"), KINDS[:1] + KINDS[4:], ids=[_IDS[0], *_IDS[4:]])
def test_in_native_loops_and_branches(make: Any, table: Any) -> None:
    names = [
        n for n in ("random", "normal", "integers", "randint", "gauss", "standard_exponential") if n in table
    ]

    def f(rng, n):
        total = 0.0
        for _ in range(n):
            for name in names:
                total += getattr(rng, name)(*table[name][0])
            if rng.random() < 0.5:
                total -= rng.uniform(1.0, 2.0)
        return total

    ours, theirs, compiled = make(5), make(5), tj.jit(f, fallback=False)
    for n in (1000, 77):
        assert compiled(ours, n) == f(theirs, n)
        assert state(ours) == state(theirs)
    assert any("native loop of a traced number" in line for line in tj.explain(f)(ours, 9).loops_and_branches)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("make", "table"), KINDS, ids=_IDS)
def test_a_million_draws_of_each_method(make: Any, table: Any) -> None:
    for name, rows in table.items():
        for args in rows:
            if same(getattr(make(0), name)(*args), getattr(make(0), name)(*args)):

                def f(rng, n, name=name, args=args):
                    last = getattr(rng, name)(*args)
                    for _ in range(n):
                        last = getattr(rng, name)(*args)
                    return last

                ours, theirs = make(3), make(3)
                assert same(tj.jit(f)(ours, 10**6), f(theirs, 10**6)), (name, args)
                assert state(ours) == state(theirs), (name, args)


@pytest.mark.exhaustive
def test_a_million_numbers_at_once() -> None:
    sized = {n: [a for a in rows if a and a[-1] in (2, 3, 4, 5, 6)] for n, rows in OF_GENERATOR.items()}
    for name, rows in sized.items():
        for args in rows:
            large = (*args[:-1], 10**6)
            ours, theirs = pcg(3), pcg(3)
            if name not in ("choice", "chisquare", "standard_t", "f", "permutation") or len(args) > 1:
                assert same(tj.jit(lambda r, name=name, large=large: getattr(r, name)(*large))(ours),
                            getattr(theirs, name)(*large)), (name, large)  # fmt: skip
                assert state(ours) == state(theirs)


def test_scalar_draws_do_not_go_through_python() -> None:
    def f(rng, n):
        total = 0.0
        for _ in range(n):
            total += rng.normal() + rng.poisson(3.0)
        return total

    text = tj.jit(f).lower(pcg(0), 3).as_text("loops")
    assert "random:random_standard_normal_fill" in text and "random:random_poisson" in text
    assert not tj.explain(f)(pcg(0), 3).callbacks


def test_integers_of_other_types_and_floats_of_single_precision() -> None:
    def f(rng):
        return (
            rng.integers(3, size=2, dtype=np.int32),
            rng.integers(0, 3, endpoint=True),
            rng.standard_normal(dtype=np.float32),
            rng.random(2, np.float32),
            rng.standard_gamma(2.0, dtype=np.float32),
        )

    ours, theirs = pcg(1), pcg(1)
    assert same(tj.jit(f, fallback=False)(ours), f(theirs)) and state(ours) == state(theirs)
