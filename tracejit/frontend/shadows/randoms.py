"""Random generators: objects that every draw changes, behind Python's back."""

from __future__ import annotations

import pickle
import random
import sys
import types
from typing import Any

from tracejit.interpreters import generators

_BOUND = (types.BuiltinMethodType, types.MethodType)


def is_generator(x: Any) -> bool:
    """Whether `x` is a random generator of NumPy's or Python's."""
    if issubclass(type(x), random.Random):
        return type(x).getstate is random.Random.getstate
    if not type(x).__module__.startswith("numpy.random"):
        return False
    made = sys.modules["numpy.random"]
    return isinstance(x, (made.Generator, made.RandomState, made.BitGenerator))


def generator_of(x: Any) -> Any:
    """The generator that `x` is, or is a method of; that of the module `random`; or None."""
    if x is random:
        return random._inst  # type: ignore[attr-defined]
    owner = x if is_generator(x) else x.__self__ if isinstance(x, _BOUND) else None
    return owner if owner is not None and is_generator(owner) else None


class Drawn:
    """Random generators of outside, each with its name and its state when it was first seen. A `with` block that
    an exception ends leaves them as they were."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[str, Any, bytes]] = {}

    def enter(self, name: str, x: Any) -> bool:
        """Remember the generator that `x` draws from, if it does; whether it does."""
        generator = generator_of(x)
        if generator is not None and id(generator) not in self.seen:
            self.seen[id(generator)] = name, generator, state_of(generator)
        return generator is not None

    def __enter__(self) -> Drawn:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.restore()

    def restore(self) -> str | None:
        """Undo what was drawn; the name of a generator from which something was."""
        found = None
        for name, generator, state in self.seen.values():
            if state_of(generator) != state:
                restore(generator, state)
                found = found or name
        return found


def state_of(x: Any) -> bytes:
    """What the next draws of a generator depend on."""
    return pickle.dumps(generators.state_of(x))


def restore(x: Any, state: bytes) -> None:
    """Let the generator draw again what it drew after `state_of` gave `state`."""
    generators.put_state(x, pickle.loads(state))
