"""Smaller programs that fail in the same way, and files of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.fuzz.checking import fails
from tests.fuzz.program import Line, Program

FOLDER = Path(__file__).parents[1] / "regressions"
#: Trials of one minimisation.
BUDGET = 400


def kind(message: str) -> str:
    return message.split(":")[0]


def minimise(p: Program, how: str) -> Program:
    """The smallest program found that fails as `p` does under the check `how`."""
    wanted, left = kind(fails(p, how)), BUDGET
    progress = True
    while progress and left > 0:
        progress = False
        for smaller in candidates(p):
            left -= 1
            if left <= 0:
                break
            if kind(fails(smaller, how)) == wanted:
                p, progress = smaller, True
                break
    return p


def candidates(p: Program) -> Iterator[Program]:
    """The program with one thing less, large cuts first."""
    if len(p.outs) > 1:
        for o in p.outs:
            yield replace(p, outs=(o,))
        for n in range(len(p.outs)):
            yield replace(p, outs=p.outs[:n] + p.outs[n + 1 :])
    half = len(p.lines) // 2
    if half > 1:
        yield from (replace(p, lines=p.lines[:half]), replace(p, lines=p.lines[half:]))
    for lines in without_one(p.lines):
        yield replace(p, lines=lines)
    for n in range(len(p.constants)):
        yield replace(p, constants=p.constants[:n] + p.constants[n + 1 :])
    if len(p.inputs) > 1:
        for n in range(len(p.inputs)):
            yield replace(p, inputs=p.inputs[:n] + p.inputs[n + 1 :])
    yield from substituted(p)


def without_one(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    """The lines without one of them, or with one of a body's left out, from the end."""
    for n in reversed(range(len(lines))):
        yield lines[:n] + lines[n + 1 :]
    for n in reversed(range(len(lines))):
        body = lines[n].body
        if body:
            for shorter in without_one(body):
                yield (*lines[:n], replace(lines[n], body=shorter), *lines[n + 1 :])


def substituted(p: Program) -> Iterator[Program]:
    """A definition gone, and another variable in its place."""
    for n in reversed(range(len(p.lines))):
        earlier = [*(name for name, _ in p.inputs), *(o for line in p.lines[:n] for o in line.outs)]
        for out in p.lines[n].outs:
            for other in earlier:
                lines = (*p.lines[:n], *(line.renamed(out, other) for line in p.lines[n + 1 :]))
                outs = tuple(dict.fromkeys(other if o == out else o for o in p.outs))
                yield replace(p, lines=lines, outs=outs)


def save(p: Program, how: str, message: str, folder: Path = FOLDER) -> Path:
    """Write the program as a regression test, which `tests/test_programs.py` runs from then on."""
    path = folder / f"{how}_{p.seed}.py"
    first = message.splitlines()[0].replace('"""', "'''").replace("\\", "/")[:90]
    head = f'"""Program {p.seed} under {how}. {first}"""\n\nimport numpy as np\n\n'
    head += "from tests.fuzz.spellings import L\n\n"
    tail = f"\n\nSEED, HOW, DERIVATIVE = {p.seed}, {how!r}, {p.derivative}\n"
    path.write_text(head + p.source.rstrip("\n") + "\n" + tail, encoding="utf-8")
    return path
