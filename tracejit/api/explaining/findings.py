"""The notes of a lowering as findings: one decision each, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from tracejit.api.explaining.words import RULES, TOPICS, Words
from tracejit.control.call.policies import Planned
from tracejit.interpreters.jit import Note
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.records import record

_MOST = 8  # lines of a topic that a text has


@record(frozen=True)
class Finding:
    """One decision of the compiler. `topic` is a key of `words.TOPICS` and `rule` one of `words.RULES`; `what` it is
    about, `where` ("file.py:12", or ""); `why`, and a `remedy` if there is one. `facts`: the numbers in it."""

    topic: str
    rule: str
    what: str
    where: str
    why: str
    remedy: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The decision as one line, without the remedy."""
        size = f", {size_of(self.facts['bytes'])}" if self.facts.get("bytes") else ""
        place = f" ({self.where}{size})" if self.where else f" ({size[2:]})" if size else ""
        return f"{self.what}{place}: {self.why}"

    def as_dict(self) -> dict[str, Any]:
        """The fields, as JSON can have them."""
        return {
            name: getattr(self, name) for name in ("topic", "rule", "what", "where", "why", "remedy", "facts")
        }


def words_of(rule: str) -> Words:
    """The words for a rule; its name, where it has none."""
    return RULES.get(rule) or Words(rule.partition(": ")[2])


def findings_of(notes: Iterable[Note]) -> tuple[Finding, ...]:
    """The findings of notes, in the order of the topics; what was noted twice is there once."""
    found: dict[Any, Finding] = {}
    for note in _largest(notes):
        topic = note.rule.partition(":")[0]
        words = words_of(note.rule)
        facts = {**note.facts, "size": size_of(note.facts.get("bytes", 0))}
        where = str(note.source or note.facts.get("at", ""))
        why, remedy = words.why.format(**facts), words.remedy.format(**facts)
        found.setdefault(
            (note.rule, note.what, where, why),
            Finding(topic, note.rule, note.what, where, why, remedy, note.facts),
        )
    order = list(TOPICS)
    return tuple(sorted(found.values(), key=lambda f: order.index(f.topic)))


def plans_of(jaxpr: Jaxpr) -> list[Note]:
    """What plans within a budget of memory have decided, as notes: `control.call.policies.Planned` in a program."""
    found: dict[Planned, None] = {}
    stack = [jaxpr]
    while stack:
        for e in stack.pop().eqns:
            if isinstance(e.params.get("policy"), Planned):
                found[e.params["policy"]] = None
            stack += sub_jaxprs(e.params)
    notes = []
    for p in found:
        blocks = "".join(
            f"; of a loop {slots} states are kept at a time, and its steps are done {again:.1f} times more"
            for slots, _, again in p.loops
        )
        facts = {"memory": p.memory, "bytes": p.bytes, "count": len(p.kept), "again": p.again}
        notes.append(
            Note(
                "rows: plan",
                f"derivative of {p.function}",
                None,
                {**facts, "share": f"{p.share:.0%}", "blocks": blocks},
            )
        )
        notes += [
            Note("rows: kept", what, None, {"bytes": size, "at": where}) for what, where, size in p.kept
        ]
    return notes


def _largest(notes: Iterable[Note]) -> list[Note]:
    """Of the loops of one equation, in which threads may take part or not, that with the most work."""
    kept: dict[Any, Note] = {}
    for n, note in enumerate(notes):
        key = (note.what, str(note.source)) if note.rule.startswith("threads:") else n
        old = kept.get(key)
        if old is None or note.facts["work"] > old.facts["work"]:
            kept[key] = note
    return list(kept.values())


def lines_of(findings: Iterable[Finding]) -> list[str]:
    """The findings as a text: those that are not obvious, by topics, with their remedies."""
    findings = list(findings)
    lines: list[str] = []
    for topic, title in TOPICS.items():
        mine = [f for f in findings if f.topic == topic]
        shown = [f for f in mine if not words_of(f.rule).obvious]
        if topic == "threads" and mine and not shown:
            most = max(f.facts["work"] for f in mine)
            lines.append(f"  threads: none take part; the largest loop has about {most:,} instructions")
        if not shown:
            continue
        lines += [f"  {title}:", *_lines(shown)]
    return lines


def _lines(findings: list[Finding]) -> list[str]:
    """The findings of one topic. Those that differ only in their numbers are one line, as of unrolled loops."""
    alike = Counter((f.rule, f.what, f.where) for f in findings)
    first = {(f.rule, f.what, f.where): f for f in reversed(findings)}
    shown = list(dict.fromkeys((f.rule, f.what, f.where) for f in findings))
    lines: list[str] = []
    told: set[str] = set()
    for key in shown[:_MOST]:
        f = first[key]
        lines.append(f"    {f}" + (f" (and {alike[key] - 1} more like it)" if alike[key] > 1 else ""))
        if f.remedy and f.remedy not in told:
            told.add(f.remedy)
            lines.append(f"      {f.remedy}")
    if len(shown) > _MOST:
        lines.append(f"    and {len(shown) - _MOST} more, see `.findings`")
    return lines


def size_of(n: float) -> str:
    """Bytes for people."""
    size = float(n)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
