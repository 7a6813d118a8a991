"""`x.flags`: what a traced array is known to be in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.errors import UnfollowedError, UnknownMemberError
from tracejit.numpy.boxes.members import attribute, is_contiguous
from tracejit.numpy.boxes.sharing.either import Chain, Either
from tracejit.numpy.boxes.sharing.references import row_at
from tracejit.numpy.boxes.views import joined
from tracejit.numpy.operands import shape_of
from tracejit.tracing import Box, Storage


@attribute("flags")
class _Flags:
    """What code that asks for memory layout sees."""

    __slots__ = ("_x",)

    def __init__(self, x: Box) -> None:
        object.__setattr__(self, "_x", x)

    def _of(self, name: str) -> bool:
        x = self._x
        if name in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
            if not all(_is_known(name[0], storage, chain) for storage, chain, _ in _ways(x)):
                raise UnknownMemberError(name=f"flags.{name.lower()}", aval=str(x.aval))
            return is_contiguous(x, name[0])
        if name == "ALIGNED":
            return True
        found = {self._one_of(name, storage, chain, identity) for storage, chain, identity in _ways(x)}
        if len(found) == 1 and None not in found:
            return found.pop()
        raise UnknownMemberError(name=f"flags.{name.lower()}", aval=str(x.aval))

    def _one_of(self, name: str, storage: Storage, chain: Chain | None, identity: Any) -> Any:
        """The flag if the array is `chain` of `storage`; None if it is not known."""
        if name == "WRITEABLE" and chain is not None and not any(getattr(v, "warns", False) for v in chain):
            return not self._x.scalar and all(v.writable for v in chain)
        return _owns(storage, chain, identity) if name == "OWNDATA" else None

    def __getattr__(self, name: str) -> bool:
        return self._of(_LONG.get(name, name.upper()))

    def __getitem__(self, name: str) -> bool:
        return self._of(_SHORT.get(name, name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise UnknownMemberError(name=f"flags.{name} = ...", aval=str(self._x.aval))

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def _refuse(self, *_: object) -> Any:
        raise UnknownMemberError(name="flags", aval=str(self._x.aval))

    __eq__ = __hash__ = __repr__ = __str__ = _refuse


@attribute("base")
def base(x: Box) -> Any:
    """None for an array of its own. Which one an argument or a view is part of is not known."""
    if not all(_owns(*way) for way in _ways(x)):
        raise UnfollowedError(what="`.base` of an array", reason="it shows Python's own objects")
    return None


def _owns(storage: Storage, chain: Chain | None, identity: Any) -> bool | None:
    """Whether an array that is `chain` of `storage` owns its memory; None if it is not known."""
    if chain is None or storage.origin is not None or row_at(storage, chain) is not None:
        return None
    return not chain and identity is None


def _ways(x: Box) -> Iterator[tuple[Storage, Chain | None, Any]]:
    """What the array may be: an array of its own, or parts of others of which branches and loops choose."""
    yield x.storage, x.chain, x.identity
    if isinstance(x.storage, Either):
        for o in x.storage.alive():
            chain = None if o.chain is None else joined(o.chain, x.chain)
            yield o.storage, chain, x.identity or o.identity


def _is_known(order: str, storage: Storage, chain: Chain | None) -> bool:
    """Whether an array's extents leave no question how it lies: all are known, or are those of a new one."""
    if chain is None or all(
        type(d) is int for d in (*shape_of(storage.held), *shape_of(storage.read(chain)))
    ):
        return True
    return len(shape_of(storage.held)) == 1 or (order == "C" and not chain)


#: What NumPy also calls its flags.
_LONG = {"contiguous": "C_CONTIGUOUS", "fortran": "F_CONTIGUOUS"}
_SHORT = {
    **dict.fromkeys(("C", "CONTIGUOUS"), "C_CONTIGUOUS"), **dict.fromkeys(("F", "FORTRAN"), "F_CONTIGUOUS"),
    "W": "WRITEABLE", "A": "ALIGNED", "O": "OWNDATA",
}  # fmt: skip
