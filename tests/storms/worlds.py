"""Whole programs: a module with classes and helpers, the state that the function reads, its body, and its calls."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.storms.env import INDENT, MODULE_NAMES, Grammar, Nothing, Part, Writer, stores
from tests.storms.expressions import grammar
from tests.storms.parts import FOCUSED, OFTEN, PARTS, focus, parts_of
from tests.storms.parts import HEAD as CLASSES
from tests.storms.parts import RESETS as OF_CLASSES
from tests.storms.statements import GLOBALS, PLAIN, PRINTS, RAISES, RETURNS

#: Features of a program, and how probable each is.
FEATURES = {
    "state": 0.3,
    "raises": 0.4,
    "returns": 0.15,
    "print": 0.06,
    "text": 0.06,
    "random": 0.06,
    "globals": 0.1,
} | {name: share for name, (share, _) in PARTS.items()}

HEAD = """\
import collections
import dataclasses
import enum
import functools
import itertools
import logging
import math
import random
import sys
import warnings
from typing import NamedTuple

import numpy as np


class Thing:
    rate = 0.5

    def __init__(self, v, n):
        self.v, self.n, self.flag, self.name = v, n, n > 1, "up"
        self.w = np.array([0.5, 1.0, -1.5, 2.0])
        self.log = []

    @property
    def half(self):
        return self.v * 0.5

    @half.setter
    def half(self, value):
        self.v = value * 2

    @staticmethod
    def doubled(n):
        return n * 2

    def scaled(self, q):
        return q * self.rate

    def bump(self, q):
        self.n += 1
        self.v = self.v * 0.5 + q


class Other(Thing):
    rate = 0.25

    def __init__(self, v, n):
        super().__init__(v, n)
        self.flag = False

    def scaled(self, q):
        return super().scaled(q) + self.v

    def __eq__(self, other):
        return isinstance(other, Thing) and self.n == other.n

    __hash__ = None


class Managed:
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, kind, error, traceback):
        return kind is ZeroDivisionError


def recursive(n):
    return 1 if n <= 0 else n + recursive(n - 1)


def generated(v, n):
    for i in range(n):
        yield v + i


