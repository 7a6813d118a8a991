"""Long lists in results: what native loops have appended leaves a program as one array, and is a list again for the
caller. And what a program's function (`stored`) lets containers of outside hold, by as few statements as can be."""

from __future__ import annotations

import collections
import operator
from typing import Any, Protocol

import numpy as np

from tracejit import tree
from tracejit.frontend.checks import unchanged
from tracejit.frontend.journal import Change
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.shadows import containers, growing
from tracejit.numpy.boxes.rows import Borrowed, StaleView, grid, rows, runs
from tracejit.numpy.boxes.sharing.references import Arena
from tracejit.tracing import Box

#: What Python's numbers are in arrays.
_PYTHON = frozenset(map(np.dtype, (bool, np.int64, float, complex)))
#: Shorter lists are results one by one.
SHORTEST = 16


class Listed:
    """A list in pieces: items, and arrays whose rows are items (lists of rows, at greater depth). `depths`: of each
    piece, 0 for an item; negative if the rows are Python's numbers."""

    def __init__(self, pieces: list[Any], depths: tuple[int, ...]) -> None:
        self.pieces = pieces
        self.depths = depths


def items(depths: tuple[int, ...], pieces: Any) -> Any:
    """The list; pieces that stand for something else are left in theirs."""
    pieces = list(pieces)
    if not all(isinstance(x, (Box, np.ndarray)) for x, d in zip(pieces, depths, strict=True) if d):
        return Listed(pieces, depths)
    found: list[Any] = []
    for x, depth in zip(pieces, depths, strict=True):
        if not depth:
            found.append(x)
        elif type(x) is Box:
            found += rows(x.read(), abs(depth), depth < 0, scalar=True)
        else:
            found += x.tolist() if depth < 0 else _rows(x, depth)
    return found


def _rows(x: np.ndarray, depth: int) -> list[Any]:
    return [_rows(y, depth - 1) for y in x] if depth > 1 else list(x)


tree.register(Listed, lambda x: (x.pieces, x.depths), items)


def listed(out: Any) -> Any:
    """A result whose long lists are in pieces; views of what the caller sees elsewhere stay by themselves.

    Raises StaleView where a list has copies of such views."""
    leaves, structure = tree.flatten(out, is_leaf=is_long)
    elsewhere = {id(x.storage) for x in leaves if type(x) is Box}
    pieces = [
        _in_pieces(x) if is_long(x) and not any(_is_seen(i, elsewhere) for i in x) else x for x in leaves
    ]
    return tree.unflatten(structure, pieces)


def is_long(x: Any) -> bool:
    """Whether `x` is a list that may be in pieces."""
    return type(x) is list and len(x) >= SHORTEST


def _is_seen(x: Any, elsewhere: set[int]) -> bool:
    """Whether an item lies in an array of the caller's, or in one of the storages `elsewhere`."""
    if type(x) is not Box:
        return False
    if any(not v.apart or _shows(v, elsewhere) for v in x.chain if type(v) is Borrowed):
        raise StaleView
    return _visible(x.storage, elsewhere)


def _shows(view: Borrowed, elsewhere: set[int]) -> bool:
    return any(_visible(s, elsewhere) for s, _ in view.watched)


def check_views(leaves: list[Any]) -> None:
    """Raises StaleView if results are copies where Python has views of what the caller sees, or that share memory."""
    boxes = [x for x in leaves if type(x) is Box]
    views = [(x, v) for x in {id(x): x for x in boxes}.values() for v in x.chain if type(v) is Borrowed]
    elsewhere = {id(x.storage) for x in boxes} if views else set()
    if sum(not v.apart for _, v in views) > 1 or any(_shows(v, elsewhere) for _, v in views):
        raise StaleView


def _visible(storage: Any, elsewhere: set[int]) -> bool:
    return storage.origin is not None or id(storage) in elsewhere or type(storage.rows) is Arena


def in_pieces(x: Any, elsewhere: set[int]) -> Listed | None:
    """A long list in pieces; None for others, and where items lie in memory that is seen elsewhere, in the storages
    `elsewhere`.

    Raises StaleView."""
    if not is_long(x) or any(_is_seen(item, elsewhere) for item in x):
        return None
    made = _in_pieces(x)
    return made if type(made) is Listed else None


def _in_pieces(items: list[Any]) -> Any:
    whole = grid(items)
    if whole is not None:
        depth = _depth(whole[2], whole[1])
        return Listed([whole[0]], (depth,)) if depth else [listed(x) for x in items]
    pieces, depths, at = [], [], 0
    for joined, x in runs(items) or ():
        count = x.aval.shape[0] if joined else 1
        depth = _depth(items[at], 1) if joined else 0
        pieces += [x] if depth else map(listed, items[at : at + count])
        depths += [depth] if depth else [0] * count
        at += count
    return Listed(pieces, tuple(depths)) if any(depths) else [listed(x) for x in items]


