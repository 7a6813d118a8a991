"""What traced code has written into the user's arrays while an eager derivative runs.

    self.m *= 0.9
    self.m += 0.1 * gradient      # `self.m` is an array of outside, `gradient` is traced

The user's memory gets the value at once, as in Python, and a storage beside it gets the traced one, which what is read
of this memory later gives, through whichever view of it. One storage is for one block of memory, from its first traced
write until the outermost transformation has run the function.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ConcreteValueError, LeakedTracerError, TracerArrayError, UnfollowedError
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes.lasting import primal
from tracejit.numpy.boxes.placed import Placed
from tracejit.numpy.boxes.views import Region, Reshaped
from tracejit.tracing import STATE, Box, Storage, View, current_trace

#: Bytes of an array that is sooner copied than watched.
SMALL = 1 << 14
#: So many elements of others are compared with what they were.
SAMPLED = 256


class scope:
    """A run of a user's function, in which writes are known until the outermost ends. `held`: containers of the user's
    arrays that it sees as they are, so that writes into these are not seen."""

    __slots__ = ("held", "outermost")

    def __init__(self, held: Iterable[Any] = ()) -> None:
        self.held = held

    def __enter__(self) -> Memories:
        self.outermost = STATE.written is None
        if self.outermost:
            STATE.written = Memories()
        STATE.written.held.append(self.held)
        return STATE.written

    def __exit__(self, *_: object) -> None:
        STATE.written.held.pop()
        if self.outermost:
            STATE.written = None


class Memories(dict[int, "Written"]):
    """The blocks of memory into which something traced was written, by the identity of the arrays that own them.

    `given`: those that linear programs may refer to, with a sample of their elements then; `before`: what was in them
    when something was written then; `changed`: all that something was written into, of which they get copies from then
    on; `frozen`: those that arrays of other classes lie in, which would not see what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Iterable[Any]] = []
        self.given: dict[int, tuple[np.ndarray, bytes]] = {}
        self.frozen: dict[int, np.ndarray] = {}
        self.changed: dict[int, np.ndarray] = {}
        self.before: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.writes = 0  # how often something was written

    def arrays(self) -> Iterator[np.ndarray]:
        """The arrays in the containers that are seen as they are."""
        for container in itertools.chain.from_iterable(self.held):
            for x in list(container.values() if isinstance(container, dict) else container):
                if isinstance(x, np.ndarray):
                    yield x

    def give(self, x: np.ndarray) -> np.ndarray:
        """An array for traced operations, which keep it. Small ones are copied: then it does not matter who writes."""
        if x.nbytes <= SMALL:
            return current_trace().lend(x)
        root = _root(x)
        if id(root) in self.changed:
            return x.copy("K")
        if id(root) not in self.given:
            self.given[id(root)] = root, _sample(root)
        return x

    def freeze(self, x: np.ndarray) -> None:
        """Nothing is to be written into an array from now on."""
        root = _root(x)
        self.frozen[id(root)] = root

    def change(self, x: np.ndarray) -> None:
        """Something will be written into an array."""
        self.writes += 1
        root = _root(x)
        if id(root) in self.frozen:
            raise UnfollowedError(
                what="what is written into an array of outside",
                reason="an array of another class, such as a masked one, lies in its memory",
            )
        if id(root) not in self.changed:
            self.changed[id(root)] = root
            if id(root) in self.given:
                flat = _in_order(root)
                self.before[id(root)] = flat, flat.copy()

    def check(self, values: Iterable[Any]) -> None:
        """Raises UnfollowedError if code that is not seen, such as a function of C, has written into an array of a
        linear program since that got it, as far as a sample tells."""
        for root, sample in {id(r): self.given.get(id(r), (r, None)) for r in map(_root_of, values)}.values():
            if sample is not None and id(root) not in self.changed and _sample(root) != sample:
                raise UnfollowedError(
                    what="what is written into an array of outside",
                    reason="a derivative refers to it, and code that is not Python's wrote into it since",
                )

    def was(self, x: Any) -> Any:
        """A value of a linear program as it was when that got it."""
        if not isinstance(x, np.ndarray) or (found := self.before.get(id(_root(x)))) is None:
            return x
        flat, old = found
        start = (_address(x) - _address(flat)) // flat.itemsize
        return np.lib.stride_tricks.as_strided(old[start:].view(x.dtype), x.shape, x.strides)


