"""Calls of a jitted function from Numba, for one list of argument types: the code for each shape.

Machine code is made for shapes, when these are first met. Each is a *node* of a list, which compiled callers go through
without Python:

    node: the next node, the address of the code, words, masks, details

`words` are what a call is compared by, where the masks say so: shapes, strides of arrays that may not be in C order,
values of integers on which shapes depend, and whether Python's integers are large. `details` are the shapes of results,
and values of those that no code computes.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import sys
import uuid
from typing import Any

import numpy as np

from tracejit.api.common import name_of
from tracejit.api.foreign import raised
from tracejit.api.foreign.promises import Arguments, Leaf, Made, Promise, example, promised, sized
from tracejit.errors import NumbaArgumentError, NumbaResultError
from tracejit.tracing import LOCK

_PROCESS = uuid.uuid4().hex
_tokens = itertools.count()


class Site:
    """Calls of `jitted` with arguments of these types. Compiled callers hold it as a pickle, which finds this very
    object in this process; in another, the function by its name.

    Called by them as `site(0, list, words)` for the node of shapes that are new, and as `site(1, node, 0)` to raise the
    exception of a call that failed."""

    known: dict[tuple[str, int], Site] = {}

    def __init__(
        self, jitted: Any, arguments: Arguments, promise: tuple[Promise, bool], where: tuple[str, int]
    ) -> None:
        self.jitted = jitted
        self._traced = sized(jitted, arguments) if promise[1] else jitted
        self.arguments = arguments
        self.promise, self._sized = promise
        self.where = where
        self._nodes: dict[int, tuple[Any, Any]] = {}
        Site.known[where] = self

    @classmethod
    def of(cls, jitted: Any, arguments: Arguments) -> Site:
        """A new site. Raises what `promised` raises."""
        return cls(jitted, arguments, promised(jitted, arguments), (_PROCESS, next(_tokens)))

    @staticmethod
    def fresh() -> str:
        """A number that no other process gives."""
        return f"{_PROCESS}_{next(_tokens)}"

    @property
    def label(self) -> str:
        """What names of symbols are made of: no other site, in whatever process, has the same."""
        return f"{self.where[0]}_{self.where[1]}"

    @property
    def name(self) -> tuple[str, str, str] | None:
        """(module, name, the module's file) of the function, if it is found by them: its own name, or, as that of
        `slope = jit(grad(f))` is the name of `f`, any global name that means it."""
        found, module = self.jitted.__reduce__(), self.jitted.__module__
        if not isinstance(found, str):
            module, found = _global(self.jitted, module)
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return (module, found, file) if found else None

    def __reduce__(self) -> Any:
        return _found, (self.where, self.name, self.arguments, (self.promise, self._sized))

    @property
    def words(self) -> int:
        return sum(leaf.words for leaf in self.arguments.leaves)

    def __call__(self, what: int, place: int, words: int, address: int = 0) -> int:
        """What is asked for; for an exception the address of what Numba raises it by, as a negative number."""
        try:
            return self._failed(place) if what else self._node(place, words)
        except BaseException as e:
            return -raised.keep(e)

    def _failed(self, node: int) -> int:
        self._nodes[node][0].check()
        raise NumbaArgumentError(
            function=name_of(self.jitted.fun), problem="another thread's call failed, too"
        )

    def _node(self, place: int, words: int) -> int:
        key = list((ctypes.c_int64 * self.words).from_address(words)) if self.words else []
        with LOCK:
            first = ctypes.c_int64.from_address(place)
            node = self._found(first.value, key)
            if not node:
                node = first.value = self._made(first.value, key)
        return node

    def _found(self, node: int, key: list[int]) -> int:
        """The node of a list for this key, if another thread has made it meanwhile; else 0."""
        count = self.words
        while node:
            held = (ctypes.c_int64 * (2 + 2 * count)).from_address(node)
            masks = held[2 + count :]
            if all((a ^ b) & m == 0 for a, b, m in zip(key, held[2:], masks, strict=False)):
                return node
            node = held[0]
        return 0

    def _made(self, following: int, key: list[int]) -> int:
        made = Made(self._traced, self.arguments, self._values(key))
        if made.promise != self.promise:
            raise NumbaResultError(
                function=name_of(self.jitted.fun),
                problem=f"for these arguments it gives others than what its caller was compiled for "
                f"({_described(made.promise)} instead of {_described(self.promise)})",
            )
        code = made.frozen.rows_function(made.leaves, len(self.arguments.leaves))
        masks = [m for leaf in self.arguments.leaves for m in self._masks(leaf, made.static)]
        words = [following, code.address, *key, *masks, *made.details()]
        block = (ctypes.c_int64 * len(words))(*words)
        node = ctypes.addressof(block)
        self._nodes[node] = code, block
        return node

    @staticmethod
    def _masks(leaf: Leaf, static: set[Any]) -> list[int]:
        if not leaf.is_integer:
            return [-1] * leaf.words
        return [-1 if leaf.owner in static else 0, *[-1] * leaf.is_wide]

    def _values(self, key: list[int]) -> list[Any]:
        """Arguments to which these words belong."""
        words = iter(key)
        values = []
        for leaf in self.arguments.leaves:
            own = list(itertools.islice(words, leaf.words))
            rank = leaf.rank or 0
            value = own[0] if leaf.is_integer else 1
            values.append(example(leaf, tuple(own[:rank]), tuple(own[rank:]), value))
        return values


def _described(promise: Promise) -> str:
    shown = [
        "number" if rank is None else f"{np.dtype(dtype)} array of rank {rank}"
        for dtype, rank in promise.outs
    ]
    kinds = [kind for kind, _ in promise.results]
    return f"{', '.join(shown) or 'nothing'} as {', '.join(kinds) or 'nothing'}"


def _found(
    where: tuple[str, int],
    name: tuple[str, str, str] | None,
    arguments: Arguments,
    promise: tuple[Promise, bool],
) -> Site:
    """The site that was pickled: the same object, or, in another process, one for the function of that name."""
    site = Site.known.get(where)
    if site is not None:
        return site
    found: Any = _module(name[0], name[2]) if name is not None else None
    for part in name[1].split(".") if name is not None else ():
        found = getattr(found, part, None)
    if not hasattr(found, "_prepare"):
        raise NumbaArgumentError(
            function=".".join((name or ("a function",))[:2]),
            problem="Numba's cache was written by another program",
        )
    return Site(found, arguments, promise, where)


def _global(x: Any, module: str) -> tuple[str, str]:
    """(module, name) by which `x` is found, in this module if it is there; empty where there is none."""
    for where in (module, *list(sys.modules)):
        held = getattr(sys.modules.get(where), "__dict__", None)
        for name, value in list(held.items()) if type(held) is dict else ():
            if value is x:
                return where, name
    return "", ""


def _module(name: str, file: str) -> Any:
    """The module of this name; or of this file, if that was the main one, in this process or the other."""
    found = sys.modules.get(name) if name == "__main__" else importlib.import_module(name)
    if getattr(found, "__file__", None) == file:
        return found
    return next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == file), found)
