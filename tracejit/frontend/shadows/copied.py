"""Copies of shadows (see objects.py): objects of the user's class that hold the stand-ins."""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from tracejit.frontend.journal import GONE
from tracejit.frontend.shadows.attributes import read
from tracejit.frontend.shadows.behind import State, find, instance_dict, slots, state_of

#: What a class may define that a copy is made by, or that makes its objects.
_MAKING = (
    "__reduce_ex__",
    "__reduce__",
    "__getstate__",
    "__setstate__",
    "__getnewargs__",
    "__getnewargs_ex__",
    "__new__",
)


def copy_of(self: Any) -> Any:
    """`copy.copy`: an object of the user's class that holds the stand-ins."""
    state = state_of(self)
    original = state.original
    _refuse_own_copies(state, type(original))
    new = object.__new__(type(original))
    for name in _attributes(self):
        object.__setattr__(new, name, read(self, name))
    return new


def _refuse_own_copies(state: State, cls: type) -> None:
    """Refuse to copy an object whose class says how, or makes its objects, in its own way."""
    if cls in copyreg.dispatch_table:
        state.session.refuse(
            f"a copy of {state.node}", state.original, "`copyreg` says how its class is copied"
        )
    for name in _MAKING:
        owner, method = find(cls.__mro__, name)
        if owner not in (object, None) and getattr(method, "__module__", None) != "dataclasses":
            what = f"a copy of {state.node}"
            state.session.refuse(what, state.original, f"its class defines `{name}`")


def _attributes(self: Any) -> list[str]:
    """The names of all that the object itself has now."""
    state = state_of(self)
    held = instance_dict(state.original) if state.names is None else state.names
    names = dict.fromkeys([*held, *slots(type(state.original)), *state.writes])
    return [n for n in names if state.writes.get(n) is not GONE]


def deep_copy_of(self: Any, memo: dict[int, Any]) -> Any:
    new = memo[id(self)] = copy_of(self)
    for name in (*instance_dict(new), *slots(type(new))):
        object.__setattr__(new, name, copy.deepcopy(getattr(new, name), memo))
    return new
