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


def _numbers(rng: Any, name: str, args: tuple[Any, ...], n: int) -> np.ndarray:
    """`n` draws one by one, in a native loop where this is compiled."""
    out = np.empty(n)
    for i in range(n):
        out[i] = getattr(rng, name)(*args)
    return out


def _streams(n: int, kinds: Any) -> None:
    """Draws one by one against NumPy's own of a whole array, which are the same numbers."""
    for make, table in kinds:
        for name, rows in table.items():
            for args in rows:
                if name in _ONE_BY_ONE and not any(map(np.ndim, args)) and args[-1:] not in _SIZES:
                    ours, theirs = make(3), make(3)
                    compiled = tj.jit(lambda rng, n, name=name, args=args: _numbers(rng, name, args, n))
                    want = getattr(theirs, name)(*args, size=n)
                    assert np.array_equal(compiled(ours, n), want.astype(float)), (make, name, args)
                    assert state(ours) == state(theirs), (make, name, args)


_SIZES = [(n,) for n in (2, 3, 4, 5, 6)]  # the last arguments that say how many
_ONE_BY_ONE = frozenset(
    (
        *(
            "random",
            "random_sample",
            "standard_normal",
            "standard_exponential",
            "normal",
            "uniform",
            "exponential",
        ),
        *("standard_gamma", "gamma", "beta", "standard_cauchy", "pareto", "weibull", "power", "rayleigh"),
        *("laplace", "logistic", "gumbel", "lognormal", "poisson", "geometric", "logseries", "zipf"),
        *("integers", "randint", "vonmises", "wald", "negative_binomial", "noncentral_chisquare"),
    )
)


def test_streams() -> None:
    _streams(1000, KINDS[:1])


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS[:5], ids=_IDS[:5])
def test_a_million_draws_of_each_method(kind: Any) -> None:
    _streams(10**6 if kind[1] is OF_GENERATOR else 10**5, [kind])


@pytest.mark.exhaustive
def test_a_million_draws_of_pythons_methods() -> None:
    make, table = KINDS[5]
    for name in ("random", "randint", "uniform", "randrange", "choice"):
        ours, theirs = make(3), make(3)
        args = table[name][0]

        def total(rng, n, name=name, args=args):
            s = 0.0
            for _ in range(n):
                s += getattr(rng, name)(*args)
            return s

        assert tj.jit(total, fallback=False)(ours, 10**6) == total(theirs, 10**6) and state(ours) == state(
            theirs
        )


@pytest.mark.exhaustive
def test_a_million_numbers_at_once() -> None:
    for name in sorted(_ONE_BY_ONE & OF_GENERATOR.keys()):
        args = next(a for a in OF_GENERATOR[name] if not any(np.ndim(x) for x in a))
        args = args[:2] if name == "integers" else args
        ours, theirs = pcg(3), pcg(3)
        if not (args and args[-1] in (5, 6)):
            draw = tj.jit(
                lambda rng, name=name, args=args: getattr(rng, name)(*args, size=10**6), fallback=False
            )
            assert same(draw(ours), getattr(theirs, name)(*args, size=10**6)), name
            assert state(ours) == state(theirs), name


@pytest.mark.skipif(np.__version__.startswith("2.3."), reason="a thread can take its locks once only")
def test_scalar_draws_do_not_go_through_python() -> None:
    def f(rng, n):
        total = 0.0
        for _ in range(n):
            total += rng.normal() + rng.poisson(3.0)
        return total

    text = tj.jit(f).lower(pcg(0), 3).as_text("loops")
    assert "random:random_standard_normal_fill" in text and "random:random_poisson" in text
    assert not tj.explain(f)(pcg(0), 3).callbacks


_WITH_LOCKS = pytest.mark.skipif(
    np.__version__.startswith("2.3."), reason="a thread can take its locks once only"
)


@_WITH_LOCKS
@pytest.mark.parametrize("kind", KINDS[:5], ids=_IDS[:5])
def test_orders_are_drawn_natively(kind: Any) -> None:
    make, sizes = kind[0], (0, 1, 2, 63, 64, 65, 66, 129, 1000)

    def f(rng):
        return [rng.permutation(n) for n in sizes], rng.random()

    ours, theirs, compiled = make(5), make(5), tj.jit(f, fallback=False)
    for _ in range(2):
        assert same(compiled(ours), f(theirs)) and state(ours) == state(theirs)
    assert not tj.explain(f)(ours).callbacks


@_WITH_LOCKS
def test_binomials_are_drawn_natively() -> None:
    def f(rng, n):
        total = 0
        for _ in range(n):
            total += rng.binomial(20, 0.3) + rng.binomial(1000, 0.7)
        return total, rng.binomial(0, 0.5, 3), rng.binomial(9, 0, 3), rng.binomial(30, 0.5, (50, 2))

    ours, theirs, compiled = pcg(5), pcg(5), tj.jit(f, fallback=False)
    for _ in range(2):
        assert same(compiled(ours, 500), f(theirs, 500)) and state(ours) == state(theirs)
    assert not tj.explain(f)(ours, 3).callbacks


@_WITH_LOCKS
def test_loops_of_draws_seldom_look_for_signals() -> None:
    """Each look takes Python's lock: one for every few numbers took as long as these."""
    program = tj.jit(lambda rng: rng.gamma(2.5, 1.0, 10**6)).lower(pcg(0)).compile()._compiled.lowered.program
    (loop,) = (s for s in program.body.stmts if hasattr(s, "poll"))
    assert loop.poll == 0 or loop.poll > 10_000


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
