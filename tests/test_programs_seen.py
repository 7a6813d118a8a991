"""What `explain`, `draw` and `profile` say of programs that nobody wrote for them: no exception, whole sentences."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tests.programs import test_corpus  # noqa: F401  (enters the programs)
from tests.programs.observe import PROGRAMS as CORPUS

QUICK = ("spmv", "histogram", "full_convolution")
#: Signs of a template whose facts are missing.
_HOLES = re.compile(r"\{\w*\}|\bnan\b|<object|another operation|at 0x")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in PROGRAMS]
)
def test_programs_of_scientists(name: str) -> None:
    p = PROGRAMS[name]
    f = tj.jit(p.f, static_argnums=p.static)

    def args() -> tuple[Any, ...]:
        return p.make(np.random.default_rng(0), p.size)

    report = tj.explain(f)(*args())
    assert report.fallback is None
    _reads_well(report)
    picture = tj.draw(f)(*args())
    compiled = picture.at("compiled")
    assert compiled._repr_svg_().startswith("<svg") and compiled.memory().startswith("<svg")
    assert json.loads(json.dumps(picture.as_dict()))["nodes"]
    with tj.config.override(fallback=True):  # Python makes results that are numbers of one kind or another
        profile = tj.profile(f)(*args())
    profile.roofline()
    assert profile.rows[0].name == name and not _HOLES.search(str(profile.table()))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(CORPUS)[::6])
def test_programs_written_to_be_nasty(name: str) -> None:
    f, calls, *_ = CORPUS[name]()
    with tj.config.override(fallback=True):
        try:
            report = tj.explain(f)(*calls[0])
        except Exception as e:  # what the plain function raises, too
            g, again, *_ = CORPUS[name]()
            with pytest.raises(type(e)):
                g(*again[0])
            return
    _reads_well(report)


def _reads_well(report: Any) -> None:
    text = str(report)
    assert not _HOLES.search(text), _HOLES.findall(text)
    assert json.loads(json.dumps(report.as_dict()))["name"] == report.name
    assert report._repr_html_().startswith("<div class='tracejit-explain'>")
    for finding in report.findings:
        assert finding.why and not finding.why.endswith((".", " ")) and "  " not in finding.why
