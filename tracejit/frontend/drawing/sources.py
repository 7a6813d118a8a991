"""What stands for a random generator in traced code.

A *source* knows where the generator comes from: a path that guards follow, so that another generator at a later call
is served by the same program; or a seed. What is drawn from a generator that was made with a known seed is known
while tracing, as long as it is drawn where the generator was made: inside of a native loop or branch, and with
traced parameters, it is drawn when the program runs, by a generator that starts where the known numbers ended.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tracejit.control.generators.draws import Copied
from tracejit.control.generators.ops import make_op
from tracejit.errors import RandomLanesError, RandomStateError
from tracejit.frontend import active
from tracejit.frontend.paths import Node, root
from tracejit.interpreters.generators import Handle, copy_of, handle_of
from tracejit.interpreters.stage import StageTrace
from tracejit.interpreters.vmap import BatchTrace
from tracejit.tracing import bind, current_trace, use_trace

_CLASSES = ("Generator", "RandomState")


def is_followed(x: Any) -> bool:
    """Whether `x` is a generator whose draws can be part of a program."""
    cls = type(x)
    if cls is random.Random:
        return True
    if cls.__module__ not in ("numpy.random._generator", "numpy.random.mtrand"):
        return False
    return cls is np.random.Generator or cls is np.random.RandomState


def classes_of(x: Any) -> Handle:
    """The classes of a generator and its bit generator, for which a program is made."""
    return Handle.of(x)


def stage() -> StageTrace:
    """The innermost program that is being recorded."""
    trace = current_trace()
    while not isinstance(trace, StageTrace):
        trace = trace.parent
    return trace


class Source:
    """Where a generator comes from. `raw`: its handle in the program, None until something is drawn there.
    `known`: the generator itself, if its numbers are known in the program `home`."""

    def __init__(self, session: Any, classes: Handle, name: str) -> None:
        self.session = session
        self.classes = classes
        self.name = name
        self.node: Node | None = None
        self.value: Any = None
        self.raw: Any = None
        self.known: Any = None
        self.home: StageTrace | None = None
        self.bits: Any = None  # what stands for its bit generator, once it was asked for

    def handle(self) -> Any:
        """The raw handle, to be drawn from here. Raises RandomLanesError inside of a vmap."""
        trace = current_trace()
        while trace is not None and trace is not self.session.capture.trace:
            if isinstance(trace, BatchTrace):
                raise RandomLanesError(function=self.name)
            trace = trace.parent
        if self.raw is None:
            self.raw = self._made() if self.node is None else self._captured()
        return self.raw

    def _captured(self) -> Any:
        node = self.node.applied(self.classes)  # type: ignore[union-attr]
        self.session.array_nodes.append(node)
        raw = self.session.capture.array(node, handle_of(self.value)).read()
        self.session.handles.append(raw)
        return raw

    def _made(self) -> Any:
        """The handle of a generator that draws on from here, made in the program where this one was made."""
        assert self.home is not None
        with use_trace(self.home):
            (raw,) = bind(make_op, make=Copied(self.known), count=1)
        self.known = None
        return raw

    def refuse(self, what: str, problem: str) -> RandomStateError:
        """The error for something that can't be done with the generator."""
        return RandomStateError(function=f"`{what}` of {self.name}", problem=problem)


def captured(session: Any, node: Node, value: Any) -> Any:
    """What stands for the generator at a path."""
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    classes = classes_of(value)
    session.check(node, "type", classes.generator)
    if classes.bits is not type(None):
        session.check(node.attr("_bit_generator"), "type", classes.bits)
    session.differs(node, value)
    source = Source(session, classes, str(node))
    source.node, source.value = node, value
    return session.remember(value, Drawing(source), node)


def of_module(value: Any, name: str) -> Any:
    """What stands for the generator of a module, such as that of `np.random`, in the run that is under way."""
    session = active.session()
    return session.wrap(root(value, "the generator of", name), value)


def seeded(session: Any, x: Any) -> Any:
    """What stands for a generator that traced code made with a known seed."""
    source = Source(session, classes_of(x), f"the {type(x).__name__} made here")
    source.known, source.home = x, stage()
    return Drawing(source)


def made(session: Any, classes: Handle, raw: Any) -> Any:
    """What stands for a generator that the program makes: `raw` is its handle."""
    source = Source(session, classes, f"the {classes.generator.__name__} made here")
    source.raw = raw
    return Drawing(source)


class Drawing:
    """Stands for a generator: draws by its methods; everything else is refused."""

    __slots__ = ("_tj_source",)

    def __init__(self, source: Source) -> None:
        object.__setattr__(self, "_tj_source", source)

    def __getattribute__(self, name: str) -> Any:
        source = object.__getattribute__(self, "_tj_source")
        if name == "__class__":
            return source.classes.generator
        return METHODS.find(source, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise source_of(self).refuse(name, "it is assigned")

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise source_of(self).refuse("repr or a copy", "it shows the generator's state")

    __repr__ = __str__ = __format__ = __reduce_ex__ = __copy__ = __deepcopy__ = __hash__ = _refuse
    __dir__ = __delattr__ = _refuse

    def __eq__(self, other: object) -> bool:
        return self is other


class _Methods:
    """Finds the methods of what stands for a generator; `methods` installs how."""

    find: Any = staticmethod(lambda source, name: None)


METHODS = _Methods()


def is_drawing(x: Any) -> bool:
    """Whether `x` stands for a generator."""
    return type(x) is Drawing


def source_of(x: Any) -> Source:
    """The source of what stands for a generator."""
    return object.__getattribute__(x, "_tj_source")


def again(x: Any) -> Any:
    """A function that gives a generator in the state in which `x`, made with a known seed, is now; None for others."""
    source = source_of(x)
    if source.known is None:
        return None
    made = copy_of(source.known)
    return lambda: copy_of(made)
