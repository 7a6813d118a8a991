"""Generation by execution: every statement runs, undisturbed and disturbed, before it is accepted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tracejit as tj
from tests.fuzz.program import Line
from tests.fuzz.spellings import Plain, own

MOST = 60  # elements of a value
LARGE = 1e4
#: How far a disturbance may have grown, relative to the largest element, before a value is refused.
GROWTH = {"float64": 1e-7, "complex128": 1e-7, "float32": 1e-2, "complex64": 1e-2, "float16": 0.2}
SIGNS = (0.0, 1.0, -1.0)


class Refused(Exception):
    """A statement that the program is better without."""


class Env:
    """The variables of a program or of a body, in three executions: as it is, and disturbed both ways."""

    def __init__(self, rng: np.random.Generator, special: bool, outer: Env | None = None) -> None:
        self.rng, self.special, self.outer = rng, special, outer
        self.start: list[str] = []  # statements that make the first variables
        self.parameters: dict[str, list[Any]] = {}  # of a body: a value for each execution
        self.lines: list[Line] = []
        self.names: list[str] = []
        self.counter: list[int] = [0] if outer is None else outer.counter
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.spaces: list[dict[str, Any]] = []
        self.closed = False  # a body that may not read outer variables
        self.writes = True  # and one that may not write
        self.constants: list[str] = []
        self.restart()

    def name(self, letter: str = "v") -> str:
        self.counter[0] += 1
        return f"{letter}{self.counter[0]}"

    def restart(self) -> None:
        """Everything again from the start: a refused statement may have written."""
        self.spaces = []
        for n, sign in enumerate(SIGNS):
            space: dict[str, Any] = {} if self.outer is None else dict(self.outer.spaces[n])
            space.update(np=np, L=Plain(sign))
            space.update({k: given(v[n]) for k, v in self.parameters.items()})
            self.spaces.append(space)
        for text in [*self.start, *(line.source() for line in self.lines)]:
            self.run(text)

    def run(self, text: str) -> None:
        code = compile(text, "<line>", "exec")
        how = "ignore" if self.special else "raise"
        with np.errstate(divide=how, over=how, invalid=how, under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for space in self.spaces:
                exec(code, space)

    def begin(self, name: str, text: str) -> None:
        """An input or a constant."""
        self.start.append(text)
        self.run(text)
        self.names.append(name)

    def parameter(self, name: str, values: list[Any]) -> None:
        """A parameter of a body, with a value for each execution."""
        self.parameters[name] = values
        for space, v in zip(self.spaces, values, strict=True):
            space[name] = given(v)
        self.names.append(name)

    def add(self, line: Line) -> bool:
        """Append a statement; False, and nothing has happened, if it fails or gives what is no use."""
        try:
            self.run(line.source())
            for name in (*line.outs, *self.names):
                self.inspect(name)
            if self.outer is not None and any(self.shared(n) for n in line.outs):
                raise Refused
        except Exception:
            self.restart()
            return False
        self.lines.append(line)
        self.names += line.outs
        return True

    def inspect(self, name: str) -> None:
        if not isinstance(self.value(name), (np.ndarray, np.generic, int, float, complex)):
            raise Refused  # a sequence of arrays is no array
        clean, *others = (np.asarray(s[name]) for s in self.spaces)
        if clean.dtype.kind not in "biufc" or str(clean.dtype) in ("longdouble", "clongdouble"):
            raise Refused
        if clean.size > MOST or clean.ndim > 4:
            raise Refused
        if clean.dtype.kind in "fc" and not self.special:
            if not (np.isfinite(clean).all() and (np.abs(clean) < LARGE).all()):
                raise Refused
        for other in others:
            self.stable(clean, other)

    def stable(self, clean: Any, other: Any) -> None:
        """Refuse what jumps when its operands are disturbed."""
        if clean.dtype != other.dtype or clean.shape != other.shape:
            raise Refused
        if np.array_equal(clean, other, equal_nan=clean.dtype.kind in "fc"):
            return
        if clean.dtype.kind not in "fc":
            raise Refused
        finite = np.isfinite(clean)
        if (
            not np.array_equal(clean[~finite], other[~finite], equal_nan=True)
            or not np.isfinite(other[finite]).all()
        ):
            raise Refused
        with np.errstate(all="ignore"):
            big = np.abs(clean[finite]).max(initial=0.0)
            off = np.abs(clean[finite] - other[finite]).max(initial=0.0)
        if not off <= GROWTH[str(clean.dtype)] * max(float(big), 1e-3):
            raise Refused

    def shared(self, name: str) -> bool:
        """Whether a variable of a body is memory of a parameter or of an outer variable: not to be written."""
        value = self.spaces[0][name]
        if not isinstance(value, np.ndarray):
            return False
        names = self.outer.everything() if self.outer is not None else []
        outers = [self.spaces[0][o] for o in names if o in self.spaces[0]]
        if not value.size:  # a view of nothing shares no memory
            return value.base is not None or any(value is o for o in outers)
        return any(np.shares_memory(value, o) for o in outers)

    # ------------------------------------------------------------ choosing

    def value(self, name: str) -> Any:
        return self.spaces[0][name]

    def everything(self) -> list[str]:
        """Variables to read: a body's own ones, and the outer ones it captures."""
        if self.outer is None:
            return [*self.names, *self.constants]
        return [*self.names, *self.names, *([] if self.closed else self.outer.everything())]

    def pick(self, kinds: str = "biufc", low: int = 0, high: int = 9, own_only: bool = False) -> str:
        """A variable of these kinds of dtype and between `low` and `high` dimensions; the later, the likelier."""
        names = self.names if own_only else self.everything()
        fitting = [
            n
            for n in names
            if np.asarray(self.value(n)).dtype.kind in kinds and low <= np.ndim(self.value(n)) <= high
        ]
        if not fitting:
            raise Refused
        position = max(self.rng.integers(len(fitting)), self.rng.integers(len(fitting)))
        return fitting[int(position)]

    def like(self, name: str) -> str:
        """A variable of the same type as `name`, `name` itself if there is no other."""
        v = np.asarray(self.value(name))
        fitting = [
            n
            for n in self.names
            if np.asarray(self.value(n)).dtype == v.dtype and np.shape(self.value(n)) == v.shape and n != name
        ]
        return fitting[int(self.rng.integers(len(fitting)))] if fitting else name

    def one_of(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def body(self, parameters: dict[str, list[Any]], closed: bool = False) -> Env:
        """The variables of a body with these parameters."""
        inner = Env(self.rng, self.special, self)
        inner.closed = closed or self.closed
        for name, values in parameters.items():
            inner.parameter(name, values)
        return inner

    def values(self, name: str) -> list[Any]:
        return [s[name] for s in self.spaces]


def given(x: Any) -> Any:
    """What a body gets for a parameter: its own copy; the index of a loop may be a Python integer."""
    return x if type(x) is int else own(x)


def leaves(x: Any) -> list[Any]:
    return [np.asarray(v) for v in tj.tree.leaves(x)]
