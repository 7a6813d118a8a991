"""Code with places for regions: it does what the function does, on the same lines, whatever stands there."""

from __future__ import annotations

import builtins
import inspect
import traceback
import types
import warnings
from typing import Any

import pytest

from tracejit.frontend.rewrite.regions.emit import Known, Part, split
from tracejit.frontend.rewrite.source.transform import Unchanged


def made(f: Any, **known: Any) -> tuple[Any, list[Part], Any]:
    table = types.SimpleNamespace(unbound=NameError)
    code, parts = split(f.__code__, Known({**vars(builtins), **f.__globals__}, **known), table)
    for part in parts:
        setattr(table, part.entry, None)
    copy = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    copy.__kwdefaults__ = f.__kwdefaults__
    return copy, parts, table


def summed(n, out, *, start=0.0):
    s = start
    for i in range(n):
        s += i * 0.5
    out.append(s)
    t = 0
    while t < s:
        t = t * 2 + 1
    return s, t


def line(of: Any, text: str) -> int:
    lines, start = inspect.getsourcelines(of)
    return next(start + n for n, x in enumerate(lines) if text in x)


def marked(n, out):
    for i in range(n):
        out.append((1.5, "at"))
        for mark in [(2, ("in", 1))]:
            out.append(mark)
    return out, (1.5, "at")


def test_constants_are_the_very_objects_of_the_function():
    """A program that keeps one and compares it with `is` may be run by the function, its copy and a part in turn."""
    copy, parts, _ = made(marked)
    for code in (copy.__code__, *(p.code for p in parts if p.code is not None)):
        own = {id(x) for x in marked.__code__.co_consts}
        tuples = [x for x in code.co_consts if type(x) is tuple and x]
        assert tuples and all(id(x) in own for x in tuples)


def test_python_has_said_its_warnings_before(tmp_path):
    """Of `x is 1`, when it compiled the file."""
    source = "def f(xs):\n    s = 0\n    for x in xs:\n        s += 1 if x is 1.5 else 2\n    return s\n"
    path = tmp_path / "told.py"
    path.write_text(source)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, str(path), "exec"), names)
    assert made(names["f"])[1]


def test_without_parts_it_does_what_the_function_does():
    copy, parts, _ = made(summed, refused=[line(summed, "append")])
    out: list[float] = []
    assert copy(5, out, start=1.0) == (6.0, 7) and out == [6.0]
    assert [(p.takes, p.gives) for p in parts if p.inside is None] == [
        (("n", "start"), ("s",)),
        (("s",), ("t",)),
    ]


def test_what_stands_at_a_place_gives_the_results():
    copy, parts, table = made(summed, refused=[line(summed, "append")])
    given: list[Any] = []

    class Stands:
        def __call__(self, *args):
            given.append(args)
            return (7.5,) if len(given) == 1 else None

        def leave(self):
            given.append("left")

    setattr(table, parts[0].entry, Stands())
    assert copy(5, []) == (7.5, 15) and given == [(5, 0.0)]
    assert copy(5, []) == summed(5, []) and given[1:] == [(5, 0.0), "left"]


def test_a_name_that_is_not_bound_is_pythons():
    def f(c, out):
        if c:
            k = 2
        out.append(c)
        for i in range(3):
            out.append(i * k)
        s = 0
        for i in range(3):
            s += i * k
        return s

    copy, parts, table = made(f, refused=[line(f, "out.append(c)"), line(f, "out.append(i * k)")])
    setattr(table, parts[-1].entry, lambda *args: (100,))
    with pytest.raises(UnboundLocalError):
        copy(False, [])


def test_lines_and_names_are_the_functions():
    def f(x, out):
        y = 0.0
        for i in range(3):
            y += x[i] / i
        out.append(y)
        return y

    copy, *_ = made(f, refused=[line(f, "append")])
    places = []
    for g in (f, copy):
        try:
            g([1.0, 2.0, 3.0], [])
        except ZeroDivisionError as e:
            last = traceback.extract_tb(e.__traceback__)[-1]
            places.append((last.filename, last.lineno, last.name, last.line, last.colno, last.end_colno))
    assert len(places) == 2 and places[0] == places[1]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    for i in range(3): x += i\n    return locals()",
        "def f(x):\n    for i in range(3): x += i\n    yield x",
        "async def f(x):\n    for i in range(3): x += i\n    return x",
        "def f(x):\n    for i in range(3): __p = i\n    return x",
        "def f(x):\n    with np.errstate(all='raise'):\n        for i in range(3): x += 1 / i\n    return x",
    ],
)
def test_functions_that_stay_whole(text, tmp_path):
    path = tmp_path / "user.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    with pytest.raises(Unchanged):
        made(names["f"], refused=[len(text.splitlines())])


def test_what_functions_share_is_assigned_by_python():
    def f(out):
        n = 1

        def g():
            return n

        for i in range(4):
            n += i
        s = 0
        for i in range(4):
            s += i * n
        out.append(g())
        return s

    copy, parts, _ = made(f, refused=[line(f, "out.append")])
    assert all("n" not in p.gives for p in parts) and any(p.gives == ("s",) for p in parts)
    assert copy([]) == f([])


def test_parts_that_were_judged_have_no_place_any_more():
    where = line(summed, "append")
    _, parts, _ = made(summed, refused=[where])
    judged = {p.spot: "small" for p in parts if p.inside is None}
    with pytest.raises(Unchanged):
        made(summed, refused=[where], judged=judged)
    judged = {p.spot: "refused" for p in parts}
    with pytest.raises(Unchanged):
        made(summed, refused=[where], judged=judged)
