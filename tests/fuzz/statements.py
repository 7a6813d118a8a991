"""What productions are written with: statements added to an environment, or refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.env import Env, Refused
from tests.fuzz.program import Line

#: Functions whose results have NumPy's bits, for real operands. Everything else may round differently.
EXACT = {
    "abs",
    "absolute",
    "add",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "conj",
    "conjugate",
    "copysign",
    "divide",
    "divmod",
    "equal",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "sqrt",
    "square",
    "subtract",
    "true_divide",
    "trunc",
}
DTYPES = ["float64", "float32", "int64", "int32", "uint8", "int8", "bool", "complex128", "float16", "uint32"]
Production = Callable[[Env], None]


def accept(e: Env, line: Line) -> None:
    if not e.add(line):
        raise Refused


def assign(e: Env, expression: str, rounded: bool = False, outs: int = 1) -> str:
    names = [e.name() for _ in range(outs)]
    text = f"L.rounded({expression})" if rounded else expression
    accept(e, Line(f"{', '.join(names)} = {text}", tuple(names)))
    return names[0]


def rounds(e: Env, function: str, *operands: str) -> bool:
    kinds = {np.asarray(e.value(o)).dtype.kind for o in operands if o in e.spaces[0]}
    return function not in EXACT or "c" in kinds


def number(e: Env) -> str:
    return str(
        e.one_of(0, 1, 2, 3, -1, 0.5, 1.5, -2.0, 0.1, True, "np.float32(1.25)", "np.int64(3)", "np.uint8(2)")
    )
