"""Exported programs: called, looked at, saved and loaded. They have no function, and are never traced."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.api.exporting import checks, parts, sizes, structures
from tracejit.api.exporting.arguments import PYTHON, Argument, type_of
from tracejit.api.exporting.libraries import write
from tracejit.api.exporting.values import Unstorable, decode
from tracejit.api.jit import handed
from tracejit.errors import (
    ExportedArgumentError,
    ExportedFileError,
    ExportRefusedError,
    ReadOnlyArgumentError,
)
from tracejit.interpreters import jit as native
from tracejit.interpreters import jit_stored
from tracejit.ir.avals import Aval
from tracejit.version import __version__

#: What a description that is not one of ours raises where it is read.
_DAMAGED = (
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
    Unstorable,
)


class Exported:
    """An exported program, from `export` or `load_exported`: call it like the function, with arguments of the same
    types.

    `in_avals` and `out_avals` are the types of the arrays and numbers among the arguments and in the result, `host` the
    processor that it was compiled for, `is_native` whether its machine code runs on this one as it is (or was compiled
    from its text). `vjp()` is the program of its gradient."""

    def __init__(self, file: File, number: int) -> None:
        d = file.functions[number]
        self._file = file
        self._description = d
        self.name: str = str(d["name"])
        self._arguments, self._result, self._results = d["arguments"], d["result"], d["results"]
        self._parts = d["parts"]
        self._leaves = [Argument(leaf, n in d["written"]) for n, leaf in enumerate(d["leaves"])]
        self._stored = jit_stored.Stored(file.read, d["program"], checks.read, decode)
        self._sizes: list[str] = d.get("sizes", [])
        count = len(self._sizes)
        named = {n for a in self._leaves[count:] for n in a.shape if type(n) is str}
        if named != set(self._sizes) or any(str(a) != "int" for a in self._leaves[:count]):
            raise jit_stored.Malformed("its sizes are not those of its arguments")
        if [type_of(a.aval) for a in self._leaves] != list(map(type_of, self._stored.in_avals)):
            raise jit_stored.Malformed("its arguments are not those of its program")
        self._written = list(d["written"])
        self._arrays = {n for kind, n in self._results if kind == "array"}
        self._python: list[int] = d["python"]
        self._given = {
            n: self._known(n, kind, x) for n, (kind, x) in enumerate(self._results) if kind in _FIXED
        }
        self._native: Callable[..., Any] = self._stored.caller(
            [a.input() for a in self._leaves], self._python
        )

    def _known(self, n: int, kind: str, x: Any) -> Any:
        """A result that is the same in every call."""
        return decode(x) if kind == "value" else self._stored.captured[x]

    # -- calling

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The function's result. Raises what the function raises in compiled code, and ExportedArgumentError for other
        arguments than those that it was exported for."""
        leaves: list[Any] = [None] * len(self._leaves)
        try:
            self._flatten(args, kwargs, leaves)
            plain = not self._sizes or self._sized(leaves)
            self._check_written(leaves)
            outs = self._native(*leaves) if plain else native.MISS
            if outs is native.MISS:
                outs = self._converted(leaves)
        except structures.Differs as e:
            raise ExportedArgumentError(function=self.name, problem=str(e)) from None
        return self._assemble(outs, leaves, args, kwargs)

    call = __call__

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> None:
        _, (_, *positional), (_, *named) = self._arguments
        if len(args) != len(positional) or list(kwargs) != [k for k, _ in named]:
            if len(args) != len(positional) or sorted(kwargs) != sorted(k for k, _ in named):
                wanted = ", ".join(["one by position"] * len(positional) + [f"{k}=" for k, _ in named])
                raise structures.Differs(f"it takes ({wanted})")
        for n, (d, x) in enumerate(zip(positional, args, strict=True)):
            structures.flatten(d, x, f"argument {n}", leaves)
        for k, d in named:
            structures.flatten(d, kwargs[k], k, leaves)

    def _sized(self, leaves: list[Any]) -> bool:
        """Put the sizes before the arguments; whether native code can read the arrays that have them as they are."""
        leaves[: len(self._sizes)] = sizes.find(self._leaves, leaves, self._sizes)
        return all(not a.named or a.is_plain(x) for a, x in zip(self._leaves, leaves, strict=True))

    def _converted(self, leaves: list[Any]) -> Any:
        """The outputs for arguments that the native function does not take as they are."""
        arrays = [a.array(x) for a, x in zip(self._leaves, leaves, strict=True)]
        outs = self._stored.run(arrays)
        for n in self._written:
            if arrays[n] is not leaves[n]:
                np.copyto(leaves[n], arrays[n])
        return [o.item() if n in self._python else native.scalar(o) for n, o in enumerate(outs)]

    def _check_written(self, leaves: list[Any]) -> None:
        """Raises ReadOnlyArgumentError, or Differs where an array that is written shares memory with another one."""
        others = [*enumerate(leaves), *((-1, a) for a in self._stored.captured)] if self._written else []
        for n in self._written:
            x = leaves[n]
            if not isinstance(x, np.ndarray):
                continue
            if not x.flags.writeable:
                raise ReadOnlyArgumentError(function=self.name, argument=self._leaves[n].name)
            for m, y in others:
                if m != n and isinstance(y, np.ndarray) and np.may_share_memory(x, y):
                    what = self._leaves[m].name if m >= 0 else "an array of the program's own"
                    raise structures.Differs(
                        f"{self._leaves[n].name}, which it writes, shares memory with {what}"
                    )

    def _assemble(
        self, outs: Sequence[Any], leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        given: dict[Any, Any] = {"out": outs, "arg": leaves, "const": self._stored.captured}
        if self._arrays:
            given["out"] = outs = [np.asarray(x) if n in self._arrays else x for n, x in enumerate(outs)]
        given["part"] = made = []
        for p in self._parts:  # some are parts of parts before them
            made.append(parts.make(p, given))
        picked = [
            self._given[n] if n in self._given
            else _found(x, args, kwargs) if k == "given"
            else given[_SAME.get(k, k)][x]
            for n, (k, x) in enumerate(self._results)
        ]  # fmt: skip
        return structures.build(self._result, picked)

    # -- looking at it

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        """The types of the arrays and numbers among the arguments."""
        return tuple(a.aval for a in self._shown)

    @property
    def _shown(self) -> list[Argument]:
        """The arguments of the function."""
        return self._leaves[len(self._sizes) :]

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        """The types of the arrays and numbers in the result; sizes that only a run knows are shown with their bound."""
        return tuple(
            self._out_aval(n, kind, x) for n, (kind, x) in enumerate(self._results) if self._is_number(n)
        )

    def _is_number(self, n: int) -> bool:
        if self._results[n][0] == "given":
            return False
        return n not in self._given or isinstance(self._given[n], (np.ndarray, np.generic, *PYTHON.values()))

    def _out_aval(self, n: int, kind: str, x: Any) -> Aval:
        if n in self._given:
            a = np.asarray(self._given[n])
            return Aval(a.shape, a.dtype)
        if kind == "part":
            return Aval(tuple(self._parts[x][3]), jit_stored.DTYPES[self._parts[x][2]])
        return self._leaves[x].aval if kind == "arg" else self._output(x)

    def _output(self, n: int) -> Aval:
        """The type of an output, with the names of its sizes."""
        low = self._stored.lowered
        first = len(self._stored.fixed)
        names = {("input", first + n): name for n, name in enumerate(self._sizes)}

        def shown(size: Any, d: Any) -> Any:
            if d in names:
                return names[d]
            return "?" if type(size) is not int and size.bound is None else size

        aval = low.out_avals[n]
        return aval.with_shape(tuple(map(shown, aval.shape, low.out_dims[n])))

    @property
    def host(self) -> dict[str, Any]:
        """What it was compiled for: `platform`, `machine`, `cpu` and `features` of the processor."""
        return dict(self._file.description["host"])

    @property
    def is_native(self) -> bool:
        """Whether the machine code in the file runs on this processor; if not, it was compiled from its text."""
        return self._file.read.is_native

    @property
    def has_vjp(self) -> bool:
        """Whether it was exported with its gradient."""
        return self._description.get("vjp") is not None

    def __repr__(self) -> str:
        given = ", ".join(f"{a.name}: {a}" for a in self._shown)
        made = ", ".join(map(str, self.out_avals))
        return f"<exported {self.name}({given}) -> {made}{', with its gradient' * self.has_vjp}>"

    # -- what it can become

    def vjp(self) -> Exported:
        """The program of the gradient: a function of the arguments and a cotangent like the result (None for what has
        no derivative), which gives a tuple with the cotangent of each argument, None for what has none.

        Raises ExportRefusedError if it was exported without (`export(f, vjp=True)`)."""
        number = self._description.get("vjp")
        if number is None:
            raise ExportRefusedError(
                function=self.name,
                problem="it was exported without its gradient, and is not traced again",
                remedy="export it with `tj.export(f, vjp=True)`",
            )
        return self._file.function(number)

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return self._file.data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program, with its gradient if it has one, into a file for `load_exported`. Raises OSError."""
        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(self._file.data)
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def write_library(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | os.PathLike[str] | None = None,
        name: str | None = None,
        more: Mapping[str, Exported] | None = None,
        libraries: Sequence[str] = (),
    ) -> None:
        """Write the program, its gradient if it has one, and those in `more` (by their names) as a library of C that
        needs neither Python nor tracejit: a shared one (`.so`), a static one (`.a`) or an object (`.o`), for this
        processor. `header` is the file of the declarations; docs/export.md has the rules.

        Raises LibraryBuildError where C can't have the program, or there is no compiler to link with. OSError."""
        write(
            os.fspath(path),
            None if header is None else os.fspath(header),
            {name or self.c_name: self, **(more or {})},
            libraries,
        )

    @property
    def c_name(self) -> str:
        """What the function is called in libraries, unless they are told another name."""
        last = re.sub(r"\W", "_", self.name.rpartition(".")[2].strip("<>"))
        return f"f_{last}" if last[:1].isdigit() or not last else last

    def __reduce__(self) -> Any:
        """Pickled as the bytes of its file."""
        return _unpickled, (self._file.data, self._file.functions.index(self._description))


#: Results that are the same in every call, and kinds of results that are outputs.
_FIXED = ("value", "const")
_SAME: dict[Any, str] = {"array": "out"}


def _found(place: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A container or string among the arguments that is handed back."""
    key, steps = place
    path = key, tuple((is_attribute, decode(k)) for is_attribute, k in steps)
    return handed.find(path, kwargs[key] if isinstance(key, str) else args[key])


class File:
    """The programs of one file: `data`, its bytes. Raises ExportedFileError, in whose message it is called `name`."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self._made: dict[int, Exported] = {}
        with _Reading(name):
            self.description, blocks = jit_stored.unpack(data)
            self.functions = self.description["functions"]
            self.read = jit_stored.Read(self.description, blocks)

    def function(self, number: int) -> Exported:
        """A program, loaded when it is first asked for."""
        if number not in self._made:
            with _Reading(self.name):
                self._made[number] = Exported(self, number)
        return self._made[number]


class _Reading:
    """Turns what a malformed file raises into ExportedFileError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: Any, traceback: Any) -> None:
        if isinstance(e, jit_stored.Malformed):
            raise ExportedFileError(path=self.name, problem=str(e)) from None
        if isinstance(e, _DAMAGED):
            raise ExportedFileError(path=self.name, problem=f"its description is none ({e!r})") from None


def _unpickled(data: bytes, number: int) -> Exported:
    return File(data, "a pickled program").function(number)


def written(functions: list[dict[str, Any]], into: jit_stored.Written) -> bytes:
    """The bytes of a file of these functions, which were described with `into`."""
    own, blocks = into.finish()
    return jit_stored.pack({"tracejit": __version__, **own, "functions": functions}, blocks)
