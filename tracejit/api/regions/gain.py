"""Whether to compile a part of a function that Python runs: counters of time, and the rules that read them.

Compiling a part costs some hundredths of a second, which it must win back. So a part is compiled once Python has spent
about that time in it, unless a look at its loops tells before that Python would; it is given up if it is too small for
a native call to pay, if native runs are no faster, and if it is compiled again and again.
"""

from __future__ import annotations

from typing import Any

from tracejit.config import config


class Rules:
    """The numbers that decide, in seconds and runs. Tests set them."""

    #: Python's time in a part before it is compiled: at least, and for each line of it.
    first, line = 0.02, 0.002
    #: A guess of Python's time, from which on a part is compiled before its first run.
    sure = 0.05
    #: Runs after which a part is judged, and the mean time below which it is too small to pay.
    judged, small = 16, 30e-6
    #: Seconds that compiling a part may take in all before it has won any, and that one attempt may take at least.
    lost, attempt = 1.0, 0.5
    #: Native runs after which they are compared with Python's, and what of Python's time they may take.
    compared, share = 8, 0.9
    #: Runs that Python had to do over, after which, if they are as many as a quarter, a part is given up.
    failures = 4


rules = Rules()


class Gain:
    """The counters of one part. `off` says why it is not run natively any more; `small`: nothing in it pays either."""

    def __init__(self, lines: int) -> None:
        self.runs = self.native_runs = self.failed = self.traced = 0
        self.python = self.native = self.compiling = self.guess = 0.0
        self.need = rules.first + rules.line * lines
        self.off: str | None = None
        self.small = False

    @property
    def due(self) -> bool:
        """Whether the next run should be native."""
        return self.python >= self.need or self.guess >= rules.sure

    @property
    def allowance(self) -> float:
        """Seconds that compiling may take now: about as long as Python has spent or will spend."""
        seconds = max(rules.attempt, self.python, self.guess)
        return min(seconds, config.compile_budget) if config.compile_budget else seconds

    def ran(self, seconds: float) -> None:
        """Python has run it once."""
        self.runs += 1
        self.python += seconds
        if self.runs >= rules.judged and self.native_runs == 0 and self.python < rules.small * self.runs:
            self.small = True
            self.off = f"it takes {self.python / self.runs * 1e6:.1f} us, too little to win"

    def ran_natively(self, seconds: float, traced: bool) -> None:
        """It has been run natively; `traced`: it was compiled, too."""
        if traced:
            self.traced += 1
            self.compiling += seconds
            if self.compiling > rules.lost + max(self.won, 0.0):
                self.off = f"it was compiled {self.traced} times, which takes longer than Python"
            return
        self.native_runs += 1
        self.native += seconds
        if self.native_runs >= rules.compared and self.runs and self.native_runs % rules.compared == 0:
            if self.native / self.native_runs > rules.share * self.python / self.runs:
                self.small = True
                self.off = "native runs are no faster"

    @property
    def sample(self) -> bool:
        """Whether Python should run it once to compare, which it has not yet: it is quick anyway."""
        return not self.runs and self.native_runs >= rules.compared and self.native < 1e-4 * self.native_runs

    def did_over(self) -> None:
        """A check failed, and Python has to do the run."""
        self.failed += 1
        if self.failed >= rules.failures and self.failed * 4 > self.native_runs:
            self.off = f"{self.failed} times a check failed, and Python had to do it over"

    def gave_up(self, seconds: float) -> None:
        """Compiling took too long: once more when Python has spent several times as long."""
        self.compiling += seconds
        self.guess = 0.0
        self.need = 4 * max(self.need, self.python, seconds)

    @property
    def won(self) -> float:
        """Seconds that native runs were shorter than Python's."""
        return self.native_runs * self.python / self.runs - self.native if self.runs else self.native

    def __str__(self) -> str:
        parts = [f"Python {self.runs} runs of {_time(self.python, self.runs)}" if self.runs else ""]
        if self.native_runs:
            parts.append(f"native {self.native_runs} runs of {_time(self.native, self.native_runs)}")
        if self.traced:
            parts.append(f"compiled {self.traced} times in {self.compiling:.2g} s")
        return ", ".join(p for p in parts if p) or "not run yet"


def _time(seconds: float, runs: int) -> Any:
    mean = seconds / runs
    return (
        f"{mean:.2g} s" if mean >= 1 else f"{mean * 1e3:.2g} ms" if mean >= 1e-3 else f"{mean * 1e6:.2g} us"
    )
