"""Programs that Numba compiles from their printed form (`lowering.source`), called as an `Executable` is.

Numba compiles when the program is first called, for one thread: what a process has of threads is the pool's of
`runtime.threads`. Long loops do not look for Ctrl-C.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tracejit.errors import InternalTypeError, refusals
from tracejit.ir.avals import Dim, capacity
from tracejit.lowering import source
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.plan.access import c_strides
from tracejit.lowering.runtime import results
from tracejit.lowering.runtime.executable import array_at
from tracejit.lowering.source.scalars import kind_of

_names = itertools.count()


class Printed:
    """A program as a function of ndarrays of its types; they may lie in memory in any way.

    Raises NotPrintableError for programs without a printed form, and the exceptions of `lowered.failures`.
    """

    def __init__(self, lowered: Lowered, name: str) -> None:
        self.lowered = lowered
        self.source = source.module.file_of(lowered, name, parallel=False)
        space: dict[str, Any] = {"__name__": f"tracejit_printed_{next(_names)}"}
        exec(compile(self.source.text, f"<tracejit printed {name}>", "exec"), space)
        self.kernel = space[self.source.kernel]

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        low = self.lowered
        ins = [a if a.flags.c_contiguous else np.array(a, order="C") for a in arrays]
        outs: list[Any] = [
            None if n in low.given else self._made(n, arrays) for n in range(len(low.out_avals))
        ]
        for n, i in low.aliases.items():
            outs[n] = ins[i]
        status, places = np.zeros(2, np.int64), [*ins, *outs]
        code = self._run([_flat(places[n]) for n in self.source.args], status, outs)
        if code:
            error = low.failures[code](tuple(map(int, status)))
            refusals.failed(error)
            raise error
        for i in low.aliases.values():
            if ins[i] is not arrays[i]:
                np.copyto(arrays[i], ins[i])
        outs = [arrays[low.aliases[n]] if n in low.aliases else x for n, x in enumerate(outs)]
        outs = [self._trimmed(n, out, arrays, outs) for n, out in enumerate(outs)]
        return tuple([x if a.shape or n in low.aliases else x[()]
                      for n, (x, a) in enumerate(zip(outs, low.out_avals, strict=True))])  # fmt: skip

    def _run(self, flat: list[np.ndarray], status: np.ndarray, outs: list[Any]) -> int:
        """Call the kernel; its status. Outputs that it has made are put in `outs`."""
        try:
            got = self.kernel(*flat, status)
        except Exception as e:
            if not type(e).__module__.startswith("numba."):
                raise
            raise InternalTypeError(problem=f"Numba does not compile a printed program: {e}") from e
        if not self.source.given:
            return int(got)
        code, *made = got
        for n, block in zip(self.source.given, made, strict=True):
            outs[n] = block
        return int(code)

    # -- outputs whose extents a run decides

    def _made(self, n: int, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        """Memory for an output, at the bounds of its extents; unbounded ones are integers among the inputs."""
        aval, dims = self.lowered.out_avals[n], self.lowered.out_dims[n]
        shape = list(capacity(aval.shape))
        for axis, d in enumerate(aval.shape):
            if isinstance(d, Dim) and d.bound is None:
                shape[axis] = _extent(dims[axis], arrays, ())
        return results.empty(shape, aval.dtype)

    def _trimmed(self, n: int, out: Any, arrays: Any, outs: Any) -> Any:
        aval = self.lowered.out_avals[n]
        if aval.is_static:
            return out
        shape = tuple(_extent(d, arrays, outs) for d in self.lowered.out_dims[n])
        if n not in self.lowered.given:
            return out[tuple(map(slice, shape))].copy()  # in C order, of its own memory
        if 0 in shape:
            return np.empty(shape, aval.dtype)
        strides = self.lowered.given[n]
        if strides is None:
            bounds = [d.bound if isinstance(d, Dim) else d for d in aval.shape]
            strides = c_strides(tuple(b or k for b, k in zip(bounds, shape, strict=True)))
        steps = tuple(s * aval.dtype.itemsize for s in strides)
        return np.lib.stride_tricks.as_strided(out.view(aval.dtype), shape, steps)


def _extent(d: Any, arrays: Any, outs: Any) -> int:
    if isinstance(d, int):
        return d
    kind, n = d
    return int((arrays if kind == "input" else outs)[n])


def _flat(a: np.ndarray) -> np.ndarray:
    """All of an array's numbers in one row, as the kernel takes them; also of one that is read-only, which the kernel
    only reads: Numba would compile for it again."""
    kind = kind_of(a.dtype)
    if a.flags.writeable:
        return a.reshape(-1).view(kind)
    return array_at(a.ctypes.data, (a.nbytes // kind.itemsize,), kind)
