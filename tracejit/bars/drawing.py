"""How bars look: a line of a terminal, by rich where that is installed; and a line of a notebook."""

from __future__ import annotations

import html
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from tracejit.lazily import LazyModule

if TYPE_CHECKING:
    from tracejit.bars.bar import Run

_console: Any = LazyModule("rich.console")
_text: Any = LazyModule("rich.text")
_display: Any = LazyModule("IPython.display")
WIDTH = 30
#: So many steps and more are not counted in the line, which has room for a title.
MANY = 10_000


def place(show: bool | None) -> Any:
    """Where bars are drawn now: an object with `draw(run, ended)`; None for nowhere."""
    if show is False:
        return None
    if is_notebook():
        return Notebook()
    stream = sys.stderr
    if stream is None or not (show or is_terminal(stream)):
        return None
    return Rich(stream) if is_terminal(stream) and has_rich() else Line(stream)


def has_rich() -> bool:
    """Whether rich is installed."""
    return importlib.util.find_spec("rich") is not None


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at a stream. What has no `isatty` is no terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # closed
        return False


def is_notebook() -> bool:
    """Whether this is a kernel of Jupyter's."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and getattr(found, "kernel", None) is not None


def parts(run: Run, ended: bool) -> tuple[str, str, str, str]:
    """The title, the full and the empty part of the bar, and the numbers."""
    title = run.bar.title
    if run.total is None:
        return title, "", "", f"{run.position:,} steps, {clock(run.seconds)}"
    done = run.total if ended and run.is_last else run.position
    share = done / run.total if run.total else 1.0
    full = int(share * WIDTH)
    left = "" if ended or not done else f", {clock(run.seconds * (run.total - done) / done)} left"
    count = f"{done:,} of {run.total:,}, " if run.total < MANY else ""
    return title, "━" * full, "─" * (WIDTH - full), f"{share:4.0%}  {count}{clock(run.seconds)}{left}"


def clock(seconds: float) -> str:
    """A time for people."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Line:
    """A line that is written over, on any stream."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.length = stream, 0

    def draw(self, run: Run, ended: bool) -> None:
        """Write the line again; at the end, leave it."""
        text = " ".join(part for part in self.pieces(run, ended) if part)
        self.stream.write("\r" + text + " " * (self.length - len(text)) + ("\n" if ended else ""))
        self.stream.flush()
        self.length = len(text)

    def pieces(self, run: Run, ended: bool) -> list[str]:
        """What stands in the line."""
        title, full, empty, numbers = parts(run, ended)
        return [title, full + empty, numbers]


class Rich(Line):
    """The same in colours."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.console = _console.Console(file=stream)

    def draw(self, run: Run, ended: bool) -> None:
        title, full, empty, numbers = parts(run, ended)
        styled = [(title + " " if title else "", "bold"), (full, "cyan"), (empty, "bright_black")]
        text = _text.Text.assemble(*styled, (" " + numbers, "default"), no_wrap=True, overflow="ellipsis")
        text.truncate(max(self.console.width - 1, 20), pad=True)
        self.stream.write("\r")
        self.console.print(text, end="\n" if ended else "", highlight=False, soft_wrap=True)
        self.stream.flush()


class Notebook:
    """An output of a cell that is replaced."""

    def __init__(self) -> None:
        self.handle: Any = None

    def draw(self, run: Run, ended: bool) -> None:
        """Show it, or show it again."""
        title, _, _, numbers = parts(run, ended)
        share = "" if run.total is None else f' value="{run.position}" max="{run.total}"'
        bar = "" if ended else f"<progress{share}></progress> "
        shown = _display.HTML(f"<div><b>{html.escape(title)}</b> {bar}{numbers}</div>")
        if self.handle is None:
            self.handle = _display.display(shown, display_id=True)
        else:
            self.handle.update(shown)
