"""The HTML page: one file, which needs nothing else; its data is complete; a browser runs it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.browser import browsed
from tracejit.pictures.layout import layout
from tracejit.pictures.page import page


def smooth(x: Any) -> Any:
    for _ in range(30):
        if x[0] > 0:
            x = np.sin(x) / 2
    return np.sum(x**2)


PICTURE = tj.draw(tj.grad(smooth))(np.ones(6))
HTML = PICTURE.html()


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.open: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open = dict(attrs) if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self.open is not None:
            self.scripts.append((self.open, data))
            self.open = None


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_it_needs_no_network() -> None:
    assert not re.findall(r"""(?:src|href)\s*=|@import|url\((?!#)""", HTML)
    assert set(re.findall(r"https?://[^\"'\s<\\\\]+", HTML)) <= {"http://www.w3.org/2000/svg"}


def test_it_has_every_stage_and_the_source() -> None:
    scripts = read(HTML).scripts
    (data,) = [json.loads(text) for attrs, text in scripts if attrs.get("id") == "data"]
    stages = {
        attrs["data-name"]: json.loads(text) for attrs, text in scripts if attrs.get("class") == "stage"
    }
    assert data["order"] == PICTURE.stages == list(stages) and data["stage"] == "traced"
    for name, stage in stages.items():
        graph = PICTURE.at(name).graph
        assert stage["nodes"].keys() == {n.id for n in graph.walk()}
        assert stage["svg"].count('<g class="node') == len(list(graph.walk()))
        assert len(stage["layout"]["boxes"]) == len(graph.nodes)
    assert "<svg" in stages["compiled"]["memory"] and not stages["traced"]["memory"]
    (file,) = data["files"]
    lines = {file["first"] + n: text.strip() for n, text in enumerate(file["lines"])}
    assert "x = np.sin(x) / 2" in [lines[n] for n in file["used"]]


def test_text_of_the_user_is_not_markup() -> None:
    text = page("</script><b>", "s", {"s": PICTURE.graph})
    assert [a for t, a in read(text).tags if t == "b"] == [] or "</script><b>" not in text
    assert text.count("</script>") == HTML.count("</script>") - len(PICTURE.stages) + 1


def test_stages_that_are_too_large_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.pictures.page._MOST_NODES", 1)
    assert re.findall(r'class="stage" data-name="([^"]*)"', PICTURE.html()) == ["traced"]


def test_notebooks_get_a_frame() -> None:
    shown = PICTURE._repr_html_()
    ((tag, attributes),) = read(shown).tags
    assert tag == "iframe" and attributes["srcdoc"] == HTML


def test_the_layout_in_the_page_is_that_of_the_svg() -> None:
    drawing = layout(PICTURE.graph)
    assert drawing.rows[-1][1] == drawing.height
    for box in drawing.boxes:
        assert abs(box.y - box.height / 2 - drawing.rows[box.row][0]) < 1e-6


def test_arrows_turn_half_way_at_the_latest() -> None:
    """The second control point of a bend is never below the first one."""
    number = r"(-?[\d.]+)"
    bend = re.compile(f"C{number},{number} {number},{number} {number},{number}")
    arrows = layout(PICTURE.graph, False).arrows
    heights = [(float(m[1]), float(m[3])) for a in arrows for m in bend.findall(a.path)]
    assert heights and all(second <= first + 0.2 for first, second in heights)


def test_the_script_is_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    script = tmp_path / "page.js"
    script.write_text(resources.files("tracejit.pictures").joinpath("web", "page.js").read_text())
    subprocess.run([node, "--check", script], check=True)


@pytest.mark.exhaustive
def test_a_browser_runs_it(tmp_path: Path) -> None:
    """Boxes can be read at first, and are all there after `fit`. Chooses a box, closes a loop, searches, and goes to
    the last stage; nothing is raised."""
    acts = """
        const nodes = () => [...document.querySelectorAll("#world .node")];
        done.push(nodes().length);
        const scale = () => +/scale\\(([^)]*)/.exec(document.getElementById("world").getAttribute("transform"))[1];
        done.push(scale() >= 0.62);
        document.getElementById("fit").click();
        const right = document.getElementById("canvas").getBoundingClientRect().right;
        done.push(nodes().every(g => g.getBoundingClientRect().right <= right));
        const loop = nodes().find(g => g.querySelector(":scope > .panel"));
        const before = loop.querySelector("rect").getAttribute("height");
        loop.dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
        done.push(+before > +loop.querySelector("rect").getAttribute("height"));
        const cos = nodes().find(g => g.querySelector(":scope > .title").textContent.startsWith("cos"));
        cos.dispatchEvent(new MouseEvent("click", {bubbles: true}));
        done.push(document.querySelector("#source li.chosen").textContent.includes("np.sin"));
        const box = document.getElementById("search");
        box.value = "cos"; box.dispatchEvent(new Event("input"));
        done.push(document.getElementById("hits").textContent);
        box.value = ""; box.dispatchEvent(new Event("input"));
        document.getElementById("after").click();
        document.querySelector("#changes button").click();
        const said = +document.getElementById("hits").textContent.split(" ")[0];
        done.push(said > 0 && said === document.querySelectorAll("#world .found").length);
        while (!document.getElementById("after").disabled) document.getElementById("after").click();
        done.push(document.getElementById("stage").textContent.split(" ")[0]);
        done.push(!!document.querySelector("#memory svg"));
    """
    found = browsed(HTML, acts, tmp_path)
    count = len(list(PICTURE.graph.walk()))
    assert found == [count, True, True, True, True, "1 found", True, "compiled", True, []]
