"""Programs as scientists write them in plain NumPy: loops, slices, in-place updates, tests of convergence.

`PROGRAMS[name]`: the function, a maker of its arguments (of a size), and what is special about it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """`wrt`: positions of the arguments it is differentiated by (empty: it is not differentiable).
    `static`: positions of static arguments. `tolerance`: of results against NumPy."""

    f: Callable[..., Any]
    make: Callable[[np.random.Generator, int], tuple[Any, ...]]
    wrt: tuple[int, ...] = ()
    static: tuple[int, ...] = ()
    size: int = 8
    tolerance: float = 1e-12


PROGRAMS: dict[str, Program] = {}


def program(make: Callable[..., tuple[Any, ...]], **options: Any) -> Callable[[Any], Any]:
    """Enter a function."""

    def enter(f: Any) -> Any:
        PROGRAMS[f.__name__] = Program(f, make, **options)
        return f

    return enter


for part in (
    "stencils",
    "factorizations",
    "dynamic",
    "numbers",
    "sparse",
    "solvers",
    "signals",
    "images",
    "physics",
    "searches",
    "histories",
):
    importlib.import_module(f"{__name__}.{part}")
