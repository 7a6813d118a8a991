"""Productions with bodies: calls, branches, loops, maps over rows. Bodies are made of all productions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz import elements, parts
from tests.fuzz.env import Env, Refused
from tests.fuzz.program import Line
from tests.fuzz.statements import Production


def fill(e: Env, count: int) -> None:
    """Up to `count` statements."""
    done = 0
    for _ in range(4 * count):
        try:
            e.one_of(*PLAIN, *(NESTED if e.depth < 2 else ()))(e)
            done += 1
        except Refused:
            pass
        if done >= count:
            return


def define(
    e: Env,
    parameters: dict[str, list[Any]],
    outs: Callable[[Env], str],
    size: int = 3,
    closed: bool = False,
    writes: bool = True,
) -> Line:
    """A function of a few statements; a closed one reads its parameters only."""
    inner = e.body(parameters, closed)
    inner.writes = writes
    fill(inner, int(e.rng.integers(1, size + 1)))
    name = e.name("f")
    return Line(f"def {name}({', '.join(parameters)}):", (name,), tuple(inner.lines), outs(inner))


def structure(e: Env, functions: list[Line], call: str, outs: int) -> None:
    """Definitions and the call, accepted or refused together."""
    names = [e.name() for _ in range(outs)]
    before = len(e.lines)
    for f in functions:
        e.run(f.source())
        e.lines.append(Line(f.text, (), f.body, f.result))
    text = f"{', '.join(names)}{',' if outs == 1 else ''} = {call}"
    if not e.add(Line(text, tuple(names))):
        del e.lines[before:]
        e.restart()
        raise Refused


def calls(e: Env) -> None:
    """A function called through a transformation that changes nothing."""
    how = e.one_of("jit", "checkpoint", *(() if e.depth else ("with_jvp", "with_vjp")))
    x, y = e.pick("f"), e.pick("fi")
    f = define(
        e,
        {e.name("p"): e.values(x), e.name("p"): e.values(y)},
        lambda i: f"np.array({i.pick(own_only=True)}), np.array({i.pick('f', own_only=True)})",
        closed=how.startswith("with"),
        writes=how == "jit" and not e.depth,
    )
    structure(e, [f], f"L.{how}({f.outs[0]})({x}, {y})", 2)


def cond(e: Env) -> None:
    x, y, p = e.pick("fi"), e.pick("f"), e.pick("bif")
    pred = f"np.all({p})" if np.asarray(e.value(p)).dtype.kind == "b" else f"np.max({p}) > 0"
    a, b = e.name("p"), e.name("p")
    shapes = {a: e.values(x), b: e.values(y)}
    ends = lambda i: f"{i.like(a)}, {i.like(b)}"
    if e.rng.random() < 0.7:
        fs = [define(e, shapes, ends), define(e, shapes, ends)]
        call = f"L.cond({pred}, {fs[0].outs[0]}, {fs[1].outs[0]}, {x}, {y})"
    else:
        fs = [define(e, shapes, ends, 2) for _ in range(3)]
        call = f"L.switch(np.sum({e.pick('i')}) % 4 - 1, [{', '.join(f.outs[0] for f in fs)}], {x}, {y})"
    structure(e, fs, call, 2)


def scan(e: Env) -> None:
    x, c = e.pick(low=1), e.pick("fi")
    if not np.shape(e.value(x))[0]:
        raise Refused
    carry, item = e.name("p"), e.name("p")
    shapes = {carry: e.values(c), item: [v[0] for v in e.values(x)]}
    f = define(e, shapes, lambda i: f"{i.like(carry)}, {i.pick(own_only=True)}")
    reverse = ", reverse=True" if e.rng.random() < 0.3 else ""
    call = f"L.scan({f.outs[0]}, {c}, {x}{reverse})"
    if e.rng.random() < 0.2:
        call = f"L.scan({f.outs[0]}, {c}, {x}[:1], length=1)"
    structure(e, [f], call, 2)


def fori(e: Env) -> None:
    c, i = e.pick("fi"), e.name("p")
    carry, name = e.name("p"), e.name()
    upper = e.one_of("3", "0", "1", f"np.sum({e.pick('i')}) % 4", f"np.abs(np.max({e.pick('i')})) % 3")
    try:
        index = 1 if upper.isdigit() else eval(upper, dict(e.spaces[0])).dtype.type(1)
    except ValueError as error:  # the largest of nothing
        raise Refused from error
    f = define(e, {i: [index] * 3, carry: e.values(c)}, lambda inner: inner.like(carry))
    structure_of_one(e, f, f"L.fori_loop({e.one_of(0, 1, -1)}, {upper}, {f.outs[0]}, {c})", name)


def structure_of_one(e: Env, f: Line, call: str, name: str) -> None:
    before = len(e.lines)
    e.run(f.source())
    e.lines.append(Line(f.text, (), f.body, f.result))
    if not e.add(Line(f"{name} = {call}", (name,))):
        del e.lines[before:]
        e.restart()
        raise Refused


def while_(e: Env) -> None:
    c, carry, count, both = e.pick("fi"), e.name("p"), e.name("p"), e.name("p")
    inner = e.body({count: [np.int64(1)] * 3, carry: e.values(c)})
    fill(inner, int(e.rng.integers(1, 4)))
    lines = (Line(f"{count}, {carry} = {both}"), *inner.lines)
    f = Line(f"def {e.name('f')}({both}):", (), lines, f"({count} + 1, {inner.like(carry)})")
    test = Line(
        f"def {e.name('f')}({both}):",
        (),
        (),
        f"({both}[0] < 4) & np.all(np.abs({both}[1]) < {e.one_of(3, 50)})",
    )
    body, cond_ = (g.text.split("(")[0][4:] for g in (f, test))
    structure(e, [f, test], f"L.while_loop({cond_}, {body}, (np.int64(0), {c}))", 2)


def extents(e: Env) -> None:
    """Loops over parts whose lengths are the loop's own variables."""
    x, y = e.pick("f", low=1, high=2), e.pick("f", low=1, high=1)
    n = min(np.shape(e.value(x))[0], np.shape(e.value(y))[0])
    if n < 2 or np.asarray(e.value(x)).dtype != np.float64 or np.asarray(e.value(y)).dtype != np.float64:
        raise Refused
    i, c, f = e.name("p"), e.name("p"), e.name("f")  # the loop's index is a Python integer
    statement = e.one_of(
        f"{c}[{i}] += L.rounded(np.sum({y}[:{i}] * 0.5))",
        f"{c}[{i}] = {c}[{i}] * 0.5 + L.rounded(np.sum(np.tanh({c}[:{i}])))",
        f"{c}[:{i}] *= 0.5",
        f"{c}[{i}:] += {y}[{i}]",
        f"{c}[{i}:{n}] -= L.rounded({y}[{i}:{n}].sum())",
        f"{c}[{i}] = L.rounded(np.max({c}[:{i} + 1]))",
        f"{c}[{i}] += L.rounded({y}[:{i}] @ {y}[:{i}]) * 0.1",
    )
    line = Line(f"def {f}({i}, {c}):", (f,), (Line(statement),), c)
    structure_of_one(e, line, f"L.fori_loop(0, {n}, {f}, {x})", e.name())


