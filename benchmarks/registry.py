"""What a workload is: one computation, written once against a namespace, with its sizes and its data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: How a workload's function is used: as it is, or differentiated with respect to `argnums`.
MODES = ("forward", "grad", "value_and_grad", "hvp", "hessian", "jacobian")


@dataclass(frozen=True)
class Workload:
    """One row of the table for each of its sizes and dtypes.

    `fn(lib, *args)` computes with `lib.np` and `lib.lax`, which are each library's own. `make(rng, dtype,
    **size)` gives the arguments as NumPy arrays, of which those in `static` stay Python values.
    `by_hand` has what a peer needs that can't run `fn`, or an author's best form for it: a function
    `(mode, *args) -> function of the arguments`, already differentiated; `avoid` names peers that
    are left out, with the reason. `rtol` is how closely the results must agree, per dtype, and `near`
    how closely those of a peer must that takes other steps to a solution.
    """

    name: str
    family: str
    fn: Callable[..., Any]
    make: Callable[..., tuple[Any, ...]]
    sizes: Mapping[str, Mapping[str, Any]]
    mode: str = "forward"
    argnums: int | tuple[int, ...] = 0
    dtypes: tuple[str, ...] = ("f8", "f4")
    static: tuple[int, ...] = ()
    by_hand: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    avoid: Mapping[str, str] = field(default_factory=dict)
    rtol: Mapping[str, float] = field(default_factory=lambda: {"f8": 1e-8, "f4": 2e-3})
    near: Mapping[str, float] = field(default_factory=dict)

    def cases(self, sizes: set[str], dtypes: set[str]) -> list[Case]:
        """The rows asked for."""
        return [
            Case(self, size, dtype)
            for size in self.sizes
            for dtype in self.dtypes
            if size in sizes and dtype in dtypes
        ]


@dataclass(frozen=True)
class Case:
    """A workload at one size and dtype."""

    workload: Workload
    size: str
    dtype: str

    @property
    def name(self) -> str:
        return self.workload.name

    @property
    def mode(self) -> str:
        return self.workload.mode

    @property
    def family(self) -> str:
        return self.workload.family

    @property
    def label(self) -> str:
        w = self.workload
        mode = "" if w.mode == "forward" else f" {w.mode.replace('_', ' ')}"
        return f"{w.name}{mode}"

    def args(self) -> tuple[Any, ...]:
        """The arguments, the same at every call."""
        rng = np.random.default_rng(0)
        return self.workload.make(rng, np.dtype(self.dtype), **self.workload.sizes[self.size])


#: Workloads, by their labels, of which the time to compile is measured, and the other target.
CHOSEN = re.compile(
    "(exp|sin|power|softmax|layernorm|logsumexp grad|Black-Scholes price|Black-Scholes Greeks grad"
    "|equation of state, 100 terms|2-D heat energy grad|attention block grad|4-layer perceptron value and grad"
    "|two convolutions value and grad|Gaussian mixture value and grad|Rosenbrock hvp"
    "|Lorenz RK4, vector state( grad)?|LSTM( grad)?|Cholesky by fori_loop( grad)?|300 operations( grad)?)"
)

WORKLOADS: list[Workload] = []


def workload(name: str, family: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register `fn(lib, *args)`; `modes` (default: forward) makes a workload for each."""
    modes = options.pop("modes", ("forward",))

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for mode in modes:
            assert mode in MODES, mode
            WORKLOADS.append(Workload(name, family, fn, mode=mode, **options))
        return fn

    return register
