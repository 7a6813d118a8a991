"""Whether lanes touch elements of their own is what counting all elements says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tracejit.lowering.loops.forms import LANE, ONE, Form, added, owned, scaled


def touched(form: Form, lane: int, ranges: dict[Any, tuple[int, int]]) -> set[int]:
    """All elements of an index for one lane."""
    symbols = [s for s in form if s not in (ONE, LANE)]
    start = form.get(ONE, 0) + lane * form.get(LANE, 0)
    spans = [range(ranges[s][0], ranges[s][1] + 1) for s in symbols]
    return {start + sum(form[s] * v for s, v in zip(symbols, vs, strict=True)) for vs in product(*spans)}


def apart(forms: list[Form], lanes: int, ranges: dict[Any, tuple[int, int]]) -> bool:
    """Whether no element is touched by two lanes, by looking at each."""
    found: dict[int, int] = {}
    for lane in range(lanes):
        for f in forms:
            for e in touched(f, lane, ranges):
                if found.setdefault(e, lane) != lane:
                    return False
    return True


def test_rows_columns_and_parts_of_rows() -> None:
    ranges = {"t": (0, 5), "k": (0, 2)}
    assert owned([{LANE: 1, "t": 10}], 10, ranges), "an array (time, lane)"
    assert owned([{LANE: 1, "t": 10}, {LANE: 1, "t": 10, ONE: 10}], 10, ranges), "a row and the next one"
    assert owned([{LANE: 6, "t": 1}], 10, ranges), "an array (lane, time)"
    assert owned([{LANE: 3, "t": 30, "k": 1}, {LANE: 3, ONE: 2}], 10, ranges), "an array (time, lane, 3)"
    assert owned([{LANE: 1, "unknown": 10}], 10, ranges), "a row that is not known"
    assert not owned([{LANE: 1}, {LANE: 1, ONE: 1}], 10, ranges), "a neighbour"
    assert not owned([{LANE: 1}, {ONE: 3}], 10, ranges), "the same for all lanes"
    assert not owned([{LANE: 5, "t": 1}], 10, ranges), "rows that overlap"
    assert not owned([{LANE: 1, "t": 9}], 10, ranges)
    assert not owned([{LANE: 1, "unknown": 1}], 10, ranges)
    assert not owned([{LANE: 1}, None], 10, ranges)


def test_what_is_said_to_be_apart_is() -> None:
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(1500):
        lanes = int(rng.integers(2, 7))
        ranges = {s: (0, int(rng.integers(0, 4))) for s in "tk"}
        width = int(rng.integers(1, 4))
        forms: list[Form] = []
        for _ in range(rng.integers(1, 3)):
            form = {LANE: width, ONE: int(rng.integers(-2, 9)) * int(rng.choice([1, lanes * width]))}
            form |= {s: int(rng.choice([0, 1, 2, lanes, lanes * width, 2 * lanes * width])) for s in "tk"}
            forms.append({s: c for s, c in form.items() if c})
        if owned(forms, lanes, ranges):
            said += 1
            assert apart(forms, lanes, ranges), (forms, lanes, ranges)
    assert said > 100


def test_sums() -> None:
    assert added({LANE: 1, ONE: 2}, {LANE: -1, "t": 3}) == {ONE: 2, "t": 3}
    assert scaled({LANE: 2}, 3) == {LANE: 6} and scaled({LANE: 2}, 0) == {}