def vmap(e: Env) -> None:
    x, y = e.pick(low=1), e.pick("fi")
    if not np.shape(e.value(x))[0]:
        raise Refused
    batched = np.shape(e.value(y))[:1] == np.shape(e.value(x))[:1] and e.rng.random() < 0.6
    row = [v[0] for v in e.values(y)] if batched else e.values(y)
    shapes = {e.name("p"): [v[0] for v in e.values(x)], e.name("p"): row}
    f = define(e, shapes, lambda i: f"{i.pick(own_only=True)}, {i.pick('f', own_only=True)}")
    ends = ", out_axes=-1" if e.rng.random() < 0.2 else ""
    structure(e, [f], f"L.vmap({f.outs[0]}, in_axes=(0, {0 if batched else None}){ends})({x}, {y})", 2)


def pytree(e: Env) -> None:
    """A dictionary with a hole through a scan without inputs."""
    x, y, t = e.pick("f"), e.pick("fi"), e.name("p")
    f = Line(
        f"def {e.name('f')}({t}, _):",
        (),
        (),
        f"{{'a': {t}['b'][0], 'b': ({t}['a'] * 0.5 + {t}['b'][0], None)}}, {t}['a']",
    )
    name = f.text.split("(")[0][4:]
    x64 = f"np.asarray({x}, dtype=np.float64)"
    structure(
        e,
        [f],
        f"L.scan({name}, {{'a': {x64}, 'b': ({x64} * 2, None)}}, None, length={e.one_of(1, 2, 3)})[1], {y} * 1",
        2,
    )


PLAIN: list[Production] = [
    elements.unary,
    elements.unary,
    elements.binary,
    elements.binary,
    elements.binary,
    elements.operator,
    elements.operator,
    elements.expression,
    elements.expression,
    elements.where,
    elements.clip,
    elements.cast,
    elements.complexes,
    elements.reduction,
    elements.reduction,
    elements.running,
    elements.product,
    elements.order,
    parts.shaping,
    parts.shaping,
    parts.joining,
    parts.getting,
    parts.getting,
    parts.taking,
    parts.writing,
    parts.writing,
    parts.writing,
    parts.writing,
    parts.loops,
    parts.case,
]
NESTED: list[Production] = [calls, cond, scan, fori, while_, extents, vmap, pytree]
