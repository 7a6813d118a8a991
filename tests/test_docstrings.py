"""Public docstrings: every example runs, and prints what it says. `--update-golden` writes what it prints.

That every name has all sections is a rule of the house: tests/test_house.py looks."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import docstrings
from tracejit.errors import NotDifferentiableError

_NAMES = """
ad_checkpoint custom_batching custom_derivatives debug experimental.ode extend flatten_util image lax lax.linalg nn
numpy numpy.fft numpy.linalg optim random scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg
scipy.ndimage scipy.optimize scipy.signal scipy.sparse.linalg scipy.spatial.distance scipy.special scipy.stats
test_util tree tree_util
"""
MODULES = ["tracejit", *(f"tracejit.{name}" for name in _NAMES.split())]
#: Names that have no complete docstring yet. The list only shrinks.
LACKING: dict[str, set[str]] = {}
_NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?")


def public(module: str) -> dict[str, Any]:
    """What users import from a module."""
    space = importlib.import_module(module)
    own = [n for n, x in vars(space).items() if n[0] != "_" and getattr(x, "__module__", "") == module]
    found = {n: getattr(space, n) for n in getattr(space, "__all__", own)}
    return {n: x for n, x in found.items() if callable(x) and _is_ours(x)}


def _is_ours(x: Any) -> bool:
    return str(getattr(x, "__module__", None)).partition(".")[0] not in (
        "numpy",
        "scipy",
        "optree",
        "functools",
    )


class Near(doctest.OutputChecker):
    """Numbers may differ in the last digits that processors and libraries disagree about."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        wanted, given = (_NUMBER.findall(t) for t in (want, got))
        bare = [" ".join(_NUMBER.sub("#", t).split()) for t in (want, got)]
        return bare[0] == bare[1] and np.allclose([*map(float, given)], [*map(float, wanted)], 1e-6, 1e-7)


class Seen(doctest.OutputChecker):
    """Takes everything, and keeps what the last line printed."""

    last = ""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        self.last = got
        return True


def run(lines: list[str], name: str, checker: doctest.OutputChecker) -> str:
    """Run an example; what is wrong with it, in doctest's words."""
    test = doctest.DocTestParser().get_doctest("\n".join(lines) + "\n", {}, name, None, 0)
    out = io.StringIO()
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with warnings.catch_warnings(), np.errstate(all="ignore"), tj.config.override(fallback=False):
        warnings.simplefilter("error")
        doctest.DocTestRunner(checker, verbose=False, optionflags=flags).run(test, out=out.write)
    return out.getvalue()


def records(module: str) -> tuple[docstrings.Record, list[docstrings.Record]]:
    found = docstrings.table(module)
    assert found is not None
    return found[0], [docstrings.Record(text) for text in dict.fromkeys(found[1].values())]


def variables(record: docstrings.Record, general: docstrings.Record) -> dict[str, Any]:
    """The arguments of a compiled example, and under "" the names that it knows."""
    space: dict[str, Any] = {}
    for line in docstrings.example(record, general) if record.get(">") else []:
        names = re.match(r">>> tj\.jit\(lambda ([\w, ]+):", line)
        if names:
            return {n: space[n] for n in names[1].split(", ")} | {"": space}
        if line.startswith(">>> "):
            exec(line[4:], space)
    return {}


def _direction(x: Any, i: int) -> Any:
    t = np.cos(np.arange(np.size(x)) + 1.0 + i).reshape(np.shape(x))
    return (t * (1 + 0.5j) if np.iscomplexobj(x) else t).astype(np.asarray(x).dtype)


def _one(v: Any) -> Any:
    return np.ones_like(v) if np.asarray(v).dtype.kind in "fc" else np.zeros(np.shape(v), tj.dtypes.float0)


