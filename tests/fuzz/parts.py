"""Productions that move elements: shapes, parts, writes, loops over rows; and the cases of the rule test."""

from __future__ import annotations

import numpy as np

from tests.cases import CASES
from tests.fuzz.env import Env, Refused
from tests.fuzz.program import Line
from tests.fuzz.statements import accept, assign, number

#: Ops whose cases do more than compute.
IMPURE = ("callback", "print", "custom_vjp_linear", "rng", "random")


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
    ordered = np.asarray(e.value(x)).flags.c_contiguous or (x[0] == "a" and not e.depth)
    if any(w in form for w in ("ravel", "reshape", "asfortranarray")) and not ordered:
        form += ".copy()"  # whether it is a view depends on the strides, which are known of arguments only
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
        "np.array([{x}.min() + 0, 1, {y}.max() + 0])",  # which of two zeros it is depends on the order
    )
    assign(e, form.format(x=x, y=y))


def index(e: Env, x: str) -> str:
    """An index of the array `x`."""
    n = np.shape(e.value(x))[0]
    if not n:
        raise Refused
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


def shape_of(e: Env, text: str) -> tuple[int, ...]:
    try:
        return np.shape(eval(text, dict(e.spaces[0])))
    except IndexError as error:
        raise Refused from error


def writing(e: Env) -> None:
    if not e.writes:
        raise Refused
    x = e.pick(low=1, own_only=True)
    y = e.pick() if e.rng.random() < 0.7 else number(e)
    mark = e.one_of("=", "=", "+=", "*=", "-=", "/=")
    if mark in ("*=", "/=") and np.asarray(e.value(x)).dtype.kind == "c":
        raise Refused  # NumPy's complex products round in more than one way
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
        if ".at(" in text and not np.asarray(e.value(x)).flags.writeable:
            raise Refused  # NumPy's ufunc.at writes into read-only arrays
        if " > " in text and 0 in shape_of(e, y):
            raise Refused  # NumPy does not look at the shape of an empty mask
    else:
        at = index(e, x)
        text = f"{x}[{at}] {mark} {y}"
        target, value = (shape_of(e, t) for t in (f"{x}[{at}]", y))
        if 0 in target and len(value) > len(target):
            raise Refused  # nor that of nothing at integer arrays
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
    try:
        with np.errstate(all="ignore"):
            out = CASES[name][n].fn(*(e.value(o) for o in operands))
    except (np.linalg.LinAlgError, ValueError) as error:  # a factorization of NaN
        raise Refused from error
    outs = len(out) if isinstance(out, (list, tuple)) else 1
    names = [e.name() for _ in range(outs)]
    left = ", ".join(names) + ("," if isinstance(out, (list, tuple)) else "")
    accept(e, Line(f"{left} = L.rounded(L.case({', '.join([repr(name), str(n), *operands])}))", tuple(names)))
