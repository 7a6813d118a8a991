"""What a block of a user's function can change: names in cells, arrays' storages, containers.

A `Frame` lets a block run under a staging trace and puts everything back afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import BufferedListError, NotAnArrayError, UnknownDtypeError
from tracejit.frontend import active
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.rewrite.blocks.cells import Cell, get, put
from tracejit.frontend.rewrite.blocks.containers import NONE, parts
from tracejit.frontend.rewrite.blocks.held import Containers
from tracejit.frontend.rewrite.blocks.outside import Outside
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.layouts import lies_in, order_of
from tracejit.numpy.boxes.sharing.either import VAGUE, Either, Listed, Owner, chosen, listed
from tracejit.numpy.boxes.sharing.references import Row, row_of
from tracejit.numpy.boxes.unsure import is_unsure, taken
from tracejit.tracing import Box, Storage, View, to_raw


def raw_of(x: Any) -> Any:
    """The raw value of an array or number, or None for anything else: a number of a class of the user's is such."""
    if isinstance(x, (Box, Value, np.ndarray, np.generic)) or type(x) in (bool, int, float, complex):
        try:
            return to_raw(x)
        except (NotAnArrayError, UnknownDtypeError, OverflowError):
            return None
    return None


def is_array(x: Any) -> bool:
    """Whether `x` is an array that can be updated in place."""
    return (type(x) is Box and not x.scalar) or isinstance(x, np.ndarray)


class Leaf:
    """One array or number of a value: `weak` ones are Python's numbers, `scalar` ones NumPy's.

    `storage`, `chain` and `identity` say which array it is; numbers have None. `order` is that of its axes in
    memory. `python`: where it is Python's number, if that is not known and not to be asked. `listed`: it is an item
    of a list."""

    __slots__ = (
        *("box", "chain", "identity", "listed", "order", "python", "raw", "row", "scalar"),
        *("storage", "weak"),
    )

    def __init__(self, x: Any, asked: bool = True) -> None:
        self.python: Any = None if asked or not is_unsure(x) else x.python
        x = x if self.python is None else taken(x)
        self.row: Row | None = row_of(x)
        if self.row is not None and not self.row.is_movable:
            raise BufferedListError(what="a part of an array that is an item, as a name,")
        self.raw = raw_of(x) if self.row is None else self.row.number
        array = type(x) is Box and not x.scalar and self.row is None
        self.box: Box | None = x if array else None
        self.storage: Storage | None = x.storage if array else None
        self.chain: tuple[View, ...] = x.chain if array else ()
        self.identity: Any = (
            x.identity if array else None if self.row is None or x.identity is None else VAGUE
        )
        self.order = order_of(x) if array else None
        self.listed: Listed | None = listed(x) if array else None
        self.weak = x.weak if type(x) is Box else type(x) in (bool, int, float, complex)
        self.scalar = x.scalar if type(x) is Box else not isinstance(x, np.ndarray)

    def rebuilt(self, raw: Any, weak: bool | None = None, owners: Sequence[Owner] = ()) -> Box:
        """A new array or number like this one, or the array of a number in an arena; `owners`: arrays of outside that
        it may be."""
        if self.row is not None:
            return self.row.moved(raw, self.identity)
        out = chosen(raw, owners, self.weak if weak is None else weak)
        if self.order is not None:
            lies_in(out, self.order)
        out.storage.rows = self.listed
        out.scalar = self.scalar and not out.aval.shape
        return out


