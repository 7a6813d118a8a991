"""Programs as descriptions in JSON: what it takes to call machine code, and the arrays that it always takes.

The description has the fields of `Lowered` that `Executable` reads. The loop IR is not in it: the text of the module
says what the program does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import InternalTypeError
from tracejit.errors.refusals import attempt
from tracejit.ir.avals import Aval, Dim
from tracejit.lowering.loops.nodes import Block, External, Program
from tracejit.lowering.lowered import Failure, Lowered
from tracejit.lowering.plan.access import c_strides
from tracejit.lowering.runtime.compile import Code
from tracejit.lowering.runtime.executable import Executable
from tracejit.lowering.stored import modules
from tracejit.lowering.stored.container import Malformed

#: Dtypes that arrays in files have, by their names.
DTYPES = {np.dtype(c).name: np.dtype(np.dtype(c).name) for c in "?bhilBHILefdFD"} | {
    "bfloat16": dtypes.bfloat16
}


class Written:
    """Programs that are written into one file."""

    def __init__(self) -> None:
        self.blocks = modules.Blocks()
        self.modules = modules.Modules(self.blocks)

    def program(self, executable: Executable, describe: Callable[[Failure], Any]) -> dict[str, Any]:
        """The description of a program; `describe` gives that of a check."""
        low = executable.lowered
        return {
            "name": low.program.name,
            "in": [_aval(a) for a in low.in_avals],
            "out": [_aval(a) for a in low.out_avals],
            "out_dims": [[d if isinstance(d, int) else list(d) for d in dims] for dims in low.out_dims],
            "in_strides": [list(s) for s in low.in_strides],
            "aliases": list(low.aliases.items()),
            "given": [[n, None if s is None else list(s)] for n, s in low.given.items()],
            "failures": [[code, describe(f)] for code, f in low.failures.items()],
            "small": low.small,
            "params": list(low.program.params),
            "externals": [[e.name, e.signature] for e in low.program.externals],
            "arena": low.program.arena_bytes,
            "module": self.modules.add(executable.code),
        }

    def array(self, a: np.ndarray) -> dict[str, Any]:
        """The description of an array, with its strides."""
        strides = [s // a.itemsize for s in a.strides]
        data = np.ascontiguousarray(a).tobytes()
        return {
            "dtype": a.dtype.name,
            "shape": list(a.shape),
            "strides": strides,
            "data": self.blocks.add(data),
        }

    def finish(self) -> tuple[dict[str, Any], list[bytes]]:
        """What belongs to the file's description besides the programs, and its blocks."""
        helpers = modules.helpers(self.blocks)
        own = {"host": modules.host(), "modules": self.modules.described, "helpers": helpers}
        return own, self.blocks.all


class Read:
    """Programs of one file: what `finish` gave. Modules are loaded when a program needs them."""

    def __init__(self, description: dict[str, Any], blocks: list[bytes]) -> None:
        self.blocks = blocks
        self.modules = description["modules"]
        self.is_native = modules.fits(description["host"])
        self._made: dict[int, Any] = {}
        modules.offer(description["helpers"], blocks)

    def program(self, d: dict[str, Any], check: Callable[[Any], Failure]) -> Executable:
        """The program of a description; `check` makes what `describe` has described. Raises Malformed, and what the
        types of a malformed description raise."""
        code = modules.read(self.modules, self.blocks, d["module"], self._made, self.is_native)
        lowered = Lowered(
            program=_program(d),
            in_avals=[_read_aval(a) for a in d["in"]],
            in_strides=[tuple(s) for s in d["in_strides"]],
            out_avals=[_read_aval(a) for a in d["out"]],
            out_dims=[tuple(n if isinstance(n, int) else tuple(n) for n in dims) for dims in d["out_dims"]],
            aliases=dict(d["aliases"]),
            given={n: None if s is None else tuple(s) for n, s in d["given"]},
            failures={n: check(described) for n, described in d["failures"]},
            small=d["small"],
        )
        if "entry" not in code.symbols:
            raise Malformed("a module has no entry")
        return _executable(lowered, code)

    def array(self, d: dict[str, Any]) -> np.ndarray:
        """The array of a description, which nobody else has."""
        dtype, shape, strides = DTYPES[d["dtype"]], tuple(d["shape"]), tuple(d["strides"])
        data = np.frombuffer(self.blocks[d["data"]], dtype).reshape(shape)
        if strides == c_strides(shape) or 0 in shape:
            return data.copy()
        steps = list(zip(shape, strides, strict=True))
        before = -sum((n - 1) * min(s, 0) for n, s in steps)
        reach = sum((n - 1) * abs(s) for n, s in steps) + 1
        if reach > max(64 * math.prod(shape), 1 << 20):
            raise Malformed("an array reaches too far")
        memory = np.zeros(reach, dtype)
        size = dtype.itemsize
        out = np.ndarray(shape, dtype, memory, before * size, [s * size for s in strides])
        out[...] = data
        return out


def _executable(lowered: Lowered, code: Code) -> Executable:
    """Raises Malformed if a routine of a library that it calls is not there."""
    names = [e.name for e in lowered.program.externals]
    try:
        with attempt(InternalTypeError):
            executable = Executable(lowered, code)
    except (InternalTypeError, StopIteration, AttributeError) as e:
        raise Malformed(f"it calls what is not here, of {', '.join(names)} ({e})") from None
    missing = [name for name, address in zip(names, executable.addresses, strict=True) if not address]
    if missing:
        raise Malformed(f"it calls {', '.join(missing)}, which is not here")
    return executable


def _program(d: dict[str, Any]) -> Program:
    return Program(
        str(d["name"]),
        Block(),
        externals=[External(name, signature) for name, signature in d["externals"]],
        params=list(d["params"]),
        arena_bytes=d["arena"],
    )


def _aval(a: Aval) -> list[Any]:
    return [a.dtype.name, [d if isinstance(d, int) else {"bound": d.bound} for d in a.shape]]


def _read_aval(d: Sequence[Any]) -> Aval:
    name, shape = d
    return Aval(tuple(n if isinstance(n, int) else Dim("n", n["bound"]) for n in shape), DTYPES[name])
