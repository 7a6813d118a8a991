"""What a call gave, as a template: a hashable value with a place for each array and number in it.

("array", shape, dtype, order, turned)   an array; `order` are its axes in memory, None for C order; along those that
                                 are `turned` it goes backwards there
("scalar", dtype)                one of NumPy's scalars
("python", type)                 a bool, int, float or complex
("same", type, value)            a string, a dtype or None, which must be that value
("tuple" | "list", nodes), ("dict", keys, nodes), ("named", class, names, nodes)
("object", class, names, nodes)  an object of a class of SciPy's that has nothing but these attributes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.errors import UnknownDtypeError
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.layouts import lies_in
from tracejit.numpy.boxes.memory import order_of_strides
from tracejit.scipy.hosting.following import known_object
from tracejit.tracing import box, is_tracing, new_array, wrap

Template = tuple[Any, ...]


class Untellable(Exception):
    """The result can't be described: it holds objects, has gaps in memory, or shares it with an argument."""


def described(out: Any, given: Iterable[np.ndarray]) -> tuple[Template, list[Any]]:
    """The template of `out`, and the arrays and numbers in it. Raises Untellable."""
    leaves: list[Any] = []
    return _node(out, list(given), leaves), leaves


def _node(x: Any, given: list[np.ndarray], leaves: list[Any]) -> Template:
    kind = type(x)
    if kind is np.ndarray:
        template = _array(x, given)
        leaves.append(_turned(x, template[4]))
        return template
    if isinstance(x, np.generic):
        leaves.append(x)
        return "scalar", _known(x.dtype)
    if kind in (bool, int, float, complex):
        leaves.append(x)
        return "python", kind
    if x is None or kind is str or isinstance(x, np.dtype):
        return "same", kind, x
    if kind is tuple or kind is list:
        return kind.__name__, tuple(_node(v, given, leaves) for v in x)
    if kind is dict and all(type(k) is str for k in x):
        return "dict", tuple(x), tuple(_node(v, given, leaves) for v in x.values())
    names = _names(kind)
    if names is None:
        held = _attributes(x)
        return "object", kind, tuple(held), tuple(_node(v, given, leaves) for v in held.values())
    if not set(getattr(x, "__dict__", ())) <= set(names):
        raise Untellable  # attributes that were set afterwards, under other names
    return "named", kind, names, tuple(_node(getattr(x, n), given, leaves) for n in names)


def _attributes(x: Any) -> dict[str, Any]:
    """What an object of SciPy's has; Untellable for others, and where that is not all of it."""
    kind = type(x)
    plain = kind.__module__.startswith("scipy.") and all(
        c is object or (c.__flags__ & _OF_PYTHON and "__slots__" not in vars(c)) for c in kind.__mro__
    )
    if not plain or not vars(x):
        raise Untellable
    return vars(x)


#: The flag of classes that Python code has defined (Py_TPFLAGS_HEAPTYPE).
_OF_PYTHON = 1 << 9


def _array(x: np.ndarray, given: list[np.ndarray]) -> Template:
    if any(np.may_share_memory(x, a) for a in given):
        raise Untellable
    turned = tuple(n for n, s in enumerate(x.strides) if s < 0)
    straight = _turned(x, turned)
    steps = tuple(s // x.itemsize for s in straight.strides)
    order = order_of_strides(steps, x.shape) if x.ndim > 1 and x.size else None
    if not straight.transpose(order or range(x.ndim)).flags.c_contiguous or not x.flags.writeable:
        raise Untellable
    return "array", x.shape, _known(x.dtype), order, turned


def _turned(x: Any, axes: tuple[int, ...]) -> Any:
    return x[tuple(slice(None, None, -1 if n in axes else None) for n in range(len(x.shape)))] if axes else x


def _known(dtype: np.dtype) -> np.dtype:
    try:
        known = dtypes.canonical(dtype) == dtype and dtype.isnative
    except UnknownDtypeError:
        known = False
    if not known:
        raise Untellable
    return dtype


def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a named tuple, or of one of SciPy's with more fields; None for other classes."""
    fields = getattr(kind, "_fields", None)
    if not (issubclass(kind, tuple) and kind.__base__ is tuple and isinstance(fields, tuple)):
        return None
    return (*fields, *getattr(kind, "_extra_fields", ()))


def avals(template: Template) -> Iterator[Aval]:
    """The types of the arrays and numbers of a template."""
    kind = template[0]
    if kind == "array":
        yield Aval(template[1], template[2])
    elif kind == "scalar":
        yield Aval((), template[1])
    elif kind == "python":
        yield Aval((), np.dtype(template[1]))
    elif kind != "same":
        for node in template[-1]:
            yield from avals(node)


def rebuilt(template: Template, raws: Iterator[Any]) -> Any:
    """The result that has the raw values `raws` in the places of the template."""
    kind = template[0]
    if kind == "array":
        return _turned(_boxed(next(raws), template[3]), template[4])
    if kind == "scalar":
        return wrap(next(raws))
    if kind == "python":
        return box(next(raws), True)
    if kind == "same":
        return template[2]
    nodes = [rebuilt(node, raws) for node in template[-1]]
    if kind == "dict":
        return dict(zip(template[1], nodes, strict=True))
    if kind == "named":
        return _made(template[1], template[2], nodes)
    if kind == "object":
        made = object.__new__(template[1])
        vars(made).update(zip(template[2], nodes, strict=True))
        return known_object(made)
    return nodes if kind == "list" else tuple(nodes)


def _boxed(raw: Any, order: Any) -> Any:
    if not is_tracing():
        return raw
    made = new_array(raw)
    lies_in(made, order)
    return made


def _made(cls: Any, names: tuple[str, ...], nodes: list[Any]) -> Any:
    count = len(cls._fields)
    if hasattr(cls, "_extra_fields"):  # SciPy's own kind, which is no tree yet
        tree.register(
            cls, lambda x: ([getattr(x, n) for n in names], None), lambda _, v: _made(cls, names, list(v))
        )
    return cls(*nodes[:count], **dict(zip(names[count:], nodes[count:], strict=True)))
