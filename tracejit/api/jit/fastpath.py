"""The fast path: a call like an earlier one goes through one generated function to machine code.

For `f(p, x)` with p = {"w": [w0, w1]} that captures an array W, it is

    def call(args, kwargs):
        if len(args) != 2 or kwargs: return MISS
        a0, a1, = args
        if type(a0) is not dict or len(a0) != 1: return MISS
        a2, = a0
        if a2 is not c0 and a2 != c0: return MISS
        a3, = a0.values()
        if type(a3) is not list or len(a3) != 2: return MISS
        a4, a5, = a3
        given = arrays()
        if given is None: return MISS
        out = native(given[0], a4, a5, a1)
        if out is MISS: return MISS
        return out

`native` is the program's shell, which checks types, dtypes, shapes and layouts (`lowering.runtime.shell`), and gives
MISS as well where one is another. What is not met here takes the general way.

The same lines make `call.direct()`, which may be the `__call__` of the jitted function itself: its parameters are
those of the call, so that no tuple and no dict are made, and it hands on what it does not know to `missed`:

    def __call__(self, a0=ABSENT, a1=ABSENT, /, *more, **others):
        if more or others or tracing and state.trace is not root or not config.fast:
            return missed(self, (a0, a1, *more), others)
        ...
"""

from __future__ import annotations

import functools
import inspect
import keyword
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import optree

from tracejit import frontend, tree
from tracejit.api import timed
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.api.jit.handed import Path
from tracejit.api.jit.placing import Part
from tracejit.api.jit.programs import Program, as_array
from tracejit.api.jit.signature import BY_VALUE, SCALARS, Call, is_array_like, reference
from tracejit.config import config
from tracejit.interpreters.jit import MISS
from tracejit.numpy.boxes.memory import overlap
from tracejit.timeline import SWITCH
from tracejit.tracing import ROOTS, STATE, TRACING

_serial = count()
_ABSENT: Any = object()
_OURS = re.compile(r"[acfgpv]\d+|array\d*|self|more|others|out|given|held|structure|error|e")
_DEEPEST = 50  # results are written as nested displays: Python allows 200 parentheses


def fast_call(
    program: Program,
    call: Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    missed: Callable[..., Any],
    again: Callable[..., Any] | None = None,
    allowed: Callable[[], bool] = lambda: False,
) -> Any:
    """The function for calls like this one of `args` and `kwargs`; None if there can be none. Its `direct()` is a
    method for them (or None); `missed(self, args, kwargs)` takes over the calls that it does not
    know, `again(error, args, kwargs)` those in which compiled code has raised, if Python is `allowed()` to."""
    consts = program.constants(call.objects)
    if consts is None or program.warns or program.stores:
        return None
    written = set(program.written) | set(program.donated)
    native_call = program.caller(consts, call.leaves, call.options.fallback is not False)
    if native_call is None:
        return None
    w = _Writer(program)
    w.names["again"] = again
    if not w.arguments(call, args, kwargs):
        return None
    if program.over is not None:  # settings may change
        w.names["allowed"] = allowed
        w.unless(f"allowed() is {program.over}")
    w.apart()
    w.constants()
    w.overlaps(sorted(written), consts, call.leaves)
    single = len(program.jaxpr.outs) == 1
    w.names["native"] = program.acting(native_call, allowed)
    w.results(single)
    made = w.compiled("call(args, kwargs)", w.lines)
    made.direct = functools.cache(functools.partial(w.direct, call.fun, missed))
    return timed.Fast(made, call.fun) if SWITCH.on else made


