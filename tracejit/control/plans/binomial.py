"""Which states of a loop are kept, and from which of them each step is reached on the way back: binomial checkpointing.

Griewank and Walther, "Algorithm 799: revolve" (2000). With c states at a time, of which one is the first, and r
repetitions, loops of up to (c + r choose c) steps can be reversed; the split of a loop is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tracejit.records import record

_FEWEST = 3  # states below which a loop of many steps takes too long
_LESS = 0.8  # each way needs so much of the memory of the one before
_MORE = 1.2  # the first way may need so much of the budget by the model: fusion may make it less


@record(frozen=True)
class Schedule:
    """How a loop is reversed: `slots` states are kept at a time, and `width` steps at a time are linearized. With
    `disk` there are no slots: the state before each block of `width` steps is in a file."""

    slots: int
    width: int
    disk: bool = False

    def again(self, length: int) -> float:
        """How often a step of a loop is done again, on average, before it is linearized."""
        return repeated(length // self.width, self.slots) * self.width / length


@record(frozen=True)
class Reach:
    """How the state before a step is reached: from the state in `slot`, which is that before step `begin`. On the way
    the states before some steps are put into slots: (step, slot), in order."""

    slot: int
    begin: int
    stores: tuple[tuple[int, int], ...] = ()


def reaches(steps: int, slots: int) -> list[Reach]:
    """For each step, how it is reached when the way back comes to it; slot 0 has the state before step 0. That of the
    last step begins at the beginning: the first half of a program goes there, and makes its stores."""
    found: list[Reach] = [Reach(0, 0)] * steps
    stack = [(0, steps, Reach(0, 0), tuple(range(1, slots)))]
    while stack:
        low, high, reach, free = stack.pop()
        home = reach.stores[-1][1] if reach.stores else reach.slot  # where the state before `low` is
        if high - low == 1 or not free:
            found[high - 1] = reach
            found[low : high - 1] = [Reach(home, low)] * (high - 1 - low)
            continue
        middle = low + _split(high - low, len(free) + 1)
        stack.append((low, middle, Reach(home, low), free))
        there = Reach(reach.slot, reach.begin, (*reach.stores, (middle, free[0])))
        stack.append((middle, high, there, free[1:]))
    return found


def _split(steps: int, slots: int) -> int:
    """After how many steps the next state is kept."""
    again = _repetitions(steps, slots)
    least = math.comb(slots + again - 2, slots) if again > 1 else 1
    return max(1, least, steps - math.comb(slots - 1 + again, slots - 1))


def _repetitions(steps: int, slots: int) -> int:
    """How often a step is done at most until it is linearized."""
    again = 0
    while math.comb(slots + again, slots) < steps:
        again += 1
    return again


def repeated(steps: int, slots: int) -> int:
    """The steps that are done again before they are linearized: by the formula, r * n - (c + r choose c + 1) from the
    beginning on, of which the first half does n - 1."""
    again = _repetitions(steps, slots)
    return again * steps - math.comb(slots + again, slots + 1) - (steps - 1)


def ways(length: int, weight: float, budget: float) -> Iterator[Schedule]:
    """Schedules for a loop, each with less memory than the one before, and more steps that are done again. `weight`:
    what the derivative of a step keeps, in states, and `budget` what there is for all."""
    room, seen = min(length * weight * _LESS, budget * _MORE), set[Schedule]()
    while True:
        best: tuple[float, Schedule] | None = None
        width = 1
        while width * 2 <= length:
            blocks = length // width
            slots = min(int(room - weight * width) - 1, blocks)
            if slots >= min(_FEWEST, blocks):
                cost = repeated(blocks, slots) * width
                if best is None or cost < best[0]:
                    best = cost, Schedule(slots, width)
            width *= 2
        if best is None:
            return
        if best[1] not in seen:
            seen.add(best[1])
            yield best[1]
        room *= _LESS
