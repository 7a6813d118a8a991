"""The plain Python function of a printed file: it takes arrays, calls the kernel, and gives arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import TracejitError
from tracejit.ir.avals import Dim, capacity
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.source.scalars import kind_of, type_name

_FLAT = '''
def _flat(x, dtype, shape):
    """An argument as the kernel takes it: one row of numbers, that can be written."""
    a = np.asarray(x)
    if a.dtype != dtype or a.shape != shape:
        raise TypeError(f"expected {np.dtype(dtype)}{list(shape)}, not {a.dtype}{list(a.shape)}")
    return a.reshape(-1) if a.flags.c_contiguous and a.flags.writeable else a.flatten()
'''
#: What makes the exception of a check from the two numbers that it leaves.
_MAKERS = {
    "failure": '''
def failure(kind, message):
    """An exception whose message names an index and a size."""
    return lambda index, size: kind(message.format(index, size))
''',
    "one_of": '''
def one_of(*failures):
    """The exception of a check of several things, by the number of what was wrong."""
    return lambda number, other: failures[number - 1](number, other)
''',
    "unfit": '''
def unfit(source, dtype):
    """What NumPy raises for a number that `dtype` does not hold, by the bits of the number."""

    def make(bits, _):
        value = np.int64(bits).view(source).item()
        try:
            np.zeros(1, dtype)[0] = value
        except (OverflowError, ValueError) as error:
            return error.with_traceback(None)
        return OverflowError(f"Python integer {value} out of bounds for {dtype}")

    return make
''',
}
_SHORT = 64  # elements up to which a constant is written as numbers
_LINE = 96  # characters of hexadecimal digits in a line


class Driver:
    """Writes the function. `names`: of the buffers of arguments and outputs; `used`: those that the kernel takes;
    `constants`: the values of the first arguments, which are none of the function's."""

    def __init__(
        self, lowered: Lowered, names: Sequence[str], used: Sequence[int], constants: Sequence[np.ndarray]
    ) -> None:
        self.lowered = lowered
        self.names = list(names)
        self.used = used
        self.constants = constants
        count = len(lowered.in_avals)
        self.ins, self.outs = self.names[:count], self.names[count:]
        self.avals = [*lowered.in_avals, *lowered.out_avals]

    def text(self, function: str, kernel: str) -> str:
        """The function with what it uses. Raises Unsupported for dtypes that NumPy does not have itself."""
        args = self.ins[len(self.constants) :]
        lines = [f"def {function}({', '.join(args)}):", *self.said(len(self.constants))]
        lines += [*self.arguments(), *self.call(kernel), *self.afterwards()]
        lines.append(f"    return {self.results()}")
        used = [n for n in range(len(self.constants)) if n in self.used]
        fixed = "\n".join(_fixed(self.names[n], np.asarray(self.constants[n])) for n in used)
        flat = _FLAT.strip("\n") if any(n < len(self.ins) for n in self.used) else ""
        return "\n\n\n".join(p for p in (fixed, _failures(self.lowered), flat, "\n".join(lines)) if p)

    def said(self, fixed: int) -> list[str]:
        rows = [f"    {n}: {_shown(a)}" for n, a in zip(self.ins, self.lowered.in_avals, strict=True)][fixed:]
        outs = ", ".join(map(_shown, self.lowered.out_avals))
        return ['    """Arguments and results are:', "", *rows, f"    -> {outs or 'nothing'}", '    """']

    def arguments(self) -> list[str]:
        lines = []
        for n, (name, aval) in enumerate(zip(self.ins, self.lowered.in_avals, strict=True)):
            if n in self.used:
                lines.append(f"    {name}_ = _flat({name}, {_dtype(aval.dtype)}, {self.shape(aval.shape)})")
        for n, (name, aval) in enumerate(zip(self.outs, self.lowered.out_avals, strict=True)):
            if n not in self.lowered.aliases and n not in self.lowered.given:
                lines.append(f"    {name} = np.empty({self.room(n)}, {_dtype(aval.dtype)})")
        return lines

    def call(self, kernel: str) -> list[str]:
        count, given = len(self.ins), [self.outs[n] for n in self.lowered.given]
        args = [
            _passed(self.names[n] + ("_" if n < count else ".reshape(-1)"), self.avals[n].dtype)
            for n in self.used
        ]
        code = "code" if self.lowered.failures else "_"
        lines = ["    status = np.zeros(2, np.int64)"]
        lines.append(f"    {', '.join([code, *given])} = {kernel}({', '.join([*args, 'status'])})")
        if self.lowered.failures:
            lines += ["    if code:", "        raise FAILURES[code](*map(int, status))"]
        return lines

    def afterwards(self) -> list[str]:
        """Arguments that are written, where the kernel has written a copy; results cut to their sizes."""
        lines = []
        for i in self.lowered.aliases.values():
            name, shape = self.ins[i], self.shape(self.lowered.in_avals[i].shape)
            if i in self.used:
                lines.append(f"    if not np.shares_memory({name}, {name}_):")
                lines.append(f"        {name}[...] = {name}_.reshape({shape})")
        for n in range(len(self.outs)):
            lines += self.trimmed(n)
        return lines

    def results(self) -> str:
        shown = []
        for n, (name, aval) in enumerate(zip(self.outs, self.lowered.out_avals, strict=True)):
            if n in self.lowered.aliases:
                shown.append(self.ins[self.lowered.aliases[n]])
            else:
                shown.append(name if aval.shape else f"{name}[()]")
        return shown[0] if len(shown) == 1 else f"({', '.join(shown)})" if shown else "None"

    # -- shapes

    def shape(self, dims: Any) -> str:
        """A shape, whose entries are ints, or the inputs that are extents."""
        if any(isinstance(d, Dim) for d in dims):
            raise Unsupported("arguments whose shape is not known")
        parts = [self.extent(d) for d in dims]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def extent(self, d: Any) -> str:
        if isinstance(d, int):
            return str(d)
        return f"int({(self.ins if d[0] == 'input' else self.outs)[d[1]]})"

    def room(self, n: int) -> str:
        """The shape of an output as it is made: at the bounds of its extents."""
        aval = self.lowered.out_avals[n]
        shape: list[Any] = list(capacity(aval.shape))
        for axis, d in enumerate(aval.shape):
            if isinstance(d, Dim) and d.bound is None:
                shape[axis] = self.lowered.out_dims[n][axis]
        return self.shape(shape)

    def trimmed(self, n: int) -> list[str]:
        """Cut output `n` to its size."""
        aval, name = self.lowered.out_avals[n], self.outs[n]
        if aval.is_static:
            return []
        sizes = [self.extent(d) for d in self.lowered.out_dims[n]]
        cut = ", ".join(f":{s}" for s in sizes)
        if n not in self.lowered.given:
            return [f"    {name} = {name}[{cut}].copy()"]
        block = name if kind_of(aval.dtype) == aval.dtype else f"{name}.view({_dtype(aval.dtype)})"
        strides = self.lowered.given[n]
        if strides is None:
            bounds = [d.bound if isinstance(d, Dim) else d for d in aval.shape]
            room = [str(b or s) for b, s in zip(bounds, sizes, strict=True)]
            whole = f"{block}[: {' * '.join(room)}].reshape({', '.join(room)})"
            return [f"    {name} = {whole}[{cut}]"]
        steps = [str(s * aval.dtype.itemsize) for s in strides]
        shape, steps_ = (f"({', '.join(p)}{',' if len(p) == 1 else ''})" for p in (sizes, steps))
        return [f"    {name} = np.lib.stride_tricks.as_strided({block}, {shape}, {steps_})"]


