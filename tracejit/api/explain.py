"""explain: what jit makes of a function, in words."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracejit.api.common import misfit, name_of
from tracejit.api.explaining.findings import Finding, findings_of, lines_of, plans_of
from tracejit.api.explaining.pages import page
from tracejit.api.fallback import Refusal
from tracejit.api.jit.aot import CompiledFunction, Lowering
from tracejit.api.jit.jitted import Jitted, jit
from tracejit.errors import FunctionNeededError
from tracejit.interpreters.jit import Note
from tracejit.ir.drawn import Drawn
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.records import record


@record(frozen=True, repr=False)
class Report(Drawn):
    """What `explain` found. `print` it; the fields are for programs.

    `guards`: names read while tracing, whose change makes jit trace again. `retraces`: why it was traced
    again, the last times. `captured`: arrays read at every call. `written`: arguments and captured arrays that
    the function updates. `callbacks`: operations that run in Python. `loops_and_branches`: what was done with each
    that the
    function's source has, and why. `fallback`: why Python runs the function; then there is no program, and the
    other fields are empty but for `regions`: the parts of it (and of functions that it calls) that are run natively,
    or may be, with what was measured of them so far. `findings`: what the compiler decided about loops, memory,
    products, threads and calls, each with the line, the reason, and what can be done about it. `draw()`,
    `save(path)`: the picture of the program (see `tracejit.draw`), which is `compiled`. `device`: the launches on a
    device, and what the host does between them.
    """

    name: str
    equations: int
    equations_after_passes: int
    loops: int
    callbacks: list[str]
    guards: list[str]
    captured: list[str]
    written: list[str]
    compile_seconds: float
    retraces: list[str]
    loops_and_branches: list[str]
    fallback: str | None = None
    regions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    compiled: CompiledFunction | None = dataclasses.field(default=None, compare=False)
    device: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The text, which notebooks and prompts show."""
        return str(self)

    def __str__(self) -> str:
        lines = [self._headline()]
        if self.fallback is not None:
            lines.append(f"  {self.fallback}")
        for title, items in self._lists():
            if items:
                lines += [f"  {title}:", *(f"    {item}" for item in items)]
        return "\n".join([*lines, *lines_of(self.findings)])

    def _headline(self) -> str:
        if self.fallback is not None:
            return f"{self.name}: run by Python, not compiled"
        return (
            f"{self.name}: {self.equations} equations, {self.equations_after_passes} after the passes, "
            f"{self.loops} native loops, compiled in {self.compile_seconds * 1e3:.1f} ms"
        )

    def _lists(self) -> tuple[tuple[str, Sequence[str]], ...]:
        if self.fallback is not None:
            return (("parts of it, as measured", self.regions),)
        return (
            ("loops and branches", self.loops_and_branches),
            ("runs in Python", self.callbacks),
            ("updates in place", self.written),
            ("reads at every call", self.captured),
            ("traces again when these change", self.guards),
            ("was traced again because", self.retraces),
            ("on the device", self.device),
        )

    def _repr_html_(self) -> str:
        """What notebooks show: the same as a table, with all findings, and the picture."""
        reason = [("Python runs it because", [self.fallback])] if self.fallback is not None else []
        picture = "" if self.compiled is None else self.compiled._repr_html_()
        return page(self._headline(), [*reason, *self._lists()], self.findings, picture)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON can have it: the fields by their names, findings as dicts."""
        fields = (f.name for f in dataclasses.fields(self) if f.name != "compiled")
        found = {name: getattr(self, name) for name in fields}
        found["regions"] = list(self.regions)
        return {**found, "findings": [f.as_dict() for f in self.findings]}


def explain(f: Callable[..., Any]) -> Callable[..., Report]:
    """`explain(f)(*args)`: a `Report` on what `jit(f)` does for these arguments. Nothing is run.

    Where jit falls back to Python, the report has the reason; with `fallback=False` that is raised."""
    FunctionNeededError.check("explain", f)
    jitted = f if isinstance(f, Jitted) else jit(f)

    def report(*args: Any, **kwargs: Any) -> Report:
        there, args, kwargs = jitted.where_it_runs(args, kwargs)
        prepared = there.prepare(args, kwargs)
        if isinstance(prepared, Refusal):
            if why := misfit(jitted.fun, args, kwargs):
                raise TypeError(f"{name_of(jitted.fun)}(): {why}")
            return _by_python(there, prepared)
        call, program, consts = prepared
        lowering = Lowering(there, call, program, consts)
        compiled = lowering.compile()
        return Report(
            name=name_of(jitted.fun),
            equations=count_equations(program.jaxpr),
            equations_after_passes=count_equations(compiled.jaxpr),
            loops=sum(
                line.lstrip().startswith(("for ", "while "))
                for line in compiled.as_text("loops").splitlines()
            ),
            callbacks=compiled.callbacks(),
            guards=program.guards.subjects(),
            captured=[str(n) for n in program.guards.nodes],
            written=[program.input_name(n) for n in program.written],
            compile_seconds=compiled.compile_seconds,
            retraces=list(there.retraces),
            device=() if there.options.device is None else tuple(compiled.as_text("plan").splitlines()),
            loops_and_branches=[
                f"{place}: {what}: {done}" for (place, what), done in _sorted(program.decisions)
            ],
            findings=findings_of([*plans_of(program.jaxpr), *compiled.notes()]),
            compiled=compiled,
        )

    return report


def _by_python(jitted: Jitted, refusal: Refusal) -> Report:
    """The report on a function that falls back."""
    name, retraces = name_of(jitted.fun), list(jitted.retraces)
    regions = tuple(jitted.python.measured())
    findings = findings_of(_split(name, refusal, jitted.python.ends(refusal)))
    return Report(name, 0, 0, 0, [], [], [], [], 0.0, retraces, [], str(refusal), regions, findings)


def _split(name: str, refusal: Refusal, ends: list[tuple[str, str]]) -> Iterator[Note]:
    """Where the program that would have been ended, and parts of it that may be native."""
    remedy = f"{refusal.remedy[:1].upper()}{refusal.remedy[1:]}."
    facts = {"at": os.path.basename(refusal.where or ""), "reason": refusal.reason, "remedy": remedy}
    yield Note("split: refused", name, None, facts)
    for at, why in ends:
        if at != refusal.where:
            yield Note("split: statement", name, None, {"at": os.path.basename(at), "reason": why})


def _sorted(decisions: dict[tuple[str, str], str]) -> list[tuple[tuple[str, str], str]]:
    """In the order of the source."""

    def key(item: tuple[tuple[str, str], str]) -> tuple[str, int]:
        file, _, line = item[0][0].rpartition(":")
        return file, int(line)

    return sorted(decisions.items(), key=key)


def count_equations(jaxpr: Jaxpr) -> int:
    """Equations of the program, those of loops and branches included."""
    return sum(1 + sum(count_equations(s) for s in sub_jaxprs(e.params)) for e in jaxpr.eqns)
