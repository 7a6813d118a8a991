"""Which arrays the names are that a branch binds: what is written into them later is seen wherever it should be.

A branch gives a name one of the arrays of outside, a part of one, or an array of its own. The name is a chosen array
afterwards (`numpy.boxes.sharing.either`), whose owners are the ones of outside. An array that a branch makes and gives
to two names is made one of outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.errors import ChosenArrayError
from tracejit.frontend.rewrite.blocks.state import Frame, Leaf
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.memory import has_gaps
from tracejit.numpy.boxes.placed import ReadOnly
from tracejit.numpy.boxes.sharing.either import VAGUE, Chain, Either, Owner, owner_of
from tracejit.numpy.boxes.views import Identity, Region, Strided, joined
from tracejit.tracing import Box, Storage, View

FALSE, TRUE = np.False_, np.True_
#: The arrays that a name may be are followed up to so many; of more than that, it is a copy that is only looked at.
MOST = 12
#: More than these are refused, since each of them costs something at every branch.
TOO_MANY = 128
_BOOL, _I64 = np.dtype(bool), np.dtype(np.int64)


class Reach(NamedTuple):
    """An array that a leaf may be: what `chain` shows of `storage`, if the raw `flag` holds (None: always); the view
    `identity`, or that array itself (None)."""

    flag: Any
    storage: Storage
    chain: Chain | None
    identity: Any = None


#: The identity of a view that a block makes anew for one name.
ANEW = "anew"


def reached(storage: Storage | None, chain: Chain, identity: Any = None) -> Iterator[Reach]:
    """The arrays that a part of `storage` may be one of, its own one first."""
    if storage is not None:
        yield Reach(None, storage, chain, identity)
    if isinstance(storage, Either):
        for o in storage.alive():
            view = o.identity if identity is None else identity
            yield Reach(o.holds(), o.storage, None if o.chain is None else joined(o.chain, chain), view)


def made_under(identity: Any, trace: Any) -> bool:
    """Whether a view was made under `trace`, or a deeper one."""
    of = getattr(identity, "trace", None)
    while of is not None and of is not trace:
        of = of.parent
    return of is not None


def known_identity(identity: Any) -> Any:
    """What an owner has for an identity that a block ends with."""
    return Identity() if identity is ANEW else identity


def same_chain(a: Chain | None, b: Chain | None) -> bool:
    """Whether both are known to show the same part."""
    if a is None or b is None:
        return a is b
    return len(a) == len(b) and all(v is w or v.same(w) for v, w in zip(a, b, strict=True))


def flag_of(r: Reach) -> Any:
    """The raw flag of what is reached."""
    return TRUE if r.flag is None else r.flag


def _can_move(view: View) -> bool:
    """Whether a view may start at numbers that a program chooses."""
    fixed = not isinstance(view, (Region, Strided)) or (
        isinstance(view, Region) and view.is_static and all(type(d) is int for d in view.base)
    )
    return fixed and (
        view.writable or (type(view) is ReadOnly and not any(isinstance(n, Value) for n in view.sizes))
    )


def lies_apart(r: Reach) -> bool:
    """Whether a view that is reached lies in memory as no new array does, so that its array is needed for it."""
    shape, chain = aval_of(r.storage.held).shape, r.chain or ()
    return has_gaps(shape, r.storage.layout, chain)


class _Target(NamedTuple):
    """What a name may be after a branch, and the flags of both that say so; `n` is the first that may give it."""

    storage: Storage
    chain: Chain | None
    flags: list[Any]
    n: int
    identity: Any


class Rows:
    """What branches give: pairs of raw values (of `then`, of `else`), of which the program chooses."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any, np.dtype]] = []
        self.values: Sequence[Any] = ()

    def add(self, then: Any, other: Any, dtype: np.dtype) -> Callable[[], Any]:
        """What will be chosen, once it is."""
        n = len(self.pairs)
        self.pairs.append((then, other, dtype))
        return lambda: self.values[n]


class Arrays:
    """The arrays that the leaves of one branch may be, noted while its frame is there.

    `inner`: those that the branch made. `values`: of those of them that several leaves may be."""

    def __init__(self, frame: Frame, leaves: Iterable[Leaf]) -> None:
        self.trace: StageTrace = frame.trace
        found = {id(leaf): list(reached(leaf.storage, leaf.chain, leaf.identity)) for leaf in leaves}
        views = Counter(i for rs in found.values() for i in {r.identity for r in rs})
        self.anew = {i for i, count in views.items() if count == 1 and made_under(i, frame.trace)}
        self.reached = {
            k: [r._replace(identity=self.identity(r.identity)) for r in rs] for k, rs in found.items()
        }
        every = [r.storage for rs in self.reached.values() for r in rs]
        self.inner = {id(s): s for s in every if s.trace is frame.trace and id(s) not in frame.claimed}
        count = Counter(map(id, every))
        count.update(id(r.storage) for rs in self.reached.values() for r in rs if lies_apart(r))
        shared = [s for k, s in self.inner.items() if count[k] > 1]
        self.values = {id(s): (s.value, list(reached(s, ()))[1:]) for s in shared}

    def identity(self, identity: Any) -> Any:
        """That of a view of a leaf, ANEW if the branch has made the view for this leaf alone."""
        return ANEW if identity in self.anew else identity


