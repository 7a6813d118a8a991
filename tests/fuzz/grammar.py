"""Programs by seed: constants, arguments, statements, what is returned."""

from __future__ import annotations

import numpy as np

from tests.fuzz.env import Env
from tests.fuzz.program import Line, Program
from tests.fuzz.statements import DTYPES
from tests.fuzz.structures import fill

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
