"""A docstring in NumPy's form as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples", "References")
_HEADING = re.compile(rf"^({'|'.join(SECTIONS)})\n-{{4,}}\n", re.MULTILINE)
_SPECIAL = re.compile(r"([\\*_<>$\[\]{}#|~])")


def markdown(doc: str) -> str:
    """The text, and each section with its title in bold: parameters as a list of definitions, examples as code."""
    told, *parts = _HEADING.split(inspect.cleandoc(doc))
    out = [prose(told)]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        out.append(f"**{title}**")
        if title == "Examples":
            out.append(f"```{{code-block}} pycon\n{body.strip()}\n```")
        elif title in ("Notes", "References"):
            out.append(prose(body))
        else:
            out.append("\n".join(_definitions(body)))
    return "\n\n".join(part for part in out if part.strip())


def _definitions(body: str) -> Iterator[str]:
    for entry in re.split(r"\n(?=\S)", body.strip()):
        head, _, text = entry.partition("\n")
        name, colon, kind = head.partition(" : ")
        told = plain(" ".join(text.split()))
        if colon:
            yield f"`{name}`: *{plain(kind)}*\n: {told or '—'}\n"
        else:
            yield f"{_kind(name)}\n: {told or '—'}\n"


def _kind(name: str) -> str:
    """What is returned or raised: an error's name is code, so that it becomes a link."""
    return f"`{name}`" if re.fullmatch(r"[A-Z]\w+", name) else f"*{plain(name)}*"


def prose(text: str) -> str:
    """Paragraphs, without what Markdown would read as its own signs; indented ones are code."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    return "\n\n".join(_block(block) for block in blocks if block.strip())


def _block(block: str) -> str:
    if block.startswith((">>>", "    >>>")):
        return f"```{{code-block}} pycon\n{inspect.cleandoc(block)}\n```"
    if block.startswith("    "):
        return f"```text\n{inspect.cleandoc(block)}\n```"
    return plain(block)


def plain(text: str) -> str:
    """Markdown that shows this text: code between backticks stays code."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(part if k % 2 else _SPECIAL.sub(r"\\\1", part) for k, part in enumerate(parts))