def _depth(first: Box, depth: int) -> int:
    """How deep lists are of which this is the first item, as `Listed` has it; 0 if its rows are not the items."""
    if first.aval.shape or (first.scalar and not first.weak):
        return depth
    return -depth if first.weak is True and first.aval.dtype in _PYTHON else 0


def grows(change: Change) -> bool:
    """Whether a list or deque is changed by nothing but appending to it."""
    if change.before is None or isinstance(change.value, Columns):
        return change.before is not None
    if type(change.value) not in growing.CLASSES:
        return False
    return appended(change.before, list(change.value), getattr(change.value, "maxlen", None)) is not None


def appended(old: list[Any], now: list[Any], most: int | None) -> list[Any] | None:
    """What was appended to the sequence `old`, of at most so many items, to make it `now`; None if more was done."""
    full = most is not None and len(now) == most
    for n in range(1, len(now) + 1) if full else (len(now) - len(old),):
        if n <= 0:
            return None
        kept = now[:-n]
        before = old[len(old) - len(kept) :] if full and len(kept) <= len(old) else old
        if len(kept) == len(before) and all(map(unchanged, before, kept)):
            return now[-n:]
    return None


# ---------------------------------------------------------------- what containers of outside hold afterwards


class Writer(Protocol):
    """What writes expressions. `put`: the statements."""

    put: list[str]

    def value(self, x: Any, what: str) -> str:
        """The expression of a value."""
        ...

    def listed(self, xs: Any, what: str) -> str:
        """Those of several values, with commas."""
        ...

    def const(self, value: Any) -> str:
        """The name of a constant."""
        ...


def refill(w: Writer, owner: str, change: Change) -> None:
    """The statements for the container that is called `owner`. What its class has methods for, if that is a class of
    the user's, is not asked: the run has called them."""
    now, old, what = change.value, change.before, change.what
    assert old is not None
    base = containers.base_of(type(now)) if containers.is_derived(now) else None
    now = now if base is None else containers.entries_of(now)
    if isinstance(now, dict):
        _dict(w, owner, now, dict(zip(old[::2], old[1::2], strict=True)), what, base)
    elif isinstance(now, (set, frozenset)):
        before = set(old)
        gone, new = [x for x in old if x not in now], [x for x in now if x not in before]
        for name, changed in (("difference_update", gone), ("update", new)):
            if changed:
                w.put.append(f"{owner}.{name}(({w.listed(changed, what)}))")
    else:
        _sequence(w, owner, now, old, what, base)


def _call(w: Writer, owner: str, base: Any, method: str, argument: str = "") -> str:
    """A call of a method: of `base`, if that is not None."""
    if base is None:
        return f"{owner}.{method}({argument})"
    return f"{w.const(getattr(base, method))}({owner}{', ' if argument else ''}{argument})"


def _dict(
    w: Writer, owner: str, now: dict[Any, Any], old: dict[Any, Any], what: str, base: type | None
) -> None:
    stay = [k for k in old if k in now]
    if all(map(operator.is_, now, stay)):
        w.put += [f"del {owner}[{w.value(k, what)}]" for k in old if k not in now]
        changed = [k for k in now if k not in old or not unchanged(old[k], now[k])]
        for k in changed:
            w.put.append(f"{owner}[{w.value(k, what)}] = {w.value(now[k], what)}")
        return
    pairs = "".join(f"({w.value(k, what)}, {w.value(v, what)}), " for k, v in now.items())
    base = dict if type(now) is collections.Counter else base  # which adds what it is given
    w.put += [_call(w, owner, base, "clear"), _call(w, owner, base, "update", f"[{pairs}]")]


def _sequence(w: Writer, owner: str, now: Any, old: list[Any], what: str, base: type | None) -> None:
    if isinstance(now, Columns):
        w.put.append(_call(w, owner, base, "extend", w.value(now, what)))
        return
    after = list(now)
    grown = appended(old, after, getattr(now, "maxlen", None))
    if grown is not None:
        one = len(grown) == 1
        text = w.value(grown[0], what) if one else w.value(grown, what)
        w.put.append(_call(w, owner, base, "append" if one else "extend", text))
    elif len(after) == len(old):
        for n, (a, b) in enumerate(zip(after, old, strict=True)):
            if not unchanged(b, a):
                w.put.append(f"{owner}[{n}] = {w.value(a, what)}")
    else:
        new = w.value(after, what)
        if type(now) is list:
            w.put.append(f"{owner}[:] = {new}")
        else:
            w.put += [f"{owner}.clear()", f"{owner}.extend({new})"]
