"""Results that lie in memory of others: parts of arguments, of captured arrays and of other results.

NumPy's `return x[1:3]` gives a view, through which later writes reach `x`. So a program does not compute such a result:
where the part begins is an output, if it is traced, and the view is made of the array itself in the end.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.api.jit.placing import STORED, Chosen, Part, Place, Step, is_known, lying_as, root_of
from tracejit.errors import BufferedListError, ChosenArrayError, UnfollowedError
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.values import Value
from tracejit.numpy.boxes.indexing import view_of
from tracejit.numpy.boxes.layouts import order_of
from tracejit.numpy.boxes.masking.selected import Selected, argwhere
from tracejit.numpy.boxes.memory import is_contiguous, order_of_strides
from tracejit.numpy.boxes.placed import Bits, Placed, ReadOnly
from tracejit.numpy.boxes.sharing.either import VAGUE, Either, Listed, Owner, listed, may_share
from tracejit.numpy.boxes.sharing.references import Row
from tracejit.numpy.boxes.views import (
    ImagPart,
    RealPart,
    Region,
    Reshaped,
    Strided,
    joined,
)
from tracejit.tracing import Box, Storage, View, unbox

#: So many bytes are not made for one result that lies in a part of them.
_MUCH = 1 << 20


class Shared:
    """Sorts the boxes of a result: `outs` collects raw outputs, `parts` what is made of them in the end."""

    def __init__(self, leaves: Sequence[Any], visible: dict[int, Place], outs: list[Any]) -> None:
        self.visible = visible  # arrays that the caller has, by their storages
        self.outs = outs
        self.parts: list[Part | Chosen] = []
        #: Chosen arrays that are results as a whole, and the numbers of the parts that they are (None: they are new).
        self.chosen: dict[int, int | None] = {}
        different = {id(x): x for x in leaves if type(x) is Box}.values()
        self.boxes = {id(x.storage): x for x in different if isinstance(x.storage, Either) and _is_itself(x)}
        self.numbers: dict[int, int | None] = {}  # of the parts that leaves are
        self.columns: dict[int, tuple[Place, Any]] = {}  # the coordinates of masks, which are kept alive
        self.views = {x.identity: x for x in different if x.identity is not None}
        self.chosen_views = collections.Counter(i for x in different for i in _views(x))
        self.made_views: dict[Any, int] = {}  # parts that several chosen arrays may be
        self.users = collections.Counter(id(s) for x in different for s in _storages(x))
        #: How many results lie in arrays that are known while tracing: what a library's function gave.
        self.known = collections.Counter(
            id(root_of(x)) for x in {id(x): x for x in leaves if is_known(x)}.values()
        )
        marks = [mark for x in different if not x.scalar and (mark := listed(x)) is not None]
        self.lists = collections.Counter((id(mark.rows), mark.role == "head") for mark in marks)

    def part(self, x: Any) -> int | None:
        """The number of the part that the leaf `x` is; None if it is an output of its own.

        Raises UnfollowedError, ChosenArrayError, BufferedListError: it lies in memory of the caller's or in a list of
        arrays, but the program can't say where."""
        if is_known(x):
            return self._of_known(x)
        if type(x) is not Box or ((x.scalar or x.weak) and not x.aval.shape):
            return None
        if id(x) not in self.numbers:
            self.numbers[id(x)] = self._number(x)
        return self.numbers[id(x)]

    def _number(self, x: Box) -> int | None:
        storage = x.storage
        mark = listed(x)
        if mark is not None and not self._is_new(mark):
            raise may_share(BufferedListError(what="arrays, which may be one or others' too, as results"))
        made: Part | Chosen | None = None
        if isinstance(storage, Either):
            if _is_itself(x):
                if (number := self._whole(x, storage)) is not None:
                    return number
            elif id(storage) in self.boxes or self._worth(storage, x.chain, x.identity):
                made = self._part_of_whole(x, storage)
            else:
                made = self._chosen(x, storage)
            if made is None and (storage.layout is not None or id(storage) in self.visible):
                made = self._view(x)
        elif type(storage) in (Storage, Selected):
            made = self._view(x)
        return None if made is None else self._add(made)

    def _of_known(self, x: np.ndarray) -> int | None:
        """The number of the part that `x` is of an array that is known; None if nobody could tell it from a copy."""
        whole = root_of(x)
        few = self.known[id(whole)] < 2
        if (
            (few and (x.flags.c_contiguous or whole.nbytes > _MUCH))
            or not whole.flags.c_contiguous
            or not whole.shape
        ):
            return None
        if id(whole) not in self.visible:
            self.visible[id(whole)] = "out", self._output(whole)
        return self._add(Part(self.visible[id(whole)], [] if x is whole else [lying_as(x, whole)]))

    def _add(self, made: Part | Chosen) -> int:
        self.parts.append(made)
        return len(self.parts) - 1

    def _is_new(self, mark: Listed) -> bool:
        """Whether a result that has to do with a list is sure to be no other result, or one that is known."""
        others = self.lists[id(mark.rows), False] - (mark.role != "head")
        others += self.lists[id(mark.rows), True] if mark.role == "item" else 0
        known = mark.role == "head" and not mark.rows.lost
        return known or (not others and mark.rows.are_new(mark.role))

    def _view(self, x: Box) -> Part | None:
        base = self.visible.get(id(x.storage))
        if (
            STORED.on
            and base is None
            and not (x.aval.is_static and aval_of(x.storage.held).is_static)
            and self.users[id(x.storage)] < 2
        ):
            return None
        if type(x.storage) is Selected and _is_itself(x) and x.storage.is_column:
            return self._column(x.storage)
        if base is None and not self._worth(x.storage, x.chain, x.identity):
            return None
        steps = self._steps(x.chain, x.identity)
        if steps is None:
            if base is None:
                return None
            raise UnfollowedError(
                what="a result that lies in memory of the caller's", reason="no view gives this part"
            )
        return self._part(x.storage, steps)

    def _column(self, storage: Selected) -> Part:
        """Coordinates of what a mask over several axes holds are a column of those of all axes."""
        known = self.columns.get(id(storage.mask))
        if known is None:
            place: Place = "out", self._output(argwhere(storage.mask.value).read())
            known = self.columns[id(storage.mask)] = place, storage.mask
        n = storage.along
        return Part(known[0], [lambda array, _: array[:, n]])

    def _part(self, storage: Storage, steps: list[Step]) -> Part:
        """The part that `steps` show of a storage."""
        base = self.visible.get(id(storage)) or self._base(storage)
        return Part(base, steps)

    def _worth(self, storage: Storage, chain: Sequence[View], view: Any) -> bool:
        """Whether what NumPy would give could be told from a copy: other results lie in the same memory, or it has gaps
        or another order than C's, or can't be written."""
        if storage.layout is not None:
            return True
        shape = aval_of(storage.held).shape
        if not chain and view is None:
            return not shape and self.users[id(storage)] > 1
        if not all(v.writable for v in chain) or self.users[id(storage)] > 1:
            return True
        if not all(type(d) is int for d in (*shape, *aval_of(storage.read(tuple(chain))).shape)):
            return any(map(_has_gaps, chain))
        return not is_contiguous(shape, None, tuple(chain), "C")

    def _base(self, storage: Storage) -> Place:
        """The output that has all of a storage, with its axes in their order in memory, or the array that is made of it
        once: of a number, or with its axes in the storage's order."""
        value, steps = _as_it_lies(storage.value, order_of_strides(storage.layout))
        base: Place = "out", self._output(value)
        steps = steps if aval_of(value).shape else [_array_of]
        if steps:
            base = "part", self._add(Part(base, steps))
        self.visible[id(storage)] = base
        return base

    def whole(self, x: Any, raw: Any) -> None:
        """Enter the output `raw` of a leaf that is no part; parts of its memory are made of it."""
        at = self._output(raw)
        if type(x) is Box and not (x.scalar or x.weak) and _is_itself(x) and x.aval.shape:
            self.visible.setdefault(id(x.storage), ("out", at))

    def _output(self, raw: Any) -> int:
        self.outs.append(raw)
        return len(self.outs) - 1

    def _whole(self, x: Box, storage: Either) -> int | None:
        """The number of the part that `x`, all of a chosen array, is; None if it is a new array."""
        if id(storage) not in self.chosen:
            made = self._chosen(x, storage)
            self.chosen[id(storage)] = None if made is None else self._add(made)
        return self.chosen[id(storage)]

    def _all_of(self, storage: Either) -> int | None:
        """The same of a chosen array that may be no result itself."""
        return self._whole(self.boxes.get(id(storage), Box(storage, (), aval_of(storage.held))), storage)

    def _part_of_whole(self, x: Box, storage: Either) -> Part | Chosen | None:
        """A part of a chosen array that is made as a whole, as a result or for its parts."""
        number = self._all_of(storage)
        if number is None:
            return self._view(x)
        steps = self._steps(x.chain, x.identity)
        if steps is None:
            raise ChosenArrayError()
        return Chosen(Part(("part", number), steps), [])

    def _of_owner(self, owner: Owner, x: Box) -> Part:
        """What `x` is where it is `owner`: the array or view itself, which may be a result and a chosen array, or a
        view of it."""
        view = owner.identity if _is_itself(x) else x.identity
        if owner.chain is None or not owner.exact or self.chosen_views[id(owner.storage), view] > 1:
            raise ChosenArrayError()
        if not _is_itself(x) or view is None or (view not in self.views and self.chosen_views[view] < 2):
            return self._shown(owner.storage, (*owner.chain, *x.chain), view)
        if view in self.views:
            number = self.part(self.views[view])
            if number is None:
                raise ChosenArrayError()
            return Part(("part", number), [])
        if view not in self.made_views:
            self.made_views[view] = self._add(self._shown(owner.storage, owner.chain, view))
        return Part(("part", self.made_views[view]), [])

    def _shown(self, storage: Storage, chain: Sequence[View], view: Any) -> Part:
        """The part that `chain` shows of an array, which may be a chosen one and a result itself."""
        steps = self._steps(chain, view)
        if steps is None:
            raise ChosenArrayError()
        number = self._all_of(storage) if isinstance(storage, Either) else None
        return self._part(storage, steps) if number is None else Part(("part", number), steps)

    def _chosen(self, x: Box, storage: Either) -> Chosen | None:
        parts = []
        for owner in storage.alive():
            alone = id(owner.storage) not in self.visible and self.users[id(owner.storage)] < 2
            if (alone and not owner.lies_apart(storage.layout)) and not (
                owner.exact and owner.chain and self._worth(owner.storage, (*owner.chain, *x.chain), True)
            ):
                continue
            parts.append((self._output(owner.flag), owner.want, self._of_owner(owner, x)))
        if not parts:
            return None
        value, steps = _as_it_lies(x.read(), order_of(x))
        own = Part(("out", self._output(value)), steps if x.aval.shape else [_array_of])
        return Chosen(own, parts)

    def _steps(self, chain: Sequence[View], view: Any) -> list[Step] | None:
        """What shows of an array what `chain` shows: a view, or that array itself (None); None if NumPy has no views
        for it."""
        if not chain:
            return [] if view is None else [lambda array, _: array[...]]
        steps = [self._step(view) for view in chain]
        known = [s for s in steps if s is not None]
        return known if len(known) == len(steps) else None

    def _step(self, view: View) -> Step | None:
        if type(view) is Region:
            return self._region(view)
        if type(view) is Strided:
            return self._strided(view)
        if type(view) is Reshaped:
            shape = view.shape
            return lambda array, _: array.reshape(shape)
        if type(view) is RealPart:
            return lambda array, _: array.real
        if type(view) is ImagPart:
            return lambda array, _: array.imag
        if type(view) is Bits:
            dtype = view.dtype
            return lambda array, _: array.view(dtype)
        places = view.places if isinstance(view, (Placed, ReadOnly)) else None
        if places is None:
            return None
        sizes = self._numbers(view.sizes if isinstance(view, ReadOnly) else ())
        return lambda array, outs: places(array, *(n if static else outs[n] for static, n in sizes))

    def _region(self, r: Region) -> Step:
        starts, sizes = self._numbers(r.starts), self._numbers(r.sizes)
        kept = [a for a in r.axes if a is not None]
        order = tuple(sorted(kept).index(a) for a in kept)
        straight = order == tuple(range(len(order)))
        new = tuple(None if a is None else slice(None) for a in r.axes) if None in r.axes else None

        def index_of(low: Sequence[Any], size: Sequence[Any]) -> tuple[Any, ...]:
            axes = enumerate(r.steps)
            return *(_slice(low[a], size[a], step) if a in kept else low[a] for a, step in axes), ...

        if all(static for static, _ in (*starts, *sizes)):
            known = index_of([n for _, n in starts], [n for _, n in sizes])
            if straight and new is None:
                return lambda array, _: array[known]
            return lambda array, _: _turned(array[known], order, new)

        def step(array: Any, outs: Sequence[Any]) -> Any:
            low = [n if static else outs[n] for static, n in starts]
            size = [n if static else outs[n] for static, n in sizes]
            if type(array) is Box:
                part = Region(r.base, tuple(map(unbox, low)), tuple(map(unbox, size)), r.steps, r.axes)
                return view_of(array, joined(array.chain, (part,)))
            return _turned(array[index_of(low, size)], order, new)

        return step

    def _strided(self, s: Strided) -> Step:
        numbers, head = self._numbers(s.numbers), (slice(None),) * s.axis

        def step(array: Any, outs: Sequence[Any]) -> Any:
            start, size, by = (n if static else outs[n] for static, n in numbers)
            if type(array) is Box:
                part = Strided(s.base, s.axis, *map(unbox, (start, size, by)))
                return view_of(array, (*array.chain, part))
            return array[(*head, _slice(int(start), int(size), int(by)))]

        return step

    def _numbers(self, numbers: Sequence[Any]) -> list[tuple[bool, int]]:
        """Whether each is known, and itself or the output that has it."""
        return [(False, self._output(n)) if isinstance(n, Value) else (True, int(n)) for n in numbers]


