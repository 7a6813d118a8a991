"""Containers and objects in results that are not new, but captured or the caller's: they are handed back themselves."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tracejit import frontend, tree
from tracejit.errors import UnfollowedError
from tracejit.frontend.drawing import sources
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import classes
from tracejit.numpy.operands import is_subclassed
from tracejit.tree.sparse import is_sparse

_SEQUENCES = (list, tuple, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_TEXTS = (str, bytes)
#: The argument (position or keyword), then attributes (True, name) and items (False, key).
Path = tuple[int | str, tuple[tuple[bool, Any], ...]]


class Captured:
    """A leaf of a result: a captured container or object."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Found:
    """A leaf of a result: a random generator or a container that an argument leads to, by its path."""

    def __init__(self, node: Node) -> None:
        self.node = node


class New:
    """A leaf of a result: an object that is made anew at every call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class Given:
    """A leaf of a result: an argument that is a container or a string, or a part of one."""

    def __init__(self, path: Path) -> None:
        self.path = path


def paths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, Path]:
    """Where the containers and strings among the arguments are, by their ids."""
    given = [*enumerate(args), *kwargs.items()]
    return {id(x): (key, steps) for key, value in given for x, steps in _containers(value, (), ())}


def containers(values: Iterable[Any]) -> Iterator[Any]:
    """The containers among the arguments `values`, and in them; empty ones, too."""
    for x in values:
        inside = _parts(x)
        if inside or (isinstance(x, (*_SEQUENCES, *_DICTS)) and not frontend.is_derived(x)):
            yield x
            yield from containers(part for _, part in inside)


def _containers(x: Any, steps: Any, around: tuple[int, ...]) -> Iterator[tuple[Any, Any]]:
    """Containers and strings with the ways to them. `around`: those that are being looked into, one of which `x` may be
    again."""
    inside = _parts(x) if id(x) not in around else []
    if inside or type(x) in _TEXTS or isinstance(x, (list, collections.deque, *_DICTS)):
        yield x, steps
        for step, part in inside:
            yield from _containers(part, (*steps, step), (*around, id(x)))


def _parts(x: Any) -> list[tuple[tuple[bool, Any], Any]]:
    if isinstance(x, (list, dict)) and frontend.is_derived(x):  # followed as an object
        return []
    if isinstance(x, _SEQUENCES):
        return [((False, n), part) for n, part in enumerate(x)]
    if isinstance(x, _DICTS):
        return [((False, key), part) for key, part in x.items()]
    if is_subclassed(x):
        return x.tj_parts()
    fields = tree.dataclass_parts(x)
    return [((True, name), part) for name, part in fields[0].items()] if fields else []


def find(path: Path, argument: Any) -> Any:
    """What lies at a path in the argument."""
    for is_attribute, key in path[1]:
        argument = getattr(argument, key) if is_attribute else argument[key]
    return argument


def is_chosen(session: frontend.Session, given: dict[int, Path]) -> bool:
    """Whether a condition decides which containers the result has: the caller's, captured ones, or others of it."""
    choices = session.choices
    options = [o.container for x in choices.result for o in choices.options(x)]
    if any(id(x) in given or session.where_is(x) is not None for x in options):
        return True
    spots = {(n,): x for n, x in enumerate(choices.result)}
    return any(choices.same(spots[a], spots[b]) is not False for a, b in choices.meeting(spots))


def has_twice(out: Any) -> bool:
    """Whether a result has the same container at two places, of which one may be that of a key."""
    met: set[int] = set()

    def see(x: Any) -> bool:
        inside = _parts(x)
        again = bool(inside) and id(x) in met
        met.add(id(x))
        keys = [k for k in x if type(k) is tuple] if isinstance(x, _DICTS) else ()
        return again or any(map(see, keys)) or any(see(part) for _, part in inside)

    return see(out)


def has_stand_ins(out: Any) -> bool:
    """Whether a dict in a result has a class as a key that stands for the user's, or whether there is a sparse array
    in it, which is an object with attributes of its own here."""
    if is_sparse(type(out)):
        return True
    keys = out if isinstance(out, _DICTS) else ()
    return any(classes.users_class(k) is not k for k in keys) or any(has_stand_ins(x) for _, x in _parts(out))


def owned(session: frontend.Session, out: Any, given: dict[int, Path]) -> Any:
    """The result with what is handed back as leaves.

    Raises:
        UnfollowedError: a new container is in it twice; it would become two.
    """
    met: set[int] = set()

    def own(x: Any) -> Captured | Found | New | Given | None:
        if sources.is_drawing(x):
            return _generator(session, x)
        if type(x) in _TEXTS:
            return Given(given[id(x)]) if id(x) in given else None
        known = type(x) in _DICTS or is_subclassed(x) or isinstance(x, _SEQUENCES)
        if not known and not dataclasses.is_dataclass(x):
            return None
        if id(x) in given:
            return Given(given[id(x)])
        node = session.given_at(x)
        if node is not None:
            return Found(node)
        value = session.captured(x)
        return None if value is None else Captured(value)

    def is_own(x: Any) -> bool:
        if sources.is_drawing(x):
            if id(x) in met and sources.source_of(x).node is None:
                raise UnfollowedError(what="the result", reason="it has a generator that is made here twice")
            met.add(id(x))
            return True
        if own(x) is not None:
            return True
        if (
            type(x) in _DICTS
            or is_subclassed(x)
            or (isinstance(x, (list, collections.deque)) and not frontend.is_derived(x))
        ):
            if id(x) in met:
                raise UnfollowedError(what="the result", reason=f"it has the same {type(x).__name__} twice")
            met.add(id(x))
        return False

    tree.flatten(out)  # dataclasses that it meets for the first time become nodes, and it begins again
    leaves, structure = tree.flatten(out, is_leaf=is_own)
    made = [own(x) for x in leaves]
    if all(x is None for x in made):
        return out
    return tree.unflatten(structure, [x if o is None else o for x, o in zip(leaves, made, strict=True)])


def _generator(session: frontend.Session, x: Any) -> Captured | Found | New:
    """A random generator in a result: the caller's own, or one that is made here.

    Raises:
        RandomStateError: it is drawn from in the program that makes it, which lets go of it in the end.
    """
    source = sources.source_of(x)
    if source.node is not None:
        if source.node.given:
            return Found(source.node)
        session.check(source.node, "is", source.value)
        return Captured(source.value)
    again = sources.again(x)
    if again is None:
        raise source.refuse("the result", "the program that makes the generator lets go of it in the end")
    return New(again)
