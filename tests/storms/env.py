"""What a random program knows while it is written, and the small language of templates in which the grammar is.

A template is text with holes: `<float>` is filled with an expression of that kind, `<@float>` with a name that has
one, `<+float:i>` with a new name, which later lines know (and this template again as `<$i>`), `<block>` and `<loop>`
with statements one level deeper (in the latter, break and continue are allowed), `<body>` with those of a function in
the function, which may bind names of the function around it. A kind that begins with `my_` is a
thing that the program may change; a hole of the kind without `my_` may be filled with one, too.
"""

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field

_HOLE = re.compile(r"<([@+$]?)(\w+)(?::(\w+))?>")
_BLOCKS = ("<block>", "<loop>", "<body>")
INDENT = "    "


class Nothing(Exception):
    """There is no name of the kind that a template asks for."""


class Grammar:
    """Templates of expressions by kind, of names and literals at the leaves, and of statements, each with a weight."""

    def __init__(self) -> None:
        self.expressions: dict[str, list[str]] = {}
        self.leaves: dict[str, list[str]] = {}
        self.statements: list[tuple[float, str]] = []
        self.nesting = 2  # how deep expressions are


@dataclass
class Part:
    """What a feature adds: expressions and leaves by kind, statements with weights, lines that the function begins
    with, names that it knows (attributes and elements, too), arguments (name, kind, what is given), lines that reset
    the state, and what of it is looked at."""

    expressions: dict[str, list[str]] = field(default_factory=dict)
    leaves: dict[str, list[str]] = field(default_factory=dict)
    statements: list[tuple[float, str]] = field(default_factory=list)
    opening: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    resets: list[str] = field(default_factory=list)
    state: list[str] = field(default_factory=list)


