"""Findings: what is said of twenty programs, and that it is said in words.

The golden files pin no decision; they show in a diff what a change does to what users are told.
`pytest --update-golden` rewrites them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.api.explaining.programs import PROGRAMS, V, X
from tracejit.api.explaining.findings import Finding, findings_of, lines_of, size_of
from tracejit.api.explaining.words import RULES, TOPICS
from tracejit.lowering.notes import Note

PLACE = f"programs.py:{PROGRAMS['refused'][0].__code__.co_firstlineno + 2}"
FOLDER = Path(__file__).parent / "golden"


@cache
def findings(name: str) -> tuple[Finding, ...]:
    fun, args = PROGRAMS[name]
    with tj.config.override(fallback=True):
        return tj.explain(fun)(*args).findings


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{name}.txt"
    text = "\n".join(lines_of(findings(name))) + "\n"
    text = re.sub(r"\(programs\.py:\d+", "(programs.py", text)  # lines move
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "see the diff; `pytest --update-golden` accepts it"


def test_every_file_belongs_to_a_program() -> None:
    assert {p.stem for p in FOLDER.glob("*.txt")} == set(PROGRAMS)


def rules(name: str) -> set[str]:
    return {f.rule for f in findings(name)}


def test_why_two_loops_are_not_one() -> None:
    assert not any(f.topic == "apart" for f in findings("one_loop"))
    assert "apart: too late" in rules("centred")  # the mean is needed before
    assert "apart: other elements" in rules("stencil") and "apart: operand" in rules("network")


def test_extents_that_only_a_run_knows_have_no_names() -> None:
    """Those of variables are others in each process."""

    def f(x: Any, n: int) -> Any:
        out = np.empty(n)
        for k in range(n):
            out[k] = np.mean(x[: len(x) - k] ** 2)
        return (out / out[0]).sum()

    text = str(tj.explain(tj.grad(f))(np.ones(30), 7))
    assert "f64[?]" in text and "f64[<=30]" in text and not re.search(r"\w<=", text)


def test_why_it_was_split() -> None:
    """The statement that ended a nest, or the whole program; by its line, in each form of the report."""
    (host,) = [f for f in findings("hosted_between") if f.topic == "split"]
    assert host.rule == "split: python" and "of mul (programs.py" in host.why and "of add (" in host.why
    assert {"split: loop"} == {f.rule for f in findings("looped_between") if f.topic == "split"}
    assert not any(f.topic == "split" for f in findings("one_loop"))
    with tj.config.override(fallback=True):
        report = tj.explain(PROGRAMS["refused"][0])(V)
    (end,) = report.findings
    assert (end.rule, end.what) == ("split: refused", "refused") and end.where == PLACE and end.remedy
    assert "where it was split:" in str(report) and PLACE in report._repr_html_()
    assert report.as_dict()["findings"][0]["facts"]["reason"] in report.as_dict()["fallback"]


def test_what_ends_parts_of_a_function_that_python_runs() -> None:
    with tj.config.override(fallback=True, regions=True):
        found = tj.explain(in_parts)(V).findings
    first = in_parts.__code__.co_firstlineno
    assert [(f.rule, int(f.where.rpartition(":")[2]) - first) for f in found] == [
        ("split: refused", 3), ("split: statement", 7)
    ]  # fmt: skip
    assert "`with` is Python's" in found[1].why


def in_parts(x: Any) -> Any:
    for _ in range(50):
        x = np.sin(x)
    open("/dev/null").close()
    s = 0.0
    for v in x:
        s = s + np.cos(v)
    with np.printoptions():
        return s


def test_what_is_stored_and_why() -> None:
    (sines,) = [f for f in findings("stencil") if f.what.startswith("sin")][:1]
    assert sines.topic in ("apart", "stored") and sines.where.startswith("programs.py:")
    assert any(f.rule == "stored: read often" and f.facts["bytes"] == X.nbytes for f in findings("stencil"))


def test_what_calls_what() -> None:
    assert "calls: python" in rules("hosted")
    assert {"products: blas"} <= rules("network") and "products: small" in rules("small_products")
    assert "products: type" in rules("integer_products") and "products: loops" in rules("matrix_times_vector")


def test_threads() -> None:
    assert "threads: shared" in rules("long_loop") and "threads: shared" not in rules("one_loop")
    (text,) = [line for line in lines_of(findings("one_loop")) if "threads" in line]
    assert "none take part" in text


def test_residuals_of_loops() -> None:
    (kept,) = [f for f in findings("recurrence_gradient") if f.topic == "rows"]
    assert kept.facts["bytes"] == X.nbytes and "f64[64,64]" in kept.why and "memory" in kept.remedy


def test_every_rule_that_is_noted_has_words() -> None:
    seen = {f.rule for name in PROGRAMS for f in findings(name)}
    assert {"split: python", "split: loop", "split: product", "split: all", "split: refused"} <= seen
    assert seen <= set(RULES) and {r.partition(":")[0] for r in RULES} == set(TOPICS)


def test_notes_are_only_taken_when_they_are_asked_for() -> None:
    compiled = tj.jit(lambda x: (x - x.mean()) ** 2).lower(V).compile()
    before = compiled.as_text("loops")
    assert [n.rule for n in compiled.notes() if n.rule.startswith("apart")] == ["apart: too late"]
    assert compiled.as_text("loops") == before


def test_what_is_alike_is_one_line() -> None:
    notes = [
        Note("stored: read often", "mul f64[3]", None, {"reads": 2, "cost": c, "bytes": 24}) for c in (9.0, 8)
    ]
    lines = lines_of(findings_of(notes))
    assert len(lines) == 2 and lines[1].endswith("(and 1 more like it)")
    many = [Note("stored: whole", f"mul f64[{n}]", None, {"by": "sort", "bytes": 8}) for n in range(20)]
    assert lines_of(findings_of(many))[-1] == "    and 12 more, see `.findings`"


def test_dicts_are_json() -> None:
    fun, args = PROGRAMS["network"]
    known: Any = json.loads(json.dumps(tj.explain(fun)(*args).as_dict()))
    assert known["name"] == "network" and known["findings"][0]["topic"] in TOPICS
    assert {"rule", "what", "where", "why", "remedy", "facts"} < set(known["findings"][0])


def test_sizes() -> None:
    assert [size_of(n) for n in (0, 999, 1500, 2.5e6, 3e9, 4e12)] == [
        "0 B", "999 B", "1.5 kB", "2.5 MB", "3.0 GB", "4000.0 GB"
    ]  # fmt: skip


def test_a_refused_function_has_none() -> None:
    with tj.config.override(fallback=True):
        report = tj.explain(lambda x: setattr(np, "nothing", x))(np.ones(2))
    assert report.fallback and [f.rule for f in report.findings] == ["split: refused"]
