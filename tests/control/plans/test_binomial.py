"""Schedules against the best by trying all splits, and a simulation of the slots."""

from __future__ import annotations

import functools

import pytest

from tracejit.control.plans.binomial import Reach, reaches, repeated, ways


@functools.cache
def least(steps: int, slots: int) -> int:
    """The fewest steps forward to reverse a loop, besides those that are linearized: all splits are tried."""
    if steps == 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    return min(m + least(steps - m, slots - 1) + least(m, slots) for m in range(1, steps))


@pytest.mark.parametrize("slots", range(1, 8))
def test_as_few_steps_as_there_can_be(slots: int) -> None:
    for steps in range(1, 40):
        found = reaches(steps, slots)
        forward = sum(k - r.begin for k, r in enumerate(found))
        assert forward == least(steps, slots) == repeated(steps, slots) + steps - 1


def test_what_is_in_the_slots() -> None:
    for steps, slots in ((1, 1), (5, 1), (9, 3), (50, 4), (64, 64), (100, 7)):
        held = {0: 0}
        for k, r in reversed(list(enumerate(reaches(steps, slots)))):
            assert held[r.slot] == r.begin <= k
            for place, slot in r.stores:
                assert r.begin < place <= k and 0 < slot < slots
                held[slot] = place


def test_a_state_for_each_step() -> None:
    assert repeated(6, 6) == 0 and reaches(2, 2) == [Reach(0, 0), Reach(0, 0, ((1, 1),))]


def test_ways_need_less_and_less_memory() -> None:
    found = list(ways(4096, 2.0, 1e9))
    memory = [s.slots + 1 + 2 * s.width for s in found]
    cost = [repeated(4096 // s.width, s.slots) * s.width for s in found]
    assert memory == sorted(memory, reverse=True) and cost == sorted(cost)
    # With the memory of three levels of 16, for which blocks of equal size do a whole loop again, it is a little less.
    near = max((s for s in found if s.slots + 2 * s.width <= 4 * 16), key=lambda s: s.slots + 2 * s.width)
    assert repeated(4096 // near.width, near.slots) * near.width < 4096
    (first, *_) = ways(4096, 2.0, 40.0)  # it begins near the budget
    assert 30 < first.slots + 1 + 2 * first.width <= 48
