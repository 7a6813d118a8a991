"""The methods of generators as traced code calls them.

Most are recorded as they are called. Those with a location or a scale are recorded as the draw of standard numbers and
NumPy's formula: what they are differentiated by, and what is native code. Shuffles and choices are draws of positions,
by which the program then takes the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import ops, tree
from tracejit.control.generators.draws import PYTHON, SCALAR, Spawned
from tracejit.control.generators.ops import make_op
from tracejit.frontend.drawing import picking, sources, states
from tracejit.frontend.drawing.arguments import bound, drawn, is_known, limits, type_of
from tracejit.frontend.drawing.sources import Source
from tracejit.numpy.boxes.extents import known
from tracejit.ops.indexing.index_check import Raising, fail_where
from tracejit.tracing import Box, bind, box, new_array, to_raw

Method = Callable[..., Any]

#: Methods that change or show more than the numbers to come.
_OTHERS = frozenset(("bytes", "randbytes", "random_integers"))
_F64 = np.dtype(np.float64)
_TOO_WIDE = "high - low range exceeds valid bounds"


class Call:
    """A method of what stands for a generator."""

    def __init__(self, source: Source, name: str) -> None:
        self.__name__ = name
        self._source = source

    @property
    def __self__(self) -> Any:
        raise self._source.refuse(self.__name__, "its `__self__` is asked for")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        source, name = self._source, self.__name__
        if name in _OTHERS:
            raise source.refuse(name, "it shows or changes more than the numbers to come")
        if name in _VARIADIC:
            given = {str(n): x for n, x in enumerate(args)}
        else:
            given = bound(source, name, args, kwargs)
        if given.get("out") is not None:
            return _into(source, name, given)
        if source.known is not None and sources.stage() is source.home and all(map(is_known, given.values())):
            return _known(source, name, args, kwargs)
        special = _SPECIAL.get((source.classes.generator.__name__, name))
        if special is None:
            return drawn(source, name, given)
        return special(source, *args) if name in _VARIADIC else special(source, **given)


def _into(source: Source, name: str, given: dict[str, Any]) -> Any:
    """A draw into an array that is there, which is given back."""
    out, size = given["out"], given.get("size")
    whole = type(out) is Box and not out.chain and out.storage.layout is None  # NumPy wants contiguous memory
    fits = whole and out.aval.is_static and out.aval.dtype == np.dtype(given.get("dtype", _F64))
    if not fits or name == "permuted" or (size is not None and size != out.aval.shape):
        raise source.refuse(name, "`out` is another kind of array")
    rest = {k: x for k, x in given.items() if k != "out"}
    out[...] = drawn(source, name, {**rest, "size": out.aval.shape})
    return out


def _known(source: Source, name: str, args: Any, kwargs: Any) -> Any:
    """What a generator draws whose numbers are known. Arrays may be assigned traced values later."""
    given, keywords = tree.map(_value, (args, kwargs))
    out = getattr(source.known, name)(*given, **keywords)
    for before, now in zip((*args, *kwargs.values()), (*given, *keywords.values()), strict=True):
        if name == "shuffle" and type(before) is Box:
            before[...] = now
        elif name == "shuffle" and type(before) is list:
            before[:] = now
    if name == "spawn":
        return [sources.seeded(source.session, x) for x in out]
    return new_array(out) if type(out) is np.ndarray and out.dtype.kind in "biufc" else out


def _value(x: Any) -> Any:
    """The value of a box, which is known, as an array of its own or a number of the same kind."""
    if type(x) is not Box:
        return x
    value = np.array(known(x.read()))
    if x.weak and not x.aval.shape:
        return value.item()
    return value[()] if x.scalar else value


def find(source: Source, name: str) -> Any:
    """The attribute `name` of what stands for a generator."""
    cls = source.classes.generator
    if name == "bit_generator" and cls is np.random.Generator:
        return states.bits_of(source)
    if name[:1] == "_" or name == "VERSION" or not hasattr(cls, name):
        if not hasattr(cls, name) and name[:1] != "_":
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        raise source.refuse(name, "it shows or changes more than the numbers to come")
    return Call(source, name)


sources.METHODS.find = find


# ---------------------------------------------------------------- locations and scales


def _double(x: Any) -> Any:
    """A parameter in double precision, as NumPy takes it."""
    if tnp.iscomplexobj(x):
        raise TypeError("a parameter is a real number")
    return tnp.asarray(x).astype(_F64) if isinstance(x, (Box, np.ndarray, list, tuple)) else np.float64(x)


def _standard(source: Source, method: str, size: Any, params: dict[str, Any]) -> Any:
    return drawn(source, method, params if size is None else {**params, "size": size})


def _as_drawn(out: Any, kind: Any) -> Any:
    """A number of the same kind as the method gives."""
    raw = to_raw(out)
    return box(raw, weak=True) if kind == PYTHON else box(raw) if kind == SCALAR else new_array(raw)


def _by_formula(
    source: Source,
    name: str,
    given: dict[str, Any],
    standard: tuple[str, dict[str, Any]],
    formula: Callable[[Any], Any],
) -> Any:
    """`formula` of standard numbers, by a method and its parameters, in the place of the numbers of method `name`."""
    result = type_of(source, name, given)
    z = _standard(source, standard[0], None if result.kind == PYTHON else result.aval.shape, standard[1])
    return _as_drawn(formula(z), result.kind)


def _refuse_negative(scale: Any, name: str = "scale") -> None:
    """Fail where NumPy raises, of a traced parameter."""
    if not is_known(scale):
        bad = tnp.logical_and(tnp.signbit(scale), tnp.logical_not(tnp.isnan(scale)))
        fail_where(to_raw(bad), Raising(ValueError, f"{name} < 0"))


def _located(name: str, standard: str, **params: Any) -> Method:
    """The method `name` with numbers `loc + scale * z`."""

    def method(source: Source, loc: Any = 0.0, scale: Any = 1.0, **rest: Any) -> Any:
        loc, scale = _double(loc), _double(scale)
        given = {"loc": loc, "scale": scale, **rest}
        _refuse_negative(scale)
        return _by_formula(source, name, given, (standard, params), lambda z: loc + scale * _double(z))

    return method


def _scaled(name: str, standard: str, *before: str, **params: Any) -> Method:
    """The method `name` with numbers `scale * z`; `before`: other parameters, which the standard numbers have too."""

    def method(source: Source, scale: Any = 1.0, **rest: Any) -> Any:
        scale = _double(scale)
        others = {k: rest[k] for k in before if k in rest}
        _refuse_negative(scale)
        given, standards = {**rest, "scale": scale}, (standard, {**others, **params})
        return _by_formula(source, name, given, standards, lambda z: scale * _double(z))

    return method


def _traced_only(name: str, method: Method) -> Method:
    """The formula of a method where its parameters are traced; as it is otherwise."""

    def either(source: Source, **given: Any) -> Any:
        return drawn(source, name, given) if all(map(is_known, given.values())) else method(source, **given)

    return either


def _uniform(signed: bool) -> Method:
    def uniform(source: Source, low: Any = 0.0, high: Any = 1.0, **rest: Any) -> Any:
        low, high = _double(low), _double(high)
        given = {"low": low, "high": high, **rest}
        span = high - low
        if not is_known(span):
            fail_where(to_raw(tnp.logical_not(tnp.isfinite(span))), Raising(OverflowError, _TOO_WIDE))
            if signed:
                _refuse_negative(span, "high - low")
        return _by_formula(source, "uniform", given, ("random", {}), lambda z: low + span * _double(z))

    return uniform


def _python_uniform(source: Source, a: Any, b: Any) -> Any:
    return a + (b - a) * drawn(source, "random", {})


def _python_gauss(source: Source, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    return mu + drawn(source, "gauss", {}) * sigma


def _python_normal(source: Source, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    return mu + drawn(source, "normalvariate", {"mu": 0.0, "sigma": 1.0}) * sigma


# ---------------------------------------------------------------- integers


def _integers(name: str) -> Method:
    def method(source: Source, **given: Any) -> Any:
        low, high = given["low"], given.get("high")
        low, high = (0, low) if high is None else (low, high)
        end = given.get("endpoint", False)
        numbers = [x for x in (low, high) if type(x) is Box]
        if not all(_is_whole(x) for x in numbers) or type(end) is not bool or "dtype" in given:
            return drawn(source, name, given, range=None)
        _check_order(low, high, end)
        ranges = limits(low), limits(high)
        inside = (ranges[0][0], ranges[1][1] - (not end)) if ranges[0] and ranges[1] else None
        return drawn(source, name, given, checked=True, range=inside if given.get("size") is None else None)

    return method


def _is_whole(x: Box) -> bool:
    return not x.aval.shape and (x.weak is True or x.scalar) and x.aval.dtype == np.int64


def _check_order(low: Any, high: Any, end: bool) -> None:
    """Fail where NumPy raises, of traced bounds."""
    ranges = limits(low), limits(high)
    if is_known((low, high)) or (ranges[0] and ranges[1] and ranges[0][1] < ranges[1][0] + end):
        return
    wrong = ops.compare.gt if end else ops.compare.ge
    bad = wrong(*(np.int64(x) if type(x) is int else to_raw(x) for x in (low, high)))
    text = (
        f"high {'<' if end else '<='} 0"
        if type(low) is int and low == 0
        else f"low {'>' if end else '>='} high"
    )
    fail_where(bad, Raising(ValueError, text))


def _randint(source: Source, a: Any, b: Any) -> Any:
    ranges = limits(a), limits(b)
    inside = (ranges[0][0], ranges[1][1]) if ranges[0] and ranges[1] else None
    return drawn(source, "randint", {"a": a, "b": b}, range=inside)


# ---------------------------------------------------------------- others


def _shaped(standard: str) -> Method:
    """`rand` and `randn`: the sizes are the arguments."""
    return lambda source, *sizes: drawn(source, standard, {"size": sizes} if sizes else {})


def _spawn(source: Source, n_children: Any) -> Any:
    if type(n_children) is not int:
        raise source.refuse("spawn", "the number of children is not known")
    raws = bind(make_op, source.handle(), make=Spawned(n_children), count=n_children)
    return [sources.made(source.session, source.classes, raw) for raw in raws]


_VARIADIC = frozenset(("rand", "randn"))
_STANDARD = {"loc": 0.0, "scale": 1.0}
_SPECIAL: dict[tuple[str, str], Method] = {
    ("Generator", "normal"): _located("normal", "standard_normal"),
    ("Generator", "exponential"): _scaled("exponential", "standard_exponential"),
    ("Generator", "uniform"): _uniform(True),
    ("Generator", "integers"): _integers("integers"),
    ("Generator", "gamma"): _traced_only("gamma", _scaled("gamma", "standard_gamma", "shape")),
    ("Generator", "rayleigh"): _traced_only("rayleigh", _scaled("rayleigh", "rayleigh", scale=1.0)),
    **{
        ("Generator", n): _traced_only(n, _located(n, n, **_STANDARD))
        for n in ("laplace", "logistic", "gumbel")
    },
    ("Generator", "spawn"): _spawn,
    ("RandomState", "normal"): _located("normal", "standard_normal"),
    ("RandomState", "exponential"): _scaled("exponential", "standard_exponential"),
    ("RandomState", "uniform"): _uniform(False),
    ("RandomState", "randint"): _integers("randint"),
    ("RandomState", "rand"): _shaped("random_sample"),
    ("RandomState", "randn"): _shaped("standard_normal"),
    ("Random", "uniform"): _python_uniform,
    ("Random", "gauss"): _python_gauss,
    ("Random", "normalvariate"): _traced_only("normalvariate", _python_normal),
    ("Random", "randint"): _randint,
    **picking.METHODS,
    **states.METHODS,
}
