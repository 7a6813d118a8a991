"""The fast path: a call like an earlier one goes through one generated function to machine code.

For `f(p, x)` with p = {"w": [w0, w1]} that captures an array W, it is

    def call(args, kwargs):
        if len(args) != 2 or kwargs: return MISS
        a0, a1, = args
        if type(a0) is not dict or tuple(a0) != c0: return MISS
        a2, = a0.values()
        if type(a2) is not list or len(a2) != 2: return MISS
        a3, a4, = a2
        given = arrays()
        if given is None: return MISS
        return native(given[0], a3, a4, a1)

`native` is the program's shell, which checks types, dtypes, shapes and layouts (`lowering.shell`), and gives MISS as
well where one is another. What is not met here takes the general way.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import count
from typing import Any

import numpy as np
import optree

from tracejit import tree
from tracejit.api.programs import Program
from tracejit.api.signature import Call, is_array_like
from tracejit.interpreters import jit as native
from tracejit.interpreters.jit import MISS, Input

_serial = count()
_SCALARS = (bool, int, float, complex, np.generic)


def fast_call(program: Program, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function for calls like this one of `args` and `kwargs`; None if there can be none."""
    consts = program.constants()
    if consts is None:
        return None
    written = set(program.written) | set(program.donated)
    specs = [Input.of(x, n in written) for n, x in enumerate((*consts, *call.leaves))]
    inputs = [spec for spec in specs if spec is not None]
    if len(inputs) < len(specs):
        return None
    strides = tuple([native.element_strides(np.asarray(x)) for x in (*consts, *call.leaves)])
    w = _Writer(program)
    if not w.arguments(call, args, kwargs):
        return None
    w.constants()
    w.overlaps(sorted(written), consts, call.leaves)
    single = len(program.jaxpr.outs) == 1
    w.names["native"] = program.compiled(strides).caller(inputs, single)
    w.results(single)
    return w.function()