def _fixed(name: str, value: np.ndarray) -> str:
    """A constant array."""
    dtype = _dtype(value.dtype)
    simple = value.dtype.kind in "biu" or (value.dtype.kind == "f" and value.itemsize > 2)
    if value.size <= _SHORT and simple and bool(np.all(np.isfinite(value))):
        return f"{name} = np.array({value.tolist()}, {dtype})"
    digits = np.ascontiguousarray(value).tobytes().hex()
    rows = "\n".join(f'        "{digits[n : n + _LINE]}"' for n in range(0, len(digits), _LINE))
    return f"{name} = np.frombuffer(\n    bytes.fromhex(\n{rows}\n    ),\n    {dtype},\n).reshape({value.shape}).copy()"


def _shown(aval: Any) -> str:
    dims = ", ".join("?" if isinstance(d, Dim) else str(d) for d in aval.shape)
    return f"{aval.dtype}[{dims}]" if aval.shape else str(aval.dtype)


def _dtype(dtype: np.dtype) -> str:
    if dtype.kind not in "biufc":
        raise Unsupported(f"arrays of {dtype}, which NumPy alone does not have")
    return f"np.{dtype.name}" if dtype.kind != "b" else "np.bool_"


def _passed(text: str, dtype: np.dtype) -> str:
    """A flat array as the kernel takes it: halves as bits, complex numbers as pairs."""
    kind = kind_of(dtype)
    return text if kind == dtype else f"{text}.view({type_name(kind)})"


class _Number(int):
    """A detail of a failure while its message is made: it is shown as a place in the message."""

    place = ""

    def __str__(self) -> str:
        return self.place

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return self.place


class _Index(_Number):
    place = "{0}"


class _Size(_Number):
    place = "{1}"


def _failures(lowered: Lowered) -> str:
    """What each status of the kernel means."""
    if not lowered.failures:
        return ""

    def shown(make: Any) -> str:
        printed = getattr(make, "printed", None)  # what depends on more than the text of a message
        return printed(shown) if printed else f"failure({_failure(make)})"

    rows = [
        f"    {code}: {shown(check.make)},"  # type: ignore[attr-defined]
        for code, check in lowered.failures.items()
    ]
    used = [text.strip("\n") for name, text in _MAKERS.items() if any(f"{name}(" in row for row in rows)]
    head = "#: What a status says: the exception for the two numbers that a check leaves."
    return "\n\n\n".join([*used, "\n".join([head, "FAILURES = {", *rows, "}"])])


def _failure(make: Any) -> str:
    """The exception that a failed check raises, and its message. Where that says more than two numbers can, it is
    made with them as they are shown."""
    try:
        error = make((_Index(7), _Size(5)), None)
    except Exception:  # a message that computes with what is only known in a run
        return 'RuntimeError, "a check failed: {0}, {1}"'
    kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
    kind = RuntimeError if kind in (Exception, BaseException, object) else kind
    said = error.cause.format(**error.details) if isinstance(error, TracejitError) else str(error)
    return f"{kind.__name__}, {_escaped(said)}"


def _escaped(message: str) -> str:
    text = message.replace("{0}", "\0").replace("{1}", "\1").replace("{", "{{").replace("}", "}}")
    return repr(text.replace("\0", "{0}").replace("\1", "{1}"))
