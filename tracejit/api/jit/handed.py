"""Containers and objects in results that are not new, but captured or the caller's: they are handed back themselves."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tracejit import frontend, tree
from tracejit.errors import UnfollowedError
from tracejit.frontend.drawing import sources
from tracejit.frontend.paths import Node
from tracejit.frontend.rewrite.blocks.chosen import known
from tracejit.frontend.rewrite.blocks.containers import opened
from tracejit.frontend.shadows import classes
from tracejit.tracing import Box, box

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
    return {id(x): (key, steps) for key, value in given for x, steps in _containers(value, ())}


def containers(values: Iterable[Any]) -> Iterator[Any]:
    """The containers among the arguments `values`, and in them; empty ones, too."""
    for x in values:
        inside = _parts(x)
        if inside or isinstance(x, (*_SEQUENCES, *_DICTS)):
            yield x
            yield from containers(part for _, part in inside)


def _containers(x: Any, steps: Any) -> Iterator[tuple[Any, Any]]:
    inside = _parts(x)
    if inside or type(x) in _TEXTS or isinstance(x, (list, collections.deque, *_DICTS)):
        yield x, steps
        for step, part in inside:
            yield from _containers(part, (*steps, step))


def _parts(x: Any) -> list[tuple[tuple[bool, Any], Any]]:
    if isinstance(x, _SEQUENCES):
        return [((False, n), part) for n, part in enumerate(x)]
    if isinstance(x, _DICTS):
        return [((False, key), part) for key, part in x.items()]
    fields = tree.dataclass_parts(x)
    return [((True, name), part) for name, part in fields[0].items()] if fields else []


def find(path: Path, argument: Any) -> Any:
    """What lies at a path in the argument."""
    for is_attribute, key in path[1]:
        argument = getattr(argument, key) if is_attribute else argument[key]
    return argument


class Flag:
    """A leaf of a result: a raw truth value that says which container a part of it is."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw


def shown(leaves: list[Any]) -> list[Any]:
    """The leaves of a result with flags as arrays."""
    return [box(x.raw) if type(x) is Flag else x for x in leaves]


class _Number:
    """Stands for the part of a result that has the number `n`."""

    def __init__(self, n: int) -> None:
        self.n = n


class OneOf:
    """A part of a result: `made`, or the first of `options` of which the flag holds. One part may be another: that
    one's number, as an option."""

    def __init__(self, number: int, made: Any, options: list[Any], flags: list[Any]) -> None:
        self.number, self.made, self.options, self.flags = number, made, options, flags

    def picked(self, parts: dict[int, OneOf]) -> Any:
        """The container itself, once the flags are known; in a call that is traced itself, what was made."""
        if any(type(x) is Box for x in self.flags):
            return self.made
        found = next((x for x, flag in zip(self.options, self.flags, strict=True) if flag), self.made)
        return parts[found.n].picked(parts) if type(found) is _Number else found


class _Whole:
    """A result that has such parts."""

    def __init__(self, out: Any) -> None:
        self.out = out


def _picked(_: None, children: Any) -> Any:
    (out,) = children
    found: dict[int, OneOf] = {}

    def see(x: Any) -> bool:
        if type(x) is OneOf:
            found[x.number] = x
        return type(x) is OneOf

    tree.flatten(out, is_leaf=see)
    flags = [x for part in found.values() for x in part.flags]
    if any(not isinstance(x, (Box, bool, np.bool_, np.ndarray)) for x in flags):
        return _Whole(out)  # they stand for something else
    return _without(out, found)


def _without(x: Any, parts: dict[int, OneOf]) -> Any:
    if type(x) is OneOf:
        return x.picked(parts)
    return tree.map(
        lambda y: _without(y, parts) if type(y) is OneOf else y,
        x,
        is_leaf=lambda y: type(y) is OneOf or not any(type(z) is OneOf for z in _opened(y)),
    )


def _opened(x: Any) -> list[Any]:
    return tree.leaves(x, is_leaf=lambda y: type(y) is OneOf)


tree.register(_Whole, lambda x: ([x.out], None), _picked)
tree.register(
    OneOf,
    lambda x: ([x.made, *x.options, *x.flags], (x.number, len(x.options))),
    lambda aux, xs: OneOf(aux[0], xs[0], list(xs[1 : aux[1] + 1]), list(xs[aux[1] + 1 :])),
)


def _chosen(session: frontend.Session, out: Any, given: dict[int, Path]) -> Any:
    """The result with containers that may be the caller's, captured ones or others of the result as such.

    Raises:
        UnfollowedError: it is not known which they are.
    """
    every: dict[int, Any] = {}

    def see(x: Any) -> bool:
        every[id(x)] = x
        return False

    tree.flatten(out, is_leaf=see)
    choices = session.choices
    what = "a list or dict of the result that a condition has chosen"
    options = {k: choices.options(x) for k, x in every.items()}
    meant = {id(o.container) for os in options.values() for o in os}
    made: dict[int, OneOf] = {}

    def is_old(x: Any) -> bool:
        return id(x) in given or session.captured(x) is not None

    inner: set[int] = set()  # what lies in a part is what lies at the same place in the one that the part is
    for key, x in every.items():
        if not (options[key] or key in meant) or is_old(x) or key in inner:
            continue
        inner |= {id(y) for y in opened(x, frozen=True)}
        found = [(o.container, known(o.flag, what)) for o in options[key] if is_old(o.container)]
        for n, part in enumerate(list(made.values())):
            flag = choices.same(x, part.made)
            found += [] if flag is False else [(Captured(_Number(n)), flag)]
        made[key] = OneOf(len(made), x, [y for y, _ in found], [Flag(f) for _, f in found])
    if not any(x.options for x in made.values()):
        return out
    return _Whole(tree.map(lambda x: made.get(id(x), x), out, is_leaf=lambda x: id(x) in made or is_old(x)))


def has_twice(out: Any) -> bool:
    """Whether a result has the same container at two places."""
    met: set[int] = set()

    def see(x: Any) -> bool:
        inside = _parts(x)
        again = bool(inside) and id(x) in met
        met.add(id(x))
        return again or any(see(part) for _, part in inside)

    return see(out)


def has_stand_ins(out: Any) -> bool:
    """Whether a dict in a result has a class as a key that stands for the user's."""
    keys = out if isinstance(out, _DICTS) else ()
    return any(classes.users_class(k) is not k for k in keys) or any(has_stand_ins(x) for _, x in _parts(out))


def owned(session: frontend.Session, out: Any, given: dict[int, Path]) -> Any:
    """The result with what is handed back as leaves.

    Raises:
        UnfollowedError: a new container is in it twice; it would become two.
    """
    if session.choices.found:
        out = _chosen(session, out, given)
    met: set[int] = set()

    def own(x: Any) -> Captured | Found | New | Given | None:
        if sources.is_drawing(x):
            return _generator(session, x)
        if type(x) in _TEXTS:
            return Given(given[id(x)]) if id(x) in given else None
        if type(x) not in _DICTS and not isinstance(x, _SEQUENCES) and not dataclasses.is_dataclass(x):
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
        if type(x) in _DICTS or isinstance(x, (list, collections.deque)):
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
