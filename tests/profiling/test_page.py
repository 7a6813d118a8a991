"""The page: parsed, whole by itself, with the source beside its times."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import tracejit as tj
from tests.browser import browsed
from tests.profiling.test_profile import operands, step

_EMPTY = {"meta", "br", "path", "rect", "circle"}


class Tags(HTMLParser):
    """Checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.text = [], [], set(), {}

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        self.links += [given[k] for k in ("src", "href") if k in given]
        if tag not in _EMPTY:
            self.open.append((tag, given))

    def handle_endtag(self, tag):
        if tag not in _EMPTY:
            assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script" and "id" in self.open[-1][1]:
            self.text[self.open[-1][1]["id"]] = data


def test_a_page(tmp_path):
    p = tj.profile(step, calls=2)(*operands())
    p.save(tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert all(link.startswith("#") and link[1:] in tags.ids for link in tags.links)  # nothing from elsewhere
    data = json.loads(tags.text["data"])
    names = [n[0] for n in data["names"]]
    assert "machine code" in names and data["threads"][0]["name"] == "MainThread"
    for thread in data["threads"]:
        assert all(
            0 <= n < len(names) and start <= stop and depth >= 0 for n, start, stop, depth in thread["slices"]
        )
    line = step.__code__.co_firstlineno + 2
    assert re.search(rf'id="test_profile.py-{line}" style=[^>]*><span class="t">\d', text)
    assert "y = np.tanh(x @ w)" in text
    assert p._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.exhaustive
def test_a_browser_runs_it(tmp_path):
    """Slices are drawn, and told where the mouse is; nothing is raised."""
    acts = """
        const canvas = document.getElementById("time"), box = canvas.getBoundingClientRect();
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        done.push(pixels.some(x => x > 0));
        canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + 5, clientY: box.top + 30}));
        done.push(document.getElementById("about").textContent.split(" ")[0]);
        done.push(document.documentElement.scrollWidth <= innerWidth);
    """
    page = tj.profile(step, calls=2)(*operands()).page()
    assert browsed(page, acts, tmp_path) == [True, "step", True, []]


def test_text_of_users_is_escaped():
    def f(x):
        return tj.numpy.sin(x)

    f.__name__ = f.__qualname__ = "</script><b>"
    with tj.profile() as p:
        tj.jit(f)(1.0)
    assert "<b>" not in p.page()
