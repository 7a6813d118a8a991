"""Memory as a chart: blocks of the arena over the steps of a program."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from tracejit.pictures.layout import SMALL, text_width
from tracejit.pictures.model import Block, Memory
from tracejit.pictures.svg import MONO, NESTS, amount

_LEFT, _TOP, _HIGH, _FOOT = 92.0, 92.0, 260.0, 34.0
_WIDE, _NARROW, _MOST = 96.0, 22.0, 1500.0


def chart(memory: Memory) -> str:
    """An SVG document: across are the nests and calls in order, upwards the addresses in the arena. A block is needed
    from its left to its right side. Blocks on the stack and those that are allocated while the program runs have no
    place here; the last line has their number."""
    count = max(len(memory.steps), 1)
    wide = min(_WIDE, max(_NARROW, _MOST / count))
    note = _note(memory)
    width = _LEFT + max(count * wide + 90, text_width(note, SMALL) + 12)
    height = _TOP + _HIGH + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="memory over time">',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        *_steps(memory, wide),
        *_scale(memory, count * wide),
    ]
    for block in memory.blocks:
        if block.offset is not None and block.bytes:
            parts += _block(block, memory, wide)
    parts.append(f'<text class="small" x="{_LEFT}" y="{height - 12:.1f}">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>"])


def _note(memory: Memory) -> str:
    others = [b for b in memory.blocks if b.offset is None]
    note = f"the arena: {amount(memory.arena)}"
    if not others:
        return note
    known = sum(b.bytes or 0 for b in others)
    return f"{note}; besides, {len(others)} blocks on the stack or allocated, {amount(known)} as far as known"


_STYLE = (
    f"text{{font-family:{MONO};font-size:{SMALL}px;fill:#33404f}}.paper{{fill:#fff}}.grid{{stroke:#e3e8ee}}"
    ".axis{stroke:#7f8fa3;fill:none}.block rect{stroke:#fff;stroke-width:1.5;fill-opacity:.85}"
    ".block text{fill:#fff;font-weight:600}.step{font-size:9.5px}"
)


def _steps(memory: Memory, wide: float) -> Iterator[str]:
    for n, step in enumerate(memory.steps):
        x = _LEFT + n * wide
        yield f'<path class="grid" d="M{x:.1f},{_TOP}V{_TOP + _HIGH}"/>'
        middle = x + wide / 2
        told = f"{step.nest}: {step.what}" if step.what else f"{step.nest}"
        cost = f"loop nest {step.nest}: {step.operations:,.0f} operations, {amount(step.moved)}"
        yield (
            f'<text class="step" transform="translate({middle:.1f},{_TOP - 8:.1f}) rotate(-32)">'
            f"<title>{escape(cost)}</title>{escape(told if len(told) < 26 else told[:24] + '…')}</text>"
        )


def _scale(memory: Memory, wide: float) -> Iterator[str]:
    for part in range(5):
        y = _TOP + _HIGH * (1 - part / 4)
        yield f'<path class="grid" d="M{_LEFT},{y:.1f}h{wide:.1f}"/>'
        size = amount(memory.arena * part / 4)
        yield f'<text x="{_LEFT - 8 - text_width(size, SMALL):.1f}" y="{y + 3:.1f}">{size}</text>'
    yield f'<path class="axis" d="M{_LEFT},{_TOP}V{_TOP + _HIGH}h{wide:.1f}"/>'


def _block(block: Block, memory: Memory, wide: float) -> Iterator[str]:
    scale = _HIGH / max(memory.arena, 1)
    x, right = _LEFT + block.first * wide + 2, _LEFT + (block.last + 1) * wide - 2
    high = max((block.bytes or 0) * scale, 3.0)
    y = _TOP + _HIGH - (block.offset or 0) * scale - high
    told = f"{block.name}: {block.values}" if block.values else block.name
    size = amount(block.bytes or 0)
    colour = NESTS[memory.steps[block.first].nest % len(NESTS)] if memory.steps else NESTS[0]
    yield f'<g class="block"><title>{escape(f"{told}, {size}")}</title>'
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{right - x:.1f}" height="{high:.1f}" rx="3" fill="{colour}"/>'
    for text, up in ((told, 0.0), (size, 12.0)):
        room = high > 14 + up and text_width(text, SMALL) < right - x - 8
        if room:
            yield f'<text x="{x + 6:.1f}" y="{y + 13 + up:.1f}">{escape(text)}</text>'
    yield "</g>"
