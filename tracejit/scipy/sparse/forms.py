"""The table of traced forms, and what they need to know of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.ir.values import Value
from tracejit.ops.sparse.places import Unread
from tracejit.tracing import Box, to_raw

Form = Callable[..., Any]
#: Name of a function of `scipy.sparse._sparsetools` -> its form for traced elements: it takes the function and its
#: arguments.
FORMS: dict[str, Form] = {}


def forms(*names: str) -> Callable[[Form], Form]:
    """Decorator: the form of the functions of these names."""

    def register(form: Form) -> Form:
        FORMS.update(dict.fromkeys(names, form))
        return form

    return register


def is_traced(x: Any) -> bool:
    """Whether the value of `x` is not known."""
    return type(x) is Box and type(x.storage) is not Unread and isinstance(to_raw(x), Value)


def known(x: Any, what: str = "the structure of a sparse array") -> Any:
    """A known array, number or anything else, as SciPy takes it. Raises UnfollowedError where it is traced."""
    if type(x) is not Box:
        return x
    raw = to_raw(x)
    if isinstance(raw, Value):
        error = UnfollowedError(
            what=f"{what} that depends on traced values", reason="its elements decide sizes"
        )
        error.structure = (raw,)
        raise error
    return raw.item() if x.weak else raw


def _run(function: Any, args: list[Any]) -> Any:
    """SciPy's function on known arguments; what it writes goes into the boxes."""
    plain = [known(x) for x in args]
    copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in plain]
    out = function(*copies)
    write(args, copies)
    return out


def write(args: Sequence[Any], copies: Sequence[Any]) -> None:
    """Into the arrays among known arguments what a function has made of their copies."""
    for x, after in zip(args, copies, strict=True):
        if (
            isinstance(x, (Box, np.ndarray))
            and isinstance(after, np.ndarray)
            and not np.array_equal(known(x), after)
        ):
            if isinstance(x, np.ndarray) and not x.flags.writeable:
                what = "a write into what says where the elements of an argument that is a sparse array are"
                raise UnfollowedError(what=what, reason="its derivative has its elements in the same order")
            x[...] = after


def form_of(name: str, function: Any) -> Form:
    """What traced code calls in the place of SciPy's `function`."""
    form = FORMS.get(name)

    @functools.wraps(function, updated=())
    def call(*args: Any) -> Any:
        if not any(type(x) is Box for x in args):
            return function(*args)
        if not any(map(is_traced, args)):
            return _run(function, list(args))
        if form is None:
            what = f"scipy.sparse's {name} of traced elements"
            raise UnfollowedError(what=what, reason="it has no traced form")
        return form(function, *args)

    return call


def rows_of(indptr: Any) -> np.ndarray:
    """The row of each element of a matrix in compressed rows."""
    indptr = known(indptr)
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
