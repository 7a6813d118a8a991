"""Pages: the table that notebooks show."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.api.explaining.findings import Finding
from tracejit.api.explaining.pages import page


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_a_page_has_all_that_is_known() -> None:
    findings = [Finding("apart", "apart: full", "sin f64[3]", "a.py:3", "why <it> is", "do & don't")]
    reader = read(page("f: <two> loops", [("reads", ["`x`"]), ("nothing", [])], findings))
    assert "f: <two> loops" in reader.text
    assert {"`x`", "sin f64[3]", "a.py:3", "why <it> is", "do & don't"} <= set(reader.text)
    assert "nothing" not in reader.text


def test_of_a_report() -> None:
    reader = read(tj.explain(lambda x: np.exp(x) @ x)(np.ones((40, 40)))._repr_html_())
    assert any(t.startswith("BLAS (dgemm)") for t in reader.text)
