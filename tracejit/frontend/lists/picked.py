"""Items of lists and tuples of known lengths, at positions that only the program knows.

    table[k] += 1       what is read is chosen among the items; a list of which such an item is replaced becomes a
                        buffer before the block that does so (`rewrite.blocks.turned`)

Of several arrays the item is a chosen one (`numpy.boxes.sharing.either`), so that what is written into it is written
into the array that it is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.frontend import active
from tracejit.frontend.lists.items import Items, Kind, common
from tracejit.frontend.lists.options import Options, any_common
from tracejit.ir.jaxpr import Eqn, Literal
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents, numbers
from tracejit.numpy.boxes.sharing.either import Either, Owner, chosen, listed, listed_as, memories, owner_of
from tracejit.numpy.boxes.unsure import is_unsure, python_of, taken, unsure
from tracejit.numpy.boxes.views import joined
from tracejit.numpy.operands import nested
from tracejit.ops.indexing.index_check import Raising, check_index
from tracejit.tracing import Box, box, to_raw

#: Items are chosen among so many at most. Of more arrays than the second number it is not known which it is, since each
#: of them costs something at every write.
MOST_NUMBERS, MOST_ARRAYS = 4096, 32
#: Arrays are not chosen by the number of a step, of so many at most: unrolled, each step knows which it reads, and what
#: they compute is one nest.
UNROLLED = 128
#: No item could be chosen: whoever asked goes another way.
NOTHING: Any = object()


def is_position(k: Any) -> bool:
    """Whether `k` is an integer that is not known while tracing, as Python takes it for a position."""
    if type(k) is not Box or k.aval.shape or is_unsure(k) or extents.known(k.read()) is not None:
        return False
    kind = k.aval.dtype.kind
    return kind in "iu" or (kind == "b" and k.weak is True)


def item(held: Sequence[Any], k: Any) -> Any:
    """`held[k]` of a list or tuple; NOTHING if its items are not alike."""
    if held and all(type(x) is list for x in held):
        return _list(held, k)
    kinds = common(held)
    if kinds is None and held:
        return _one_of_several(held, k)
    if not _can_choose(kinds, len(held)):
        return NOTHING
    if kinds is not None and kinds.has_arrays and _is_known_unrolled(k.read()):
        return NOTHING
    at = _position(held, k, "")
    assert kinds is not None  # without items there is no position
    columns = zip(*map(tree.leaves, held), strict=True)
    found = [_item(list(xs), kind, at) for xs, kind in zip(columns, kinds.kinds, strict=True)]
    return noted(tree.unflatten(kinds.tree, found), at_places(held, at))


def put(held: list[Any], k: Any, value: Any) -> bool:
    """`held[k] = value`; False if it can't be. Raises Turned where a block can have a buffer for the list."""
    kinds = any_common((*held, value))
    if kinds is None:
        return False
    active.session().turn(held, kinds)
    if isinstance(kinds, Options):
        return _put_option(held, k, value, kinds)
    if kinds.has_arrays or not _can_choose(kinds, len(held)):
        return False
    at = _position(held, k, "assignment ")
    new = tree.leaves(value)
    for n, x in enumerate(held):
        if x is value:
            continue
        here = _is(at, n)
        both = zip(new, tree.leaves(x), kinds.kinds, strict=True)
        made = tree.unflatten(kinds.tree, [_one(here, a, b, kind) for a, b, kind in both])
        held[n] = noted(made, [(value, here), (x, ops.compare.not_(here))])
    return True


def _one_of_several(held: Sequence[Any], k: Any) -> Any:
    """The same of items of several types."""
    options = any_common(held)
    if not isinstance(options, Options) or len(held) > MOST_NUMBERS:
        return NOTHING
    return _chosen(options, held, _position(held, k, ""))


def _chosen(items: Items | Options, xs: Sequence[Any], at: Any) -> Any:
    """The one of `xs`, which are such items, whose position is `at`."""
    columns = zip(*map(items.leaves, xs), strict=True)
    return items.item([_item(list(c), kind, at) for c, kind in zip(columns, items.columns, strict=True)])


def _put_option(held: list[Any], k: Any, value: Any, options: Options) -> bool:
    """The same of items of several types."""
    if options.is_tuple or len(held) > MOST_NUMBERS:
        return False
    at, new = _position(held, k, "assignment "), options.leaves(value)
    for n, x in enumerate(held):
        both = zip(new, options.leaves(x), options.columns, strict=True)
        held[n] = options.item([_one(_is(at, n), a, b, kind) for a, b, kind in both])
    return True