"""
HEAD += CLASSES

#: What else of the module programs may change.
MORE = "Thing.rate, RNG, Row.made, defaulted.__defaults__"
#: Names of the module that every function knows.
MODULE = {
    "SCALE": "float",
    "LIMIT": "int",
    "MODE": "str",
    "ITEMS": "floats",
    "CONF": "table",
    "W": "vec",
    "FLAG": "bool",
}
#: What is made for each run of the program, and what may happen to it between calls.
RESETS = """\
global SCALE, LIMIT, MODE, ITEMS, CONF, W, FLAG, COUNT, RNG
SCALE, LIMIT, MODE, FLAG, COUNT = 1.5, 3, "up", True, 0
ITEMS, CONF, W = [0.5, -1.0, 2.0], {"a": 1.0, "b": -0.5}, np.array([1.0, 0.25, -2.0, 0.5])
RNG = np.random.default_rng(3)
Thing.rate = 0.5
thing, other, cell = Thing(1.5, 2), Other(-0.5, 1), 0.5
held, table = [1.0, -0.25], {"a": 0.75, "c": 2.0}
"""
RESETS += OF_CLASSES
CHANGES = [
    "SCALE = {f}",
    "LIMIT = {i}",
    "MODE = 'b'",
    "FLAG = not FLAG",
    "ITEMS.append({f})",
    "ITEMS[:1] = [{f}]",
    "CONF['a'] = {f}",
    "CONF['c'] = {f}",
    "W[1] = {f}",
    "W = np.array([{f}, {f}, 1.0, 0.0])",
    "Thing.rate = {f}",
    "thing.v = {f}",
    "thing.n += 1",
    "thing.flag = not thing.flag",
    "thing.w[2] = {f}",
    "thing.log.append({f})",
    "thing.extra = {f}",
    "thing = Other({f}, {i})",
    "other = thing",
    "cell = {f}",
    "held[:1] = [{f}]",
    "held.append({f})",
    "held = [{f}]",
    "table['a'] = {f}",
    "table['b'] = {f}",
]
PARAMETERS = {
    "x": "my_vec",
    "y": "my_vec",
    "v": "my_float",
    "u": "my_float",
    "n": "my_int",
    "m": "my_mat",
    "k": "my_ivec",
    "b": "my_bool",
    "r": "my_single",
    "t": "thing",
    "l": "floats",
    "d": "table",
}
RESULTS = (
    "<float>",
    "<vec>",
    "[<float>, <vec>]",
    "{'r': <float>, 'w': <vec>}",
    "<int>",
    "<bool>",
    "<floats>",
)
#: Arguments that are seldom given.
ODD_FLOATS = ("0.0", "-0.0", "2", "np.float64(1.5)", "math.nan", "math.inf", "1e300")
ODD_INTEGERS = ("True", "2**40", "2**62", "-(2**63)", "10**20", "np.int64(3)")
#: Kinds of names that are no results.
HIDDEN = ("fn", "view", "best", "local")
#: Names of the function around.
OUTER = {"thing": "thing", "other": "thing", "cell": "float", "held": "floats", "table": "table"}
#: Kinds of which an outer object is only the program's to change if it has state.
HELD = ("thing", "floats", "table")


def features_of(rng: random.Random, focused: bool) -> set[str]:
    """Those of a program; a focused one has one or two parts."""
    chosen = {name for name, share in FEATURES.items() if rng.random() < share}
    return (
        (chosen - PARTS.keys()) | set(rng.sample([*PARTS, *OFTEN], rng.randint(1, 2))) if focused else chosen
    )


def statements_of(features: set[str], parts: list[Part], focused: bool) -> list[tuple[float, str]]:
    """What the features have; in a focused program there is little else, and few new names."""
    more = {"raises": RAISES, "returns": RETURNS, "print": PRINTS, "globals": GLOBALS}
    plain = PLAIN + [s for name, group in more.items() if name in features for s in group]
    own = [s for part in parts for s in part.statements]
    if not focused:
        return plain + own
    share = sum(w for w, _ in own) / sum(w for w, _ in plain)
    return [(w * share * (0.15 if s.startswith("<+") else 0.5), s) for w, s in plain] + own


class World:
    """One program of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.focused = focused = self.rng.random() < FOCUSED
        self.features = features_of(self.rng, focused)
        self.parts = parts_of(self.features, self.rng)
        self.grammar = grammar(self.features, self.parts)
        self.grammar.statements = statements_of(self.features, self.parts, focused)
        if focused:
            focus(self.grammar)
        self.fresh = [0]
        self.given: dict[str, list[str]] = {}

    def source(self) -> str:
        helpers = [
            line for n in range(self.rng.randint(0, 1 if self.focused else 2)) for line in self.helper(n)
        ]
        body = "\n".join(INDENT + line if line else "" for line in self.program())
        return f"{HEAD}\n\n" + "\n".join(helpers) + f"\n\ndef program():\n{body}\n"

    # ------------------------------------------------------------ functions

    def function(self, head: str, names: dict[str, str], most: int, result: str | None) -> list[str]:
        """A function's lines; `result` is the kind of what it returns, None for anything."""
        w = Writer(self.rng, self.grammar, names, self.fresh)
        w.depth = 1
        for template in (t for part in self.parts for t in part.opening if result is None):
            w.statement(template)
        first = len(w.lines)
        w.statements(first + max(1, most // 2), first + most)
        out = self.results(w) if result is None else w.expression(result)
        bound, own = stores(w.lines), head.partition("(")[2]
        words = []
        for word, known in (("global", sorted(MODULE_NAMES)), ("nonlocal", OUTER)):
            found = [
                n for n in known if n in bound and n in names and f"{n}," not in own and f"{n})" not in own
            ]
            words += [f"{INDENT}{word} {', '.join(found)}"] if found else []
        return [head, *words, *w.lines, f"{INDENT}return {out}"]

    def helper(self, n: int) -> Iterator[str]:
        kind = self.rng.choice(("float", "float", "int", "vec"))
        before = self.grammar.statements
        self.grammar.statements = [s for s in before if "cell" not in s[1]]
        yield from self.function(
            f"def h{n}(a, b, c=1.5):", {"a": "my_float", "b": "my_int", "c": "float"}, 4, kind
        )
        self.grammar.statements = before
        self.grammar.expressions[kind] += [f"h{n}(<float>, <int>)"] * 3 + [f"h{n}(<float>, <int>, c=<float>)"]
        yield ""
        yield ""

    def results(self, w: Writer) -> str:
        """What the function gives: mostly names, so that it shows what is the same object."""
        parts = []
        if self.focused:  # most of what it has bound
            own = [n for n, k in w.names.items() if n[-1].isdigit() and k.removeprefix("my_") not in HIDDEN]
            parts = self.rng.sample(own, min(len(own), self.rng.randint(2, 6)))
        for _ in range(self.rng.randint(1, 4) if not parts else 1):
            names = [n for n, k in w.names.items() if k.removeprefix("my_") not in HIDDEN]
            new = [n for n in names if n[0].islower()]
            if self.rng.random() < 0.7:  # objects are seldom results
                new = [n for n in new if w.names[n].removeprefix("my_") not in ("thing", "set")]
            try:
                parts.append(self.rng.choice(new) if self.rng.random() < 0.7 else self.result(w))
            except Nothing:
                continue
        return ", ".join(parts) or "x"

    def result(self, w: Writer) -> str:
        return w.fill(self.rng.choice(RESULTS), 2, {})

    # ------------------------------------------------------------ the maker

    def program(self) -> Iterator[str]:
        state = "state" in self.features
        few = self.focused and self.rng.random() < 0.7  # names of outside
        names = {} if few else dict(MODULE)
        often = 1.0 if self.focused else 0.85
        chosen = [p for p in PARAMETERS if self.rng.random() < (often if p in "xvn" else 0.2)] or ["x"]
        given = {p: PARAMETERS[p] for p in chosen}
        for part in self.parts:
            names |= part.names
            given |= {p: kind for p, (kind, _) in part.arguments.items()}
            self.given |= {p: found for p, (_, found) in part.arguments.items()}
        outer = {n: k for n, k in OUTER.items() if not few or self.rng.random() < 0.3}
        for n, kind in {**outer, **given}.items():
            names[n] = f"my_{kind}" if state and kind in HELD else kind
        default = self.rng.random() < 0.2
        chosen = [*given]
        head = f"def f({', '.join(chosen)}{', q=1.5' if default else ''}):"
        if default:
            names["q"] = "my_float"
        yield from RESETS.split("\n")
        for part in self.parts:
            yield from part.resets
        yield ""
        yield from self.function(head, names, self.rng.randint(*(8, 24) if self.focused else (4, 14)), None)
        yield ""
        yield from self.calls(chosen)
        yield ""
        more = "".join(f", {name}" for part in self.parts for name in part.state)
        yield "def state():"
        yield f"{INDENT}return thing, other, cell, held, table, SCALE, COUNT, ITEMS, CONF, W, {MORE}{more}"
        yield ""
        yield "def before(k):"
        yield f"{INDENT}nonlocal thing, other, cell, held"
        yield f"{INDENT}global SCALE, LIMIT, MODE, FLAG, W"
        for k in (1, 2, 3):
            changes = [self.rng.choice(CHANGES) for _ in range(self.rng.randint(0, 2))]
            if changes:
                yield f"{INDENT}if k == {k}:"
                yield from (
                    f"{INDENT * 2}{c.format(f=self.real(), i=self.rng.randint(0, 4))}" for c in changes
                )
        yield ""
        yield "return f, calls, state, before"

    def calls(self, chosen: list[str]) -> Iterator[str]:
        calls = []
        for n in range(4):
            shared = self.rng.random() < 0.1
            if shared:
                yield f"shared{n} = {self.argument('x')}"
            parts = [self.alias(f"shared{n}") if shared and p in "xy" else self.argument(p) for p in chosen]
            calls.append(f"({', '.join(parts)},)")
        yield "calls = ["
        yield from (f"{INDENT}{c}," for c in calls)
        yield "]"

    def alias(self, name: str) -> str:
        return self.rng.choice((name, name, f"{name}[::-1]"))

    def real(self) -> str:
        return repr(self.rng.randint(-12, 12) / 4)

    def argument(self, p: str) -> str:
        rng, odd = self.rng, self.rng.random() < 0.05
        if p in self.given:
            return rng.choice(self.given[p])
        if p in "xy":
            values = f"np.array([{', '.join(self.real() for _ in range(4))}])"
            return f"np.repeat({values}, 2)[::2]" if odd else values
        if p in "vu":
            return rng.choice(ODD_FLOATS) if odd else self.real()
        if p == "n":
            return rng.choice(ODD_INTEGERS) if odd else repr(rng.randint(-3, 6))
        if p == "m":
            values = f"(np.arange(16.0) * {self.real()} % 3.0).reshape(4, 4)"
            return rng.choice((values, f"np.asfortranarray({values})", f"{values}.T", values))
        if p == "k":
            return f"np.array({[rng.randint(-4, 9) for _ in range(4)]})"
        if p == "b":
            return rng.choice(("True", "False"))
        if p == "r":
            return f"np.array([{self.real()}, {self.real()}, 0.5, -1.0], dtype=np.float32)"
        if p == "t":
            return rng.choice(
                (f"Thing({self.real()}, {rng.randint(0, 3)})", "thing", f"Other({self.real()}, 2)")
            )
        if p == "l":
            return rng.choice(
                (f"[{self.real()}, {self.real()}]", f"[{self.real()}, 1.0, {self.real()}]", "held")
            )
        return rng.choice((f"{{'a': {self.real()}, 'b': {self.real()}}}", "table"))


def source(seed: int) -> str:
    """The module of one program: `program()` makes what `tests.programs.observe` calls."""
    return World(seed).source()


__all__ = ["Grammar", "World", "source"]
