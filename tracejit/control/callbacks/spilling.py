"""States of loops in a file: what a loop puts there while it goes forward is read on the way back, in reverse order.

A file has no name, or one that goes when it is closed (`tempfile`), so that nothing is left of a process that is
killed. It is closed when its first row has been read, or when the program that wrote it fails. It is written and not
mapped: a full disk is an OSError then, where it would end the process.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import ArgumentTypeError, InternalTypeError
from tracejit.ir.avals import Aval

_numbers = itertools.count(1)


class Site:
    """A loop that keeps its states in files: one for each run, whose number the program hands on from the first store
    to the last load. `store(number, row, *states) -> number`, which for row 0 is a new one, and
    `load(number, row) -> states`."""

    def __init__(self, states: Sequence[Aval]) -> None:
        self.store: Any = _Store(self, [Aval((), np.dtype(np.int64))])
        self.load: Any = _Load(self, states)
        self.open: dict[int, tuple[int, Any]] = {}  # number of a run -> the thread, and the file

    def begin(self) -> int:
        """A new file, of this thread."""
        number = next(_numbers)
        file = tempfile.TemporaryFile(prefix="tracejit-", buffering=0)  # noqa: SIM115 - `end` closes it
        self.open[number] = threading.get_ident(), file
        return number

    def file(self, number: int) -> Any:
        """The file of a run."""
        if number not in self.open:
            raise InternalTypeError(problem="the file with the states of a loop is closed already")
        return self.open[number][1]

    def end(self, number: int) -> None:
        """A run has read its last row."""
        self.open.pop(number)[1].close()

    def abandoned(self) -> None:
        """A program has failed on this thread: nobody reads its file."""
        for number, (thread, _) in list(self.open.items()):
            if thread == threading.get_ident():
                self.end(number)


class _Host:
    """What a program calls, as `HostFunction`s are called. Lanes of a batch lie in front of every operand, and are rows
    of one file: numbers are the same in all."""

    name = told = ""
    rule = "calls: file"  # what `explain` says of it
    no_derivative = (
        "grad(f, offload='disk')",
        "the file has the states for one derivative: take `memory=` for what is differentiated further",
    )

    def __init__(self, site: Site, results: Sequence[Aval]) -> None:
        self.site = site
        self.results = tuple(results)

    def with_results(self, results: Sequence[Aval]) -> _Host:
        """The same for other results: those of lanes."""
        return type(self)(self.site, results)

    def abandoned(self) -> None:
        """The program that calls it has failed."""
        self.site.abandoned()


class _Store(_Host):
    name = told = "a state of a loop is written to a file"

    def __call__(self, number: Any, row: Any, *states: Any) -> list[Any]:
        run, place = _first(number), _first(row)
        if place == 0:
            run = self.site.begin()
        file = self.site.file(run)
        arrays = [np.ascontiguousarray(x) for x in states]
        file.seek(place * sum(a.nbytes for a in arrays))
        for a in arrays:
            left = a.reshape(-1).view(np.uint8).data
            while left:  # one call may write less
                left = left[file.write(left) :]
        return [np.full(self.results[0].shape, run)]


class _Load(_Host):
    name = told = "a state of a loop is read from a file"

    def __call__(self, number: Any, row: Any) -> list[Any]:
        run, place = _first(number), _first(row)
        file = self.site.file(run)
        arrays = [np.empty(a.shape, a.dtype) for a in self.results]
        size = sum(a.nbytes for a in arrays)
        if place and hasattr(
            os, "posix_fadvise"
        ):  # the system reads the next row while this one is worked on
            os.posix_fadvise(file.fileno(), (place - 1) * size, size, os.POSIX_FADV_WILLNEED)
        file.seek(place * size)
        for a in arrays:
            left = a.reshape(-1).view(np.uint8).data
            while left:
                count = file.readinto(left)
                if not count:
                    raise InternalTypeError(problem="the file with the states of a loop is too short")
                left = left[count:]
        if place == 0:
            self.site.end(run)
        return arrays


def _first(x: Any) -> int:
    """What all lanes have. Raises ArgumentTypeError where they differ: a loop that does not end for all at once."""
    values = np.ravel(x)
    if (values != values[0]).any():
        problem = "offload='disk' needs the same number of steps in all lanes of vmap, or loops without vmap"
        raise ArgumentTypeError(name="grad", problem=problem)
    return int(values[0])
