"""Python's module `statistics` for traced values.

What it computes exactly, with fractions, are sums that are correctly rounded here (`numpy.exact`). Its other functions
are Python code over sums, which is followed as the user's is, and so is `NormalDist`. Results are Python's numbers, or
NumPy's where those of the data are. What has no form, as weights, is called as it is, and refused.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes, tree
from tracejit import numpy as tnp
from tracejit.numpy import exact
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import has_box
from tracejit.tracing import Box, box, call_user, to_raw

_F64 = dtypes.float64
#: Sizes of integers whose sums, and sums of squares, doubles and 64 bits hold; and of data whose pairs are compared.
_INTEGERS, _SQUARED, _COUNT, _PAIRS = 2**32, 2**12, 2**14, 512


class Data(NamedTuple):
    """Numbers as an array; `kinds`: what they are to Python, of "int", "float" and "numpy"."""

    x: Any
    kinds: frozenset[str]

    @property
    def n(self) -> int:
        return self.x.shape[0]

    @property
    def floats(self) -> Any:
        return self.x.astype(_F64)

    def number(self, x: Any) -> Any:
        """A result of the type that Python makes of those of the data."""
        return box(to_raw(x), weak="numpy" not in self.kinds)

    @property
    def whole(self) -> bool:
        return self.kinds == {"int"}


def _kind(x: Any) -> str | None:
    if type(x) is Box:
        if is_unsure(x) or x.aval.shape:
            return None
        if x.weak:
            return {"i": "int", "f": "float"}.get(x.aval.dtype.kind)
        return "numpy" if x.scalar and x.aval.dtype == _F64 else None
    return {int: "int", float: "float", np.float64: "numpy"}.get(type(x))


def _data(values: Any) -> Data | None:
    """None where Python would make something else of it, or nobody knows how many there are."""
    if type(values) is Box:
        known = len(values.aval.shape) == 1 and values.aval.is_static and values.aval.dtype == _F64
        return Data(values, frozenset(("numpy",))) if known and values.aval.shape[0] else None
    if type(values) not in (list, tuple) or not values:
        return None
    kinds = frozenset(map(_kind, values))
    if None in kinds:
        return None
    whole = kinds == {"int"}
    if any(type(v) is int and abs(v) > _INTEGERS for v in values):
        return None
    boxes = [v for v in values if type(v) is Box and v.aval.dtype.kind == "i"]
    for b in boxes:
        leave_if(to_raw(tnp.abs(b) > _INTEGERS), "an integer that is large")
    return Data(tnp.array(list(values), int if whole else float), kinds)  # type: ignore[arg-type]


def _form(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what `function` gives of data, or None where there is no form for them."""

    signature = inspect.signature(function)

    def decorate(form: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(data: Any, *args: Any, **kwargs: Any) -> Any:
            if type(data) in (types.GeneratorType, map, zip, filter):
                data = list(data)
            if not has_box((data,)) and not any(type(x) is Box for x in tree.leaves((args, kwargs))):
                return plain(function, (data, *args), kwargs)
            try:
                given = signature.bind(data, *args, **kwargs)
            except TypeError:
                return plain(function, (data, *args), kwargs)  # raises, and names the function
            found = None if "weights" in given.arguments else _data(data)
            if found is not None and found.n < getattr(form, "least", 0):
                return plain(function, ([0.0] * found.n, *args), kwargs)  # raises
            out = None if found is None else form(found, *given.args[1:])
            return _followed(function)(data, *args, **kwargs) if out is None else out

        return call

    return decorate


def _ratio(d: Data, over: Any, under: int) -> Any:
    """A fraction of whole numbers, as Python gives it: an integer where it is one."""
    over = box(to_raw(over), weak=True)
    if over % under == 0:  # type: ignore[operator]
        return over // under  # type: ignore[operator]
    leave_if(to_raw(tnp.abs(over) >= 2**53), "a quotient of integers beyond 53 bits")
    return over / under  # type: ignore[operator]


def _mean(d: Data) -> Any:
    if d.whole:
        return _ratio(d, tnp.sum(d.x), d.n)
    return d.number(exact.mean(d.floats))


def _fsum(x: Any) -> Any:
    return box(to_raw(exact.fsum(x)), weak=True)


def _fmean(d: Data) -> Any:
    return _fsum(d.floats) / d.n


def _spread(ddof: int, rooted: bool) -> Callable[..., Any]:
    def form(d: Data, center: Any = None) -> Any:
        if center is not None:
            return _given(d, center, ddof, rooted)
        if rooted:
            return box(to_raw(exact.deviation(d.floats, ddof)), weak=True)
        if not d.whole:
            return d.number(exact.variance(d.floats, ddof))
        if d.n > _COUNT:
            return None
        leave_if(to_raw(tnp.any(tnp.abs(d.x) > _SQUARED)), "squares of large integers")
        sums = tnp.sum(d.x)
        return _ratio(d, d.n * tnp.sum(d.x * d.x) - sums * sums, d.n * (d.n - ddof))

    form.least = 1 + ddof  # type: ignore[attr-defined] - of fewer numbers there is none
    return form


def _given(d: Data, center: Any, ddof: int, rooted: bool) -> Any:
    """With a mean that the caller knows: distances are rounded."""
    kind = _kind(center)
    if kind not in ("float", "numpy") or d.whole:
        return None
    y = d.floats - center
    out = exact.spread(y * y, ddof, rooted)
    weak = rooted or (kind != "numpy" and "numpy" not in d.kinds)
    return box(to_raw(out), weak=weak)


def _harmonic_mean(d: Data) -> Any:
    if d.n == 1:
        return None
    leave_if(to_raw(tnp.any(d.x <= 0)), "the harmonic mean of zeros or negative numbers")
    return d.number(exact.reciprocal_mean(1.0 / d.floats))


def _geometric_mean(d: Data) -> Any:
    leave_if(to_raw(tnp.any(d.x <= 0)), "the geometric mean of zeros or negative numbers")
    logs = _fsum(tnp.log(d.floats)) / d.n
    return box(to_raw(tnp.exp(logs)), weak=True)


def _mean_and_deviation(d: Data) -> Any:
    """Of which `NormalDist.from_samples` is made."""
    if d.n < 2:
        return None
    x = d.floats
    return tuple(box(to_raw(v), weak=True) for v in (exact.mean(x), exact.deviation(x, 1)))


def _mode(d: Data) -> Any:
    if d.n > _PAIRS or len(d.kinds) > 1:
        return None
    leave_if(to_raw(tnp.any(d.x != d.x)), "the mode of what is not a number")
    counts = tnp.sum(d.x[:, None] == d.x, axis=1)
    return d.number(d.x[tnp.argmax(counts)])


@functools.cache
def _followed(function: Any, code: Any = None) -> Callable[..., Any]:
    """`function` as traced code gets it: its own code, or that of the function `code`."""
    function, called = code or function, function
    own = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    own.__kwdefaults__, own.__module__ = function.__kwdefaults__, function.__module__
    own.__qualname__ = function.__qualname__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(type(x) is Box for x in tree.leaves((args, kwargs))):
            return plain(called, args, kwargs)
        return call_user(own, *args, **kwargs)

    return call


_FORMS: dict[str, Callable[..., Any]] = {
    "mean": _mean, "fmean": _fmean, "harmonic_mean": _harmonic_mean, "geometric_mean": _geometric_mean, "mode": _mode,
    "stdev": _spread(1, True), "pstdev": _spread(0, True), "variance": _spread(1, False),
    "pvariance": _spread(0, False), "_mean_stdev": _mean_and_deviation,
}  # fmt: skip
_FOLLOWED = (
    *("median", "median_low", "median_high", "quantiles"),
    *("covariance", "correlation", "linear_regression"),
)
#: The inverse of the normal distribution function, which is written twice: in C and in Python.
_QUANTILE = "_normal_dist_inv_cdf"


def _written_in_python(module: Any, name: str) -> Any:
    """The function `name` of the module that its file defines, and that one of C replaces; None without one."""
    loader: Any = getattr(module, "__loader__", None)
    code = loader.get_code(module.__name__) if hasattr(loader, "get_code") else None
    consts = () if code is None else code.co_consts
    found = next((c for c in consts if isinstance(c, types.CodeType) and c.co_name == name), None)
    return None if found is None else types.FunctionType(found, vars(module), name)


def entries(module: Any) -> dict[Any, Any]:
    """What enters the table of functions."""
    made = {getattr(module, n): _form(getattr(module, n))(f) for n, f in _FORMS.items() if hasattr(module, n)}
    made |= {getattr(module, n): _followed(getattr(module, n)) for n in _FOLLOWED}
    own = _written_in_python(module, _QUANTILE)
    if own is not None:
        made[getattr(module, _QUANTILE)] = _followed(getattr(module, _QUANTILE), own)
    return made
