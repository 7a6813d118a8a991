"""Looking for NaNs and infinities, with `config.debug_nans` and `config.debug_infs`.

Results of compiled programs are looked at as a whole. If they have one, the program runs again,
one operation at a time, to find the operation that made it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.config import config
from tracejit.errors import NonFiniteError
from tracejit.ir.avals import aval_of
from tracejit.ir.source import user_source
from tracejit.ir.values import Value

_SHOWN = 4  # elements of an operand that a message shows


class _State(threading.local):
    one_by_one: bool = False


_state = _State()


def one_by_one() -> bool:
    """Whether this thread is running a program again to find what made a NaN: nothing is compiled then."""
    return _state.one_by_one


@contextlib.contextmanager
def running_again() -> Iterator[None]:
    """Run a block one operation at a time."""
    before, _state.one_by_one = _state.one_by_one, True
    try:
        yield
    finally:
        _state.one_by_one = before


def found(x: Any) -> str | None:
    """What of the kinds that are looked for is in the array `x`, in words; None if nothing."""
    if isinstance(x, Value) or not dtypes.is_inexact(np.asarray(x).dtype):
        return None
    finite = np.isfinite(x)
    if finite.all():
        return None
    nans = int(np.count_nonzero(np.isnan(x))) if config.debug_nans else 0
    infs = int(np.count_nonzero(np.isinf(x))) if config.debug_infs else 0
    parts = [_count(nans, "NaN"), _count(infs, "infinit")]
    size = f" among {np.size(x)} elements" if np.ndim(x) else ""
    return " and ".join(filter(None, parts)) + size if nans or infs else None


def _count(n: int, what: str) -> str:
    if not n:
        return ""
    ends = ("y", "ies") if what == "infinit" else ("", "s")
    article = "an" if what == "infinit" else "a"
    return f"{article} {what}{ends[0]}" if n == 1 else f"{n} {what}{ends[1]}"


def evaluate(op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """`op.eval` of arrays. Raises NonFiniteError if the result has what is looked for."""
    with np.errstate(all="ignore"):
        out = op.eval(*args, **params)
    for x in out if op.multi else (out,):
        what = found(x)
        if what is not None:
            raise non_finite(op.name, what, args)
    return out


def non_finite(name: str, what: str, args: Sequence[Any]) -> NonFiniteError:
    """The error for an operation, with the user's line and a summary of the operands."""
    source = user_source()
    shown = "; ".join(f"operand {n} is {summary(a)}" for n, a in enumerate(args)) or "it has no operands"
    text = shown[0].upper() + shown[1:] + "."
    return NonFiniteError(op=name, found=what, operands=text, where=source.full() if source else None)


def summary(x: Any) -> str:
    """An operand in a few words: its type, its values or their range, how many are not finite."""
    a = np.asarray(x)
    aval = str(aval_of(x))
    if a.size <= _SHOWN:
        return f"{aval} {a.tolist()}"
    if dtypes.is_complex(a.dtype):
        return aval
    finite = a[np.isfinite(a)]
    text = f"{aval} from {finite.min()} to {finite.max()}" if finite.size else aval
    bad = a.size - finite.size
    return f"{text}, {bad} of {a.size} not finite" if bad else text