class _Writer:
    """Writes the generated function; `names` holds the objects it refers to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"MISS": MISS, "flatten": tree.flatten_ordered, "unflatten": tree.unflatten,
                                      "overlap": np.may_share_memory}  # fmt: skip
        self.leaves: list[str] = []  # variables, in the order of the program's leaves
        self.inputs: list[str] = []  # expressions of the captured arrays
        self.count = 0

    def const(self, value: Any) -> str:
        """The name of a global that holds `value`."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def unless(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return MISS")

    def unpack(self, source: str, size: int) -> list[str]:
        """Variables for the items of `source`."""
        found = [f"a{self.count + n}" for n in range(size)]
        self.count += size
        if found:
            self.lines.append(f"{', '.join(found)}, = {source}")
        return found

    # -- arguments

    def arguments(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Check and take apart the arguments; False where that can't be written."""
        self.unless(f"len(args) == {len(args)}" + ("" if kwargs else " and not kwargs"))
        if kwargs:
            self.unless(f"tuple(kwargs) == {self.const(tuple(kwargs))}")
        given = zip((*range(len(args)), *kwargs), (*args, *kwargs.values()), strict=True)
        variables = [*self.unpack("args", len(args)), *self.unpack("kwargs.values()", len(kwargs))]
        for (key, value), v in zip(given, variables, strict=True):
            if key in (call.static if type(key) is int else call.static_kwargs):
                self.equal(v, value)
            elif not self.walk(v, value):
                return False
        return len(self.leaves) == len(call.leaves)

    def walk(self, v: str, value: Any) -> bool:
        """Check the tree in variable `v`, which was `value`, down to its leaves."""
        cls = type(value)
        if cls is tuple or cls is list or optree.is_namedtuple(value):
            self.unless(f"type({v}) is {self.const(cls)} and len({v}) == {len(value)}")
            return all(map(self.walk, self.unpack(v, len(value)), value))
        if cls is dict and all(type(k) is str for k in value):
            self.unless(f"type({v}) is dict and tuple({v}) == {self.const(tuple(value))}")
            return all(map(self.walk, self.unpack(f"{v}.values()", len(value)), value.values()))
        if cls is np.ndarray or isinstance(value, _SCALARS):
            self.leaves.append(v)  # the shell looks at its type
            return True
        if value is None or not is_array_like(value):
            return self.other(v, value)
        return False

    def other(self, v: str, value: Any) -> bool:
        """A node of another kind, by optree, or something that is no array: part of the signature."""
        if value is None:
            self.unless(f"{v} is None")
            return True
        leaves, structure = tree.flatten_ordered(value)
        if len(leaves) == 1 and leaves[0] is value:
            if isinstance(value, (str, bytes)):
                self.equal(v, value)
            else:
                self.unless(f"{v} is {self.const(value)}")  # its state is guarded
            return True
        self.lines.append(f"{v}, structure = flatten({v})")
        self.unless(f"structure == {self.const(structure)}")
        return all(map(self.walk, self.unpack(v, len(leaves)), leaves))

    def equal(self, v: str, value: Any) -> None:
        c = self.const(value)
        self.unless(f"{v} is {c} or type({v}) is {self.const(type(value))} and {v} == {c}")

    def constants(self) -> None:
        """The captured arrays as they are now."""
        guards, sources = self.program.guards, self.program.const_sources
        if len(guards) or any(type(s) is int for s in sources):
            self.names["arrays"] = guards.arrays
            self.lines.append("given = arrays()")
            self.unless("given is not None")
        self.inputs = [f"given[{s}]" if type(s) is int else self.const(s.value) for s in sources]

    def overlaps(self, written: list[int], consts: list[Any], leaves: list[Any]) -> None:
        """What is written must share no memory with other inputs."""
        given, values = [*self.inputs, *self.leaves], [*consts, *leaves]
        for n in written:
            for m, y in enumerate(values):
                if m != n and type(y) is np.ndarray and not (m in written and m < n):
                    self.unless(f"not overlap({given[n]}, {given[m]})")

    # -- results

    def results(self, single: bool) -> None:
        program = self.program
        call = f"native({', '.join([*self.inputs, *self.leaves])})"
        every = program.results == [("out", n) for n in range(len(program.jaxpr.outs))]
        if every and program.out_tree == tree.structure(0 if single else (0,) * len(program.results)):
            self.lines.append(f"return {call}")
            return
        self.lines.append(f"out = {call}")
        self.unless("out is not MISS")
        outs = ["out"] if single else [f"out[{n}]" for n in range(len(program.jaxpr.outs))]
        texts = [outs[x] if kind == "out" else self.leaves[x] if kind == "arg" else self.const(x)
                 for kind, x in program.results]  # fmt: skip
        example = tree.unflatten(program.out_tree, [_Text(t) for t in texts])
        plain = self.display(example)
        whole = f"unflatten({self.const(program.out_tree)}, ({''.join(t + ', ' for t in texts)}))"
        self.lines.append(f"return {whole if plain is None else plain}")

    def display(self, x: Any) -> str | None:
        """The source that makes the tree `x` of texts; None if it has nodes that only optree can make."""
        if type(x) is _Text or x is None:
            return str(x)
        items = [self.display(y) for y in (x.values() if type(x) is dict else x)] if _is_plain(x) else [None]
        texts = [t for t in items if t is not None]
        if len(texts) < len(items):
            return None
        if type(x) is dict:
            return "{" + ", ".join(f"{self.const(k)}: {t}" for k, t in zip(x, texts, strict=True)) + "}"
        inside = "".join(f"{t}, " for t in texts)
        if type(x) is tuple or type(x) is list:
            return f"({inside})" if type(x) is tuple else f"[{inside}]"
        return f"{self.const(type(x))}({inside})"

    def function(self) -> Any:
        body = "\n".join(f"    {line}" for line in self.lines)
        source = f"def call(args, kwargs):\n{body}\n"
        exec(compile(source, f"<tracejit call {next(_serial)}>", "exec"), self.names)
        return self.names["call"]


class _Text(str):
    """A leaf of a result: the expression that gives it."""


def _is_plain(x: Any) -> bool:
    return type(x) in (tuple, list, dict) or optree.is_namedtuple(x)


def fast_key(static: Collection[int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A cheap signature, by which a call finds the function made for calls like it; None if it can't have one.
    `static` are the positions of static arguments."""
    try:
        leaves, structure = tree.flatten_ordered((args, kwargs) if kwargs else args)
        key = structure, tuple(map(_key, leaves)), tuple([args[n] for n in static if n < len(args)])
        hash(key)
    except TypeError:
        return None
    return key


def _key(x: Any) -> Any:
    """Numbers may change between calls like each other, objects not."""
    if type(x) is np.ndarray:
        return x.dtype, x.shape, x.strides
    return type(x), x if isinstance(x, (str, bytes)) else None if isinstance(x, _SCALARS) else id(x)