def _has_gaps(view: View) -> bool:
    """Whether a view of traced extents does not go on from one element to the next, or not in C's order."""
    if type(view) is not Region:
        return type(view) is Strided
    kept = [a for a in view.axes if a is not None]
    return any(s != 1 for s in view.steps) or kept != sorted(kept)


def _array_of(x: Any, _: Any) -> Any:
    """An output without dimensions, which is a number, as an array."""
    return x if type(x) is Box or is_elsewhere(x) else np.asarray(x)


def _as_it_lies(value: Any, order: Any) -> tuple[Any, list[Step]]:
    """A raw value with its axes in their order in memory, and what turns it back."""
    if order is None:
        return value, []
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return ops.shape.transpose(value, permutation=order), [lambda array, _: array.transpose(back)]


def _turned(array: Any, order: tuple[int, ...], new: tuple[Any, ...] | None) -> Any:
    """An array with its axes in `order`, and new ones where the index `new` has them."""
    array = array.transpose(order)
    return array if new is None else array[new]


def _is_itself(x: Box) -> bool:
    """Whether a box is its storage's array, and no view of it."""
    return not x.chain and x.identity is None


def _views(x: Box) -> list[Any]:
    """The views that a chosen array may be; of those of which nobody knows which they are, the arrays, too."""
    owners = x.storage.alive() if isinstance(x.storage, Either) and _is_itself(x) else []
    vague = [(id(o.storage), VAGUE) for o in owners if o.identity == VAGUE]
    return [*{o.identity for o in owners if o.identity is not None}, *vague]


def _storages(x: Box) -> list[Storage]:
    owners = [o.storage for o in x.storage.alive()] if isinstance(x.storage, Either) else []
    return [x.storage, *owners]


def part_of(row: Row, identity: Any) -> Callable[[Any], Any]:
    """What makes the part of an array that `row` shows of one in an arena. Raises BufferedListError."""
    r = row.region
    axes = tuple(None if a is None else a - 1 for a in r.axes)
    inner = Region(r.base[1:], r.starts[1:], r.sizes[1:], r.steps[1:], axes)
    chain = row.chain[1:] if inner.is_plain else (inner, *row.chain[1:])
    shared = Shared([], {}, [])
    steps = shared._steps(chain, True) if identity is not VAGUE else None
    if steps is None or shared.outs:  # numbers that only the program knows say which part
        raise BufferedListError(what="a part of an array, as a result,")

    def part(array: Any) -> Any:
        for step in steps:
            array = step(array, ())
        return array

    return part


def _slice(start: Any, size: Any, step: int) -> slice:
    """`size` places from `start` on."""
    if size == 0:
        return slice(0, 0)
    stop = start + size * step
    return slice(start, None if step < 0 and stop < 0 else stop, step)
