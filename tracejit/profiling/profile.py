"""Profile: what users hold, and `profile`, which makes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tracejit.api.jit.jitted import Jitted, jit
from tracejit.errors import FunctionNeededError, ProfileSuffixError, ProfileUseError
from tracejit.profiling import flames, page, traces
from tracejit.profiling.roofs import Roofline
from tracejit.profiling.rows import Row, by_line, rows_of
from tracejit.profiling.session import Recording
from tracejit.profiling.table import Table


class Profile:
    """What `profile` found: `print` it, or `save` it as a trace, a flame graph or a page.

    As a context it records what happens in the block, in all threads; `rows` has it for programs, `seconds` is how
    long the block took. Of `profile(f)(*args)`, `result` is what the function returned.
    """

    def __init__(self) -> None:
        self.result: Any = None
        self._recording: Recording | None = None
        self._rows: list[Row] | None = None

    def __enter__(self) -> Profile:
        if self._recording is not None:
            raise ProfileUseError(problem="it has been used already: each `with` needs a new one")
        self._recording = Recording()
        self._recording.begin()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.recording.stop:
            self.recording.end()

    @property
    def recording(self) -> Recording:
        """What was recorded, as it is."""
        if self._recording is None:
            raise ProfileUseError(problem="nothing has been recorded: use it in a `with` statement")
        return self._recording

    @property
    def seconds(self) -> float:
        """How long the block took; so far, if it goes on."""
        return self.recording.seconds

    @property
    def rows(self) -> list[Row]:
        """The rows of the table: for each function its phases, nests, loops and calls, with their times in seconds."""
        if not self.recording.stop:
            return rows_of(self.recording)
        if self._rows is None:
            self._rows = rows_of(self.recording)
        return self._rows

    def lines(self) -> dict[tuple[str, int], float]:
        """Seconds of each of the user's lines, by (file, line): nests count where the equation stands that they end
        with, phases at the function's definition."""
        return by_line(self.rows)

    def table(self, limit: int = 40) -> Table:
        """The rows as a table, at most `limit` of them: those that take longest, and what is around them."""
        return Table(self.rows, self.recording, limit)

    def flame(self) -> dict[str, Any]:
        """The profile in the format of https://speedscope.app: what is called inside of what, summed and in time."""
        return flames.speedscope(self.rows, self.recording)

    def trace(self) -> dict[str, Any]:
        """The profile in the trace-event format, which https://ui.perfetto.dev and Chrome show: slices of time,
        nested, for each thread."""
        return traces.trace_events(self.recording)

    def roofline(self) -> Roofline:
        """Each nest's rate of operations beside what this machine's arithmetic and memory allow, which is measured at
        the first use (a third of a second). `print` it; in notebooks, and by `save("x.svg")`, it is a picture."""
        return Roofline(self.rows)

    def page(self) -> str:
        """A page of HTML that needs nothing else: the table, slices of time for each thread, the roofline, and the
        source with the time of each line."""
        return page.page(self.rows, self.recording)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile: `x.html`, `x.json` as a trace, `x.speedscope.json`, or `x.txt`. Raises
        ProfileSuffixError for another name."""
        name = check_suffix(path)
        with open(name, "w", encoding="utf-8") as f:
            f.write(_FORMS[_form(name) or ""](self))

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        if self._recording is None:
            return "<profile, not begun>"
        return str(self) if self._recording.stop else f"<profile, {self.seconds:.3f} s so far>"

    def _repr_html_(self) -> str | None:
        return page.framed(self.page()) if self._recording is not None and self._recording.stop else None


#: How a profile is written, by the ending of the file's name.
_FORMS: dict[str, Callable[[Profile], str]] = {
    ".speedscope.json": lambda p: json.dumps(p.flame()),
    ".json": lambda p: json.dumps(p.trace()),
    ".html": lambda p: p.page(),
    ".txt": lambda p: f"{p.table(10_000)}\n",
}


def _form(name: str) -> str | None:
    return next((ending for ending in _FORMS if name.lower().endswith(ending)), None)


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The name of a file, if there is a form for it. Raises ProfileSuffixError."""
    name = os.fspath(path)
    if _form(name) is None:
        forms = ", ".join(f"x{ending}" for ending in _FORMS)
        raise ProfileSuffixError(what="profile", path=name, forms=forms)
    return name


def profile(f: Callable[..., Any] | None = None, *, calls: int = 1) -> Any:
    """Where the time goes: of a block of code, or of calls of `f`, which is jitted if it is not.

    `with profile() as p:` records until the block ends, in all threads; `profile(f)(*args)` calls `f` and gives the
    `Profile`, whose `result` is what the last of `calls` returned. Functions that are compiled already run as twins
    meanwhile, which measure each nest of loops, each call of BLAS and of Python, and each thread; they give the same
    results, and are compiled at their first call. Afterwards the programs without measurements run again.
    """
    if f is None:
        return Profile()
    FunctionNeededError.check("profile", f)
    jitted = f if isinstance(f, Jitted) else jit(f)

    def run(*args: Any, **kwargs: Any) -> Profile:
        with Profile() as made:
            for _ in range(calls):
                made.result = jitted(*args, **kwargs)
        return made

    return run
