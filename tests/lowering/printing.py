"""Printed programs against the LLVM target: the same bits, where neither may choose an order of additions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj
from tests.lowering import printed_quickly
from tests.lowering.running import strides_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.lowering.fuse import lower
from tracejit.lowering.llvm import cpu
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.runtime.compile import compile_llvm
from tracejit.lowering.runtime.executable import Executable
from tracejit.lowering.source.module import file_of

#: A program as a function of its arguments, in C order.
Run = Callable[..., Any]


def loaded(text: str, in_order: bool = True) -> dict[str, Any]:
    """What a printed file defines."""
    if in_order:
        text = text.replace("IN_ORDER = False", "IN_ORDER = True")
    space: dict[str, Any] = {"__name__": "printed"}
    exec(compile(text, "<printed>", "exec"), space)
    return space


def by_llvm(lowered: Lowered) -> Run:
    """The program as the LLVM target has it, without its two freedoms: the order in which the numbers of a block are
    added up, and which of two zeros is the greater one."""
    text = cpu.emit(lowered.program).replace("reassoc nsz ", "").replace("call nsz ", "call ")
    return Executable(lowered, compile_llvm(text))


def by_numba(lowered: Lowered, quickly: bool = False) -> Run:
    """The program as Numba compiles its printed form, on its first call."""
    source = file_of(lowered, "printed")
    space = printed_quickly.loaded(source) if quickly else loaded(source.text)

    def run(*arrays: np.ndarray) -> tuple[Any, ...]:
        got = space[source.function](*arrays)
        return got if isinstance(got, tuple) else () if got is None else (got,)

    return run


def same_bits(got: Sequence[Any], want: Sequence[Any]) -> None:
    """NaN is NaN, whatever its sign and payload are."""
    assert len(got) == len(want)
    g: Any
    w: Any
    for g, w in zip(map(np.asarray, got), map(np.asarray, want), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        parts = [(g.real, w.real), (g.imag, w.imag)] if w.dtype.kind == "c" else [(g, w)]
        for a, b in parts:
            keep = a == a
            np.testing.assert_array_equal(keep, b == b)
            assert a[keep].tobytes() == b[keep].tobytes(), (a, b)


def check(jaxpr: Jaxpr, *arrays: np.ndarray, aliases: dict[int, int] | None = None) -> None:
    """Both targets give the same bits for a jaxpr, in results and in arguments that it writes."""
    given = [np.array(a, order="C") for a in arrays]
    check_lowered(lower(jaxpr, [strides_of(a) for a in given], aliases or {}), *given)


def check_lowered(lowered: Lowered, *arrays: Any) -> None:
    """The same of a lowered program, or both raise exceptions of one class."""
    compare(by_llvm(lowered), by_numba(lowered), arrays)


def compare(by_llvm: Run, by_numba: Run, arrays: Sequence[Any]) -> None:
    ins, again = ([np.array(a, order="C") for a in arrays] for _ in range(2))
    want, error = _outcome(by_llvm, ins)
    got, raised = _outcome(by_numba, again)
    assert (error is None) == (raised is None) and isinstance(error, type(raised)), (error, raised)
    same_bits(got, want)
    same_bits(again, ins)


def _outcome(run: Run, arrays: list[np.ndarray]) -> tuple[Any, Exception | None]:
    try:
        return run(*arrays), None
    except Exception as e:
        return (), e


def check_function(
    f: Any,
    *args: Any,
    quickly: bool = False,
    others: Callable[[np.ndarray], np.ndarray] | None = None,
    **options: Any,
) -> None:
    """The same of a function that jit traces for these arguments. `quickly`: see `printed_quickly`; `others` makes
    other arguments of them, with which the program runs as well."""
    lowering = tj.jit(f, backend="numba", **options).lower(*args)
    compiled = lowering.compile()._compiled
    captured = [*compiled.constants, *lowering._consts]
    runs = by_llvm(compiled.lowered), by_numba(compiled.lowered, quickly)
    leaves = list(map(np.asarray, lowering._call.leaves))
    compare(*runs, [*captured, *leaves])
    if others is not None:
        compare(*runs, [*captured, *map(others, leaves)])
