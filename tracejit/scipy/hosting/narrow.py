"""Numbers of few bits: each function of SciPy's decides in which precision it computes with truth values, small
integers and single precision, and some take them for something else (sums of truth values, which are truth values).

SciPy is asked with the values of the call that is traced. Where its result is of another type than the traced form's,
or is another one, the call is refused, so that Python does it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.errors import ArgumentError
from tracejit.ir.jaxpr import Var
from tracejit.numpy.assumed import value_now
from tracejit.numpy.operands import shape_of
from tracejit.tracing import Box, to_raw

#: Types with which SciPy's functions compute as the traced forms do.
_WIDE = frozenset(map(np.dtype, (np.float64, np.complex128, np.int64)))
_TOLERANCE: Any = {"rtol": 1e-3, "atol": 1e-5, "equal_nan": True}


def check(scipys: Callable[..., Any], args: Any, kwargs: dict[str, Any], out: Any) -> None:
    """Raises ArgumentError if `out`, of the traced form, is another result than SciPy's, as far as that is seen now."""
    raws = [to_raw(x) for x in tree.leaves((args, kwargs)) if type(x) is Box and x.aval.dtype not in _WIDE]
    if not raws or not all(type(raw) is Var for raw in raws):
        return
    values = {id(x): value_now(to_raw(x)) for x in tree.leaves((args, kwargs)) if type(x) is Box}
    found = _asked(scipys, args, kwargs, lambda x: values[id(x)])
    kinds = {str(raw.aval.dtype) for raw in raws}
    problem = (
        f"SciPy computes otherwise with {' and '.join(sorted(kinds))}; x.astype(float) has a traced form"
    )
    if found is None:
        small = any(raw.aval.dtype.kind in "biu" and raw.aval.dtype.itemsize < 4 for raw in raws)
        if small or all(value is not None for value in values.values()):
            raise ArgumentError(name=scipys.__name__, problem=problem)
        return
    for ours, theirs in zip(_arrays(out), _arrays(found), strict=False):
        if not _fits(ours, theirs):
            raise ArgumentError(name=scipys.__name__, problem=problem)
    if any(raw.aval.dtype.kind in "biu" for raw in raws) and _outgrows(scipys, args, kwargs):
        raise ArgumentError(name=scipys.__name__, problem=problem)


def _outgrows(scipys: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether SciPy's function computes a result of a wider type in that of its integers, which large ones outgrow."""
    narrow, wide = (
        _asked(scipys, args, kwargs, lambda x, wide=wide: _large(x, wide)) for wide in (False, True)
    )
    pairs = zip(_arrays(narrow), _arrays(wide), strict=False)
    return not all(
        np.allclose(x, y, **_TOLERANCE)
        for x, y in pairs
        if isinstance(x, (np.ndarray, np.generic)) and isinstance(y, (np.ndarray, np.generic))
        if x.dtype == y.dtype and x.shape == y.shape and dtypes.holds_numbers(x.dtype)
    )


def _large(x: Box, wide: bool) -> Any:
    """Integers of the whole range of an operand's type, in it or as wide ones; the values of other operands."""
    dtype = x.aval.dtype
    if dtype.kind not in "iu" or x.weak or dtype in _WIDE:
        return value_now(to_raw(x))
    limits = np.iinfo(dtype)
    shape = tuple(d if type(d) is int else 1 for d in shape_of(to_raw(x)))
    made = np.random.default_rng(0).integers(int(limits.min), min(int(limits.max), 1 << 52), shape)
    return made if wide else made.astype(dtype)


def _asked(
    scipys: Callable[..., Any], args: Any, kwargs: dict[str, Any], value_of: Callable[[Box], Any]
) -> Any:
    """What SciPy gives for such values, or where they are not known for ones; None if it raises."""

    def given(x: Any) -> Any:
        if type(x) is not Box:
            return x
        known = value_of(x)
        if known is None:
            known = np.ones(tuple(d if type(d) is int else 1 for d in shape_of(to_raw(x))), x.aval.dtype)
        made = np.array(known)[()]
        return made.item() if x.weak and not made.shape else made

    state = np.random.get_state()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            places, names = tree.map(given, (args, kwargs))
            return scipys(*places, **names)
        except Exception:  # Python raises it, or it is one of such values only
            return None
        finally:
            np.random.set_state(state)


def _arrays(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (tuple, list)) else [x]


def _fits(ours: Any, theirs: Any) -> bool:
    """Whether a result is of SciPy's type, and near to SciPy's as far as its values are known."""
    if not isinstance(theirs, (np.ndarray, np.generic)) or not (
        type(ours) is Box or isinstance(ours, (np.ndarray, np.generic))
    ):
        return True
    if np.dtype(ours.dtype) != theirs.dtype:
        return False
    now: Any = value_now(to_raw(ours)) if type(ours) is Box else ours
    if now is None or now.shape != theirs.shape or not dtypes.holds_numbers(theirs.dtype):
        return True
    return bool(np.allclose(now, theirs, **_TOLERANCE))
