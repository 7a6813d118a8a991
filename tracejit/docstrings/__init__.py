"""The sections of public docstrings: parameters, results, errors, derivatives, an example.

What a function does is said by the docstring in its source. The rest of NumPy's form is the same for many names,
and is told once: a module has a file of records here (`tracejit.numpy` has `numpy.txt`, `tracejit.scipy.stats` has
`scipy/stats.txt`), and ends with `complete(__name__)`, which writes the sections below what its names say. A record
starts with `@` and the names; each line after it begins with what it is:

    : a : array_like -- text     a parameter; those of the first record, `@ *`, are meant wherever a name has one
    " text                       what it does, where the source does not say so
    = type -- text               what is returned
    ! NameOfError -- text        an error; the text of an error of `tracejit.errors` need not be given
    ~ yes                        whether there are derivatives: a key of DERIVATIVES; found by running the example
    # text                       a note: how it differs from NumPy or JAX
    $ x = np.ones(3)             a line that examples need; of the first record, those whose name occurs in the example
    > np.sum(x)                  the example, compiled with the variables that it names as arguments
    >>> np.sum(x)                the example, as it stands
    & text                       of the first record: a sentence about all names of the module

and all other lines are what the example prints. tests/test_docstrings.py runs every example, and writes what is
printed and the derivatives when it is called with --update-golden.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracejit import errors

#: What the letter `~` of a record says.
DERIVATIVES = {
    "yes": "Differentiable, in forward and in reverse mode.",
    "forward": "Differentiable in forward mode; there is no derivative in reverse.",
    "zero": "The derivative is zero wherever there is one.",
    "steps": "Results are integers, booleans or no arrays, which carry no derivative.",
    "no": "There is no derivative: taking one raises NotDifferentiableError.",
    "none": "Nothing here carries a derivative.",
}
_WORD = re.compile(r"[A-Za-z_]\w*")
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Record:
    """What a file says about a name, by the sign of the line; `shown` is the example's output."""

    __slots__ = ("_parameters", "lines", "names", "shown")

    def __init__(self, text: str) -> None:
        first, _, rest = text.partition("\n")
        self.names = first.split()
        self.lines: dict[str, list[str]] = {}
        self.shown: list[str] = []
        self._parameters: dict[str, tuple[str, str]] | None = None
        for line in rest.rstrip("\n").split("\n"):
            sign, _, said = line.partition(" ")
            if sign in (">>>", "..."):
                self.lines.setdefault(">>>", []).append(line)
            elif sign in _SIGNS:
                self.lines.setdefault(sign, []).append(said)
            elif line or self.shown:
                self.shown.append(line)

    def get(self, sign: str) -> list[str]:
        """The lines with this sign."""
        return self.lines.get(sign, [])

    def parameters(self) -> dict[str, tuple[str, str]]:
        """Parameter -> its type and what is said about it."""
        if self._parameters is None:
            self._parameters = {}
            for line in self.get(":"):
                head, _, text = line.partition(" -- ")
                names, _, kind = head.partition(" : ")
                self._parameters.update(dict.fromkeys(names.split(", "), (kind, text)))
        return self._parameters


_SIGNS = set(':=!~#$>&"')


def path_of(module: str) -> str:
    """The file of records of a module of tracejit's."""
    return os.path.join(_FOLDER, *module.split(".")[1:] or ["core"]) + ".txt"


@functools.cache
def table(module: str) -> tuple[Record, dict[str, str]] | None:
    """The general record of a module, and the text of the record of each name; None if it has no file."""
    try:
        text = __loader__.get_data(path_of(module)).decode()  # type: ignore[name-defined]  # also from an archive
    except OSError:
        return None
    first, *others = ("\n" + text).split("\n@ ")[1:]
    return Record(first), {name: part for part in others for name in part[: part.index("\n")].split()}


def complete(module: str, names: Mapping[str, Any] | None = None) -> None:
    """Write the sections of what `module` has (or of `names`) below the docstrings in the source."""
    found = table(module)
    if found is None or sys.flags.optimize > 1:  # without docstrings
        return
    general, texts = found
    space = vars(sys.modules[module]) if names is None else names
    for name in texts.keys() & space.keys():
        _describe(space[name], name, Record(texts[name]), general)


def _describe(obj: Any, name: str, record: Record, general: Record) -> None:
    doc = obj.__doc__ or ""
    if "\nExamples\n---" not in doc:
        obj.__doc__ = "\n\n".join(_sections(obj, name, doc, record, general))


def _sections(obj: Any, name: str, doc: str, record: Record, general: Record) -> Iterable[str]:
    known = {**general.parameters(), **record.parameters()}
    told, raised = _raised(inspect.cleandoc(doc))
    yield from record.get('"') or [told]
    yield from (text.format(name=name) for text in general.get("&"))
    if "\nParameters\n---" not in doc:
        listed = [_parameter(p, optional, known) for p, optional in parameters(obj)]
        if listed:
            yield _section("Parameters", listed)
    if "\nReturns\n---" not in doc:
        yield _section("Returns", [_returned(line) for line in record.get("=") or general.get("=")])
    if "\nRaises\n---" not in told:
        own = {entry.partition("\n")[0] for entry in raised}
        lines = (*record.get("!"), *general.get("!"))
        raised += [_error(line) for line in lines if line.partition(" ")[0] not in own]
        if raised:
            yield _section("Raises", raised)
    notes = [*record.get("#"), *(DERIVATIVES[d] for d in record.get("~"))]
    if notes:
        yield _section("Notes", notes)
    shown = example(record, general)
    if shown:
        yield _section("Examples", shown)


