"""Tuples with numbers: which tuple an item, a name or a result is, beside plain Python, natively."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.observe import PROGRAMS, verdict
from tracejit.errors import BufferedListError

U = np.array([0.5, 1.25, 3.0, -2.0, 1.25, 0.75, 4.0, -1.0])
PYTHONS = {"constants_in_loops"}  # where a step may make them anew, or not
NAMES = [n for n in PROGRAMS if n.startswith("corpus_tuples_kept.") and n.partition(".")[2] not in PYTHONS]


@pytest.mark.sample(16)
@pytest.mark.parametrize("name", NAMES)
def test_programs_that_keep_tuples_are_native(name: str) -> None:
    kind, why = verdict(PROGRAMS[name])
    assert kind == "native", why


def climbed(u: Any) -> Any:
    best, path = (u[0], 0), []
    for i in range(1, len(u)):
        p = (u[i], i)
        if u[i] > 0:
            path.append(p)
        if p[0] > best[0]:
            best = p
    return best, path


def test_a_compiled_function_that_another_one_calls() -> None:
    inner = tj.jit(climbed)

    def outer(u: Any) -> Any:
        best, path = inner(u)
        return best is path[-1], best[0] * 2, best, path

    for u in (U, -U):
        got, want = tj.jit(outer, fallback=False)(u), outer(u)
        assert got == want
        assert [got[2] is x for x in got[3]] == [want[2] is x for x in want[3]]


def test_each_call_makes_tuples_of_its_own() -> None:
    g = tj.jit(climbed, fallback=False)
    a, b = g(U), g(U)
    assert a == b == climbed(U)
    assert a[0] is a[1][-1] and a[0] is not b[0]


def test_what_a_step_may_make_anew_or_not_is_refused() -> None:
    def f(t: Any) -> Any:
        a, b, n = [], [], 3
        while t > 0:
            p = (n, n + 1)
            a.append(p)
            if t > 2:
                b.append(p)
            t -= 1.0
        return a, b

    with pytest.raises(BufferedListError, match="anew, or not"):
        tj.jit(f, fallback=False)(np.float64(4.0))
