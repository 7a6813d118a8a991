"""What the arguments of exported programs must be."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.api.exporting import structures
from tracejit.dtypes import bfloat16
from tracejit.errors import RefusedFunctionError
from tracejit.interpreters import jit as native
from tracejit.interpreters import jit_stored
from tracejit.ir.avals import Aval
from tracejit.tracing import Box

#: Python's numbers, by the dtypes that they have in programs.
PYTHON: dict[str, type] = {"bool": bool, "int64": int, "float64": float, "complex128": complex}
_ARRAYS = (np.ndarray, np.memmap, np.recarray)


class Argument:
    """What an array or number among the arguments must be."""

    def __init__(self, d: dict[str, Any], written: bool) -> None:
        self.name: str = d["name"]
        self.kind: str = d["kind"]
        self.dtype = jit_stored.DTYPES[d["dtype"]]
        self.shape: tuple[Any, ...] = tuple([n if type(n) is str else int(n) for n in d["shape"]])
        self.named = any(type(n) is str for n in self.shape)
        self.wide: bool = d["wide"]
        self.ordered: bool = d["ordered"]
        self.written = written
        types: Any = {
            "array": np.ndarray,
            "scalar": self.dtype.type,
            "python": PYTHON.get(d["dtype"]),
        }
        self.class_: Any = types[self.kind]

    @property
    def aval(self) -> Aval:
        return Aval(self.shape, self.dtype)

    def input(self) -> Any:
        """What the native function checks. Numbers that it can't read itself are looked at by `array`."""
        if self.named:
            return native.Input()  # looked at by `is_plain`
        if self.kind == "array":
            return native.Input(np.ndarray, self.dtype, self.shape, None, self.written)
        return native.Input(type(None) if self.dtype == bfloat16 else self.class_, wide=self.wide)

    def is_plain(self, x: Any) -> bool:
        """Whether native code can read an argument with named sizes as it is, where its rank is right."""
        known = zip(self.shape, x.shape, strict=True)
        fits = (
            type(x) is np.ndarray
            and x.dtype == self.dtype
            and all(type(n) is str or n == m for n, m in known)
        )
        return fits and x.dtype.isnative and x.flags.c_contiguous and x.flags.aligned

    def has_shape(self, x: Any) -> bool:
        """Whether an array has this shape, as far as it is numbers."""
        return len(x.shape) == len(self.shape) and all(
            type(n) is str or n == m for n, m in zip(self.shape, x.shape, strict=True)
        )

    def __str__(self) -> str:
        if self.kind == "python":
            return self.class_.__name__
        shape = f"[{','.join(map(str, self.shape))}]" if self.kind == "array" else ""
        return f"{self.dtype.name}{shape}"

    def array(self, x: Any) -> np.ndarray:
        """An argument as an array in C order. Raises Differs."""
        if type(x) is Box:
            raise RefusedFunctionError(
                name="an exported program", reason="it is machine code", remedy="trace the function itself"
            )
        known = type(x) in _ARRAYS if self.kind == "array" else type(x) is self.class_
        if not known:
            raise structures.Differs(f"{self.name} is a {type(x).__name__}, where it was {_article(self)}")
        if self.kind == "python":
            if self.class_ is int and not (-(2**63) <= x < 2**63 if self.wide else abs(x) <= native.NEAR):
                raise structures.Differs(f"{self.name} is {x}, where it was a smaller number")
            return np.array(x, self.dtype)
        if x.dtype.newbyteorder("=") != self.dtype or not self.has_shape(x):
            shape = "" if self.kind == "scalar" else f"[{','.join(map(str, x.shape))}]"
            raise structures.Differs(f"{self.name} is {x.dtype.name}{shape}, where it was {self}")
        if self.ordered and not x.flags.c_contiguous:
            raise structures.Differs(
                f"{self.name} is not in C order, on which the memory of what the function gives depends"
            )
        a = native.operand(x)
        return a if a.flags.c_contiguous else np.ascontiguousarray(a).reshape(x.shape)


def type_of(aval: Aval) -> Any:
    """A type with what is known of its sizes."""
    return aval.dtype, tuple(n if type(n) is int else None for n in aval.shape)


def _article(a: Argument) -> str:
    return f"one of Python's numbers ({a})" if a.kind == "python" else f"a NumPy {a.kind} ({a})"