class Form:
    """The structure of a value: its tree, and what in it is no array or number; `kept`: containers, by identity,
    that are leaves of it. After the `count` leaves of the tree there may be numbers that say which tuples are in it
    (`lists.numbered`)."""

    def __init__(self, value: Any, kept: frozenset[int] = NONE, asked: bool = True) -> None:
        self.kept = kept
        leaves, self.tree = parts(value, kept)
        self.count = len(leaves)
        session = active.session()
        leaves += () if session is None else session.choices.tuples.numbers(value, kept)
        self.leaves = [Leaf(x, asked) for x in leaves]
        self.fixed = {n: x for n, x in enumerate(leaves) if self.leaves[n].raw is None}
        self.dynamic = [leaf for leaf in self.leaves if leaf.raw is not None]

    @property
    def layouts(self) -> list[tuple[Any, bool]]:
        """The orders of its arrays in memory, and which of its parts are numbers: what has no axes may be an array."""
        return [(leaf.order, leaf.scalar) for leaf in self.dynamic]

    def same(self, other: Form) -> bool:
        """Whether both differ in the values of arrays and numbers only."""
        return (
            self.tree == other.tree
            and self.fixed.keys() == other.fixed.keys()
            and all(map(_alike, self.leaves, other.leaves))
            and all(
                x is other.fixed[n] or (id(x) not in self.kept and _equal(x, other.fixed[n]))
                for n, x in self.fixed.items()
            )
        )

    def filled(self, values: Iterable[Any]) -> list[Any]:
        """All leaves, with other arrays and numbers."""
        given = iter(values)
        return [self.fixed[n] if n in self.fixed else next(given) for n in range(len(self.leaves))]

    def rebuilt(self, values: Iterable[Any]) -> Any:
        """The value with other arrays and numbers."""
        return self.laid(self.filled(values))

    def laid(self, leaves: list[Any]) -> Any:
        """The value that has these leaves."""
        made = tree.unflatten(self.tree, leaves[: self.count])
        if len(leaves) > self.count:
            active.session().choices.tuples.note_all(made, self.kept, leaves[self.count :])
        return made

    def describe(self) -> str:
        """The value's type, for messages."""
        texts = [
            _text_of(self.fixed[n]) if n in self.fixed else _type_of(x)
            for n, x in enumerate(self.leaves[: self.count])
        ]
        if self.tree.is_leaf() or not texts:
            return texts[0] if texts else "None"
        return f"{tree.show(self.tree)} of {', '.join(texts)}"


def lay(leaves: Iterable[Box], layouts: Iterable[tuple[Any, bool]]) -> None:
    """Let new arrays lie in these orders in memory, and be numbers where they are, if any are given."""
    for x, (order, is_number) in zip(leaves, layouts, strict=False):
        lies_in(x, order)
        if not x.aval.shape and row_of(x) is None:
            x.scalar = is_number


def _text_of(x: Any) -> str:
    return f"a {x.tj_class.__name__} of a traced length" if isinstance(x, Columns) else str(x)


def _type_of(leaf: Leaf) -> str:
    if leaf.row is not None:
        return f"{leaf.row.moved(leaf.raw).aval} of a list"
    aval = aval_of(leaf.raw)
    kind = {"b": "bool", "i": "int", "f": "float", "c": "complex"}.get(aval.dtype.kind, "number")
    return f"a Python {kind}" if leaf.weak else str(aval)


def _alike(a: Leaf, b: Leaf) -> bool:
    """Whether both are arrays in an arena, or neither."""
    return a.row is b.row if a.row is None or b.row is None else a.row.like(b.row)


def _equal(a: Any, b: Any) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


#: How messages call what a name holds that is not assigned.
NOTHING = "nothing (it is not assigned)"


