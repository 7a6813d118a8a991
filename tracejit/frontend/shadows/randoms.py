"""Random generators: objects that every draw changes, behind Python's back."""

from __future__ import annotations

import dis
import functools
import pickle
import random
import sys
import types
from typing import Any

from tracejit.frontend import active
from tracejit.interpreters import generators

#: The modules of Python's that run the code of modules.
_IMPORTERS = ("importlib._bootstrap", "importlib._bootstrap_external")
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
        return random._inst
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

    def enter_shared(self) -> None:
        """Remember the generators of the process, from which libraries draw where they are given none: that of NumPy
        (nobody has drawn from it where it was not imported) and that of Python."""
        self.enter("the generator of `random`", random)
        numbers = sys.modules.get("numpy.random.mtrand")
        if numbers is not None:
            self.enter("the generator of `np.random`", numbers._rand)
            _watch_entropy(sys.modules["numpy.random.bit_generator"])

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


def _watch_entropy(module: Any) -> None:
    """Let traced code notice where a library makes a generator of NumPy's without a seed, whose numbers would be the
    same at every call."""
    ask = module.randbits
    if getattr(ask, "is_watched", False):
        return

    @functools.wraps(ask)
    def randbits(bits: int) -> int:
        session = active.session()
        caller = sys._getframe(1)
        if (
            session is not None
            and session.guarded
            and not _is_seeded_afterwards(caller)
            and not _is_importing(caller)
        ):
            session.refuse("a generator without a seed", ask, "its numbers are others at every call")
        return ask(bits)

    randbits.is_watched = True  # type: ignore[attr-defined]
    module.randbits = randbits


def _is_seeded_afterwards(caller: types.FrameType) -> bool:
    """Whether a generator for which the system is asked for entropy gets another state then: `RandomState(seed)`,
    copies of generators, and those that are made here."""
    if str(caller.f_globals.get("__name__")).startswith(("tracejit.", "numpy.random._pickle")):
        return True
    if "RandomState" not in caller.f_code.co_names:
        return False
    lines = list(dis.get_instructions(caller.f_code))
    call = next(i for i in lines if i.offset == caller.f_lasti)
    names = [i.argval for i in lines if i.offset < call.offset and _is_within(i, call)]
    return bool(call.arg) and "RandomState" in names


def _is_importing(frame: types.FrameType | None) -> bool:
    """Whether a module that is being imported asks, which it does once, be it in traced code or not."""
    while frame is not None:
        if (
            frame.f_code.co_name == "_call_with_frames_removed"
            and frame.f_globals.get("__name__") in _IMPORTERS
        ):
            return True
        frame = frame.f_back
    return False


def _is_within(inner: dis.Instruction, outer: dis.Instruction) -> bool:
    """Whether one instruction was made for a part of the source that another was made for."""
    a, b = inner.positions, outer.positions
    if a is None or b is None or None in (*a, *b):
        return False
    start, end = (a.lineno, a.col_offset), (a.end_lineno, a.end_col_offset)
    return (b.lineno, b.col_offset) <= start and end <= (b.end_lineno, b.end_col_offset)


def state_of(x: Any) -> bytes:
    """What the next draws of a generator depend on."""
    return pickle.dumps(generators.state_of(x))


def restore(x: Any, state: bytes) -> None:
    """Let the generator draw again what it drew after `state_of` gave `state`."""
    generators.put_state(x, pickle.loads(state))
