"""One draw: a method of a generator with arguments, of which some are values of the program.

Which shapes and types a draw gives does not depend on the numbers drawn, so a dry call of another generator of the
same classes tells: with the static arguments, and with numbers that make sense in the place of those that only the
program knows.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.control.generators.states import OWN, RESTORE, save
from tracejit.errors import RandomStateError
from tracejit.interpreters.generators import Handle, copy_of, generator_at
from tracejit.ir.avals import Aval
from tracejit.records import record
from tracejit.tracing import untraced

#: What stands in the place of an operand: one of Python's numbers, one of NumPy's, an array.
PYTHON, SCALAR, ARRAY = "a number of Python's", "a number of NumPy's", "an array"
#: What `seed` gives: the program gets a number for it.
NOTHING = "nothing"
_NUMBERS = (bool, int, float, complex)
_DTYPES = {kind: np.dtype(kind) for kind in _NUMBERS}
#: Numbers that make sense for parameters of these names; 1 for all others.
_USUAL: dict[str, float] = {
    **dict.fromkeys(("low", "left", "start"), 0),
    **dict.fromkeys(("mode", "p"), 0.5),
    **dict.fromkeys(("high", "right", "stop", "nsample"), 2),
    **dict.fromkeys(("ngood", "nbad", "n", "colors"), 3),
    "a": 2,
}


@record(frozen=True)
class Static:
    """A value that is known while tracing. Equal ones have the same type too."""

    value: Any
    kind: type

    @staticmethod
    def of(x: Any) -> Static:
        return Static(x, type(x))


@record(frozen=True)
class Argument:
    """An argument by its parameter's name: what its leaves are, each a `Static` or the kind of an operand."""

    name: str
    structure: Any
    leaves: tuple[Any, ...]


@record(frozen=True)
class Result:
    """What a draw gives: the type of the array, and how Python sees it: as one of its own numbers, as one of NumPy's,
    as an array, or as a list of its own numbers."""

    aval: Aval
    kind: Any


