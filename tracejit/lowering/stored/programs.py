"""Programs as descriptions in JSON: what it takes to call machine code, and the arrays that it always takes.

The description has the fields of `Lowered` that `Executable` reads. The loop IR is not in it: the text of the module
says what the program does.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ExportedFileError, InternalTypeError
from tracejit.errors.refusals import attempt
from tracejit.ir import natives
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.primitive import REGISTRY
from tracejit.lowering.emit.opaque import runner
from tracejit.lowering.loops.nodes import Block, Buffer, External, Program
from tracejit.lowering.lowered import Callback, Failure, Lowered
from tracejit.lowering.plan.access import c_strides
from tracejit.lowering.runtime.compile import Code
from tracejit.lowering.runtime.executable import Executable
from tracejit.lowering.stored import modules
from tracejit.lowering.stored.container import Malformed

#: Where primitives are.
PRIMITIVES = "tracejit.ops."
#: The buffer of an operand, which only the lowering knows.
_NOWHERE = Buffer("", np.dtype(np.bool_), 0, "arg")
#: Dtypes that arrays in files have, by their names.
DTYPES = {np.dtype(c).name: np.dtype(np.dtype(c).name) for c in "?bhilBHILefdFD"} | {
    "bfloat16": dtypes.bfloat16
}


class Written:
    """Programs that are written into one file."""

    def __init__(self) -> None:
        self.blocks = modules.Blocks()
        self.modules = modules.Modules(self.blocks)

    def program(
        self, executable: Executable, describe: Callable[[Failure], Any], encode: Callable[[Any], Any]
    ) -> dict[str, Any]:
        """The description of a program; `describe` gives that of a check, `encode` that of a plain value."""
        low = executable.lowered
        return {
            "name": low.program.name,
            "in": [_aval(a) for a in low.in_avals],
            "out": [_aval(a) for a in low.out_avals],
            "out_dims": [[d if isinstance(d, int) else list(d) for d in dims] for dims in low.out_dims],
            "in_strides": [None if s is None else list(s) for s in low.in_strides],
            "aliases": list(low.aliases.items()),
            "given": [[n, None if s is None else list(s)] for n, s in low.given.items()],
            "failures": [[code, describe(f)] for code, f in low.failures.items()],
            "callbacks": [_callback(c, encode) for c in low.callbacks],
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

    def program(
        self, d: dict[str, Any], check: Callable[[Any], Failure], decode: Callable[[Any], Any]
    ) -> Executable:
        """The program of a description; `check` makes what `describe` has described, `decode` what `encode` has
        encoded. Raises Malformed, and what the types of a malformed description raise."""
        code = modules.read(self.modules, self.blocks, d["module"], self._made, self.is_native)
        lowered = Lowered(
            program=_program(d),
            in_avals=[_read_aval(a) for a in d["in"]],
            in_strides=[None if s is None else tuple(s) for s in d["in_strides"]],
            out_avals=[_read_aval(a) for a in d["out"]],
            out_dims=[tuple(n if isinstance(n, int) else tuple(n) for n in dims) for dims in d["out_dims"]],
            aliases=dict(d["aliases"]),
            given={n: None if s is None else tuple(s) for n, s in d["given"]},
            failures={n: check(described) for n, described in d["failures"]},
            callbacks=[_read_callback(c, decode) for c in d["callbacks"]],
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
    if any(name.startswith(natives.PREFIX) for name in names):
        raise Malformed("it calls a function of another process")
    try:
        with attempt(InternalTypeError):
            executable = Executable(lowered, code)
    except (InternalTypeError, StopIteration, AttributeError) as e:
        raise Malformed(f"it calls what is not here, of {', '.join(names)} ({e})") from None
    missing = [name for name, address in zip(names, executable.addresses, strict=True) if not address]
    if missing:
        raise Malformed(f"it calls {', '.join(missing)}, which is not here")
    return executable


def _callback(c: Callback, encode: Callable[[Any], Any]) -> dict[str, Any]:
    """The description of a call of a primitive that has no native code."""
    assert c.op is not None
    return {
        "op": c.op.name,
        "module": c.op.eval.__module__,
        "params": {name: encode(value) for name, value in c.params.items()},
        "in": [[list(shape), dtype.name] for _, shape, dtype in c.in_specs],
        "out": [[list(shape), dtype.name] for _, shape, dtype in c.out_specs],
        "bounds": [[list(b) for b in bounds] for bounds in (c.in_bounds, c.out_bounds)],
    }


def _read_callback(d: dict[str, Any], decode: Callable[[Any], Any]) -> Callback:
    params = {name: decode(value) for name, value in d["params"].items()}
    name, module = str(d["op"]), str(d["module"])
    if not module.startswith(PRIMITIVES):
        raise Malformed(f"{module} has no primitives")
    ins, outs = ([(_NOWHERE, tuple(shape), DTYPES[t]) for shape, t in d[which]] for which in ("in", "out"))
    in_bounds, out_bounds = ([tuple(b) for b in some] for some in d["bounds"])
    return Callback(_Evaluated(name, module, params), ins, outs, in_bounds, out_bounds, name)


class _Evaluated:
    """Evaluates a primitive, whose module is imported at the first call."""

    def __init__(self, name: str, module: str, params: dict[str, Any]) -> None:
        self.name = name
        self.module = module
        self.params = params
        self.run: Callable[[list[Any], list[Any]], None] | None = None

    def __call__(self, ins: list[Any], outs: list[Any]) -> None:
        if self.run is None:
            try:
                importlib.import_module(self.module)
                self.run = runner(REGISTRY[self.name], self.params, bool(outs))
            except (ImportError, KeyError):
                problem = f"it needs the primitive {self.name!r}, which this version does not have"
                raise ExportedFileError(path="an exported program", problem=problem) from None
        self.run(ins, outs)


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
