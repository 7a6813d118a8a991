"""The site of the documentation: every page is in its contents, links lead somewhere, every name has its place.

`make docs` builds it, and looks at all links of the built pages; here is what can be seen without building."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

import tracejit as tj
from docs.building import docstring, errors, reference, staging
from docs.building.grouping import MODULES
from tests.test_docstrings import MODULES as DOCUMENTED
from tracejit.errors import CODES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in DOCS.rglob("*.md")}
#: What `make docs` writes.
GENERATED = re.compile(r"docs/(reference/\w+|gallery/index|speed)\.(md|rst)$")
EXAMPLES = sorted((ROOT / "examples/gallery").glob("plot_*.py"))


def contents(page: str) -> set[str]:
    """The pages that the tables of contents of a page name."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", PAGES.get(page, ""), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    return {_beside(page, f"{line}.md") for line in lines}


def _beside(page: str, link: str) -> str:
    return (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()


def test_every_page_is_in_the_contents():
    found, todo = set(), ["docs/index.md"]
    while todo:
        page = todo.pop()
        if page not in found:
            found.add(page)
            todo.extend(contents(page))
    assert PAGES.keys() - found == set()
    there = {*PAGES, *staging.OTHERS}
    assert [p for p in found - there if not GENERATED.match(p)] == []


def anchors(text: str) -> set[str]:
    """The places of a page that links may name: its headings, as GitHub and MyST write them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_to_pages_and_places(page):
    text = re.sub(r"^```.*?^```|`[^`\n]+`", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, place = link.partition("#")
        target = _beside(page, path) if path else page
        if link.startswith(("http:", "https:")) or GENERATED.match(target):
            continue
        there = (ROOT / target).is_file()
        if not there or (place and place not in anchors((ROOT / target).read_text(encoding="utf-8"))):
            wrong.append(link)
    assert wrong == []


def test_the_reference_has_every_module_and_every_error(tmp_path):
    assert set(DOCUMENTED) <= set(MODULES)
    pages = "".join(p.read_text(encoding="utf-8") for p in errors.write(tmp_path))
    assert [code for code in CODES if f"## {code} " not in pages] == []


def test_a_docstring_as_markdown():
    text = docstring.markdown(
        "The sum of *all*.\n\nParameters\n----------\na : array_like\n    Any `x_*`.\n\nRaises\n------\n"
        "ShapeError\n    It <does> not fit.\n\nExamples\n--------\n>>> f(1)\n2\n"
    )
    assert text == (
        "The sum of \\*all\\*.\n\n**Parameters**\n\n`a`: *array\\_like*\n: Any `x_*`.\n\n\n**Raises**\n\n"
        "`ShapeError`\n: It \\<does\\> not fit.\n\n\n**Examples**\n\n```{code-block} pycon\n>>> f(1)\n2\n```"
    )


def test_an_entry_of_the_reference():
    text = reference.page("tracejit", "derivatives", {"grad": reference.public("tracejit")["grad"]})
    assert text.startswith(
        "# tj: derivatives\n\n```````{py:function} tracejit.grad(f, argnums=0, has_aux=False"
    )
    assert "`NonScalarOutputError`\n: grad needs a function whose result is one number." in text


def test_outputs_stand_below_their_blocks():
    page = "a\n\n```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\nb\n"
    shown = staging.with_outputs(page, ["", "1\n"])
    assert shown == page.replace("(x)\n```\n", "(x)\n```\n\n```{code-block} text\n:class: output\n\n1\n```\n")


def test_the_page_of_settings_has_all():
    table = PAGES["docs/debugging.md"].partition("## Settings")[2]
    assert [name for name in inspect.signature(type(tj.config)).parameters if f"`{name}`" not in table] == []


def test_the_tutorial_is_an_hour():
    """Six steps, which take ten minutes each: at most 700 words a step, code and all."""
    steps = [p for p in PAGES if re.match(r"docs/tutorial/\d", p)]
    assert len(steps) == 6
    assert {p: n for p in steps if (n := len(PAGES[p].split())) > 700} == {}


def test_the_picture_of_the_readme_is_of_its_program():
    """The boxes have the lines of the block above the picture."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme[: readme.index("pictures/graph.svg")].rpartition("```python\n")[2]
    svg = (DOCS / "pictures/graph.svg").read_text(encoding="utf-8")
    lines = {int(n) for n in re.findall(r" :(\d+)</text>", svg)}
    found = [block.splitlines()[n - 1].strip() for n in sorted(lines)]
    assert found == ["predicted = np.tanh(x @ w)", "error = predicted - y", "return np.mean(error**2)"]


def test_the_gallery_has_fifteen_examples():
    assert len(EXAMPLES) >= 15
    assert [p.name for p in EXAMPLES if not re.match(r'"""\n.+\n=+\n', p.read_text(encoding="utf-8"))] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_gallery_runs(path):
    plt = pytest.importorskip("matplotlib.pyplot", reason="only `make docs` installs matplotlib")
    plt.switch_backend("agg")
    with plt.ioff():
        runpy.run_path(str(path))
        assert plt.get_fignums()
    plt.close("all")
