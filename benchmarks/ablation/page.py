"""docs/ablation.md: the table and how to read it."""

from __future__ import annotations

import ast
import datetime
import io
import statistics
import tokenize
from pathlib import Path

from benchmarks import report
from benchmarks.ablation.measure import Effort, Result, Row
from benchmarks.ablation.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ablation.md"

_HEAD = """# What each mechanism is worth

`{command}` wrote this page on {date},
on {machine}{busy}. With names of mechanisms the command measures these only, and the others keep the lines
that they have. `--busy` is for machines that do other work, and needs to be run by root.

Each mechanism of the compiler is switched off, one at a time and from outside of the package, in a process of its own.
A process with it and a process without it take turns at the rows of the benchmark that it serves, after their results
have been compared; {pairs} such pairs are measured. **Gain** is the time without the mechanism over the time with it
(median of the pairs; above 1, it helps), with the least and the largest of the pairs behind it. A gain is *noise* if
the pairs do not agree on which is faster, or differ by less than 3 %. **Compiling** is the processor time to trace and
compile all of its rows with the mechanism, less that without. **Memory** is the peak of the process without it, less
that with it. **Lines** are those with code, without comments and docstrings, of the files or functions behind the name.

A mechanism stays if it gains at least 3 % on a row, or for what is said under *stays for*. Rows with no other size
are those of middle size and float64; rows whose names are not in the benchmark's table are of
`benchmarks/ablation/rows.py`.

| mechanism | lines | gain by row | compiling | memory |
|---|---:|---|---:|---:|
"""


def write(results: list[Result], effort: Effort, command: str, busy: bool) -> None:
    """The page with these results. Mechanisms that were not measured keep the line that they have."""
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    note = ", while other processes ran on it" if busy else ""
    lines = _lines_of_page() | {r.mechanism.name: line(r) for r in results}
    text = _HEAD.format(command=command, date=date, machine=report.processor(), busy=note, pairs=effort.pairs)
    for m in MECHANISMS:
        text += f"{lines.get(m.name, f'| {m.name} | {lines_of(m.files)} | not measured | | |')}\n"
    text += "\n## What they promise\n\n"
    for m in MECHANISMS:
        files = ", ".join(f"`{f}`" for f in m.files)
        reason = f" Stays for: {m.serves}." if m.serves else ""
        text += f"- **{m.name}**: {m.promise}.{reason} ({files})\n"
    PAGE.write_text(text, encoding="utf-8")


def _lines_of_page() -> dict[str, str]:
    """The lines of the page's table, by mechanism."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows = (row for row in text.splitlines() if row.startswith("| "))
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def line(r: Result) -> str:
    """A mechanism as a line of the table."""
    measured = [row for row in r.rows if row.compiling]
    compiling = sum(statistics.median(row.compiling) for row in measured)
    memory = statistics.median(r.memory) if r.memory else 0.0
    gains = "; ".join(map(_gain, r.rows))
    return (
        f"| {r.mechanism.name} | {lines_of(r.mechanism.files)} | {gains} | {1e3 * compiling:+.0f} ms "
        f"| {memory:+.0f} MB |"
    )


def _gain(row: Row) -> str:
    if not row.ratios:
        return f"{row.label}: {row.problem or 'not measured'}"
    spread = f"{min(row.ratios):.2f}-{max(row.ratios):.2f}"
    noise = ", noise" if row.verdict == "noise" else ""
    number = f"{row.gain:.2f}" if row.verdict == "noise" else f"**{row.gain:.2f}**"
    return f"{row.label} {number} ({spread}{noise})"


def lines_of(files: tuple[str, ...]) -> int:
    """The lines of code of files, or of functions and classes in them ("file.py:Class.method")."""
    return sum(map(_lines_of, files))


def _lines_of(place: str) -> int:
    name, _, path = place.partition(":")
    text = (ROOT / "tracejit" / name).read_text(encoding="utf-8")
    tree = ast.parse(text)
    node: ast.AST = tree
    for part in filter(None, path.split(".")):
        node = next(n for n in ast.iter_child_nodes(node) if part in _names(n))
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", len(text))
    return sum(first <= n <= last for n in _code(text, tree))


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign):
        return [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return [getattr(node, "name", "")]


def _code(text: str, tree: ast.Module) -> set[int]:
    """The numbers of the lines that have code."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, False):
            found.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return found
