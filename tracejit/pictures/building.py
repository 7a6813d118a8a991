"""A jaxpr as a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracejit import dtypes
from tracejit.interpreters.jit_pictured import Outline
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from tracejit.ir.kernel import CondRegion, Contract, ScanRegion, WhileRegion
from tracejit.ir.pretty import Namer, headline
from tracejit.pictures.memory import memory_of
from tracejit.pictures.model import Edge, Graph, Node, Port, Region
from tracejit.pictures.names import Names

#: What stands in titles for the operands that are not numbers.
_SIGNS = {
    "add": "+",
    "sub": "−",
    "mul": "×",
    "div": "÷",
    "gt": ">",
    "lt": "<",
    "ge": "≥",
    "le": "≤",
    "eq": "==",
    "ne": "≠",
    "pow": "**",
}
_LONGEST = 34  # characters of a title
_PARAM = 120  # of a parameter

#: Where a value is stored, by the kind of its buffer.
_KEPT = {
    "arg": "in the result's memory",
    "arena": "stored in {name}",
    "stack": "stored in {name}, on the stack",
    "heap": "stored in {name}, allocated",
    "private": "stored in {name}, one for each thread",
    "field": "stored in {name}",
    "pointer": "stored, in turns",
}
Place = tuple[str, int]


def graph_of(
    jaxpr: Jaxpr,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    captured: int = 0,
    outline: Outline | None = None,
) -> Graph:
    """The graph of a jaxpr.

    Args:
        jaxpr: the program.
        inputs: the user's names of its last inputs; '' where none is known.
        outputs: names of its outputs.
        captured: how many of its first inputs are arrays that the program holds.
        outline: what the lowering made of it, if that is to be shown.
    """
    names = Names()
    unnamed = [""] * (len(jaxpr.invars) - len(inputs))
    builder = _Builder(jaxpr, names, [*unnamed, *inputs], outputs, captured, "", outline)
    graph = builder.run()
    if outline is not None:
        graph.memory = memory_of(outline, builder.called)
    return graph


class _Builder:
    """The graph of one jaxpr. `path`: what the ids of its nodes begin with."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        names: Names,
        inputs: Sequence[str],
        outputs: Sequence[str],
        captured: int,
        path: str,
        outline: Outline | None,
    ) -> None:
        self.jaxpr, self.names, self.path = jaxpr, names, path
        self.inputs, self.outputs, self.captured = inputs, outputs, captured
        self.outline = outline
        self.namer = Namer()
        self.given = set(jaxpr.invars)
        self.graph = Graph(jaxpr.name)
        self.places: dict[Var, Place] = {}
        self.users = dict(names.of(jaxpr))
        self.users.update((v, u) for v, u in zip(jaxpr.invars, inputs, strict=False) if u)
        self.orders = _orders(jaxpr)
        self.residuals = {
            a for e in jaxpr.eqns for a in e.invars if type(a) is Var and self.is_residual(a, self.order(e))
        }

    def run(self) -> Graph:
        for v in self.jaxpr.invars:
            self.namer(v)
        for n, v in enumerate(self.jaxpr.invars):
            self.input(n, v)
        for n, eqn in enumerate(self.jaxpr.eqns):
            self.equation(n, eqn)
        for n, a in enumerate(self.jaxpr.outs):
            self.output(n, a)
        return self.graph

    # -- nodes

    def input(self, n: int, v: Var) -> None:
        user = self.users.get(v, "")
        kind = "constant" if n < self.captured else "input"
        node = Node(f"{self.path}in{n}", kind, user or self.namer(v), ports=(self.port(v),))
        self.add(node, [v])

    def equation(self, n: int, eqn: Eqn) -> None:
        text = headline(eqn, self.namer, False)
        path = f"{self.path}e{n}"
        node = Node(
            path,
            "equation",
            title_of(eqn, self.users),
            eqn.op.name,
            tuple(map(self.port, eqn.outvars)),
            tuple(self.namer.atom(a) for a in eqn.invars),
            {
                k: shorten(str(v), _PARAM)
                for k, v in eqn.params.items()
                if not _holds_program(v) and v is not None
            },
            self.names.line(eqn.source),
            self.order(eqn),
            tuple(sorted(eqn.effects)),
            text,
            () if self.outline is None else self.outline.nests.get(eqn, ()),
        )
        node.regions = tuple(self.regions(eqn, path))
        self.add(node, eqn.outvars)
        self.connect(node, eqn.invars)

    def output(self, n: int, a: Any) -> None:
        title = self.outputs[n] if n < len(self.outputs) else ""
        literal = self.namer.atom(a) if isinstance(a, Literal) else ""
        default = f"result {n}" if len(self.jaxpr.outs) > 1 else "result"
        node = Node(f"{self.path}out{n}", "output", title or default, operands=(self.namer.atom(a),))
        node.ports = (self.port(a),)
        node.title += f" = {literal}" if literal else ""
        node.order = self.orders[a] if type(a) is Var else 0
        self.graph.nodes.append(node)
        self.connect(node, (a,))

    def add(self, node: Node, outs: Iterable[Var]) -> None:
        for port, v in enumerate(outs):
            self.places[v] = (node.id, port)
        self.graph.nodes.append(node)

    def connect(self, node: Node, operands: Sequence[Any]) -> None:
        for n, a in enumerate(operands):
            if type(a) is not Var or a not in self.places:
                continue
            source, port = self.places[a]
            residual = node.kind != "output" and self.is_residual(a, node.order)
            self.graph.edges.append(Edge(source, port, node.id, n, residual))

    def order(self, eqn: Eqn) -> int:
        return self.orders[eqn.outvars[0]] if eqn.outvars else order_of(eqn)

    def is_residual(self, a: Var, order: int) -> bool:
        """Whether the program computes `a` and what reverse mode made of it, of this order, reads it."""
        return a not in self.given and self.orders[a] < order

    def port(self, a: Any) -> Port:
        aval: Aval = a.aval
        shape = tuple(self._extent(d) for d in aval.shape)
        size: Any = math.prod(shape) * aval.dtype.itemsize if all(type(d) is int for d in shape) else None  # type: ignore[arg-type]
        return Port(
            self.namer.atom(a),
            self.users.get(a, "") if type(a) is Var else "",
            self.namer.aval(aval),
            dtypes.short_name(aval.dtype),
            shape,
            size,
            type(a) is Var and a in self.residuals,
            self._stored(a),
        )

    def _stored(self, a: Any) -> str:
        room = None if self.outline is None or type(a) is not Var else self.outline.stored.get(a)
        return "" if room is None else _KEPT.get(room.kind, room.kind).format(name=room.name)

    def _extent(self, d: Any) -> int | str:
        return f"{self.namer.atom(d.var)}≤{d.bound or '?'}" if isinstance(d, Dim) else int(d)

    def called(self, v: Var) -> str:
        """A value in a few words; '' for one of a region."""
        if v not in self.places:
            return ""
        node = next(n for n in self.graph.nodes if n.id == self.places[v][0])
        return self.users.get(v) or node.title

    # -- regions

    def regions(self, eqn: Eqn, path: str) -> list[Region]:
        """The programs in an equation's params."""
        found = []
        for key, value in eqn.params.items():
            subs = value if type(value) is tuple else (value,)
            subs = [s for s in subs if isinstance(s, Jaxpr)]
            for n, sub in enumerate(subs):
                label = _label(eqn, key, n, len(subs))
                inner = _Builder(
                    sub,
                    self.names,
                    self._inner_names(eqn, key, sub),
                    (),
                    0,
                    f"{path}.{len(found)}.",
                    self.outline,
                )
                found.append(Region(label, inner.run()))
        return found

    def _inner_names(self, eqn: Eqn, key: str, sub: Jaxpr) -> list[str]:
        """The user's names of a region's inputs: those of the operands that they are."""
        outer = [self.users.get(a, "") if type(a) is Var else "" for a in eqn.invars]
        params, inside = eqn.params, self.names.of(sub)
        if isinstance(eqn.op.kernel, WhileRegion):
            first, second = params["cond_consts"], params["body_consts"]
            body = params["body"]
            carry = self._carried(body, self.names.of(body), outer[first + second :])
            return [*(outer[:first] if key == "cond" else outer[first : first + second]), *carry]
        if isinstance(eqn.op.kernel, ScanRegion):
            counter, dynamic = self.names.counter(eqn.source), int(params["length"] is None)
            consts, rest = outer[dynamic : dynamic + params["consts"]], outer[dynamic + params["consts"] :]
            carry = self._carried(sub, inside, rest[: params["carry"]])
            rows = [f"{x}[{counter}]" if x else "" for x in rest[params["carry"] :]]
            return [counter, *consts, *carry, *rows]
        if isinstance(eqn.op.kernel, CondRegion):
            return outer[1:]
        return outer if len(outer) == len(sub.invars) else []

    def _carried(self, body: Jaxpr, inside: dict[Var, str], outer: list[str]) -> list[str]:
        """Names of what a loop carries: those of the values at the end of a step, or at its beginning."""
        ends = [inside.get(a, "") if type(a) is Var else "" for a in body.outs]
        return [end or start for end, start in zip(ends, outer, strict=False)]


