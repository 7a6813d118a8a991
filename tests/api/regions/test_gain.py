"""The rules by which parts are compiled and given up, on made-up times."""

from __future__ import annotations

import pytest

from tracejit.api.regions.gain import Gain, rules
from tracejit.config import config


def test_what_takes_long_is_due_once_it_has():
    gain = Gain(lines=3)
    assert not gain.due
    gain.ran(rules.first)
    assert not gain.due
    gain.ran(3 * rules.line)
    assert gain.due and gain.off is None


def test_what_will_take_long_is_due_at_once():
    gain = Gain(1)
    gain.guess = 2 * rules.sure
    assert gain.due and gain.allowance == rules.attempt
    gain.gave_up(0.5)
    assert not gain.due


def test_small_parts_are_given_up():
    gain = Gain(1)
    for _ in range(rules.judged):
        assert gain.off is None
        gain.ran(1e-6)
    assert gain.small and gain.off is not None and "1.0 us" in gain.off


def test_native_runs_have_to_be_faster():
    slow, fast = Gain(1), Gain(1)
    for gain, seconds in ((slow, 0.01), (fast, 0.001)):
        gain.ran(0.01)
        for _ in range(rules.compared):
            gain.ran_natively(seconds, traced=False)
    assert slow.off is not None and slow.small and fast.off is None
    assert fast.won == pytest.approx(rules.compared * 0.009)


def test_compiling_again_and_again_has_to_pay():
    gain = Gain(1)
    gain.ran(0.05)
    for _ in range(int(rules.lost / 0.3)):
        gain.ran_natively(0.3, traced=True)
        assert gain.off is None
    gain.ran_natively(0.3, traced=True)
    assert gain.off is not None and not gain.small


def test_a_budget_grows_with_what_python_has_spent():
    gain = Gain(1)
    gain.ran(2.0)
    assert gain.due and gain.allowance == 2.0
    gain.gave_up(2.0)
    assert not gain.due
    gain.ran(7.0)
    assert gain.due and gain.allowance == 9.0
    with config.override(compile_budget=3.0):
        assert gain.allowance == 3.0


def test_checks_that_fail_every_time_end_it():
    gain = Gain(1)
    for _ in range(rules.failures):
        assert gain.off is None
        gain.did_over()
    assert gain.off is not None and "check" in gain.off
