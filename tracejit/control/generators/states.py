"""States of generators as values of programs: bytes in an array, whose size is known by the generator's classes."""

from __future__ import annotations

import functools
import pickle
import random
from typing import Any

import numpy as np

from tracejit.interpreters.generators import put_state, state_of

#: Methods of ours of each generator: what gives its state, and what lets it have one.
SAVE, RESTORE = "the state", "the state as it is set"
#: Bytes that the few integers of another state of NumPy's may take more.
_MORE = 256


def save(generator: Any) -> np.ndarray:
    """The state of a generator."""
    text = pickle.dumps(state_of(generator))
    return np.frombuffer(text.ljust(_size(type(generator), _bits(generator)), b"\0"), np.uint8).copy()


def restore(generator: Any, state: np.ndarray) -> None:
    """Let a generator have a state that `save` gave of one of the same classes."""
    put_state(generator, pickle.loads(state.tobytes()))


def _bits(generator: Any) -> type:
    return type(getattr(generator, "_bit_generator", None))


@functools.cache
def _size(cls: type, bits: type) -> int:
    """How many bytes a state of such a generator takes at most."""
    if cls is not random.Random:
        return len(pickle.dumps(state_of(cls(bits(0))))) + _MORE
    one = random.Random()
    version, words, _ = one.getstate()
    one.setstate((version, (2**32 - 1,) * (len(words) - 1) + (1,), 0.5))  # the words that take most
    return len(pickle.dumps(state_of(one))) + _MORE


#: What these methods are, as functions of the generator.
OWN = {SAVE: save, RESTORE: restore}
