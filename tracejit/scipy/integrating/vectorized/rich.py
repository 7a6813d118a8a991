"""SciPy's `_RichResult` for traced values: a tree of its numbers and arrays."""

from __future__ import annotations

import functools
from typing import Any

from tracejit import tree
from tracejit.ops._lazy import scipy_module


def result(**fields: Any) -> Any:
    """SciPy's result, with these fields in this order."""
    made = _class()()
    dict.update(made, fields)
    return made


@functools.cache
def _class() -> Any:
    cls: Any = scipy_module("optimize").OptimizeResult.__mro__[1]

    def to_iter(r: Any) -> tuple[list[Any], Any]:
        # The names in the order of printing are no values.
        text = {k: tuple(v) for k, v in r.items() if k == "_order_keys"}
        held = [k for k in r if k not in text]
        return [r[k] for k in held], (tuple(r), tuple(held), tuple(text.items()))

    def from_iter(aux: Any, children: Any) -> Any:
        values = {**dict(zip(aux[1], children, strict=True)), **{k: list(v) for k, v in aux[2]}}
        made = cls()
        dict.update(made, {k: values[k] for k in aux[0]})
        return made

    tree.register(cls, to_iter, from_iter)
    return cls
