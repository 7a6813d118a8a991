"""Entries: what a program does besides computing, such as printing, each at its place in Python's order.

An entry is a debug callback with an effect of its own, `journal`. In a program that may be given up for Python's run
(a check fails in it) entries are collected while it runs, and done when it has ended: then a call can be done over
without anything happening twice. Elsewhere they are done at once, so that the progress of a long loop is seen.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.control.callbacks.ops import debug_callback_op, io_callback_op
from tracejit.errors import refusals
from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import JOURNAL, SHOWN, Jaxpr, effects_of, sub_jaxprs
from tracejit.tracing import bind, is_tracing, untraced

#: The effects of entries, those that are counted included.
_TOLD = frozenset({JOURNAL, SHOWN})


class _Thread(threading.local):
    collected: list[tuple[Callable[..., None], tuple[Any, ...]]] | None = None


_thread = _Thread()


class Entry:
    """One thing to do: `act(*make.compiled()(*arrays))`. `make` and `act` compare by value, so that a loop that is
    traced again is the same program. `name` and `where` (`file:line`) are for people; `raises` has the exceptions that
    may come out of it and that the user's code may expect there. `at_once`: it is never put off. `ours`: a solver of
    tracejit's does it, not the user's code. If `act` has a method `idle`, nothing is done where that is true; if it has
    `whole`, `whole(make)(of_numbers, thread, keep)` is what `for_numbers` gives, as long as `thread.collected` is
    None."""

    effect = JOURNAL

    def __init__(
        self,
        name: str,
        act: Callable[..., None],
        make: Any,
        where: str | None = None,
        raises: tuple[type[BaseException], ...] = (),
        at_once: bool = False,
        ours: bool = False,
    ) -> None:
        self.name = name
        self.act = act
        self.make = make
        self._made: Any = None  # the compiled function
        self._made_of_numbers: Any = None
        self._idle: Callable[[], bool] | None = getattr(act, "idle", None)
        self.where = where
        self.raises = raises
        self.at_once = at_once
        self.ours = ours

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.act, self.make, self.where, self.at_once

    def __repr__(self) -> str:
        return self.told

    @property
    def told(self) -> str:
        """How `explain` lists it."""
        return self.name if self.where is None else f"{self.name} (at {self.where})"

    def __call__(self, *arrays: Any) -> list[Any]:
        """As an operation does it, which gives no results."""
        self.direct(*arrays)
        return []

    def direct(self, *arrays: Any) -> None:
        """Do it, or put it off. What it is done with is made now: native code's memory is only lent."""
        if self._idle is not None and self._idle():
            return
        made = self._made
        if made is None:
            made = self._made = self.make.compiled()
        self._do(made(*arrays))

    def of_numbers(self, *numbers: Any) -> None:
        """`direct` with Python's numbers for arrays of no dimensions, as native code has them."""
        if self._idle is not None and self._idle():
            return
        made = self._made_of_numbers
        if made is None:
            made = self._made_of_numbers = self.make.compiled(numbers=True)
        self._do(made(*numbers))

    def for_numbers(self, count: int, keep: Callable[[BaseException, bool], None]) -> Callable[..., Any]:
        """`of_numbers` as a function of so many numbers that hands exceptions to `keep`, and gives True then."""
        whole = getattr(self.act, "whole", None)
        make = None if whole is None else whole(self.make)
        return (
            for_numbers(self.of_numbers, count, keep)
            if make is None
            else make(self.of_numbers, _thread, keep)
        )

    def _do(self, given: Any) -> None:
        collected = _thread.collected
        if collected is not None and not self.at_once:
            collected.append((self.act, given))
        elif is_tracing():
            with untraced():
                self.act(*given)
        else:
            self.act(*given)


def for_numbers(
    of_numbers: Callable[..., None], count: int, keep: Callable[[BaseException, bool], None]
) -> Callable[..., Any]:
    """`of_numbers` as a function of so many numbers that hands exceptions to `keep`, and gives True then."""
    return _keeping(count)(of_numbers, _thread, keep)