class _Writer:
    """Writes the generated function; `names` holds the objects it refers to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"MISS": MISS, "flatten": tree.flatten_ordered, "unflatten": tree.unflatten,
                                      "overlap": overlap}  # fmt: skip
        self.leaves: list[str] = []  # variables, in the order of the program's leaves
        self.apart_from: list[str] = []  # arguments that are taken apart
        self.objects: list[str] = []  # those that guards begin at
        self.inputs: list[str] = []  # expressions of the captured arrays
        self.count = 0
        self.keywords: list[str] = []
        self.parameters: list[str] = []
        self.head = 0  # the lines before take `args` and `kwargs` apart

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
        self.keywords = list(kwargs)
        given = zip((*range(len(args)), *kwargs), (*args, *kwargs.values()), strict=True)
        variables = [*self.unpack("args", len(args)), *self.unpack("kwargs.values()", len(kwargs))]
        self.parameters, self.head = variables, len(self.lines)
        for (key, value), v in zip(given, variables, strict=True):
            if key in (call.static if type(key) is int else call.static_kwargs):
                self.equal(v, value)
            elif key in call.followed_keys:
                self.objects.append(v)  # guarded
            else:
                self.apart_from.append(v)
                if not self.walk(v, value):
                    return False
        return len(self.leaves) == len(call.leaves)

    def walk(self, v: str, value: Any) -> bool:
        """Check the tree in variable `v`, which was `value`, down to its leaves."""
        cls = type(value)
        if cls is tuple or cls is list or optree.is_namedtuple(value):
            self.unless(f"type({v}) is {self.const(cls)} and len({v}) == {len(value)}")
            return all(map(self.walk, self.unpack(v, len(value)), value))
        if cls is dict and all(type(k) is str for k in value):
            self.unless(f"type({v}) is dict and len({v}) == {len(value)}")
            keys = [(k, self.const(c)) for k, c in zip(self.unpack(v, len(value)), value, strict=True)]
            self.unless(" and ".join(f"({k} is {c} or {k} == {c})" for k, c in keys) or "True")
            return all(map(self.walk, self.unpack(f"{v}.values()", len(value)), value.values()))
        parts = tree.dataclass_parts(value)
        if parts is not None:
            children, static = parts
            self.unless(f"type({v}) is {self.const(cls)}")
            if hasattr(value, "__dict__"):  # nothing besides the fields
                self.unless(f"len({v}.__dict__) == {len(vars(value))}")
            for name, x in static.items():
                (field,) = self.unpack(f"({v}.{name},)", 1)
                self.equal(field, x)
            names = self.unpack(f"({''.join(f'{v}.{name}, ' for name in children)})", len(children))
            return all(map(self.walk, names, children.values()))
        plain = cls is np.ndarray and is_array_like(value)
        if plain or isinstance(value, (*SCALARS, ShapeDtypeStruct)):
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
            if isinstance(value, BY_VALUE):
                self.equal(v, value)
            elif frontend.kind_of(value) is not None:
                self.objects.append(v)  # guarded
            else:
                self.unless(f"{self.const(reference(value))}() is {v}")
            return True
        flat = f"{v}_flat"
        self.lines.append(f"{flat}, structure = flatten({v})")
        self.unless(f"structure == {self.const(structure)}")
        return all(map(self.walk, self.unpack(flat, len(leaves)), leaves))

    def equal(self, v: str, value: Any) -> None:
        c = self.const(value)
        self.unless(f"{v} is {c} or type({v}) is {self.const(type(value))} and {v} == {c}")

    def apart(self) -> None:
        """What the program changes is not among the arguments."""
        if self.program.apart is not None:
            values, given = ("".join(f"{v}, " for v in vs) for vs in (self.apart_from, self.objects))
            self.unless(f"{self.const(self.program.apart.are)}(({values}), ({given}))")

    def constants(self) -> None:
        """The captured arrays as they are now. The shell looks at those that nothing else looks at before it."""
        guards, sources = self.program.guards, self.program.const_sources
        known = {s for s in sources if type(s) is int} if self.program.simple else set()
        inlined = guards.inlined(self.objects, known)
        if inlined is not None:
            lines, arrays, names = inlined
            self.lines += lines
            self.names |= names
            if lines:
                self.unless("held")
        else:
            self.names["arrays"] = guards.arrays
            self.lines.append(f"given = arrays({', '.join(self.objects)})")
            self.unless("given is not None")
            arrays = [f"given[{n}]" for n in range(len(guards.nodes))]
        self.inputs = [arrays[s] if type(s) is int else self.const(s.value) for s in sources]

    def overlaps(self, written: list[int], consts: list[Any], leaves: list[Any]) -> None:
        """What is written must share no memory with other inputs."""
        given, values = [*self.inputs, *self.leaves], [*consts, *leaves]
        for n in written:
            for m, y in enumerate(values if type(values[n]) is np.ndarray else ()):
                if m != n and type(y) is np.ndarray and not (m in written and m < n):
                    self.unless(f"not overlap({given[n]}, {given[m]})")
        for n, m in self.program.distinct:
            self.unless(f"{given[n]} is not {given[m]}")

    # -- results

    def results(self, single: bool) -> None:
        program = self.program
        call = f"native({', '.join([*self.inputs, *self.leaves])})"
        every = program.store is None and program.results == [
            ("out", n) for n in range(len(program.jaxpr.outs))
        ]
        if self.names["again"] is None:
            self.lines.append(f"out = {call}")
        else:
            self.lines += ["error = None", f"try: out = {call}", "except Exception as e: error = e"]
            self.lines.append("if error is not None: return again(error, args, kwargs)")
        self.unless("out is not MISS")
        if program.cached:
            self.lines.append(f"{self.const(program.call_cached)}()")
        if every and program.out_tree == tree.structure(0 if single else (0,) * len(program.results)):
            self.lines.append("return out")
            return
        outs = ["out"] if single else [f"out[{n}]" for n in range(len(program.jaxpr.outs))]
        self.names["array"] = as_array
        arrays = [f"array{n}" for n in range(len(outs))]
        used = {n for kind, n in program.results if kind == "array"}
        self.lines += [f"array{n} = array({outs[n]})" for n in sorted(used)]
        given = {"out": outs, "array": arrays, "arg": self.leaves, "const": self.inputs}
        given["part"] = [f"p{n}" for n in range(len(program.parts))]
        every_out = "".join(f"{out}, " for out in outs)
        for n, part in enumerate(program.parts):
            self.lines.append(self.part(n, part, every_out, given))
        texts = [given[kind][x] if kind in given else self.elsewhere(kind, x) for kind, x in program.results]
        store = program.store
        if store is not None:
            texts += [self.objects[key] if kind == "o" else self.at((key, ())) for kind, key in store.roots]
            self.lines.append(f"return {self.const(store.function)}({', '.join(texts)})")
            return
        example = tree.unflatten(program.out_tree, [_Text(t) for t in texts])
        plain = self.display(example)
        whole = f"unflatten({self.const(program.out_tree)}, ({''.join(t + ', ' for t in texts)}))"
        self.lines.append(f"return {whole if plain is None else plain}")

    def elsewhere(self, kind: str, x: Any) -> str:
        """The expression of a result that is no array of the program's."""
        if kind == "given":
            return self.at(x)
        if kind == "found":
            return f"{self.const(x)}.read(({''.join(f'{v}, ' for v in self.objects)}))"
        return f"{self.const(x)}()" if kind == "new" else self.const(x)

    def part(self, n: int, part: Any, outs: str, given: dict[str, list[str]]) -> str:
        """The line that makes a part of an array."""
        if type(part) is Part:
            kind, at = part.base
            return f"p{n} = {self.const(part.made)}({given[kind][at]}, ({outs}))"
        known = {"arg": given["arg"], "const": given["const"], "part": given["part"][:n]}
        texts = "".join(f"{kind!r}: ({''.join(t + ', ' for t in held)}), " for kind, held in known.items())
        return f"p{n} = {self.const(part.of)}({{'out': ({outs}), {texts}}})"

    def at(self, path: Path) -> str:
        """The expression of a container among the arguments."""
        first = len(self.parameters) - len(self.keywords)
        key, steps = path
        n = first + self.keywords.index(key) if isinstance(key, str) else key
        text = self.parameters[n]
        for is_attribute, k in steps:
            text += f".{k}" if is_attribute else f"[{self.const(k)}]"
        return text

    def display(self, x: Any, depth: int = 0) -> str | None:
        """The source that makes the tree `x` of texts; None if it has nodes that only optree can make, or is so deep
        that Python refuses the source."""
        if type(x) is _Text or x is None:
            return str(x)
        parts = tree.dataclass_parts(x)
        if (parts is None and not _is_plain(x)) or depth == _DEEPEST:
            return None
        values = x.values() if type(x) is dict else parts[0].values() if parts else x
        items = [self.display(y, depth + 1) for y in values]
        texts = [t for t in items if t is not None]
        if len(texts) < len(items):
            return None
        if type(x) is dict:
            return "{" + ", ".join(f"{self.const(k)}: {t}" for k, t in zip(x, texts, strict=True)) + "}"
        inside = "".join(f"{t}, " for t in texts)
        if type(x) is tuple or type(x) is list:
            return f"({inside})" if type(x) is tuple else f"[{inside}]"
        return f"{self.const(_maker(type(x), *parts) if parts else type(x))}({inside})"

    def direct(self, fun: Any, missed: Callable[..., Any]) -> Any:
        """The method for the same calls; None where the order of keywords or their names are in the way."""
        code = getattr(fun, "__code__", None)
        if self.keywords and (code is None or code.co_flags & inspect.CO_VARKEYWORDS):
            return None
        # First, so that no parameter is named as one of these.
        self.names.update(
            ABSENT=_ABSENT, tracing=TRACING, state=STATE, root=ROOTS[0], config=config, missed=None
        )
        if any(keyword.iskeyword(k) or not k.isidentifier() or _OURS.fullmatch(k) or k in self.names
               for k in self.keywords):  # fmt: skip
            return None
        count = len(self.parameters) - len(self.keywords)
        first, last = self.parameters[:count], self.parameters[count:]

        def miss(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = {k: x for k, x in kwargs.items() if x is not _ABSENT}
            return missed(self, tuple([x for x in args if x is not _ABSENT]), given)

        self.names["missed"] = miss
        given = "".join(f"{k}={k}, " for k in self.keywords)
        away = f"missed(self, ({''.join(f'{a}, ' for a in first)}*more,), dict({given}**others))"
        heads = ["self", *(f"{a}=ABSENT" for a in first), "/", "*more"]
        heads += [*(f"{k}=ABSENT" for k in self.keywords), "**others"]
        lines = [
            "if more or others or tracing and state.trace is not root or not config.fast: return MISS",
            *(f"{a} = {k}" for a, k in zip(last, self.keywords, strict=True)),
            *self.lines[self.head :],
        ]
        own = f"again(error, ({''.join(f'{a}, ' for a in first)}), dict({given}))"
        for old, new in (("return MISS", f"return {away}"), ("again(error, args, kwargs)", own)):
            lines = [line.replace(old, new) for line in lines]
        return self.compiled(f"call_({', '.join(heads)})", lines)

    def compiled(self, head: str, lines: list[str]) -> Any:
        body = "\n".join(f"    {line}" for line in lines)
        source = f"def {head}:\n{body}\n"
        exec(compile(source, f"<tracejit call {next(_serial)}>", "exec"), self.names)
        return self.names[head.partition("(")[0]]


class _Text(str):
    """A leaf of a result: the expression that gives it."""


def _maker(cls: type, children: dict[str, Any], static: dict[str, Any]) -> Any:
    """A function of the children that makes dataclasses with these static fields, without calling `__init__`."""
    values = [*((k, f"p{n}") for n, k in enumerate(children)), *((k, f"s{n}") for n, k in enumerate(static))]
    free = cls.__setattr__ is object.__setattr__  # not frozen: assignments are several times faster
    lines = [f"x.{k} = {v}" if free else f"put(x, {k!r}, {v})" for k, v in values]
    names = {"new": object.__new__, "put": object.__setattr__, "cls": cls}
    names |= {f"s{n}": v for n, v in enumerate(static.values())}
    body = "\n    ".join(["x = new(cls)", *lines, "return x"])
    exec(f"def make({', '.join(f'p{n}' for n in range(len(children)))}):\n    {body}\n", names)
    return names["make"]


def _is_plain(x: Any) -> bool:
    return type(x) in (tuple, list, dict) or optree.is_namedtuple(x)
