"""Results of solvers for traced values: SciPy's `OptimizeResult`, with all of its fields, or with those that are known.

The message of SciPy's solver is made when the program runs: what the host gives is the place of a text in a list of
this process. A result with all fields that SciPy has is a tree, and may leave the program. Of one with some fields the
others are refused, whatever asks for them.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import SolverOptionError
from tracejit.ops._lazy import scipy_module
from tracejit.tracing import box, caller, to_raw

_TEXTS: list[str] = [""]
_lock = threading.Lock()


def place_of(text: str) -> int:
    """The place of a text in this process's list, at which it is from now on."""
    with _lock:
        if text not in _TEXTS:
            _TEXTS.append(text)
        return _TEXTS.index(text)


def text_at(place: int) -> str:
    """The text at a place."""
    return _TEXTS[place] if 0 <= place < len(_TEXTS) else ""


def message(place: Any) -> Any:
    """The text at a traced place."""
    return caller.text_of(text_at, to_raw(place))


def message_among(texts: tuple[str, ...], code: Any) -> Any:
    """The one of `texts` that the traced `code` says."""
    return caller.text_of(_among(texts), to_raw(code))


@functools.cache
def _among(texts: tuple[str, ...]) -> Any:
    return texts.__getitem__


def python(x: Any) -> Any:
    """A number that is Python's in SciPy's result."""
    return box(to_raw(x), True)


def complete(name: str = "OptimizeResult", **fields: Any) -> Any:
    """SciPy's result of class `name`, with all of its fields in SciPy's order."""
    made = _registered(name).__new__(_registered(name))
    dict.update(made, fields)
    return made


@functools.cache
def _registered(name: str) -> Any:
    """SciPy's class, as a tree of its numbers and arrays."""
    cls: Any = getattr(scipy_module("optimize"), name)

    def to_iter(r: Any) -> tuple[list[Any], Any]:
        fixed = {k: v for k, v in r.items() if type(v) in (str, bool, type(None))}
        held = [k for k in r if k not in fixed]
        return [r[k] for k in held], (tuple(r), tuple(held), tuple(fixed.items()))

    def from_iter(aux: Any, children: Any) -> Any:
        values = {**dict(zip(aux[1], children, strict=True)), **dict(aux[2])}
        made = cls.__new__(cls)
        dict.update(made, {k: values[k] for k in aux[0]})
        return made

    tree.register(cls, to_iter, from_iter)
    return cls


def partial(function: str, **fields: Any) -> Any:
    """SciPy's result of `function`, of which the program has these fields only."""
    made = _partial()()
    dict.update(made, fields)
    made.of = function
    return made


@functools.cache
def _partial() -> Any:
    theirs: Any = _registered("OptimizeResult")

    class OptimizeResult(theirs):
        """A result some of whose fields are not known to the program."""

        of: str
        __slots__ = ("of",)
        __setattr__ = object.__setattr__

        def _refuse(self, what: str) -> Any:
            known = ", ".join(dict.keys(self))
            raise SolverOptionError(function=self.of, problem=f"{what} of its result", remedy=f"use {known}")

        def __getitem__(self, key: Any) -> Any:
            return dict.__getitem__(self, key) if dict.__contains__(self, key) else self._refuse(f"`{key}`")

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return self[name]

        def get(self, key: Any, default: Any = None) -> Any:
            return self[key]

        def __contains__(self, key: Any) -> bool:
            return dict.__contains__(self, key) or self._refuse(f"`{key}`")

        def _all(self, *_: Any) -> Any:
            self._refuse("all fields")

        keys = values = items = __iter__ = __len__ = __repr__ = __eq__ = copy = _all
        __hash__ = None

    tree.register(OptimizeResult, lambda r: r._all(), lambda aux, children: None)
    return OptimizeResult


def inverse(s: Any, y: Any, count: Any) -> Any:
    """L-BFGS-B's approximation of the inverse Hessian, of the first `count` rows of steps and changes. How many there
    are is known when the program has run: it is SciPy's operator then, and nothing but a result before."""
    return _inverse()(s, y, count)


@functools.cache
def _inverse() -> Any:
    theirs: Any = scipy_module("optimize").LbfgsInvHessProduct

    class LbfgsInvHessProduct:
        """The operator of a program that has not run yet."""

        __slots__ = ("parts",)

        def __init__(self, *parts: Any) -> None:
            self.parts = parts

        @property
        def __class__(self) -> Any:
            return theirs

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return self._refuse(f"`hess_inv.{name}`")

        def _refuse(self, what: str = "a product with `hess_inv`") -> Any:
            remedy = "use it outside of the compiled function"
            raise SolverOptionError(function="minimize", problem=f"{what} of its result", remedy=remedy)

        def _product(self, other: Any) -> Any:
            self._refuse()

        __matmul__ = __rmatmul__ = __mul__ = __rmul__ = __call__ = _product

    def from_iter(_: Any, parts: Any) -> Any:
        s, y, count = parts
        if all(type(p) is np.ndarray or isinstance(p, np.generic) for p in parts) and count.ndim == 0:
            return theirs(s[: int(count)], y[: int(count)])
        return LbfgsInvHessProduct(*parts)

    tree.register(LbfgsInvHessProduct, lambda h: (h.parts, None), from_iter)
    return LbfgsInvHessProduct