@functools.cache
def _keeping(count: int) -> Callable[..., Callable[..., Any]]:
    """What makes a function of so many numbers of `of_numbers`."""
    given = ", ".join(f"a{n}" for n in range(count))
    return keeping("", f"of_numbers({given})", given, {})


def keeping(first: str, act: str, given: str, names: dict[str, Any]) -> Callable[..., Callable[..., Any]]:
    """`make(of_numbers, thread, keep)`, a function of the variables `given` that does the statements `first` and
    `act`, and hands exceptions to `keep`."""
    source = f"""
def make(of_numbers, thread, keep):
    def called({given}):
        try:
            {first}
            {act}
        except BaseException as error:
            keep(error, True)
            return True
    return called
"""
    exec(compile(source, "<tracejit text>", "exec"), names)
    return names["make"]


class Reading:
    """What is read outside of a program where it says so, as the clock: `read()` gives a number of `dtype`."""

    effect = JOURNAL
    raises: tuple[type[BaseException], ...] = ()

    def __init__(self, name: str, read: Callable[[], Any], dtype: np.dtype, where: str | None) -> None:
        self.read = read
        self.dtype = dtype
        self.name = name
        self.where = where

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and (other.read, other.where) == (self.read, self.where)

    def __hash__(self) -> int:
        return hash((self.read, self.where))

    def __repr__(self) -> str:
        return self.told

    @property
    def told(self) -> str:
        """How `explain` lists it."""
        return self.name if self.where is None else f"{self.name} (at {self.where})"

    def __call__(self) -> list[np.ndarray]:
        with untraced():
            return [np.array(self.read(), self.dtype)]


def enter(entry: Entry, values: Sequence[Any]) -> None:
    """Make `entry`, which is given the raw `values`, part of what is being traced."""
    bind(debug_callback_op, *values, callback=entry, ordered=True)


def read(reading: Reading) -> Any:
    """The raw number that is read when the program is there."""
    results = (Aval((), reading.dtype),)
    return bind(io_callback_op, callback=reading, results=results, ordered=True)[0]


def entries(jaxpr: Jaxpr) -> Iterator[Any]:
    """The entries and readings of a program, those in its loops and branches included."""
    for eqn in jaxpr.eqns:
        if JOURNAL in eqn.effects:
            inner = [*sub_jaxprs(eqn.params)]
            for sub in inner:
                yield from entries(sub)
            if not inner:
                yield eqn.params["callback"]


def without(jaxpr: Jaxpr, gone: Callable[[Any], bool]) -> Jaxpr:
    """A program without the entries that are `gone`."""
    if jaxpr.effects.isdisjoint(_TOLD):
        return jaxpr
    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.effects.isdisjoint(_TOLD):
            eqns.append(eqn)
        elif any(True for _ in sub_jaxprs(eqn.params)):
            params = {k: _without(p, gone) for k, p in eqn.params.items()}
            eqns.append(eqn.replace(params=params, effects=effects_of(eqn.op, params)))
        elif not gone(eqn.params.get("callback")):
            eqns.append(eqn)
    return Jaxpr(jaxpr.invars, tuple(eqns), jaxpr.outs, jaxpr.name)


def _without(p: Any, gone: Callable[[Any], bool]) -> Any:
    if isinstance(p, tuple) and any(isinstance(q, Jaxpr) for q in p):
        return tuple([_without(q, gone) for q in p])
    return without(p, gone) if isinstance(p, Jaxpr) else p


def may_raise(callback: Any) -> Iterable[type[BaseException]]:
    """The exceptions that the user's code may expect of an entry."""
    return getattr(callback, "raises", ())


class collected:
    """A run of a program whose entries are done at its end; not at all, if a check of it fails: then it is done over.
    With `wanted` False they are done at once."""

    __slots__ = ("outer", "wanted")

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted

    def __enter__(self) -> None:
        self.outer = _thread.collected
        _thread.collected = [] if self.wanted else None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        found, _thread.collected = _thread.collected, self.outer
        if not found or (error is not None and refusals.is_failed(error)):
            return
        refusals.failed(None)  # what an entry raises is no check's
        with untraced():
            for act, given in found:
                act(*given)
