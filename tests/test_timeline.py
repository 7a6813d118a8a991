"""Spans of time."""

from __future__ import annotations

import contextlib

from tracejit import timeline
from tracejit.timeline import SWITCH, span


def test_nothing_is_made_while_no_profile_is_on():
    assert isinstance(span("pass", "cse"), contextlib.nullcontext)


def test_spans_know_what_is_inside(monkeypatch):
    taken = []
    monkeypatch.setattr(SWITCH, "on", True)
    monkeypatch.setattr(SWITCH, "take", taken.append)
    with span("call", "f") as outer, span("trace", "f") as inner:
        left_out = timeline.Span("native", "f").__enter__()
        with span("pass", "dce"):
            pass
        left_out.end(tell=False)
    assert [s.kind for s in taken] == ["pass", "trace", "call"]
    assert inner.outer is outer and outer.inside == inner.stop - inner.start
    assert inner.inside == taken[0].stop - taken[0].start
