"""A compilation that takes long is spoken of, on a terminal only."""

import io
import threading
import time
from contextlib import redirect_stderr

import numpy as np
import pytest

import tracejit as tj
from tests.bars.test_bar import Terminal
from tracejit.bars import slow
from tracejit.interpreters import messages


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(slow, "PATIENCE", 0.01)
    return Terminal()


def test_after_a_while_it_is_said(impatient):
    with redirect_stderr(impatient), slow.telling("f"):
        deadline = time.monotonic() + 10
        while not impatient.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    first, second, _ = impatient.getvalue().split("\n")
    assert first == "tracejit: compiling f ..." and second.startswith("tracejit: compiled f after ")


def test_what_is_quick_is_not(impatient, monkeypatch):
    monkeypatch.setattr(slow, "PATIENCE", 1000)
    with redirect_stderr(impatient), slow.telling("f"):
        pass
    assert impatient.getvalue() == "" and not any(
        isinstance(t, threading.Timer) for t in threading.enumerate()
    )


def test_a_failure_is_no_success(impatient):
    with redirect_stderr(impatient), pytest.raises(ValueError), slow.telling("f"):
        deadline = time.monotonic() + 10
        while not impatient.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        raise ValueError
    assert "gave up compiling f" in impatient.getvalue()


def test_without_a_terminal_nothing_is_started(monkeypatch):
    jaxpr = tj.make_jaxpr(np.sin)(1.0).jaxpr
    for stream in (io.StringIO(), None, object()):
        monkeypatch.setattr("sys.stderr", stream)
        assert messages.patience(jaxpr) is messages._NOTHING
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(messages.patience(jaxpr), slow.telling)


def test_a_stream_that_goes_away_is_no_failure(monkeypatch):
    stream = Terminal()
    stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    slow._say("text")