class Merger:
    """Makes leaves of two branches chosen arrays."""

    def __init__(self, pred: Any, branches: tuple[Arrays, Arrays], rows: Rows) -> None:
        self.pred = pred
        self.branches = branches
        self.rows = rows
        self.made: dict[int, Callable[[], Storage]] = {}  # of inner arrays that are made ones of outside

    def same(self, x: Leaf, y: Leaf) -> Box | None:
        """The array that a name is in both branches, if it is the same."""
        s = x.storage
        if s is None or s is not y.storage or id(s) in self.branches[0].inner:
            return None
        if x.box is y.box:
            return x.box
        view = self.branches[0].identity(x.identity)
        if not same_chain(x.chain, y.chain) or view is not self.branches[1].identity(y.identity):
            return None
        if view is VAGUE:
            return None
        out = Box(s, x.chain, aval_of(s.read(x.chain)))
        out.identity = known_identity(view)
        return out

    def owners(
        self, leaves: tuple[Leaf | None, Leaf | None], dtype: np.dtype, parts: bool = True
    ) -> Callable[[], list[Owner]]:
        """The owners of what a name is afterwards, once the program has chosen. Not `parts`: it is some unknown part of
        them."""
        reached = [
            () if leaf is None else self.branches[n].reached[id(leaf)] for n, leaf in enumerate(leaves)
        ]
        return self._owners(reached, dtype, parts)

    def _owners(
        self, reached: Sequence[Iterable[Reach]], dtype: np.dtype, parts: bool = True
    ) -> Callable[[], list[Owner]]:
        """Owners, from what is reached in the branches. Raises ChosenArrayError."""
        by_storage: dict[int, list[_Target]] = {}
        for n, rs in enumerate(reached):
            for r in rs:
                if id(r.storage) not in self.branches[n].inner or id(r.storage) in self.branches[n].values:
                    self._note(by_storage.setdefault(id(r.storage), []), r, n)
        if len(by_storage) > TOO_MANY:
            raise ChosenArrayError()
        found = [t for targets in by_storage.values() for t in targets]
        if len(found) > MOST or not parts:
            if any(lies_apart(Reach(None, t.storage, t.chain)) for t in found):
                raise ChosenArrayError()
            found = [targets[-1]._replace(chain=None) for targets in by_storage.values()]
        makers = [self._owner(t, dtype) for t in found]
        return lambda: [make() for make in makers]

    def _note(self, found: list[_Target], r: Reach, n: int) -> None:
        """Add what is reached to `found`, which has what is known of this storage."""
        for t in found:
            if same_chain(t.chain, r.chain) and t.identity is r.identity and t.flags[n] is FALSE:
                t.flags[n] = flag_of(r)
                return
        flags: list[Any] = [FALSE, FALSE]
        flags[n] = flag_of(r)
        found.append(_Target(r.storage, r.chain, flags, n, r.identity))

    def _owner(self, t: _Target, dtype: np.dtype) -> Callable[[], Owner]:
        inner = id(t.storage) in self.branches[t.n].inner
        storage = self._outside(t.storage, t.n) if inner else lambda: t.storage
        chain = self._chain(t.chain, t.n)
        if chain is None:
            return lambda: owner_of(storage(), None, dtype, TRUE)
        view = t.identity
        if t.flags[0] is TRUE and t.flags[1] is FALSE:
            return lambda: owner_of(storage(), chain(), dtype, self.pred, True, known_identity(view))
        if t.flags[0] is FALSE and t.flags[1] is TRUE:
            return lambda: owner_of(storage(), chain(), dtype, self.pred, False, known_identity(view))
        flag = self.rows.add(t.flags[0], t.flags[1], _BOOL)
        return lambda: owner_of(storage(), chain(), dtype, flag(), True, known_identity(view))

    def _outside(self, storage: Storage, n: int) -> Callable[[], Storage]:
        """An array of a branch that several names are, as one of outside."""
        if id(storage) not in self.made:
            value, reached = self.branches[n].values[id(storage)]
            dtype = aval_of(value).dtype
            if not aval_of(value).is_static:
                raise ChosenArrayError()
            row = self._row(n, value, np.zeros(aval_of(value).shape, dtype)[()], dtype)
            owners = self._owners((reached, ()) if n == 0 else ((), reached), dtype)
            held: list[Storage] = []

            def make() -> Storage:
                if not held:
                    held.append(Either(row(), owners()))
                return held[0]

            self.made[id(storage)] = make
        return self.made[id(storage)]

    def _row(self, n: int, value: Any, otherwise: Any, dtype: np.dtype) -> Callable[[], Any]:
        return self.rows.add(*((value, otherwise) if n == 0 else (otherwise, value)), dtype)

    def _chain(self, chain: Chain | None, n: int) -> Callable[[], Chain] | None:
        """A chain of views with the numbers of a branch as those that the program chooses; None if it can't be."""
        if chain is None or not all(map(_can_move, chain)):
            return None
        steps = [self._view(v, n) for v in chain]
        return lambda: tuple(s() for s in steps)

    def _view(self, view: View, n: int) -> Callable[[], View]:
        if not isinstance(view, Region):
            return lambda: view
        own = [x if self._is_inner(x, n) else None for x in view.starts]
        rows = [None if x is None else self._row(n, x, 0, _I64) for x in own]
        if not any(rows):
            return lambda: view
        return lambda: view.moved([x if r is None else r() for x, r in zip(view.starts, rows, strict=True)])

    def _is_inner(self, x: Any, n: int) -> bool:
        return isinstance(x, Value) and x.trace is self.branches[n].trace
