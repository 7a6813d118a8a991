"""Iterators of outside: random functions that take items from them do what Python does, at each call."""

from __future__ import annotations

import contextlib
import itertools
import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import define, verdict

_SOURCES = [
    *("itertools.count(3)", "itertools.count(0.5, 0.25)", "itertools.cycle([1.0, -2.0, held])", "iter(xs)"),
    *("iter((1, 2.5, held, None, 4))", "iter(range(2, 30, 3))", "iter('abcdef')", "reversed(xs)"),
    *(
        "zip(xs, range(9))",
        "enumerate(xs, 2)",
        "enumerate(zip(xs, itertools.count()))",
        "map(abs, [-1, 2.5, -3])",
    ),
    *("zip(iter(xs), xs)", "iter(d.items())", "iter(d)", "iter(d.values())", "map(float, iter(range(5)))"),
    *("zip([1.0, 2.0], xs, strict=True)", "map(abs, [1.0, 'text', -2.0])"),
    *("filter(None, [0, 1, 2.0, 0, 3])", "zip(it0, it0) if 'it0' in globals() else iter(xs)"),
]
_STATEMENTS = [
    *(
        "out.append(next({it}))",
        "out.append(next({it}, 'none left'))",
        "out.append(x * first(next({it}, 1.0)))",
    ),
    *("out += itertools.islice({it}, 2)", "for v in {it}:\n        out.append(v)\n        break"),
    *("for v, w in zip({it}, range(2)):\n        out.append((v, w))", "out.append(next({other}, None))"),
    *(
        "xs.append(x.sum())",
        "xs[0] = 8.5",
        "d['e'] = 9.0",
        "held[0] = held[0] + 1",
        "out.append({it} is {other})",
    ),
    *(
        "if x.sum() > 1:\n        out.append(next({it}, 0.0))",
        "out.append(held)",
        "out.append([*itertools.islice({it}, 4)])",
    ),
    *("for v in range(3):\n        x = x + first(next({it}, 2.0))", "state.append(next({it}, 0))"),
    "try:\n        out.append([*itertools.islice({it}, 3)])\n    except Exception:\n        out.append('failed')",
]


def first(v: Any) -> Any:
    """A number in `v`, however deep."""
    while isinstance(v, tuple):
        v = v[0]
    return v if isinstance(v, (int, float)) else 1.0


def _maker(seed: int) -> Any:
    rng = random.Random(seed)
    names = ["it0", "it1"]
    sources = [rng.choice(_SOURCES) for _ in names]
    lines = []
    for _ in range(rng.randint(1, 4)):
        it, other = rng.sample(names, 2)
        if rng.random() < 0.7:
            it = "it0"
        lines.append(rng.choice(_STATEMENTS).format(it=it, other=other))
    given = rng.random() < 0.3
    source = (
        f"def f(x{', it0' if given else ''}):\n    out = []\n    "
        + "\n    ".join(lines)
        + "\n    return x, out\n"
    )
    changes = [rng.choice(("", "", "", "xs.append(4.5)", "d['z'] = 1.0", "next(it1, 0)")) for _ in range(4)]

    def maker() -> Any:
        names = {"itertools": itertools, "np": np, "first": first, "state": []}
        names |= {
            "held": np.array([1.0, 2.0]),
            "xs": [1.5, -2.0, 3.25, 0.5, 7.0],
            "d": {"a": 1.0, "b": 2, "c": 3.0},
        }
        for n, text in enumerate(sources):
            names[f"it{n}"] = eval(text, names)
        define(source, names, f"<program {seed}>")
        xs = [np.array(v) for v in ([0.5, 1.0], [-1.0, 0.25], [2.0, 3.0], [1.0, 1.0])]
        calls = [(x, names["it0"]) if given else (x,) for x in xs]

        def before(n: int) -> None:
            with contextlib.suppress(RuntimeError, TypeError, ValueError):
                exec(changes[n], names)

        return names["f"], calls, lambda: [names[k] for k in ("xs", "d", "held", "state")], before

    return maker, source, sources


def _agrees(seed: int) -> str:
    maker, source, sources = _maker(seed)
    kind, why = verdict(maker)
    assert kind in ("native", "fallback"), f"{seed}\n{source}\n{sources}\n{why}"
    return kind


def test_random_functions_that_take_items() -> None:
    kinds = [_agrees(seed) for seed in range(25)]
    assert kinds.count("native") > 8


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(1000, 3000, 100))
def test_many_random_functions_that_take_items(start: int) -> None:
    for seed in range(start, start + 100):
        _agrees(seed)


def test_a_counter_is_an_input() -> None:
    ids = itertools.count(1)
    f = tj.jit(lambda x: x * next(ids), fallback=False)
    assert [f(2.0) for _ in range(50)] == [2.0 * (k + 1) for k in range(50)]
    assert f.trace_count <= 2
    assert next(ids) == 51


def test_views_of_dicts_show_what_is_in_them() -> None:
    d = {"a": 1.0}
    values = d.values()
    f = tj.jit(lambda x: x + sum(values), fallback=False)
    assert f(1.0) == 2.0
    d["b"] = 4.0
    assert f(1.0) == 6.0
