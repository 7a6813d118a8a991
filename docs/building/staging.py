"""The copy of the pages that Sphinx reads: what the repository has, with the outputs, and what is generated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

#: Pages outside of docs/.
OTHERS = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/results/results.md",
    "benchmarks/results/gpu/gpu.md",
)
PICTURES = (".svg", ".png")
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)


def stage(root: Path, source: Path) -> dict[str, str]:
    """Copy the pictures, and give the text of all pages by their path."""
    found = sorted((root / "docs").rglob("*"))
    pages = [p for p in found if p.suffix == ".md"] + [root / name for name in OTHERS]
    for picture in found:
        if picture.suffix in PICTURES:
            put(source / picture.relative_to(root), picture.read_bytes())
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in pages}


def finish(
    source: Path, pages: Mapping[str, str], shown: Mapping[str, list[str]], generated: set[Path]
) -> None:
    """Write the pages with what their blocks printed, and remove what is there of an earlier build."""
    for name, text in pages.items():
        text = _titled(name, text)
        put(source / name, with_outputs(text, shown.get(name, [])).encode())
    kept = {source / name for name in pages} | generated
    for path in source.rglob("*.md"):
        if path not in kept and "gallery" not in path.parts:
            path.unlink()


def _titled(name: str, text: str) -> str:
    """The table of all rows has no title of its own where it is committed, since `make bench` writes it."""
    return f"# All rows\n\n{text}" if name.endswith("results.md") else text


def with_outputs(text: str, outputs: list[str]) -> str:
    """The page with each block's output below the block."""
    left = iter(outputs)

    def shown(block: re.Match[str]) -> str:
        output = next(left, "")
        if not output:
            return block.group()
        return (
            f"{block.group().rstrip()}\n\n```{{code-block}} text\n:class: output\n\n{output.rstrip()}\n```\n"
        )

    return BLOCK.sub(shown, text)


def put(path: Path, content: bytes) -> Path:
    """Write a file unless it has this content: Sphinx reads only what is new."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path