def derivatives(record: docstrings.Record, general: docstrings.Record) -> str:
    """What the derivatives of an example show: a key of DERIVATIVES."""
    given = variables(record, general)
    space = given.pop("", {})
    smooth = [n for n, x in given.items() if np.asarray(x).dtype.kind in "fc"]
    if not smooth:
        return ""
    f = eval(f"lambda {', '.join(smooth)}: {record.get('>')[0]}", space)
    xs = tuple(space[n] for n in smooth)
    with np.errstate(all="ignore"):
        kinds = {np.asarray(leaf).dtype.kind for leaf in tj.tree.leaves(f(*xs))}
        if not kinds & set("fc"):
            return "steps"
        try:
            _, ts = tj.jvp(f, xs, tuple(_direction(x, i) for i, x in enumerate(xs)))
        except NotDifferentiableError:
            return "no"
        inexact = [t for t in tj.tree.leaves(ts) if np.asarray(t).dtype.kind in "fc"]
        if not any(np.any(t) for t in inexact):
            return "zero"
        try:
            value, pull = tj.vjp(f, *xs)
            pull(tj.tree.map(_one, value))
        except NotDifferentiableError:
            return "forward"
    return "yes"


def blocks(text: str) -> Iterator[tuple[str, docstrings.Record]]:
    for part in ("\n" + text).split("\n@ ")[1:]:
        yield part, docstrings.Record(part)


_KEPT = {":", "=", "!", "#", "$", ">", ">>>", "...", "&", '"'}


def updated(module: str) -> str:
    """The file of a module with what its examples print now."""
    text = Path(docstrings.path_of(module)).read_text(encoding="utf-8")
    general, others = records(module)
    (first, _), *rest = blocks(text)
    out = ["@ " + first.rstrip() + "\n"]
    for (part, record), same in zip(rest, others, strict=True):
        seen = Seen()
        try:
            problem = run(docstrings.example(record, general), part.split()[0], seen)
            letter = derivatives(same, general)
        except Exception as e:
            raise AssertionError(f"{module}: {part}") from e
        assert not problem, problem
        first, *lines = part.split("\n")
        kept = [first, *(line for line in lines if line.partition(" ")[0] in _KEPT)]
        shown = [line or "<BLANKLINE>" for line in seen.last.splitlines()]
        if letter:
            kept.insert(1, f"~ {letter}")
        out.append("\n".join(["@ " + kept[0], *kept[1:], *shown]) + "\n")
    return "\n".join(out)


@pytest.mark.sample(6)
@pytest.mark.parametrize("module", MODULES)
def test_the_examples_print_what_they_say(module: str, request: pytest.FixtureRequest) -> None:
    """A sample; the whole is `test_all_examples`."""
    if request.config.getoption("--update-golden"):
        text = updated(module)
        Path(docstrings.path_of(module)).write_text(text, encoding="utf-8")
    for name, obj in _sample(module):
        assert_runs(module, name, obj)


@pytest.mark.exhaustive
@pytest.mark.parametrize("module", MODULES)
def test_all_examples(module: str) -> None:
    for name, obj in public(module).items():
        assert_runs(module, name, obj)
    general, others = records(module)
    for record in others:
        told = record.get("~") or [""]
        assert told == [derivatives(record, general)], record.names


def _sample(module: str) -> list[tuple[str, Any]]:
    names = list(public(module).items())
    return names[len(module) % 16 :: 16]


def assert_runs(module: str, name: str, obj: Any) -> None:
    lines = (obj.__doc__ or "").split("\n")
    problem = run(lines, f"{module}.{name}", Near()) if any(">>>" in line for line in lines) else ""
    assert not problem, problem


def lacking(module: str) -> list[str]:
    """Names whose docstrings lack a section, or say nothing about a parameter."""
    return [name for name, obj in public(module).items() if lacks(obj)]


def lacks(obj: Any) -> str:
    doc = inspect.cleandoc(obj.__doc__ or "")
    sections = {
        t for t in ("Parameters", "Returns", "Raises", "Examples") if f"\n{t}\n{'-' * len(t)}\n" in doc
    }
    if not {"Examples", "Returns"} <= sections:
        return "sections"
    names = [n for n, _ in docstrings.parameters(obj)]
    return next(
        (n for n in names if not re.search(rf"(?m)^\*{{0,2}}{re.escape(n.lstrip('*'))}\b.*", doc)), ""
    )


def test_the_settings_are_all_told() -> None:
    settings = type(tj.config)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^([\w, ]+) : ", inspect.getdoc(settings) or ""))))
    assert set(inspect.signature(settings).parameters) == told
    assert_runs("tracejit.config", "Config", settings)
