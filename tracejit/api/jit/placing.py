"""How arrays lie in memory that a program was traced for: what it asked of them, and whether others lie so too. And
where results lie that are parts of others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.numpy.boxes.memory import layout_of, order_of_strides
from tracejit.records import record
from tracejit.tracing import Box, Storage


@record(frozen=True)
class Needed:
    """What a program needs to be so of an array: its strides in elements, or if it is not `exact` only the order of its
    axes in memory."""

    exact: bool
    strides: tuple[int, ...] | None

    @staticmethod
    def of(storage: Storage) -> Needed | None:
        """What tracing has asked of a storage."""
        if not (storage.layout_read or storage.order_read):
            return None
        return Needed(storage.layout_read, storage.layout)

    def holds(self, x: Any) -> bool:
        """Whether an array is so. Boxes of other traces always are: nothing shows where they lie."""
        if type(x) is Box:
            return True
        strides = layout_of(x)
        if strides == self.strides or self.exact:
            return strides == self.strides
        return order_of_strides(strides, np.shape(x)) == order_of_strides(self.strides, np.shape(x))


def places_of(boxes: list[Box], held: list[tuple[Any, Box]], consts: list[Any]) -> dict[int, Box]:
    """What the function had for the program's inputs, by their positions."""
    position = {id(c): n for n, c in enumerate(consts)}
    captured = {position[id(raw)]: b for raw, b in held if id(raw) in position}
    return captured | {len(consts) + n: b for n, b in enumerate(boxes)}


def needed(places: dict[int, Box]) -> dict[int, Needed]:
    """What was asked of how inputs lie in memory."""
    asked = {n: Needed.of(b.storage) for n, b in places.items() if b.aval.shape}
    return {n: found for n, found in asked.items() if found is not None}


# ---------------------------------------------------------------- results


class _Stored(threading.local):
    """Whether a program is traced for a file, which has results of traced extents in C order only."""

    on = False


STORED = _Stored()


@contextlib.contextmanager
def for_a_file() -> Iterator[None]:
    """Inside, programs are traced for files."""
    before, STORED.on = STORED.on, True
    try:
        yield
    finally:
        STORED.on = before


#: One step from an array to a view of it: a function of the array and of the outputs.
Step = Callable[[Any, Sequence[Any]], Any]
Place = tuple[str, int]


class Part:
    """What `steps` show of the array at `base`, ('arg' | 'const' | 'out' | 'part', n)."""

    def __init__(self, base: Place, steps: list[Step]) -> None:
        self.base = base
        self.steps = steps

    def of(self, given: dict[str, Sequence[Any]]) -> Any:
        """The view of what a call was given and has computed."""
        kind, n = self.base
        return self.made(given[kind][n], given["out"])

    def made(self, array: Any, outs: Sequence[Any]) -> Any:
        """The view of `array`."""
        for step in self.steps:
            array = step(array, outs)
        return array


class Chosen:
    """`own`, or where the flag of one of `parts`, (flag's output, value wanted, part), says so, that part."""

    def __init__(self, own: Part, parts: list[tuple[int, bool, Part]]) -> None:
        self.own = own
        self.parts = parts

    def of(self, given: dict[str, Sequence[Any]]) -> Any:
        """The array that was chosen in a call; a copy where that is traced itself."""
        outs = given["out"]
        if any(type(outs[flag]) is Box for flag, _, _ in self.parts):
            return self.own.of(given)
        # chosen arrays come before those that they may be themselves
        return next((p for flag, want, p in self.parts if bool(outs[flag]) == want), self.own).of(given)


def placed(parts: Sequence[Part | Chosen], moved: Callable[[Place], Place]) -> None:
    """Tell the parts where their arrays are among a program's inputs."""
    for part in parts:
        inner = [p for _, _, p in part.parts] if type(part) is Chosen else [part]
        for p in inner:
            p.base = moved(p.base)  # type: ignore[union-attr]


# ---- arrays that are known while tracing: what a library's function gave


def is_known(x: Any) -> bool:
    """Whether it is such an array."""
    return type(x) is np.ndarray and x.dtype.isnative and x.dtype.kind in "biufc"


def root_of(x: np.ndarray) -> np.ndarray:
    """The array in whose memory `x` lies."""
    while type(x.base) is np.ndarray:
        x = x.base
    return x


def lying_as(x: np.ndarray, whole: np.ndarray) -> Step:
    """What makes, of an array like `whole`, the part that `x` is of that."""
    offset = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    shape, strides, dtype, writable = x.shape, x.strides, x.dtype, x.flags.writeable

    def part(array: Any, _: Any) -> Any:
        made = np.ndarray(shape, dtype, array, offset, strides)
        made.flags.writeable = writable
        return made

    return part
