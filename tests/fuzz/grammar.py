"""What programs are made of: each production adds statements to an environment, or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import CASES
from tests.fuzz.env import Env, Refused
from tests.fuzz.program import Line, Program
from tracejit.numpy.elementwise import TABLE

#: Functions whose results have NumPy's bits, for real operands. Everything else may round differently.
EXACT = {
    "abs",
    "absolute",
    "add",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "conj",
    "conjugate",
    "copysign",
    "divide",
    "divmod",
    "equal",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "sqrt",
    "square",
    "subtract",
    "true_divide",
    "trunc",
}
UNARY = sorted(n for n in TABLE if getattr(np, n).nin == 1)
BINARY = sorted(n for n in TABLE if getattr(np, n).nin == 2)
OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", ">", "!=", "==", "&", "|", "^", "@", "**"]
DTYPES = ["float64", "float32", "int64", "int32", "uint8", "int8", "bool", "complex128", "float16", "uint32"]
REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmax",
    "argmin",
    "ptp",
    "median",
]
EXACT_REDUCTIONS = {"max", "min", "any", "all", "argmax", "argmin", "ptp"}
RUNNING = ["cumsum", "cumprod"]
#: Ops whose cases do more than compute.
IMPURE = ("callback", "print", "custom_vjp_linear", "rng", "random")
Production = Callable[[Env], None]


def accept(e: Env, line: Line) -> None:
    if not e.add(line):
        raise Refused


def assign(e: Env, expression: str, rounded: bool = False, outs: int = 1) -> str:
    names = [e.name() for _ in range(outs)]
    text = f"L.rounded({expression})" if rounded else expression
    accept(e, Line(f"{', '.join(names)} = {text}", tuple(names)))
    return names[0]


def rounds(e: Env, function: str, *operands: str) -> bool:
    kinds = {np.asarray(e.value(o)).dtype.kind for o in operands if o in e.spaces[0]}
    return function not in EXACT or "c" in kinds


# ---------------------------------------------------------------- element by element


def unary(e: Env) -> None:
    f, x = e.one_of(*UNARY), e.pick()
    outs = getattr(np, f).nout
    assign(e, f"np.{f}({x})", rounds(e, f, x), outs)


def binary(e: Env) -> None:
    f, x = e.one_of(*BINARY), e.pick()
    y = e.pick() if e.rng.random() < 0.75 else number(e)
    if e.rng.random() < 0.15:
        x, y = y, x
    outs = getattr(np, f).nout
    if f in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "ldexp"):
        y = f"({y} % 5)"
    assign(e, f"np.{f}({x}, {y})", rounds(e, f, x, y), outs)


def number(e: Env) -> str:
    return str(
        e.one_of(0, 1, 2, 3, -1, 0.5, 1.5, -2.0, 0.1, True, "np.float32(1.25)", "np.int64(3)", "np.uint8(2)")
    )


def operator(e: Env) -> None:
    op, x = e.one_of(*OPERATORS), e.pick()
    y = e.pick() if e.rng.random() < 0.7 else number(e)
    exact = op not in ("@", "**") and not rounds(e, "add", x, y)
    text = f"{x} {op} {y}" if e.rng.random() < 0.8 else f"{y} {op} {x}"
    assign(e, text, not exact)


def expression(e: Env) -> None:
    """A longer one: what fuses."""
    x, y, z = e.pick("f"), e.pick("f"), e.pick("f")
    if {np.asarray(e.value(v)).dtype for v in (x, y, z)} != {np.dtype(float)}:
        raise Refused  # the inner results of a narrow dtype round more than the outer one shows
    form = e.one_of(
        "np.sin({x}) * {y} + {z}",
        "np.tanh({x} - {y}) * {z}",
        "({x} * {y} + {z}) / (1.0 + {x} * {x})",
        "np.exp(-{x} * {x}) + {y} * 0.5",
        "np.sqrt(np.abs({x}) + 1) * {y}",
        "np.log1p({x} * {x}) - {z}",
        "np.interp({x}, np.arange(4.0), np.arange(4.0) ** 2)",
        "np.where({x} > {y}, {x}, {z})",
        "np.maximum({x}, {y}) - np.minimum({x}, {z})",
        "np.arctan2({x}, np.abs({y}) + 0.5) * np.cos({z})",
    )
    assign(e, form.format(x=x, y=y, z=z), True)


def where(e: Env) -> None:
    p, x = e.pick("b"), e.pick()
    y = e.pick() if e.rng.random() < 0.7 else number(e)
    assign(e, e.one_of(f"np.where({p}, {x}, {y})", f"np.select([{p}], [{x}], {y})"))


def clip(e: Env) -> None:
    assign(
        e, f"np.clip({e.pick('iuf')}, {e.one_of(0, -0.5, 'None')}, {e.one_of(1, 2, 1.5)}) + 0"
    )  # of two zeros either


def cast(e: Env) -> None:
    d, x = e.one_of(*DTYPES), e.pick()
    if e.special and np.asarray(e.value(x)).dtype.kind in "fc" and np.dtype(d).kind in "iu":
        raise Refused  # the C standard leaves it open
    method = e.one_of("{x}.astype(np.{d})", "np.asarray({x}, dtype=np.{d})", "np.array({x}, dtype=np.{d})")
    assign(e, method.format(x=x, d=d))


def complexes(e: Env) -> None:
    x = e.pick("c") if e.rng.random() < 0.7 else e.pick("f")
    form = e.one_of(
        "np.real({x})", "{x}.imag", "np.conj({x})", "np.abs({x})", "{x} * 1j", "({x} + 0.5j)", "np.angle({x})"
    )
    assign(e, form.format(x=x), bool("abs" in form or "angle" in form or "*" in form))


# ---------------------------------------------------------------- reductions, products, orders


def axis(e: Env, x: str) -> str:
    n = np.ndim(e.value(x))
    choices = ["", *(f"axis={a}" for a in range(-n, n))]
    if n > 1:
        choices.append("axis=(0, 1)")
    chosen = e.one_of(*choices)
    return chosen + ", keepdims=True" if chosen and e.rng.random() < 0.3 else chosen


def reduction(e: Env) -> None:
    f, x = e.one_of(*REDUCTIONS), e.pick()
    where = axis(e, x)
    if f in ("any", "all", "argmax", "argmin", "median") and "(0, 1)" in where:
        raise Refused
    text = (
        f"np.{f}({x}{', ' if where else ''}{where})"
        if e.rng.random() < 0.6 or f in ("ptp", "median")
        else f"{x}.{f}({where})"
    )
    if f in ("max", "min", "ptp") and np.asarray(e.value(x)).dtype.kind == "f":
        text += " + 0"  # which of two zeros it is depends on the order
    assign(e, text, f not in EXACT_REDUCTIONS)


def running(e: Env) -> None:
    f, x = e.one_of(*RUNNING), e.pick(low=1)
    assign(e, f"np.{f}({x}, axis={int(e.rng.integers(np.ndim(e.value(x))))})", True)


def product(e: Env) -> None:
    x, y = e.pick("ifc"), e.pick("ifc")
    form = e.one_of(
        "{x} @ {y}",
        "np.dot({x}, {y})",
        "np.matmul({x}, {y})",
        "{x}.T @ {y}",
        "np.outer({x}, {y})",
        "np.inner({x}, {y})",
        "np.tensordot({x}, {y}, 1)",
        "np.einsum('ij,ij->i', {x}, {y})",
        "np.einsum('i,i', {x}, {y})",
        "np.einsum('...i->...', {x})",
        "np.vdot({x}, {y})",
        "np.kron({x}, {y})",
        "np.linalg.norm({x})",
        "np.trace({x})",
        "np.convolve({x}, {y})",
        "np.cross({x}, {y})",
    )
    assign(e, form.format(x=x, y=y), True)


def order(e: Env) -> None:
    x = e.pick("biuf", low=1)
    form = e.one_of(
        "np.sort({x})",
        "np.sort({x}, axis=0)",
        "np.argsort({x}, kind='stable')",
        "np.sort({x})[..., ::-1]",
        "np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), -1)",
        "np.bincount(np.abs({x}.ravel()).astype(np.int64) % 5, minlength=5)",
        "np.count_nonzero({x}, axis=0)",
    )
    assign(e, form.format(x=x, y=e.pick("iuf")))


# ---------------------------------------------------------------- shapes and parts


def shaping(e: Env) -> None:
    x = e.pick(low=1)
    form = e.one_of(
        "{x}.T",
        "{x}.reshape(-1)",
        "np.ravel({x})",
        "np.reshape({x}, (-1, {x}.shape[0]))",
        "np.flip({x})",
        "np.flip({x}, axis=0)",
        "np.roll({x}, 1)",
        "np.roll({x}, -2, axis=0)",
        "np.repeat({x}, 2, axis=0)",
        "np.tile({x}, 2)",
        "np.expand_dims({x}, 0)",
        "{x}[:, None]",
        "{x}[None]",
        "np.swapaxes({x}, 0, -1)",
        "np.moveaxis({x}, 0, -1)",
        "np.squeeze({x})",
        "np.rot90({x})",
        "np.tril({x})",
        "np.triu({x}, 1)",
        "np.diag({x})",
        "np.diff({x}, axis=0)",
        "np.broadcast_to({x}, (2, *{x}.shape))",
        "np.pad({x}, 1)",
        "np.pad({x}, 1, mode='edge')",
        "np.atleast_2d({x})",
        "np.diagonal({x})",
        "{x}.flatten()",
        "{x}.copy()",
        "np.asfortranarray({x})",
        "{x}.reshape(-1, order='F')",
        "np.ones_like({x})",
        "np.zeros_like({x})",
        "np.nan_to_num({x})",
        "np.fliplr({x})",
        "np.hstack([{x}, {x}])",
        "np.delete({x}, 0, axis=0)",
        "np.insert({x}, 1, 0, axis=0)",
        "np.trapezoid({x})",
        "np.gradient({x}, axis=0)",
        "np.vander({x}.ravel()[:3], 3)",
        "np.unwrap({x})",
    )
    if ("ravel" in form or "reshape" in form) and not np.asarray(e.value(x)).flags.c_contiguous:
        form += ".copy()"  # whether it is a view depends on the strides
    if any(w in form for w in ("unwrap", "gradient", "diff")) and np.asarray(e.value(x)).dtype.kind == "b":
        raise Refused
    assign(e, form.format(x=x), any(w in form for w in ("trapezoid", "gradient", "vander", "unwrap", "diff")))


def joining(e: Env) -> None:
    x, y = e.pick(), e.pick()
    form = e.one_of(
        "np.concatenate([{x}, {y}])",
        "np.stack([{x}, {y}])",
        "np.stack([{x}, {y}], axis=-1)",
        "np.concatenate([{x}, {y}], axis=-1)",
        "np.array([{x}, {y}])",
        "np.append({x}, {y})",
        "np.vstack([{x}, {y}])",
        "np.column_stack([{x}, {y}])",
        "np.array([{x}.min(), 1, {y}.max()])",
    )
    assign(e, form.format(x=x, y=y))


def index(e: Env, x: str) -> str:
    """An index of the array `x`."""
    n = np.shape(e.value(x))[0]
    choices = [
        "0",
        "-1",
        "1:",
        ":-1",
        "::2",
        "::-1",
        "::-2",
        "...",
        "None",
        "1:1",
        "..., 0",
        "..., ::-1",
        ":, -1",
        "..., None, :1",
        "[0, -1]",
        "[0, 0, 1]",
        "np.array([1, 0])",
        ":2, :2",
        "0, 1:",
        "[1, 0], :2",
        "-2:, 0",
    ]
    if e.rng.random() < 0.25:
        return f"{e.pick('i', high=1)} % {n}"
    if e.rng.random() < 0.1:
        return f"{e.pick('i', high=1)} % {n} - {n}"
    return e.one_of(*choices)


def getting(e: Env) -> None:
    x = e.pick(low=1)
    assign(e, f"{x}[{index(e, x)}]")


def taking(e: Env) -> None:
    x, i = e.pick(low=1), e.pick("i")
    n = np.shape(e.value(x))[0]
    form = e.one_of(
        "np.take({x}, {i} % {n}, axis=0)",
        "np.take({x}, {i}, axis=0, mode='clip')",
        "np.take({x}, {i}, mode='wrap')",
        "np.choose({i} % 2, [{x}, {x} * 2])",
    )
    assign(e, form.format(x=x, i=i, n=n))


def writing(e: Env) -> None:
    if not e.writes:
        raise Refused
    x = e.pick(low=1, own_only=True)
    y = e.pick() if e.rng.random() < 0.7 else number(e)
    mark = e.one_of("=", "=", "+=", "*=", "-=", "/=")
    if e.rng.random() < 0.15:
        text = e.one_of(
            f"{x}[{x} > {y}] = {number(e)}",
            f"np.copyto({x}, {y})",
            f"{x}.fill(2)",
            f"np.add({x}, {y}, out={x})",
            f"np.add.at({x}, np.array([0, 1, 0]), {x}.dtype.type(2))",
            f"np.fill_diagonal({x}, 3)",
            f"{x}.sort()",
            f"{x} += {y}",
            f"{x} *= 2",
        )
    else:
        text = f"{x}[{index(e, x)}] {mark} {y}"
    accept(e, Line(text))


def loops(e: Env) -> None:
    """A Python loop over rows."""
    if not e.writes:
        raise Refused
    x, y = e.pick("f", low=1, own_only=True), e.pick("f")
    n = np.shape(e.value(x))[0]
    text = e.one_of(
        f"for j in range(1, {n}): {x}[j] = {x}[j - 1] * 0.5 + {y}",
        f"for j in range({n}): {x}[j] *= j",
        f"for j in range({n} - 1, 0, -1): {x}[j] -= {x}[j - 1]",
    )
    accept(e, Line(text))


def case(e: Env) -> None:
    """A case of the rule-completeness test, of whatever primitives there are."""
    if e.depth:
        raise Refused
    name = e.one_of(*(n for n in sorted(CASES) if not any(w in n for w in IMPURE)))
    n = int(e.rng.integers(len(CASES[name])))
    seed, operands = int(e.rng.integers(100)), []
    for k in range(len(CASES[name][n].makers)):
        operands.append(assign(e, f"np.array(L.operand({name!r}, {n}, {k}, {seed}))"))
    made = e.value(operands[0]) if operands else None
    if made is not None and np.asarray(made).dtype == np.float64 and e.rng.random() < 0.5:
        operands[0] = assign(e, f"{operands[0]} * (1.0 + 0.01 * np.sin(np.mean({e.pick('f')})))", True)
    out = CASES[name][n].fn(*(e.value(o) for o in operands))
    outs = len(out) if isinstance(out, (list, tuple)) else 1
    names = [e.name() for _ in range(outs)]
    left = ", ".join(names) + ("," if isinstance(out, (list, tuple)) else "")
    accept(e, Line(f"{left} = L.rounded(L.case({', '.join([repr(name), str(n), *operands])}))", tuple(names)))


# ---------------------------------------------------------------- structures


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
        f"{c}[{i}:{n}] -= {y}[{i}:{n}].sum()",
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
    unary,
    unary,
    binary,
    binary,
    binary,
    operator,
    operator,
    expression,
    expression,
    where,
    clip,
    cast,
    complexes,
    reduction,
    reduction,
    running,
    product,
    order,
    shaping,
    shaping,
    joining,
    getting,
    getting,
    taking,
    writing,
    writing,
    writing,
    writing,
    loops,
    case,
]
NESTED: list[Production] = [calls, cond, scan, fori, while_, extents, vmap, pytree]

SHAPES = ["", "3", "4", "3, 4", "3, 4", "4, 3", "2, 3, 4", "1, 4", "3, 1", "0", "2, 0", "3, 3"]
SPECIAL = "[0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1.5]"


def argument(e: Env, special: bool, derivative: bool) -> str:
    shape = e.one_of(*SHAPES[:7]) if derivative else e.one_of(*SHAPES)
    kind = "float64" if e.rng.random() < (0.8 if derivative else 0.45) else e.one_of(*DTYPES)
    tuple_ = f"({shape}{',' if shape and ',' not in shape else ''})"
    if kind == "bool":
        made = f"rng.integers(0, 2, {tuple_}).astype(bool)"
    elif kind[0] in "iu":
        low = -3 if kind[0] == "i" else 0
        made = f"rng.integers({low}, 6, {tuple_}).astype(np.{kind})"
    elif kind[0] == "c":
        made = f"rng.standard_normal({tuple_}) + 1j * rng.standard_normal({tuple_})"
    elif special and e.rng.random() < 0.6:
        made = f"rng.choice(np.array({SPECIAL}), {tuple_}).astype(np.{kind})"
    else:
        made = f"np.asarray(rng.standard_normal({tuple_})).astype(np.{kind})"
    layout = e.one_of("", "", "", "", "[::-1]", ".T.copy().T", "[..., ::-1]") if shape else "[()]"
    return f"np.asarray({made}){layout}" if layout == "[()]" else f"({made}){layout}"


def program(seed: int, size: int = 8) -> Program:
    """The program of this seed."""
    rng = np.random.default_rng(seed)
    special, derivative = bool(rng.random() < 0.25), bool(rng.random() < 0.5)
    e = Env(rng, special)
    e.start.append(f"rng = np.random.default_rng({seed})")
    e.run(e.start[0])
    constants: list[Line] = []
    inputs: list[tuple[str, str]] = []
    for _ in range(int(rng.integers(0, 3))):
        name = e.name("k")
        text = f"{name} = " + e.one_of(
            "np.array([0.5, -1.0, 2.0])",
            "np.float64(1.5)",
            "np.arange(12.0).reshape(3, 4)",
            "np.int64(2)",
            "np.eye(3)",
        )
        constants.append(Line(text))
        e.start.append(text)
        e.run(text)
        e.constants.append(name)
    for _ in range(int(rng.integers(1, 4))):
        name = e.name("a")
        text = argument(e, special, derivative and not special)
        e.begin(name, f"{name} = {text}")
        inputs.append((name, text))
    fill(e, int(rng.integers(2, size + 1)))
    outs = pick_outs(e)
    finite = derivative and not special and any(np.asarray(e.value(n)).dtype == np.float64 for n, _ in inputs)
    return Program(seed, tuple(constants), tuple(inputs), tuple(e.lines), outs, finite)


def pick_outs(e: Env) -> tuple[str, ...]:
    """The last variables and some others, often all."""
    if e.rng.random() < 0.4:
        return tuple(e.names)
    few = {*e.names[-2:], *(str(n) for n in e.rng.choice(e.names, 2))}
    return tuple(n for n in e.names if n in few)