def _section(title: str, lines: Iterable[str]) -> str:
    return f"{title}\n{'-' * len(title)}\n" + "\n".join(lines)


def _parameter(name: str, optional: str, known: Mapping[str, tuple[str, str]]) -> str:
    kind, text = known.get(name) or known.get(name.lstrip("*")) or ("", "")
    head = f"{name} : {kind}{optional}" if kind else f"{name} : {optional[2:]}" if optional else name
    return f"{head}\n    {text}" if text else head


def _raised(doc: str) -> tuple[str, list[str]]:
    """A docstring without the errors that it ends with in the short form of the sources, and these in NumPy's:

    Raises:
        ShapeError: the operands do not fit. AxisError: there is no such axis.
    """
    told, found, listed = doc.partition("\n\nRaises\n------\n")
    if found and "\n\n" not in listed:
        return told, re.split(r"\n(?=\S)", listed.rstrip())
    told, found, listed = doc.partition("\n\nRaises:\n")
    if not found:
        return doc, []
    flat = re.sub(r"\n\s+", " ", listed.strip())
    entries = re.split(r"(?<=[.,])? ?\b(?=(?:[A-Z]\w+, )*[A-Z]\w*Error\b(?:, [A-Z]\w+)*(?:[.:]| and))", flat)
    return told, [_error(e.strip().replace(": ", " -- ", 1).rstrip(".,")) for e in entries if e.strip(" .,")]


def _returned(line: str) -> str:
    kind, _, text = line.partition(" -- ")
    return f"{kind}\n    {text}" if text else kind


def _error(line: str) -> str:
    name, _, text = line.partition(" -- ")
    return f"{name}\n    {text or first_line(getattr(errors, name, None))}"


def first_line(obj: Any) -> str:
    """The first line of a docstring."""
    return (obj.__doc__ or "").strip().partition("\n")[0]


def parameters(obj: Any) -> list[tuple[str, str]]:
    """The parameters of a function, ufunc or class, each with what its default says of it (`, optional`)."""
    if hasattr(type(obj), "nin"):  # asked of the class: objects may look attributes up elsewhere
        return [*((n, "") for n in _OPERANDS[obj.nin]), ("**options", "")]
    while "__signature__" not in (space := getattr(obj, "__dict__", {})) and "__wrapped__" in space:
        obj = space["__wrapped__"]
    if isinstance(obj, type):
        made: Any = obj.__init__
        if not hasattr(made, "__code__") or made.__code__.co_flags & inspect.CO_VARARGS:
            return [(n, "") for n in vars(obj).get("__annotations__", ()) if not n.startswith("_")]
        obj = made
    if "__signature__" in vars(obj):
        return [
            (p.name, "" if p.default is p.empty else ", optional")
            for p in obj.__signature__.parameters.values()
        ]
    if not hasattr(obj, "__code__"):
        return []
    return _of_code(obj)


_OPERANDS = {
    1: ("x",),
    2: ("x1", "x2"),
    3: ("x1", "x2", "x3"),
    4: ("x1", "x2", "x3", "x4"),
    5: ("x1", "x2", "x3", "x4", "x5"),
}


def _of_code(function: Callable[..., Any]) -> list[tuple[str, str]]:
    code: Any = function.__code__  # type: ignore[attr-defined]
    count, keywords = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    defaults = len(function.__defaults__ or ())  # type: ignore[attr-defined]
    found = [(n, ", optional" if k >= count - defaults else "") for k, n in enumerate(names[:count])]
    at = count + keywords
    if code.co_flags & inspect.CO_VARARGS:
        found.append(("*" + names[at], ""))
        at += 1
    given = function.__kwdefaults__ or {}  # type: ignore[attr-defined]
    found += [(n, ", optional" if n in given else "") for n in names[count : count + keywords]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(("**" + names[at], ""))
    return [(n, o) for n, o in found if n not in ("self", "cls") and not n.lstrip("*").startswith("_")]


def example(record: Record, general: Record) -> list[str]:
    """The lines of a record's example, as an interpreter shows them."""
    lines = record.get(">") or record.get(">>>")
    if not lines:
        return []
    own = record.get("$")
    words = set(_WORD.findall(" ".join((*lines, *own))))
    needed: list[str] = []
    for line in reversed(general.get("$")):  # what needs others comes after them
        if needs(line, words):
            needed.insert(0, line)
            words.update(_WORD.findall(line))
    imports = [f">>> {line}" for line in (*needed, *own)]
    if ">" not in record.lines:
        return [*imports, *lines, *record.shown]
    variables = [v for v in map(assigned, (*needed, *own)) if v and v in words]
    (line,) = lines
    if not variables:
        return [*imports, f">>> {line}", *record.shown]
    listed = ", ".join(variables)
    return [*imports, f">>> tj.jit(lambda {listed}: {line})({listed})", *record.shown]


def assigned(line: str) -> str:
    """The variable that a line of `$` assigns, or nothing."""
    name, equals, _ = line.partition(" = ")
    return name if equals else ""


def needs(line: str, words: set[str]) -> bool:
    """Whether an example with these words needs a line of `$`: all imports of `np` and `tj`, otherwise by name."""
    name = assigned(line)
    return name in words if name else line.rpartition(" ")[2] in words or line.endswith((" np", " tj"))
