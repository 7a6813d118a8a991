"""`tj.progress`: an iterable with a bar, in Python and in native loops."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from tracejit.bars.bar import Bar, Shown
from tracejit.control.structured import ticks
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.hooks.iterables import steps_of
from tracejit.frontend.rewrite.hooks.lazies import Lazy
from tracejit.frontend.rewrite.hooks.steps import Steps
from tracejit.numpy.boxes.extents import Number


def progress(
    iterable: Iterable[Any], title: str = "", *, total: int | None = None, show: bool | None = None
) -> Iterable[Any]:
    """`for x in tj.progress(xs)`: the same items, with a bar that shows how far the loop is; in compiled functions too.

    The bar is drawn on stderr if that is a terminal, and in notebooks; in colours where rich is installed. What takes
    less than a tenth of a second shows none. A native loop tells its position some hundred times, or eight times in
    each doubling of its steps where their number is not known. In reverse mode the loop forward has the bar.
    """
    bar = Bar(str(title), show)
    if capturing() is None:
        return Shown(iterable, bar, total)
    steps = steps_of(iterable)
    if steps is None:
        return Shown(iterable, bar, total, partial(ticks.tell, bar))
    return Lazy(BarSteps(steps, bar), "tj.progress(...)", parts=[iterable])


class BarSteps(Steps):
    """Steps that tell a bar where they are."""

    def __init__(self, of: Steps, bar: Bar) -> None:
        super().__init__(of.count)
        self.of, self.bar = of, bar

    def item(self, k: Number) -> Any:
        ticks.tick(self.bar, k, self.count)
        return self.of.item(k)

    def end(self) -> None:
        self.of.end()
        ticks.end(self.bar)
