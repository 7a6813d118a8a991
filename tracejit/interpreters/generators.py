"""Random generators of NumPy's and Python's as operands of programs, and what a run holds of them.

A program knows a generator by its *handle*, two int64: the address of the object, and that of the C interface of its
bit generator (of its state, for Python's generators), by which native code draws without Python. Before a program with
draws runs, `enter` takes the locks of the generators' bit generators, as NumPy does for each draw, and, if a check of
the program may fail, notes their states: where Python does the call over, it draws the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
import pickle
import random
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import refusals
from tracejit.records import record

_NAME = b"BitGenerator"
_PAIR = struct.Struct("=qq")
_RLOCK = type(threading.RLock())
_INT64 = np.dtype(np.int64)


# ---------------------------------------------------------------- handles


class _Memory(bytearray):
    """The memory of a handle, which keeps its generator alive."""

    __slots__ = ("generator",)
    generator: Any


def bits_of(x: Any) -> Any:
    """The bit generator of a generator of NumPy's; None for one of Python's."""
    return getattr(x, "_bit_generator", None)


def state_address(x: random.Random) -> int:
    """Where a generator of Python's has its state (the position, then the words); 0 if this Python has it elsewhere."""
    return id(x) + object.__basicsize__ if _is_known() else 0


@functools.cache
def _is_known() -> bool:
    """Whether the state lies where it is expected: `getstate` tells what it is."""
    x = random.Random(5)
    x.random()
    held = (ctypes.c_uint32 * 625).from_address(id(x) + object.__basicsize__)
    return (*held[1:], held[0]) == x.getstate()[1]


def handle_of(x: Any) -> np.ndarray:
    """The handle of a generator: an array that keeps it alive."""
    bits = bits_of(x)
    place = state_address(x) if bits is None else _interface(bits.capsule, _NAME)
    memory = _Memory(_PAIR.pack(id(x), place))
    memory.generator = x
    return np.ndarray(2, _INT64, memory)


_interface = ctypes.pythonapi.PyCapsule_GetPointer
_interface.restype, _interface.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def generator_at(handle: Any) -> Any:
    """The generator that a handle is of, which something keeps alive."""
    known = _thread.runs[-1].kept.get(int(handle[0])) if _thread.runs else None
    if known is not None:
        return known
    return ctypes.cast(int(handle[0]), ctypes.py_object).value


@record(frozen=True)
class Handle:
    """Gives the handle of a generator of these classes. Raises TypeError for another one."""

    generator: type
    bits: type

    @staticmethod
    def of(x: Any) -> Handle:
        return Handle(type(x), type(bits_of(x)))

    def __call__(self, x: Any) -> np.ndarray:
        if type(x) is not self.generator or type(bits_of(x)) is not self.bits:
            raise TypeError(f"another kind of generator: {type(x).__name__}")
        return handle_of(x)

    @property
    def is_native(self) -> bool:
        """Whether native code may draw: it has an interface, and a lock that the same thread may take again."""
        if self.generator is random.Random:
            return state_address(random._inst) != 0
        return _has_lock(self.bits)


@functools.cache
def _has_lock(bits: type) -> bool:
    return bits.__module__.startswith("numpy.random.") and isinstance(bits(0).lock, _RLOCK)


# ---------------------------------------------------------------- states


def state_of(x: Any) -> Any:
    """What the next draws of a generator depend on. It is not changed by them."""
    if isinstance(x, random.Random):
        return x.getstate()
    if hasattr(x, "get_state"):
        return x.get_state(legacy=False)
    return getattr(x, "bit_generator", x).state


def put_state(x: Any, state: Any) -> None:
    """Let the generator draw again what it drew after `state_of` gave `state`."""
    if isinstance(x, random.Random):
        x.setstate(state)
    elif hasattr(x, "set_state"):
        x.set_state(state)
    else:
        getattr(x, "bit_generator", x).state = state


def copy_of(x: Any) -> Any:
    """Another generator that draws the same numbers from here on."""
    return pickle.loads(pickle.dumps(x))


# ---------------------------------------------------------------- runs


class _Run:
    """One run of a program that draws."""

    __slots__ = ("held", "kept", "states")

    def __init__(self) -> None:
        self.held: list[Any] = []  # locks
        self.kept: dict[Any, Any] = {}  # generators, by themselves or by what made them
        self.states: list[tuple[Any, Any]] = []

    def enter(self, handles: Sequence[Any], saves: bool) -> None:
        """Take the locks, in an order that is the same in all threads, so that no two wait for each other. Those of
        NumPy 2.3, which a thread can't take again, are left to the draws, which are NumPy's methods then."""
        for handle in handles:
            x = handle.base.generator if type(handle.base) is _Memory else generator_at(handle)
            self.kept[id(x)] = x
        bits = (b for x in self.kept.values() if (b := bits_of(x)) is not None)
        locks = {id(b.lock): b.lock for b in bits if isinstance(b.lock, _RLOCK)}
        for key in sorted(locks):
            locks[key].acquire()
            self.held.append(locks[key])
        if saves:
            self.states = [(x, state_of(x)) for x in self.kept.values()]

    def release(self) -> None:
        while self.held:
            self.held.pop().release()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.runs: list[_Run] = []
        self.before: tuple[Any, list[tuple[Any, Any]]] = (None, [])


_thread = _Thread()


def draws(native: Callable[..., Any], places: Sequence[int], saves: bool) -> Callable[..., Any]:
    """`native`, which runs a program with draws, as a function that holds the generators whose handles are its
    arguments at `places`, and lets go of them in the end. `saves`: a check may fail, and Python do the call over."""

    def call(*arrays: Any) -> Any:
        run, runs = _Run(), _thread.runs
        runs.append(run)
        try:
            run.enter([arrays[n] for n in places], saves)
            return native(*arrays)
        except BaseException as e:
            if run.states:  # not the exception, which would keep its frames alive
                _thread.before = (id(e), refusals.last_failure()), run.states
            raise
        finally:
            runs.pop()
            run.release()

    return call


def keep(maker: Any, x: Any) -> None:
    """Keep a generator that `maker` made alive until the run ends, or until it makes the next one: a native loop
    hands none on from step to step."""
    if _thread.runs:
        _thread.runs[-1].kept[maker] = x


def take_back(error: BaseException) -> None:
    """Put the generators back to where they were before the run that `error`, which was just caught, has ended."""
    (known, states), _thread.before = _thread.before, (None, [])
    if known == (id(error), refusals.last_failure()):
        for x, state in states:
            put_state(x, state)