class Writer:
    """A function's body as it is written: its lines, and the kinds of the names that are visible."""

    def __init__(self, rng: random.Random, grammar: Grammar, names: dict[str, str], fresh: list[int]) -> None:
        self.rng, self.grammar, self.names, self.fresh = rng, grammar, dict(names), fresh
        self.lines: list[str] = []
        self.depth = self.loops = 0
        self.breakable = False
        self.nesting = grammar.nesting

    # ------------------------------------------------------------ names

    def new(self, kind: str) -> str:
        self.fresh[0] += 1
        return f"{kind.removeprefix('my_')[0]}{self.fresh[0]}"

    def known(self, kind: str) -> list[str]:
        """Names of a kind; those that may be changed are of the kind without `my_`, too."""
        return [n for n, k in self.names.items() if k in (kind, f"my_{kind}")]

    def pick(self, kind: str) -> str:
        found = self.locals() if kind == "inner" else self.known(kind)
        if not found:
            raise Nothing(kind)
        return self.rng.choice(found[-6:] if self.rng.random() < 0.7 else found)

    def locals(self) -> list[str]:
        """Floats that the function itself has bound."""
        return [n for n in self.known("float") if n[-1].isdigit()]

    # ------------------------------------------------------------ expressions

    def expression(self, kind: str, depth: int = 2) -> str:
        """A random expression of a kind."""
        rng, grammar = self.rng, self.grammar
        for _ in range(8):
            leaf = depth <= 0 or rng.random() < 0.35
            options = grammar.leaves.get(kind, []) if leaf else grammar.expressions.get(kind, [])
            named = self.known(kind)
            if leaf and named and (not options or rng.random() < 0.75):
                return self.pick(kind)
            if not options:
                options = grammar.expressions.get(kind) or grammar.leaves.get(kind) or []
            try:
                return self.fill(rng.choice(options), depth - 1, {})
            except Nothing:
                continue
            except IndexError:
                break
        raise Nothing(kind)

    def fill(self, template: str, depth: int, labels: dict[str, str]) -> str:
        """The template with its holes filled; new names are entered in `labels` as label -> name, and later known."""
        return _HOLE.sub(lambda m: self._hole(m, depth, labels), template)

    def _hole(self, m: re.Match[str], depth: int, labels: dict[str, str]) -> str:
        mark, kind, label = m.groups()
        if mark == "$":
            return labels[kind]
        if mark == "+":
            name = self.new(kind)
            labels[label or kind.removeprefix("my_")] = name
            self._entering[name] = kind
            return name
        if mark == "@":
            name = self.pick(kind)
            if label:
                labels[label] = name
            return name
        text = self.expression(kind, depth)
        if label:
            labels[label] = text
        return f"({text})" if _must_be_bracketed(text) else text

    _entering: dict[str, str] = {}

    # ------------------------------------------------------------ statements

    def statement(self, template: str | None = None) -> None:
        """One more statement, or none if the template that is drawn finds no names."""
        if template is None:
            weights, templates = zip(*self.grammar.statements, strict=True)
            template = self.rng.choices(templates, weights)[0]
        compound = any(b in template for b in _BLOCKS)
        if (compound and self.depth >= 3) or ("<loop>" in template and self.loops >= 2):
            return
        if re.search(r"\b(break|continue)\b", template) and "<loop>" not in template and not self.breakable:
            return
        if template.startswith("return") and self.depth <= 1:  # what came after would never run
            return
        state = len(self.lines), dict(self.names)
        try:
            self._lines_of(template)
        except Nothing:
            del self.lines[state[0] :]
            self.names = state[1]

    def _lines_of(self, template: str) -> None:
        labels: dict[str, str] = {}
        for text in template.strip("\n").split("\n"):
            body = text.lstrip(" ")
            depth = (len(text) - len(body)) // len(INDENT)
            if body == "<body>":
                self._body(depth, {*labels.values()})
                continue
            if body in _BLOCKS:
                self._block(depth, body == "<loop>")
                continue
            self._entering = {}
            self.emit(depth, self.fill(body, self.nesting, labels))
            self.names |= self._entering

    def emit(self, depth: int, text: str) -> None:
        self.lines.append(INDENT * (self.depth + depth) + text)

    def _block(self, depth: int, loop: bool) -> None:
        """One to three statements; the names that they bind are mostly forgotten afterwards."""
        names, breakable, start = dict(self.names), self.breakable, len(self.lines)
        self.depth += depth
        self.loops += loop
        self.breakable = self.breakable or loop
        for _ in range(self.rng.randint(1, 3)):
            self.statement()
        if len(self.lines) == start:
            self.emit(0, "pass")
        self.depth -= depth
        self.loops -= loop
        self.breakable = breakable
        if self.rng.random() > 0.06:  # otherwise later lines may read what may not be bound
            self.names = names

    def _body(self, depth: int, own: set[str]) -> None:
        """The statements of an inner function, after a declaration of the names that they bind outside of it. They
        don't know its `own` name: it would call itself without an end."""
        start, loops, breakable, names = len(self.lines), self.loops, self.breakable, dict(self.names)
        self.names = {n: k for n, k in names.items() if n not in own}
        self.loops, self.breakable = 0, False
        self._block(depth, False)
        self.loops, self.breakable, self.names = loops, breakable, names
        bound = stores(self.lines[start:])
        inner = sorted(n for n in bound if n in names and n not in MODULE_NAMES)
        outer = sorted(bound & MODULE_NAMES)
        for word, found in (("nonlocal", inner), ("global", outer)):
            if found:
                self.lines.insert(start, INDENT * (self.depth + depth) + f"{word} {', '.join(found)}")

    def statements(self, least: int, most: int) -> None:
        """Statements until there are enough lines."""
        for _ in range(6 * most):
            if len(self.lines) >= most:
                break
            self.statement()
            if len(self.lines) >= least and self.rng.random() < 0.2:
                break


def _must_be_bracketed(text: str) -> bool:
    return " " in text and not (text[0] in "([" and _closes_at_the_end(text))


def _closes_at_the_end(text: str) -> bool:
    level = 0
    for n, c in enumerate(text):
        level += (c in "([{") - (c in ")]}")
        if level == 0:
            return n == len(text) - 1
    return False


#: Names of the module that statements bind.
MODULE_NAMES = frozenset(("SCALE", "COUNT"))


def stores(lines: Iterable[str]) -> set[str]:
    """Names that these lines bind; none where quotes in the text of a text make them no Python."""
    loop = textwrap.indent(textwrap.dedent("\n".join(lines)), INDENT)
    try:
        tree = ast.parse(f"def f():\n while True:\n{loop}")
    except SyntaxError:
        return set()
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