@record(frozen=True)
class Draw:
    """A method with its arguments; `returns` names the one that is given back, if the method changes it in place.
    `checked`: the program itself has looked whether the operands make sense, which are whole numbers."""

    handle: Handle
    method: str
    arguments: tuple[Argument, ...]
    returns: str | None = None
    checked: bool = False

    @property
    def name(self) -> str:
        return f"{self.handle.generator.__name__}.{self.method}"

    @property
    def kinds(self) -> list[str]:
        """The kinds of the operands, in order."""
        return [x for a in self.arguments for x in a.leaves if type(x) is not Static]

    @property
    def static(self) -> dict[str, Any]:
        """The arguments in which no operand is."""
        nothing: Iterator[Any] = iter(())
        known = (a for a in self.arguments if all(type(x) is Static for x in a.leaves))
        return {a.name: _filled(a, nothing) for a in known}

    def bind(self, values: Sequence[Any]) -> inspect.BoundArguments:
        """The arguments with these values of the operands."""
        given = iter(values)
        signature = signature_of(self.handle.generator, self.method)
        return inspect.BoundArguments(signature, {a.name: _filled(a, given) for a in self.arguments})

    def _remember(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a draw without operands, which are the same each time."""
        bound = self.bind(())
        vars(self)["_usual"] = bound.args, bound.kwargs
        return bound.args, bound.kwargs

    def call(self, generator: Any, values: Sequence[Any]) -> Any:
        """What the method gives for these values of the operands."""
        bound = self.bind(values)
        with untraced():
            out = _method(generator, self.method)(*bound.args, **bound.kwargs)
            return out if self.returns is None else bound.arguments[self.returns]

    def __call__(self, handle: Any, operands: Sequence[Any], result: Result) -> np.ndarray:
        """Draw from the generator of a handle. Raises what the method raises, and RandomStateError if it gives another
        type than the dry call did."""
        generator = generator_at(handle)
        if operands or self.returns is not None:
            out = self.call(generator, [_as(k, x) for k, x in zip(self.kinds, operands, strict=True)])
        else:
            args, kwargs = vars(self).get("_usual") or self._remember()
            out = _method(generator, self.method)(*args, **kwargs)
        if result.kind == PYTHON and _DTYPES.get(type(out)) is result.aval.dtype:
            return out  # in a hurry: a native loop may come here often
        if result_of(out) != result:
            raise RandomStateError(function=self.name, problem=f"it gave {result_of(out)}, not {result}")
        return np.asarray(0 if result.kind == NOTHING else out)

    def dry(self, avals: Sequence[Any]) -> Result:
        """What it gives for operands of these types, or values where they are known. Raises RandomStateError if that
        can't be known."""
        names = [a.name for a in self.arguments for x in a.leaves if type(x) is not Static]
        samples = [
            _as(kind, self._sample(name, x) if isinstance(x, Aval) else x)
            for name, kind, x in zip(names, self.kinds, avals, strict=True)
        ]
        try:
            out = self.call(_another(self.handle), samples)
        except Exception as e:
            raise RandomStateError(
                function=self.name, problem=f"a call with such arguments raises {e!r}"
            ) from e
        found = result_of(out)
        if found is None:
            raise RandomStateError(function=self.name, problem=f"it gives a {type(out).__name__}")
        return found

    def _sample(self, name: str, aval: Aval) -> np.ndarray:
        if self.method == RESTORE:
            return save(_another(self.handle))
        usual = _USUAL.get(name, 1)
        if name in ("low", "high", "a", "b"):
            usual = self._bound(name, usual)
        if name == "cov":
            return np.broadcast_to(np.eye(aval.shape[-1]), aval.shape)
        if name in ("p", "pvals", "weights") and aval.shape:
            usual = 1 / max(aval.shape[-1], 1)
        return np.full(aval.shape, usual).astype(aval.dtype)

    def _bound(self, name: str, usual: float) -> float:
        """A number for one of two bounds, which fits the other one."""
        other = self.static.get({"low": "high", "high": "low", "a": "b", "b": "a"}[name])
        if name == "low" and other is None and "high" not in {a.name for a in self.arguments}:
            return 2  # it is the upper bound
        if not isinstance(other, (int, float)):
            return usual
        return other - 1 if name in ("low", "a") else other + 1


def _method(generator: Any, name: str) -> Any:
    return functools.partial(OWN[name], generator) if name in OWN else getattr(generator, name)


def _filled(a: Argument, given: Iterator[Any]) -> Any:
    leaves = [x.value if type(x) is Static else next(given) for x in a.leaves]
    return tree.unflatten(a.structure, leaves)


def _as(kind: str, x: Any) -> Any:
    """An operand as the method gets it. It may change arrays."""
    if kind == ARRAY:
        return np.array(x)
    return x.item() if kind == PYTHON else np.asarray(x)[()]


def result_of(out: Any) -> Result | None:
    """The type of what a draw gave; None if it is no array and no number."""
    if (
        type(out) is list
        and out
        and type(out[0]) in (int, float)
        and all(type(x) is type(out[0]) for x in out)
    ):
        made = np.asarray(out)
        return Result(Aval(made.shape, made.dtype), list) if made.dtype.kind in "if" else None
    if out is None:
        return Result(Aval((), np.dtype(np.int64)), NOTHING)
    if type(out) in _NUMBERS:
        made = np.asarray(out)
        return Result(Aval((), made.dtype), PYTHON) if made.dtype.kind in "bifc" else None
    if isinstance(out, (np.ndarray, np.generic)) and out.dtype.kind in "biufc":
        return Result(Aval(out.shape, out.dtype), ARRAY if isinstance(out, np.ndarray) else SCALAR)
    return None


@functools.cache
def signature_of(generator: type, method: str) -> inspect.Signature:
    """The signature of a method as its objects have it."""
    whole = inspect.signature(OWN[method] if method in OWN else getattr(generator, method))
    return whole.replace(parameters=list(whole.parameters.values())[1:])


@functools.lru_cache(maxsize=64)
def _another(handle: Handle) -> Any:
    """A generator of the same classes, for dry calls."""
    if handle.generator is random.Random:
        return random.Random(0)
    return handle.generator(handle.bits(0))


# ---------------------------------------------------------------- generators that are made while a program runs


class Made:
    """`make(*arguments)`, a new generator of NumPy's or Python's."""

    def __init__(self, make: Any, arguments: tuple[Argument, ...], keywords: tuple[str | None, ...]) -> None:
        self.make = make
        self.arguments = arguments
        self.keywords = keywords
        self.name = make.__name__

    @property
    def fails(self) -> bool:
        """Whether it depends on operands, which may be no seeds."""
        return any(type(x) is not Static for a in self.arguments for x in a.leaves)

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        kinds = [x for a in self.arguments for x in a.leaves if type(x) is not Static]
        given = iter([_as(kind, x) for kind, x in zip(kinds, operands, strict=True)])
        values = [_filled(a, given) for a in self.arguments]
        pairs = list(zip(self.keywords, values, strict=True))
        with untraced():
            return [
                self.make(*[x for k, x in pairs if k is None], **{k: x for k, x in pairs if k is not None})
            ]


class Copied:
    """Another generator like one that was seeded while tracing: it draws the same numbers at every run."""

    fails = False

    def __init__(self, x: Any) -> None:
        self.generator = copy_of(x)
        self.name = type(x).__name__

    def __call__(self, _: Sequence[Any] = ()) -> list[Any]:
        return [copy_of(self.generator)]


class Spawned:
    """`generator.spawn(count)`."""

    fails = False
    name = "Generator.spawn"

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        return generator_at(operands[0]).spawn(self.count)
