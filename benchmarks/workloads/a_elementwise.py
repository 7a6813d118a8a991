"""Functions of single elements: transcendental ones, option prices, polynomials."""

from __future__ import annotations

from typing import Any

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload

SIZES = {"small": {"n": 1000}, "middle": {"n": 100_000}, "large": {"n": 4_000_000}}

for _name, _low, _high in (
    ("exp", -20, 20), ("exp2", -20, 20), ("expm1", -5, 5), ("log", 1e-3, 1e3), ("log2", 1e-3, 1e3),
    ("log10", 1e-3, 1e3), ("log1p", -0.9, 10), ("sin", -30, 30), ("cos", -30, 30), ("tan", -30, 30),
    ("arcsin", -1, 1), ("arccos", -1, 1), ("arctan", -10, 10), ("sinh", -5, 5), ("cosh", -5, 5),
    ("tanh", -5, 5), ("arcsinh", -50, 50), ("arccosh", 1, 50), ("arctanh", -0.99, 0.99), ("cbrt", -9, 9),
    ("sqrt", 0, 9),
):  # fmt: skip

    def _make(rng: Any, dtype: Any, n: int, low: float = _low, high: float = _high) -> tuple[Any, ...]:
        return (rng.uniform(low, high, n).astype(dtype),)

    in_drjit = {"drjit": lambda np_, x, name=_name: getattr(np_, name)(x)}

    @workload(
        _name, "elementwise", make=_make, sizes=SIZES,
        by_hand=in_drjit if _name in ("exp", "log", "sin", "cos", "tan", "sqrt") else {},
    )  # fmt: skip
    def _unary(lib: Any, x: Any, name: str = _name) -> Any:
        return getattr(lib.np, name)(x)


@workload(
    "erf", "elementwise", make=lambda rng, dtype, n: (rng.uniform(-4, 4, n).astype(dtype),), sizes=SIZES,
    by_hand={"torch": by_torch(lambda torch, x: torch.erf(x))},
)  # fmt: skip
def _erf(lib: Any, x: Any) -> Any:
    return lib.special.erf(x)


def _two(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return rng.uniform(0.1, 5, n).astype(dtype), rng.uniform(-3, 3, n).astype(dtype)


for _name in ("power", "arctan2", "hypot", "logaddexp"):

    @workload(_name, "elementwise", make=_two, sizes=SIZES)
    def _binary(lib: Any, x: Any, y: Any, name: str = _name) -> Any:
        return getattr(lib.np, name)(x, y)
