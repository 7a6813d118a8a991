"""Which functions of the installed SciPy have traced forms: `python -m tracejit coverage`, docs/coverage.md."""

from __future__ import annotations

import importlib
import textwrap
import types
from typing import Any

import numpy as np

from tracejit.records import record
from tracejit.scipy import CALLED, TRACED
from tracejit.scipy.hosting import calls

#: The modules of SciPy that compute from arrays.
MODULES = sorted((*CALLED, *TRACED))
#: Parameters that take a function of the user's, which a call of SciPy's as it is can't be given.
_FUNCTIONS = frozenset(
    (
        "fun",
        "func",
        "f",
        "F",
        "function",
        "residual",
        "statistic",
        "fcn",
        "callable",
        "A_func",
        "U_fun",
        "evaluate",
    )
)


@record(frozen=True)
class Coverage:
    """The names of one module: with traced forms (`native`), called as they are (`host`), and others."""

    module: str
    native: list[str]
    host: list[str]
    missing: list[str]


def of(module: str) -> Coverage:
    """What there is of a module of SciPy, such as "signal"."""
    theirs = importlib.import_module(f"scipy.{module}")
    try:
        ours: Any = importlib.import_module(f"tracejit.scipy.{module}")
    except ModuleNotFoundError:
        ours = types.ModuleType(module)
    found = Coverage(module, [], [], [])
    for name in sorted(n for n in dir(theirs) if not n.startswith("_")):
        value = getattr(theirs, name)
        if _counts(value, theirs):
            kind = found.native if name in ours.__dict__.get("__all__", ()) else _others(found, value)
            kind.append(name)
    return found


def _counts(value: Any, module: Any) -> bool:
    """Whether a name is a function, a class or a distribution, and the module's own."""
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, type):
        public = value.__name__ in getattr(module, "__all__", ())
        return public and not issubclass(value, (Exception, Warning))
    made = getattr(value, "__module__", None) or ""
    return callable(value) and made.startswith(f"scipy.{module.__name__.split('.')[1]}")


def _others(found: Coverage, value: Any) -> list[str]:
    return found.host if calls.of(value) is not None and not _takes_function(value) else found.missing


def _takes_function(value: Any) -> bool:
    return not _FUNCTIONS.isdisjoint(calls.parameters(value)[:2])


def table() -> str:
    """The numbers, a line for each module."""
    rows = [("module", "native", "host call", "missing")]
    for name in MODULES:
        c = of(name)
        rows.append((f"scipy.{name}", str(len(c.native)), str(len(c.host)), str(len(c.missing))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def page() -> str:
    """docs/coverage.md."""
    version = importlib.import_module("scipy").__version__
    out = _HEAD.format(version=version.rpartition(".")[0])
    covered = list(map(of, MODULES))
    for c in covered:
        out += f"| `scipy.{c.module}` | {len(c.native)} | {len(c.host)} | {len(c.missing)} |\n"
    for c in covered:
        out += f"\n## scipy.{c.module}\n"
        for title, names in (("Native", c.native), ("Host calls", c.host), ("Missing", c.missing)):
            if names:
                out += "\n" + textwrap.fill(f"{title}: `{' '.join(names)}`", 120) + "\n"
    return out


_HEAD = """# Functions of SciPy

`python -m tracejit coverage` counts the functions and classes of the installed SciPy; this page is what it writes with
`--markdown`, for SciPy {version}. *Native* names have traced forms: they are compiled, differentiated and batched,
as far as their options have such forms. *Host calls* are SciPy's own functions, which compiled programs call (see
[jit.md](jit.md#numpys-arrays)); the shapes of their results must not depend on values. A function that uses one of the
*missing* names on traced values is run by Python under `jit`, and refused by other transformations.

| | native | host call | missing |
|---|---|---|---|
"""
