"""The pages of the errors: the texts of `python -m tracejit help`, a page for each kind of mistake."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

from docs.building.docstring import plain, prose
from docs.building.staging import put
from tracejit.errors import CODES, TracejitError
from tracejit.errors.base import blanks

_TITLES = {
    "base": "inside of tracejit",
    "arrays": "arrays and shapes",
    "control": "control flow",
    "extend": "new primitives",
    "fallback": "warnings",
    "loops": "loops and branches",
    "machine": "machine code and files",
    "transforms": "transformations",
    "windows": "convolutions",
}


def write(folder: Path) -> set[Path]:
    """Write a page for each kind, and one that lists the codes; the files written."""
    kinds: dict[str, list[type[TracejitError]]] = {}
    for _, cls in sorted(CODES.items()):
        kinds.setdefault(cls.__module__.rpartition(".")[2], []).append(cls)
    files = {put(folder / f"errors-{kind}.md", _page(kind, kinds[kind]).encode()) for kind in kinds}
    return files | {put(folder / "errors.md", _index(kinds).encode())}


def _index(kinds: dict[str, list[type[TracejitError]]]) -> str:
    lines = [f"| `{code}` | `{cls.__name__}` | {plain(_cause(cls))} |" for code, cls in sorted(CODES.items())]
    about = (
        "Every error that a program can cause has a code that stays. `python -m tracejit help TJ012` prints the page "
        "of one. All are subclasses of the exception that Python or NumPy would raise, and of `tj.TracejitError`."
    )
    tree = (
        "```{toctree}\n:maxdepth: 1\n:hidden:\n\n" + "\n".join(f"errors-{k}" for k in sorted(kinds)) + "\n```"
    )
    return "\n".join(
        ["# Errors", "", about, "", "| code | class | what is wrong |", "|---|---|---|", *lines, "", tree, ""]
    )


def _cause(cls: type[TracejitError]) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0].replace("|", "\\|")


def _page(kind: str, classes: list[type[TracejitError]]) -> str:
    title = _TITLES.get(kind, kind)
    return "\n\n".join([f"# Errors: {title}", *(_entry(cls) for cls in classes)]) + "\n"


def _entry(cls: type[TracejitError]) -> str:
    parts = [prose(inspect.cleandoc(cls.__doc__ or ""))]
    parts.append(
        f"**Message**\n\n```{{code-block}} text\n:class: message\n\n[{cls.code}] {blanks(cls.cause)}\n```"
    )
    if cls.remedies:
        parts.append("**Remedies**\n\n" + "\n".join(f"- {plain(blanks(r))}" for r in cls.remedies))
    if cls.example:
        parts.append(f"**Example**\n\n```{{code-block}} python\n{textwrap.dedent(cls.example).strip()}\n```")
    body, name = "\n\n".join(parts), f"tracejit.errors.{cls.__name__}"
    return f"## {cls.code} {cls.__name__}\n\n`````{{py:exception}} {name}\n\n{body}\n`````"