def title_of(eqn: Eqn, users: Mapping[Var, str]) -> str:
    """An equation in a few words: `tanh`, `out − y`, `· × 2`, `loop, 100 steps`."""
    name, kernel = eqn.op.name, eqn.op.kernel
    if isinstance(kernel, ScanRegion):
        steps = eqn.params["length"]
        return f"loop, {steps} steps" if steps is not None else "loop"
    if isinstance(kernel, (WhileRegion, CondRegion)):
        return "loop" if isinstance(kernel, WhileRegion) else "branch"
    words = [_word(a, users) for a in eqn.invars]
    sign = _SIGNS.get(name) or ("@" if _is_product(eqn) else "")
    if sign and len(words) == 2 and any(words):
        return shorten(f"{words[0] or '·'} {sign} {words[1] or '·'}", _LONGEST)
    numbers = [w if type(a) is Literal else "·" for a, w in zip(eqn.invars, words, strict=True)]
    if any(n != "·" for n in numbers) and len(numbers) <= 4:
        return shorten(f"{name}({', '.join(numbers)})", _LONGEST)
    return name


def _word(a: Any, users: Mapping[Var, str]) -> str:
    """An operand in a title."""
    return _number(a.value) if type(a) is Literal else users.get(a, "")


def _is_product(eqn: Eqn) -> bool:
    """Whether an equation is `a @ b` of vectors or matrices."""
    if not isinstance(eqn.op.kernel, Contract):
        return False
    contracted, batch = eqn.params["dimension_numbers"]
    return batch == ((), ()) and contracted == ((len(eqn.invars[0].aval.shape) - 1,), (0,))