class Written:
    """A block of memory: the array that owns it, its elements in the order in which they lie, and what is traced."""

    __slots__ = ("flat", "root", "storage")

    def __init__(self, root: np.ndarray) -> None:
        self.root = root
        self.flat = _in_order(root)
        self.storage = Storage(self.flat.copy(), current_trace())

    def box(self, x: np.ndarray) -> Box:
        """An array in this memory, as it is traced. Raises TracerArrayError for its bits as another dtype."""
        if x.dtype != self.flat.dtype:
            raise TracerArrayError(aval=str(aval_of(x)))
        return Box(self.storage, self._chain(x), aval_of(x))

    def seen(self, x: np.ndarray) -> Box:
        """An array in this memory that is read. Raises TracerArrayError if unknown code wrote into it."""
        return agreeing(self.box(x), x)

    def settle(self) -> None:
        """Let the memory have the values of the storage."""
        self.flat[...] = known(self.storage.value)

    def _chain(self, x: np.ndarray) -> tuple[View, ...]:
        size, item = self.flat.size, x.itemsize
        start = (_address(x) - _address(self.flat)) // item
        if x.flags.c_contiguous:
            whole = x.size == size
            region = Region((size,), (start if x.size else 0,), (x.size,), (1,), (0,))
            lying = () if whole else (region,)
            return lying if x.ndim == 1 else (*lying, Reshaped((x.size,), x.shape))
        strides = [s // item for s in x.strides]

        def places(a: np.ndarray) -> np.ndarray:
            return np.lib.stride_tricks.as_strided(a[start:], x.shape, [s * a.itemsize for s in strides])

        def read(raw: Any) -> Any:
            at = places(np.arange(size)).ravel()
            return ops.shape.reshape(ops.gather.take(raw, at, 0, mode="promise_in_bounds"), shape=x.shape)

        return (Placed(read, places),)


def _in_order(root: np.ndarray) -> np.ndarray:
    """The elements of an array without gaps in the order in which they lie."""
    order = sorted(range(root.ndim), key=lambda n: -root.strides[n])
    return np.reshape(root.transpose(order), -1, copy=False)


def _sample(root: np.ndarray) -> bytes:
    """Some elements of an array, the first and the last among them, to notice when others were written."""
    flat = root.reshape(-1) if root.flags.c_contiguous else _in_order(root)
    return flat[:: max(1, flat.size // SAMPLED)].tobytes() + flat[-1:].tobytes()


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def _root_of(x: Any) -> Any:
    return _root(x) if isinstance(x, np.ndarray) else None


def _root(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `x`."""
    while isinstance(base := x.base, np.ndarray):
        x = base
    return x


def known(raw: Any) -> Any:
    """The array that a raw value is in this run. Raises TracerArrayError if only a program knows it."""
    try:
        return primal(raw)
    except (ConcreteValueError, LeakedTracerError):
        raise TracerArrayError(aval=str(aval_of(raw))) from None


def agreeing(seen: Box, x: Any) -> Box:
    """What is read of an array, as it is traced. Raises TracerArrayError if the memory has something else."""
    if not np.array_equal(known(seen.read()), x, equal_nan=np.asarray(x).dtype.kind in "fc"):
        raise TracerArrayError(aval=str(seen.aval))
    return seen


def find(x: np.ndarray) -> Written | None:
    """What was written into the memory of `x`, if something traced was."""
    return STATE.written.get(id(_root(x))) if STATE.written else None


def current(values: list[Any]) -> list[Any]:
    """The raw values of the user's arrays among these, where an eager run has written something traced into them."""
    if not STATE.written:
        return values
    found = [find(x) if isinstance(x, np.ndarray) else None for x in values]
    return [x if memory is None else memory.seen(x).read() for x, memory in zip(values, found, strict=True)]


def take(x: np.ndarray) -> Written:
    """The memory of `x`, into which something traced will be written. Raises TracerArrayError where others could see it
    past the stand-ins."""
    memories, root = STATE.written, _root(x)
    found = None if memories is None else memories.get(id(root))
    if found is not None:
        return found
    owned = root.flags.owndata or getattr(root.base, "of_one_run", False)
    repeats = any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True))
    strange = x.dtype != root.dtype or x.dtype.kind not in "biufc" or repeats or not root.flags.writeable
    if memories is None or not owned or strange or any(_root(a) is root for a in memories.arrays()):
        raise TracerArrayError(aval=str(aval_of(x)))
    made = memories[id(root)] = Written(root)
    return made
