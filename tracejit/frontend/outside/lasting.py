"""What an eager transformation leaves in the user's objects: values, not the traced arrays that they were.

A function that `grad` runs may keep what it computes: `self.loss = loss`, `history.append(x)`. When the outermost
transformation has run it, such arrays become the values at which the derivative was taken, as if the function had run
without it. What is not known as a value, such as one lane of `vmap`, stays traced, and says so when it is used.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
from collections.abc import Iterator
from typing import Any

from tracejit import tree
from tracejit.frontend.origins import is_library_class, why_not
from tracejit.frontend.outside.questions import code_in, noticed, sees
from tracejit.frontend.run import Run
from tracejit.frontend.shadows import behind, containers, objects
from tracejit.frontend.text.deferred import Text
from tracejit.lazily import LazyModule
from tracejit.numpy.boxes import lasting
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.captured.written import scope
from tracejit.numpy.operands import FIELDS, is_subclassed
from tracejit.tracing import STATE, Box

_structured: Any = LazyModule("tracejit.numpy.structured")
_INSIDE = (list, collections.deque, dict, collections.OrderedDict, collections.defaultdict, set)


_BOXES = frozenset((Box,))


class Lasting:
    """Makes what a run has left in objects of outside the user's own. `args`: what the function was given."""

    def __init__(self, session: Run, args: Any) -> None:
        self.session, self.args = session, args
        self.met: dict[int, tuple[Any, Any]] = {}

    @functools.cached_property
    def arrays(self) -> lasting.Lasting:
        """The values of traced arrays."""
        return lasting.Lasting(tree.leaves(self.args))

    def settle(self) -> None:
        """Let all that the run has written into hold the user's."""
        for (_, name), owner in self.session.stored.items():
            names = owner if isinstance(owner, dict) else vars(owner)
            if name in names and (own := self.of(names[name])) is not names[name]:
                names.__setitem__(name, own) if isinstance(owner, dict) else setattr(owner, name, own)
        for back, value, ours in self.session.adopted:
            back(value, ours, self.of)
        for held in containers.written_eagerly(self.session):
            self.inside(held)
        for assigned in [*self.session.assigned.values()]:
            self.attributes(assigned)
        for cls in [*self.session.watched.values()]:
            self._class(cls)

    def result(self, out: Any, has_aux: bool) -> Any:
        """What the function gives, in containers of its own: it is traced still, when the containers that the function
        has kept of it hold values. The second part, with `has_aux`, is what Python would hand out."""
        if has_aux and type(out) is tuple and len(out) == 2:
            return self._result(out[0]), self.of(out[1])
        return self._result(out)

    def _result(self, out: Any) -> Any:
        if STATE.written:
            out = tree.map(lambda x: x.seen() if type(x) is CapturedArray else x, out)
        return _apart(self.session.original(out))

    def of(self, x: Any) -> Any:
        """`x` without traced values and stand-ins: an array, the user's object, or the container or object itself, of
        which the parts have become so; tuples are made anew where they have such parts. The trace of a program
        knows no values: there only stand-ins become the user's objects."""
        if FIELDS and not self.session.guarded and _is_structured(x):
            if id(x) not in self.met:
                self.met[id(x)] = x, _structured.settled(x, self.of, self.arrays.of)
            return self.met[id(x)][1]
        if type(x) is Box:
            return x if self.session.guarded else self.arrays.of(x)
        if type(x) is Text and not self.session.guarded:
            return self._text(x)
        own = self.session.original_of(x)
        if own is not x or self.session.guarded:
            return own
        if id(x) not in self.met:
            self.met[id(x)] = x, x  # what holds itself
            if isinstance(x, tuple):
                self.met[id(x)] = x, self._tuple(x)
            elif type(x) in _INSIDE:
                self.inside(x)
            elif (real := behind.of_library(x)) is not x:
                self.met[id(x)] = x, real
            else:
                self.met[id(x)] = x, self._object(x)
        return self.met[id(x)][1]

    def _text(self, x: Text) -> Any:
        values = [self.of(v) for v in x.values]
        return x if any(type(v) is Box for v in values) else x.recipe(iter(values))

    def _tuple(self, x: Any) -> Any:
        if type(x) is tuple and containers.PLAIN.issuperset(map(type, x)):
            return x
        parts = [self.of(part) for part in x]
        names = behind.instance_dict(x) if type(x) is not tuple else {}
        held = {name: self.of(value) for name, value in names.items()}
        if all(a is b for a, b in zip((*parts, *held.values()), (*x, *names.values()), strict=True)):
            return x
        made = tuple.__new__(type(x), parts)
        behind.instance_dict(made).update(held)
        return made

    def inside(self, x: Any) -> None:
        """Let what a container holds be the user's."""
        if isinstance(x, dict):
            if not containers.PLAIN.issuperset(map(type, x)):
                items = [(self.of(k), v) for k, v in x.items()]
                if not all(a is b for (a, _), b in zip(items, x, strict=True)):
                    x.clear()
                    x.update(items)
            places: Any = list(x) if not containers.PLAIN.issuperset(map(type, x.values())) else ()
        elif containers.PLAIN.issuperset(map(type, x)):
            return
        elif isinstance(x, set):
            items = list(map(self.of, x))
            if not all(a is b for a, b in zip(items, x, strict=True)):
                x.clear()
                x.update(items)
            return
        else:
            places = range(len(x))
        for n in places:
            if (own := self.of(x[n])) is not x[n]:
                x[n] = own

    def attributes(self, x: Any) -> None:
        """Let the attributes of an object be the user's, and what it holds as a list or dict of a class of its own."""
        if issubclass(type(x), (list, dict)):  # `isinstance` would ask a `__getattribute__` of the user's
            base: Any = dict if isinstance(x, dict) else list
            for n, value in [*(dict.items(x) if isinstance(x, dict) else enumerate(list.__iter__(x)))]:
                if (own := self.of(value)) is not value:
                    base.__setitem__(x, n, own)
        held = list(behind.instance_dict(x))
        for name in (*held, *(n for n in behind.slots(type(x)) if n not in held and hasattr(x, n))):
            value = object.__getattribute__(x, name)
            if type(value) not in containers.PLAIN and (own := self.of(value)) is not value:
                object.__setattr__(x, name, own)

    def _class(self, cls: Any) -> None:
        """Let what a class holds be the user's, whose methods have run as they are, and so have those of members of an
        enumeration."""
        for name, value in list(vars(cls).items()):
            if (type(value) is Box or type(value) in _INSIDE) and (own := self.of(value)) is not value:
                setattr(cls, name, own)
        if issubclass(cls, enum.Enum):
            for x in cls:
                self.attributes(x)
        for names, name in code_in(cls).names:
            if name not in names or not sees(_BOXES, [names[name]]):
                continue
            if (own := self.of(names[name])) is not names[name]:
                names[name] = own
            else:
                self.attributes(own)

    def _object(self, x: Any) -> Any:
        if is_subclassed(x):  # a masked array
            return tree.map(self.of, x)
        made = "_tj_class" in vars(type(x)) or objects.is_node(type(x))  # by traced code, or a tree
        if made or (not is_library_class(type(x)) and why_not(type(x)) and not isinstance(x, type)):
            self.attributes(x)
            if isinstance(x, BaseException) and any(
                a is not b for a, b in zip(x.args, self.of(x.args), strict=True)
            ):
                x.args = self.of(x.args)
        return self.session.original(x)


@contextlib.contextmanager
def watched(session: Run) -> Iterator[None]:
    """Notice code that asks what values are, during a run, and writes into arrays of outside; programs have boxes for
    these."""
    with noticed(session), contextlib.nullcontext() if session.guarded else scope(session.in_place):
        yield


def _is_structured(x: Any) -> bool:
    """Whether it is a structured array that traced code has made, or a column of one."""
    return x.storage in FIELDS if type(x) is Box else is_subclassed(x) and _structured.is_structured(x)


def _apart(out: Any) -> Any:
    return out if type(out) is Box else tree.map(lambda x: x, out)
