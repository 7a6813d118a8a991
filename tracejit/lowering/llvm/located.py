"""Programs whose machine code says which piece belongs to which nest: by debug information, a table of lines.

The pieces are those that a profile would measure (`probes.plan`), down to the smallest. A piece is a location whose
line is the user's, and whose column is the piece's number plus one. Debug information does not change the code, but
functions of loops that threads share are not one if they are alike.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

from tracejit.lowering.llvm.body import Translator
from tracejit.lowering.llvm.probes import Plan
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function
from tracejit.lowering.loops.nodes import For

_INSTRUCTION = re.compile(r"  [^;\s]")


class Located(Translator):
    """Writes a program with the locations of a plan."""

    plan: Plan

    def part(self, f: Function, target: Target) -> Located:
        made = super().part(f, target)
        assert isinstance(made, Located)
        made.plan = self.plan
        return made

    def open(self, node: For | None = None) -> None:
        """The function begins: it gets its description."""
        self.marks: list[tuple[int, int]] = [(0, self.plan.parts.get(node, 0))]
        self.around = [self.marks[0][1]]
        module, name = self.f.module, self.program.name
        files = [p.source.filename for p in self.plan.probes if p.source is not None] or ["program"]
        folder, file = os.path.split(files[0])
        where = module.node(f"!DIFile(filename: {_quoted(file)}, directory: {_quoted(folder)})")
        unit = module.node(
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: {where}, producer: "tracejit", isOptimized: true, '
            "runtimeVersion: 0, emissionKind: LineTablesOnly)"
        )
        module.metadata.append(f"!llvm.dbg.cu = !{{{unit}}}")
        if node is None:
            version = module.node('!{i32 2, !"Debug Info Version", i32 3}')
            dwarf = module.node('!{i32 7, !"Dwarf Version", i32 4}')
            module.metadata.append(f"!llvm.module.flags = !{{{version}, {dwarf}}}")
        kind = module.node("!DISubroutineType(types: !{null})")
        self.scope = module.node(
            f"distinct !DISubprogram(name: {_quoted(name)}, scope: {where}, file: {where}, line: 1, type: {kind}, "
            f"unit: {unit}, spFlags: DISPFlagDefinition | DISPFlagOptimized)"
        )
        self.suffix = f" !dbg {self.scope}"

    def stmt(self, stmt: Any) -> None:
        before, after = self.plan.before.get(stmt, ()), self.plan.after.get(stmt, ())
        for n in before:
            self.enter(n)
        super().stmt(stmt)
        for _ in after:
            self.around.pop()
            self.marks.append((len(self.f.lines), self.around[-1]))

    def enter(self, n: int) -> None:
        """What is written from here on belongs to piece `n`."""
        self.around.append(n)
        self.marks.append((len(self.f.lines), n))

    def finish(self) -> None:
        super().finish()
        lines, marks = self.f.lines, [*self.marks, (len(self.f.lines), 0)]
        for (start, n), (stop, _) in itertools.pairwise(marks):
            for at in range(start, stop):
                if _INSTRUCTION.match(lines[at]):
                    lines[at] += f", !dbg {self.location(n)}"

    def location(self, n: int) -> str:
        """The node of a piece."""
        source = self.plan.probes[n].source
        line = 1 if source is None else source.line
        return self.f.module.shared(f"!DILocation(line: {line}, column: {n + 1}, scope: {self.scope})")


def _quoted(text: str) -> str:
    """A string of LLVM's assembly."""
    safe = (c if " " <= c <= "~" and c not in '"\\' else "_" for c in text)
    return f'"{"".join(safe)}"'
