"""A program: lines of Python over NumPy and `L`, whole enough to be saved and read."""

from __future__ import annotations

import linecache
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.spellings import Spelling


@dataclass(frozen=True)
class Line:
    """A statement. A function definition has the lines of its body, and what it returns."""

    text: str
    outs: tuple[str, ...] = ()
    body: tuple[Line, ...] | None = None
    result: str = ""

    def render(self, indent: str) -> Iterator[str]:
        yield indent + self.text
        if self.body is not None:
            for line in self.body:
                yield from line.render(indent + "    ")
            yield f"{indent}    return {self.result}"

    def renamed(self, old: str, new: str) -> Line:
        body = None if self.body is None else tuple(line.renamed(old, new) for line in self.body)
        return replace(
            self, text=_rename(self.text, old, new), result=_rename(self.result, old, new), body=body
        )

    def source(self) -> str:
        return "\n".join(self.render(""))


def _rename(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{old}\b", new, text)


class Loaded:
    """Anything with a `source` of `inputs` and `program`."""

    seed: int
    source: str
    derivative: bool

    @cached_property
    def code(self) -> Any:
        name = f"<program {self.seed} {zlib.crc32(self.source.encode()):x}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        return compile(self.source, name, "exec")

    def load(self, spelling: Spelling) -> tuple[Callable[[], Any], Callable[..., Any]]:
        """(what makes the arguments, the function), with `L` as given."""
        space: dict[str, Any] = {"np": np, "__name__": f"program_{self.seed}"}
        exec(self.code, space)
        space["L"] = spelling
        return space["inputs"], space["program"]


class Saved(Loaded):
    """A program from a file."""

    def __init__(self, path: Path) -> None:
        self.source = path.read_text(encoding="utf-8")
        space: dict[str, Any] = {}
        exec(self.code, space)
        self.seed, self.how, self.derivative = space["SEED"], space["HOW"], space["DERIVATIVE"]

    seed = 0


@dataclass(frozen=True)
class Program(Loaded):
    """`constants` are lines of the module, `inputs` pairs of a name and the expression that makes it."""

    seed: int
    constants: tuple[Line, ...]
    inputs: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    outs: tuple[str, ...]
    derivative: bool = False  # it has floating-point arguments and no infinities

    @cached_property
    def source(self) -> str:  # type: ignore[override]
        names = ", ".join(n for n, _ in self.inputs)
        out = [*(s for c in self.constants for s in c.render("")), "", "", "def inputs():"]
        out.append(f"    rng = np.random.default_rng({self.seed})")
        out += [f"    {n} = {e}" for n, e in self.inputs]
        out += [f"    return ({names},)", "", "", f"def program({names}):"]
        out += [s for line in self.lines for s in line.render("    ")]
        out += [f"    return ({', '.join(self.outs)},)", ""]
        return "\n".join(out).lstrip("\n")
