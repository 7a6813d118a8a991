"""`x.flags`: what a traced array is known to be in memory."""

from __future__ import annotations

from typing import Any

from tracejit.errors import UnknownMemberError
from tracejit.numpy.boxes.members import attribute, is_contiguous
from tracejit.tracing import Box


@attribute("flags")
class _Flags:
    """What code that asks for memory layout sees."""

    __slots__ = ("_x",)

    def __init__(self, x: Box) -> None:
        object.__setattr__(self, "_x", x)

    def _of(self, name: str) -> bool:
        x = self._x
        if name in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
            return is_contiguous(x, name[0])
        if name == "WRITEABLE" and not any(getattr(view, "warns", False) for view in x.chain):
            return not x.scalar and all(view.writable for view in x.chain)
        if name == "ALIGNED":
            return True
        if name == "OWNDATA" and x.storage.origin is None:
            return not x.chain and x.identity is None
        raise UnknownMemberError(name=f"flags.{name.lower()}", aval=str(x.aval))

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


#: What NumPy also calls its flags.
_LONG = {"contiguous": "C_CONTIGUOUS", "fortran": "F_CONTIGUOUS"}
_SHORT = {
    **dict.fromkeys(("C", "CONTIGUOUS"), "C_CONTIGUOUS"), **dict.fromkeys(("F", "FORTRAN"), "F_CONTIGUOUS"),
    "W": "WRITEABLE", "A": "ALIGNED", "O": "OWNDATA",
}  # fmt: skip
