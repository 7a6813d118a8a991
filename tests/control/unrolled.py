"""The names of `lax`'s loops as plain Python loops: the oracle of the native ones.

Run on NumPy arrays they are NumPy programs; run inside a derivative they are the program unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import tree


def _own(x: Any) -> Any:
    """A tree whose arrays the body may write to."""
    return tree.map(lambda a: np.copy(a) if np.ndim(a) else a, x)


def _stacked(rows: list[Any]) -> Any:
    return tree.map(lambda *xs: np.stack(xs), *rows) if rows else None


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    **_: Any,
) -> Any:
    n = length if length is not None else len(tree.leaves(xs)[0])
    carry, ys = init, []
    for k in reversed(range(n)) if reverse else range(n):
        carry, y = f(_own(carry), tree.map(lambda a, k=k: a[k], xs))
        ys.append(y)
    return carry, _stacked(ys[::-1] if reverse else ys)


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any, **_: Any) -> Any:
    carry = init
    for i in range(int(lower), int(upper)):
        carry = body(i, _own(carry))
    return carry


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    carry = init
    while bool(cond(carry)):
        carry = body(_own(carry))
    return carry


def cond(pred: Any, yes: Callable[..., Any], no: Callable[..., Any], *operands: Any) -> Any:
    return yes(*operands) if bool(pred) else no(*operands)


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def map(f: Callable[[Any], Any], xs: Any, **_: Any) -> Any:
    return _stacked([f(tree.map(lambda a, k=k: a[k], xs)) for k in range(len(tree.leaves(xs)[0]))])


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False) -> Any:
    rows = [tree.map(lambda a, k=k: a[k : k + 1], elems) for k in range(len(tree.leaves(elems)[0]))]
    out = [rows[-1] if reverse else rows[0]]
    for row in rows[-2::-1] if reverse else rows[1:]:
        out.append(fn(out[-1], row))
    return tree.map(lambda *xs: np.concatenate(xs), *(out[::-1] if reverse else out))


def custom_root(f: Any, guess: Any, solve: Callable[[Any, Any], Any], _tangent_solve: Any) -> Any:
    return solve(f, guess)


def custom_linear_solve(matvec: Any, b: Any, solve: Callable[[Any, Any], Any], **_: Any) -> Any:
    return solve(matvec, b)


def pure_callback(fn: Callable[..., Any], _result: Any, *args: Any, **_: Any) -> Any:
    return fn(*args)


def checkpoint(fn: Any) -> Any:
    return fn
