"""Functions of the user's as programs call them: flat arrays in, checked flat arrays out."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.errors import CallbackArgumentError, CallbackResultError, NotAnArrayError, UnknownDtypeError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import Value
from tracejit.tracing import Box, to_raw, untraced


class HostFunction:
    """`fn(*args, **kwargs)` over flat arrays: the leaves of (args, kwargs) that are arrays or numbers.

    Other leaves (strings, functions) are in `static`, by position. `out_tree` and `results` say what
    must come back; without them (None) results are ignored.
    """

    def __init__(
        self,
        op: str,
        fn: Callable[..., Any],
        in_tree: Any,
        static: dict[int, Any],
        out_tree: Any = None,
        results: Sequence[Aval] = (),
    ) -> None:
        self.op = op
        self.fn = fn
        self.in_tree = in_tree
        self.static = static
        self.out_tree = out_tree
        self.results = tuple(results)

    def _key(self) -> Any:
        """Equal for calls that do the same, so that a loop that is traced again is compiled once."""
        static = tuple((n, _value_key(x)) for n, x in self.static.items())
        return self.op, _function_key(self.fn), self.in_tree, static, self.out_tree, self.results

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostFunction) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def name(self) -> str:
        """How messages call it."""
        return (
            getattr(self.fn, "__qualname__", None)
            or getattr(self.fn, "__name__", None)
            or object.__repr__(self.fn)
        )

    def __repr__(self) -> str:
        return self.name

    def with_results(self, results: Sequence[Aval]) -> HostFunction:
        """The same function, announced to give `results`."""
        return HostFunction(self.op, self.fn, self.in_tree, self.static, self.out_tree, results)

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """Call the user's function outside of any trace; it gets copies of its own.

        Raises CallbackResultError, and whatever the function raises."""
        given = iter([_own(a) for a in arrays])
        count = len(arrays) + len(self.static)
        leaves = [self.static[n] if n in self.static else next(given) for n in range(count)]
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        with untraced():
            out = self.fn(*args, **kwargs)
        return [] if self.out_tree is None else self._checked(out)

    def _checked(self, out: Any) -> list[np.ndarray]:
        leaves, structure = tree.flatten(out)
        if structure != self.out_tree:
            raise self._error("a result", _described(out, structure), self._announced())
        paths = tree.paths(structure, "the result")
        return [self._leaf(*row) for row in zip(leaves, self.results, paths, strict=True)]

    def _announced(self) -> str:
        return str(self.results[0]) if self.out_tree.is_leaf() else tree.show(self.out_tree)

    def _leaf(self, x: Any, want: Aval, path: str) -> np.ndarray:
        """One result as an array of its own."""
        try:
            raw = to_raw(x)
        except (NotAnArrayError, UnknownDtypeError):
            raise self._error(path, type(x).__name__, str(want)) from None
        got = aval_of(raw)
        if got.shape != want.shape or not _fits(x, got.dtype, want.dtype):
            raise self._error(path, str(got), str(want))
        return np.array(raw, dtype=want.dtype)

    def _error(self, path: str, actual: str, expected: str) -> CallbackResultError:
        return CallbackResultError(
            op=self.op, callback=self.name, path=path, actual=actual, expected=expected
        )


def _function_key(f: Any) -> Any:
    """What tells functions apart: code and the very variables they read; other callables by themselves."""
    if type(f) is types.FunctionType:
        cells = tuple(map(id, f.__closure__ or ()))
        return (
            f.__code__,
            id(f.__globals__),
            cells,
            id(f.__defaults__),
            id(f.__kwdefaults__),
            id(f.__dict__ or None),
        )
    if type(f) is types.MethodType:
        return _function_key(f.__func__), id(f.__self__)
    return f if getattr(f, "by_value", False) else id(f)


def _value_key(x: Any) -> Any:
    return (type(x), x) if type(x) in (str, bytes, type(None)) else id(x)


def _described(out: Any, structure: Any) -> str:
    return f"{type(out).__name__}" if structure.is_leaf() or out is None else tree.show(structure)


def _own(a: Any) -> Any:
    """A copy that the user's function may keep: native code's memory is only lent."""
    return a.copy() if isinstance(a, np.ndarray) else a


def _fits(x: Any, got: np.dtype, want: np.dtype) -> bool:
    """Python's numbers take the announced dtype, if it is of their kind; others must have it."""
    if type(x) in (bool, int, float, complex):
        return np.result_type(got.type(0).item(), want) == want
    return got == want


class PerLane:
    """A host function called once for each index of the leading axis of the operands in `mapped`.

    `results` is what one lane gives."""

    def __init__(self, inner: Any, mapped: tuple[bool, ...], results: Sequence[Aval]) -> None:
        self.inner = inner
        self.mapped = mapped
        self.results = tuple(results)
        self.name: str = inner.name
        self.effect: str | None = getattr(inner, "effect", None)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PerLane)
            and (other.mapped, other.results) == (self.mapped, self.results)
            and other.inner == self.inner
        )

    def __hash__(self) -> int:
        return hash((self.inner, self.mapped, self.results))

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """The lanes' results, stacked."""
        pairs = list(zip(arrays, self.mapped, strict=True))
        size = next(len(a) for a, m in pairs if m)
        rows = [self.inner(*(a[n] if m else a for a, m in pairs)) for n in range(size)]
        return [
            np.stack([row[k] for row in rows]) if rows else np.empty((0, *aval.shape), aval.dtype)
            for k, aval in enumerate(self.results)
        ]


def is_array_like(x: Any) -> bool:
    """Whether a leaf is given to the program; others go to the callback as they are."""
    return isinstance(x, (np.ndarray, np.generic, Box, Value, bool, int, float, complex)) or (
        hasattr(x, "__array__") and not isinstance(x, type)
    )


def announced(op: str, spec: Any) -> tuple[Any, list[Aval]]:
    """(structure, avals) of `result_shape_dtypes`: anything with a shape and a dtype.

    Raises CallbackArgumentError for leaves without."""
    leaves, structure = tree.flatten(spec)
    return structure, [_announced_leaf(op, x) for x in leaves]


def _announced_leaf(op: str, x: Any) -> Aval:
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if not isinstance(shape, tuple) or dtype is None or not all(type(n) is int for n in shape):
        raise CallbackArgumentError(
            op=op, problem=f"result_shape_dtypes has {x!r}, which has no shape and dtype"
        )
    return Aval(shape, dtypes.canonical(dtype))