def shorten(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _number(value: Any) -> str:
    return f"{value:.6g}" if value.dtype.kind == "f" else str(value)


def _label(eqn: Eqn, key: str, n: int, count: int) -> str:
    if isinstance(eqn.op.kernel, CondRegion):
        return ("if false", "if true")[n] if count == 2 else f"branch {n}"
    if isinstance(eqn.op.kernel, WhileRegion):
        return {"cond": "while", "body": "step"}.get(key, key)
    if isinstance(eqn.op.kernel, ScanRegion):
        return "each step, backwards" if eqn.params["reverse"] else "each step"
    return key if count == 1 else f"{key} {n}"


def _holds_program(value: Any) -> bool:
    return isinstance(value, Jaxpr) or (type(value) is tuple and any(isinstance(v, Jaxpr) for v in value))


def order_of(eqn: Eqn) -> int:
    """How many reverse modes made an equation, as far as its line says."""
    return 0 if eqn.source is None else eqn.source.order


def _orders(jaxpr: Jaxpr) -> dict[Var, int]:
    """How many reverse modes made each value: what one of them computes from another one's values counts both."""
    orders = dict.fromkeys(jaxpr.invars, 0)
    for e in jaxpr.eqns:
        own = order_of(e)
        if own:
            own = max(own, *(orders[a] for a in e.invars if type(a) is Var), 0)
        orders.update(dict.fromkeys(e.outvars, own))
    return orders