def _one(here: Any, new: Any, old: Any, kind: Kind) -> Box:
    """The number `new` where the raw `here` holds, else `old`."""
    raw = ops.compare.select(here, to_raw(taken(new)), to_raw(taken(old)))
    if kind.python is not None:
        return box(raw, weak=kind.python)
    return unsure(raw, ops.compare.select(here, python_of(new), python_of(old)))


def _list(held: Sequence[list[Any]], k: Any) -> Any:
    """One of several lists of as many numbers and lists each: a list of chosen numbers, which is noted as one of them
    (`rewrite.blocks.chosen`)."""
    leaves, structures = zip(*map(tree.flatten, held), strict=True)
    count = len(leaves[0])
    if any(s != structures[0] for s in structures[1:]) or not 0 < count * len(held) <= MOST_NUMBERS:
        return NOTHING
    columns = [*zip(*leaves, strict=True)]
    kinds = [any_common(xs) for xs in columns]
    if any(c is None or c.has_arrays or not _can_choose(c, len(held)) for c in kinds):
        return NOTHING
    at = _position(held, k, "")
    found = [_chosen(c, xs, at) for xs, c in zip(columns, kinds, strict=True) if c is not None]
    return noted(tree.unflatten(structures[0], found), at_places(held, at))


def at_places(held: Sequence[Any], at: Any) -> Iterator[tuple[Any, Any]]:
    """The items of `held`, with whether `at` is their place."""
    return ((x, _is(at, n)) for n, x in enumerate(held))


def noted(made: Any, options: Iterable[tuple[Any, Any]]) -> Any:
    """`made`, which is that of the options whose raw flag holds."""
    if not tree.is_leaf(made):
        choices = active.session().choices
        for x, found in [*choices.choices(made, [([y], flag) for y, flag in options])]:
            choices.note(x, found)
    return made


def _can_choose(kinds: Items | Options | None, count: int) -> bool:
    return kinds is None or count <= MOST_NUMBERS


def _is_known_unrolled(raw: Any) -> bool:
    """Whether the raw integer is computed from the number of the step of a short loop alone."""
    loop = active.in_loop()
    step = None if loop is None else loop.step_number
    if loop is None or step is None or step.bounds is None or step.bounds[1] >= UNROLLED:
        return False
    made: dict[Any, Eqn] = {v: e for e in loop.eqns for v in e.outvars}
    left = [raw]
    while left:
        v = left.pop()
        if isinstance(v, Value) and v is not step:
            if v not in made:
                return False
            left += [a for a in made[v].invars if type(a) is not Literal]
    return True


def _position(held: Sequence[Any], k: Any, what: str) -> Any:
    """The position `k` from the start, which is checked. Raises IndexError where there are no items."""
    message = f"{type(held).__name__} {what}index out of range"
    if not held:
        raise IndexError(message)
    at = numbers.to_int(k.read())
    return check_index(at, size=len(held), axis=0, failure=Raising(IndexError, message))


def _is(at: Any, n: int) -> Any:
    return ops.compare.eq(at, np.int64(n))


def _item(xs: list[Any], kind: Kind, at: Any) -> Box:
    """The number or array at a position that is inside."""
    if not kind.shape:
        raw = _nth([taken(x) for x in xs], kind.dtype, at)
        if kind.python is not None:
            return box(raw, weak=kind.python)
        return unsure(raw, _nth([box(python_of(x)) for x in xs], np.dtype(bool), at))
    if len(xs) > MOST_ARRAYS:  # it may only be looked at
        value = ops.gather.take(nested(xs, kind.dtype), at, 0, mode="promise_in_bounds")
        storages = {id(s): s for x in xs for s, _ in memories(x)}.values()
        out = chosen(value, [owner_of(s, None, kind.dtype, np.True_) for s in storages])
    else:
        value = xs[-1].read()
        for n in range(len(xs) - 2, -1, -1):
            value = ops.compare.select(_is(at, n), xs[n].read(), value)
        out = chosen(value, [o for n, x in enumerate(xs) for o in _owners(x, _is(at, n))])
    out.storage.rows = functools.reduce(listed_as, map(listed, xs))
    return out


def _nth(xs: list[Any], dtype: np.dtype, at: Any) -> Any:
    return ops.gather.take(nested(xs, dtype), at, 0, mode="promise_in_bounds")


def _owners(x: Box, here: Any) -> Iterator[Owner]:
    """The arrays that `x` may be, where the raw `here` holds."""
    dtype = x.aval.dtype
    yield owner_of(x.storage, x.chain, dtype, here, True, x.identity)
    if isinstance(x.storage, Either):
        for o in x.storage.alive():
            chain = None if o.chain is None else joined(o.chain, x.chain)
            view = o.identity if x.identity is None else x.identity
            yield owner_of(o.storage, chain, dtype, ops.compare.and_(here, o.holds()), True, view)
