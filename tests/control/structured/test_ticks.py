"""Loops that tell bars where they are: the same results, the right positions, at next to no cost."""

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.bars.bar import END, TOLD, Bar

N = 1000


@pytest.fixture
def told(monkeypatch):
    """(title, position, total) of what is told."""
    found = []
    monkeypatch.setattr(Bar, "tell", lambda self, k, n: found.append((self.title, k, n)))
    return found


def scan(x, **options):
    return lax.scan(lambda c, y: (np.sin(c) + y, c), x, np.arange(N) / N, **options)


def fori(x, **options):
    return lax.fori_loop(3, N + 3, lambda i, c: np.cos(c) + 0.1 * i, x, **options)


def search(x, **options):
    return lax.while_loop(lambda c: c < N, lambda c: c + 1, x, **options)


TRANSFORMED = {
    "eager": lambda f: f,
    "jit": tj.jit,
    "grad": lambda f: tj.jit(tj.grad(lambda x: np.sum(tj.tree.leaves(f(x))[0]))),
    "vmap": lambda f: tj.jit(lambda x: tj.vmap(f)(x + np.zeros(3))),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize("loop", [scan, fori, search])
def test_loops_of_lax(loop, how, told):
    transformed = TRANSFORMED[how]
    plain = transformed(loop)(0.5)
    assert told == []
    shown = transformed(lambda x: loop(x, progress="title"))(0.5)
    for a, b in zip(tj.tree.leaves(plain), tj.tree.leaves(shown), strict=True):
        assert np.array_equal(a, b)
    assert told[0][:2] == ("title", 0) and told[-1][1] == END
    positions = [k for _, k, _ in told if k != END]
    assert len(positions) <= 4 * TOLD * (3 if how == "vmap" and loop is search else 1)
    assert {n for _, k, n in told if k != END} == {END if loop is search else N}
    if not (how == "vmap" and loop is search):  # whose lanes run one after the other
        assert positions == sorted(set(positions)) and positions[-1] > 0.85 * N


def test_checkpoints_directions_and_disabled_jit(told):
    for options in ({"checkpoint": 8}, {"reverse": True}, {"checkpoint": "log", "reverse": True}):
        plain, shown = scan(0.5, **options), scan(0.5, **options, progress="t")
        assert shown[0] == plain[0] and np.array_equal(shown[1], plain[1])
        assert told[0] == ("t", 0, N) and told[-1][1] == END
        told.clear()
    with tj.disable_jit():
        assert fori(0.5, progress="t") == fori(0.5)
    assert told[0] == ("t", 0, N) and told[-1][1] == END


def test_a_program_with_checks_is_done_over_by_python(told):
    def f(x, i):
        for _ in tj.progress(range(100), "walk"):
            x = x * 0.5
        return x[i]

    with tj.config.override(fallback=True), pytest.raises(IndexError, match="out of bounds for axis 0"):
        tj.jit(f)(np.ones(3), 7)
    assert told[0][:2] == ("walk", 0)


def test_an_equal_bar_is_the_same_program(told):
    f = tj.jit(lambda x: fori(x, progress="title"))
    f(0.5), f(0.7)
    assert f.trace_count == 1 and sum(k == END for _, k, _ in told) == 2


def test_the_loop_only_asks_whether_to_tell():
    """A mask and a comparison; how often it looks for Ctrl-C is what it is without the bar."""
    many = 50_000_000

    def f(x, progress=None):
        return lax.fori_loop(0, many, lambda i, c: c * 0.5 + 1, x, progress=progress)

    plain, shown = (tj.jit(g).lower(1.0).compile() for g in (f, lambda x: f(x, "title")))
    extra = len(shown.as_text("loops").splitlines()) - len(plain.as_text("loops").splitlines())
    assert extra <= 20 and "callback:0" in shown.as_text("loops")
    loop = max(
        (s for s in shown._compiled.lowered.program.body.stmts if hasattr(s, "poll")), key=lambda s: s.poll
    )
    bare = max(
        (s for s in plain._compiled.lowered.program.body.stmts if hasattr(s, "poll")), key=lambda s: s.poll
    )
    assert loop.poll * 16 >= bare.poll
