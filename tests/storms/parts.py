"""What features add to the grammar, each with its share of the programs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from tests.storms import deeper, mixed, numeric, wider
from tests.storms.env import Grammar, Part

#: A part may be drawn anew for each program.
PARTS: dict[str, tuple[float, Part | Callable[[random.Random], Part]]] = {
    "classes": (0.2, wider.CLASSES),
    "functions": (0.2, wider.FUNCTIONS),
    "scalars": (0.2, wider.SCALARS),
    "slices": (0.2, wider.SLICES),
    "containers": (0.2, wider.CONTAINERS),
    "flow": (0.3, wider.FLOW),
    "big": (0.1, wider.BIG),
    "text": (0.06, wider.TEXT),
    "sharing": (0.15, wider.SHARING),
    "mixed": (0.15, mixed.MIXED),
    "grown": (0.1, mixed.grown),
    "shapes": (0.1, mixed.shapes),
    "closures": (0.15, deeper.CLOSURES),
    "methods": (0.15, deeper.METHODS),
    "memory": (0.15, deeper.MEMORY),
    "numeric": (0.15, numeric.NUMERIC),
    "items": (0.2, numeric.ITEMS),
}
HEAD = "\n\n".join((wider.HEAD, mixed.HEAD, deeper.HEAD))
RESETS = wider.RESETS
#: How many programs are of one or two parts above all: they do more with fewer names.
FOCUSED = 0.5
#: Parts that are theirs twice as often.
OFTEN = ("mixed", "items", "grown", "shapes")

#: Their conditions, mostly: of names whose values change.
CONDITIONS = [
    "<@float> > <float>",
    "<@float> > 0.5",
    "<@float> < 1.0",
    "<@vec>[<index>] > 0.25",
    "<@vec>.sum() < <float>",
    "<@vec>.sum() > 1.0",
    "<@int> > 2",
    "<@int> % 3 == 1",
]


def parts_of(features: Iterable[str], rng: random.Random) -> list[Part]:
    """The parts of these features, in the order of the table."""
    found = set(features)
    return [part if isinstance(part, Part) else part(rng) for n, (_, part) in PARTS.items() if n in found]


def widen(g: Grammar, parts: list[Part]) -> None:
    """Add expressions and leaves of these parts."""
    for part in parts:
        for into, found in ((g.expressions, part.expressions), (g.leaves, part.leaves)):
            for kind, templates in found.items():
                into.setdefault(kind, []).extend(templates)


def focus(g: Grammar) -> None:
    """Shorter expressions, and conditions that values decide."""
    g.nesting = 1
    g.leaves["bool"] = CONDITIONS
    g.expressions["bool"] += CONDITIONS * (len(g.expressions["bool"]) // len(CONDITIONS))
