"""Flame graphs: the rules of speedscope's file format."""

from __future__ import annotations

import json

import pytest

import tracejit as tj
from tests.profiling.test_profile import operands, step


def test_speedscope():
    p = tj.profile(step, calls=3)(*operands())
    file = json.loads(json.dumps(p.flame()))
    frames = file["shared"]["frames"]
    sums, *threads = file["profiles"]
    assert sums["type"] == "sampled" and len(sums["samples"]) == len(sums["weights"])
    assert sum(sums["weights"]) == pytest.approx(sums["endValue"])
    assert sum(sums["weights"]) == pytest.approx(1e9 * sum(r.own for r in p.rows))
    deepest = max(sums["samples"], key=len)
    names = [frames[n]["name"] for n in deepest]
    assert names[0] == "step" and "machine code" in names
    assert any("dot_general" in frames[s[-1]]["name"] for s in sums["samples"])
    for thread in threads:
        assert thread["type"] == "evented"
        open_, now = [], thread["startValue"]
        for event in thread["events"]:
            assert event["at"] >= now
            now = event["at"]
            if event["type"] == "O":
                open_.append(event["frame"])
            else:
                assert open_.pop() == event["frame"]
        assert not open_ and now <= thread["endValue"]