class Frame:
    """`with Frame(trace, cells):` a block runs under `trace`; cells, storages and containers are as before
    afterwards. `changed`: the name of a container or object that holds more or less than before. `places`: those
    of other values in containers and objects. `claimed`: storages that were written, by identity; `found`: of arrays
    that a step has found in names; `asked`: of those whose identity was asked for; `listed`: of those that it has put
    into lists. `growing`: lists, by identity, which may hold more. `turns`: lists of another length than before, as
    `Containers` has them. `late`: it has changed things of outside that it met first, and is to be staged again."""

    def __init__(self, trace: StageTrace, cells: dict[str, Cell], growing: Collection[int] = ()) -> None:
        self.trace = trace
        self.cells = cells
        self.growing = growing
        self.changed: str | None = None
        self.late = False
        self.turns: list[Any] = []
        self.places: dict[str, Cell] = {}
        self.claimed: dict[int, tuple[Storage, tuple[Any, ...]]] = {}
        self.found: set[int] = set()
        self.asked: dict[int, Storage] = {}
        self.listed: dict[int, tuple[Storage, Listed]] = {}
        self.unlisted: dict[int, Listed | None] = {}  # what these were before the block

    def __enter__(self) -> Frame:
        self.before = {name: get(cell) for name, cell in self.cells.items()}
        self.outside = Outside()
        self.containers = Containers(self.before, self.cells.values(), self.outside.known)
        self.outer_claim, self.trace.claim = self.trace.claim, self.claim
        session = active.session()
        session.frames.append(self)
        session.untouched.straight = False
        return self

    def expect(self, paths: Iterable[str]) -> list[str]:
        """Take places of these names for cells, from the block's beginning on, where there are such."""
        found = self.containers.places(p for p in paths if p not in self.cells)
        self.cells |= found
        self.before |= {path: get(cell) for path, cell in found.items()}
        return [*found]

    def claim(self, storage: Storage) -> bool:
        """Take a storage of an outer trace over, until the end of the block."""
        if storage.trace.level >= self.trace.level:
            return False
        self.claimed[id(storage)] = storage, storage.state()
        storage.trace, storage.version, storage.cache = self.trace, 0, {}
        return True

    def written(self) -> list[Storage]:
        """The storages that the block has written."""
        return [s for s, _ in self.claimed.values() if s.version]

    def list_array(self, storage: Storage, mark: Listed) -> None:
        """The block puts an array into a list."""
        self.unlisted.setdefault(id(storage), storage.rows)
        self.listed[id(storage)] = storage, mark

    def listed_outside(self) -> list[tuple[Storage, Listed]]:
        """The arrays of outside that the block has put into lists."""
        level = self.trace.level
        return [(s, m) for k, (s, m) in self.listed.items() if k in self.claimed or s.trace.level < level]

    def changed_storages(self, inputs: dict[int, Any]) -> list[Storage]:
        """Those, and chosen arrays one of whose owners it has written; `inputs` are what storages held before."""
        chosen = (s for s, _ in self.claimed.values() if isinstance(s, Either) and not s.version)
        return [*self.written(), *(s for s in chosen if id(s) in inputs and s.value is not inputs[id(s)])]

    def __exit__(self, kind: Any, *_: object) -> None:
        self.trace.claim = self.outer_claim
        active.session().frames.pop()
        for storage, state in self.claimed.values():
            storage.restore(state)
        for k, (storage, _) in self.listed.items():
            storage.rows = self.unlisted[k]
        for name, cell in self.cells.items():
            put(cell, self.before[name])
        self.changed, self.places = self.containers.restore(self.growing)
        self.turns, self.containers.turns = self.containers.turns, []
        self.late = self.outside.forget()
        if kind is not None:
            self.let_go()

    def let_go(self) -> None:
        """Refer to nothing that the block has found: its references are counted (`turned`)."""
        self.before.clear()
        self.containers.seen.clear()
        self.containers.tuples.clear()
        self.turns = []


def zeros_like(raw: Any) -> Any:
    """Zeros of the type of a raw value of static shape: what is never looked at."""
    aval = aval_of(raw)
    return np.zeros(aval.shape, aval.dtype)[()]


def promoted(before: np.dtype, weak: bool, after: np.dtype, after_weak: bool) -> tuple[np.dtype, bool] | None:
    """The (dtype, weak) of a variable that has the one type first and the other after a step; None if it can't have
    both: a Python number may become another number of its kind or a wider one, as in `s = 0`, `s += x`, but one of
    NumPy's does not become Python's."""
    if before == after:
        return (before, after_weak) if weak or not after_weak else None
    if not weak:
        return None
    try:
        common = np.result_type(before.type(0).item(), after)
    except TypeError:
        return None
    return (common, after_weak) if common == after else None
