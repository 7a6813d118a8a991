"""bench: times, and whether the results agree."""

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.terminal import measuring
from tracejit.terminal.measuring import Comparison, difference, duration
from tracejit.terminal.targets import Target


def writes(x, rng):
    x += rng.normal(size=x.shape)
    return {"sum": x.sum(), "x": x}


def test_a_comparison():
    x = np.zeros(10)
    target = Target(writes, (x, np.random.default_rng(0)), {})
    found = Comparison(target, seconds=0.0)
    assert x.tolist() == [0] * 10  # each call has its own
    assert found.difference == "are the same" or "e-1" in found.difference
    assert len(found.python.others) == len(found.compiled.others) == measuring.LEAST
    text = str(found)
    assert text.startswith("writes\n") and "times faster" in text and "results are the same" in text
    rich = pytest.importorskip("rich.console", reason="tables without rich are plain").Console(width=100)
    with rich.capture() as shown:
        rich.print(found)
    assert "times faster" in shown.get()


def test_a_jitted_function_is_compared_with_the_plain_one():
    f = tj.jit(lambda x: x + 1)
    assert measuring.plain(f) is f.fun and measuring.plain(writes) is writes
    assert Comparison(Target(f, (np.ones(2),), {}), 0.0).jitted is f


def test_what_python_runs_is_said():
    def f(x):
        open("/dev/null").close()
        return x

    with config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning):
        found = Comparison(Target(f, (1.0,), {}), 0.0)
    assert "TJ221" in found.fallback and "Python runs it" in str(found)


@pytest.mark.parametrize(
    "a, b, text",
    [
        (1.0, 1.0, "are the same"),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), "are the same"),
        ([1.0, 2.0], [1.0, 2.0 + 2e-12], "differ by 1.0e-12 of the largest number"),
        ((1, "a"), (1, "b"), "DIFFER"),
        ([1.0], [1.0, 2.0], "DIFFER in their structure"),
        (np.ones(2), np.ones(3), "DIFFER in their structure"),
        (np.ones(0), np.ones(0), "are the same"),
    ],
)
def test_differences(a, b, text):
    assert difference(a, b) == text


def test_durations():
    assert [duration(s) for s in (2.5, 0.0123, 4e-5, 5e-8)] == ["2.5 s", "12.3 ms", "40 us", "50 ns"]
