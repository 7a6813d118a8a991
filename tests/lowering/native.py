"""Small programs for the tests of the emitters: build, compile and call without a jaxpr."""

from __future__ import annotations

import ctypes
from typing import Any

import mpmath as mp
import numpy as np

from tracejit.lowering.llvm import cpu
from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64, Program
from tracejit.lowering.runtime.compile import Code, compile_llvm

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)


def pointwise(fn: Any, in_dtypes: list[Any], out_dtype: Any, vector: bool = True) -> Program:
    """out[i] = fn(k, x0[i], x1[i] …) over one loop whose length is parameter 0."""
    k = Builder()
    ins = [k.buffer(f"x{n}", np.dtype(d), 0, "arg", n) for n, d in enumerate(in_dtypes)]
    out = k.buffer("out", np.dtype(out_dtype), 0, "arg", len(ins))
    k.program.params.append(0)
    with k.loop(0, k._inst("param", I64, (), 0), vector=vector) as i:
        k.store(out, i, fn(k, *[k.load(b, i) for b in ins]))
    return k.program


def call(code: Code, arrays: list[np.ndarray], params: tuple[int, ...] = (), arena: int = 64,
         table: list[int] | None = None) -> tuple[int, list[int]]:  # fmt: skip
    """Call `@entry`; gives the status and its details."""
    pointers = (ctypes.c_void_p * max(len(arrays), 1))(*[a.ctypes.data for a in arrays])
    values = (ctypes.c_int64 * max(len(params), 1))(*params)
    block = np.empty(arena + 64, np.uint8)
    addresses = (ctypes.c_void_p * max(len(table or ()), 1))(*(table or ()))
    status = (ctypes.c_int64 * STATUS_WORDS)()
    code_ = ENTRY(code.address)(pointers, values, addresses, (block.ctypes.data + 63) & -64, status)
    return code_, list(status)


def apply(fn: Any, *xs: np.ndarray, out: Any = None) -> np.ndarray:
    """`fn(k, *scalars)` compiled and mapped over arrays of one length."""
    result = np.empty(xs[0].size, out or xs[0].dtype)
    code = compile_llvm(cpu.emit(pointwise(fn, [x.dtype for x in xs], result.dtype)))
    status, _ = call(code, [*xs, result], (xs[0].size,))
    assert status == 0
    return result


def ulp_errors(got: np.ndarray, exact: list[Any]) -> np.ndarray:
    """The distance of each value from the exact one, in units of the last place of the exact one."""
    info = np.finfo(got.dtype)
    smallest = int(np.log2(float(info.smallest_subnormal)))
    out = np.empty(len(exact))
    for n, (g, e) in enumerate(zip(got.tolist(), exact, strict=True)):
        exponent = max(mp.frexp(e)[1] - info.nmant - 1, smallest) if e else smallest
        out[n] = float(abs(mp.mpf(g) - e) * mp.mpf(2) ** -exponent)
    return out
