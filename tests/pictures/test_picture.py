"""Pictures as files: each format is read by somebody else's reader."""

from __future__ import annotations

import json
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pydot
import pytest

import tracejit as tj
from tracejit import errors

SVG = "{http://www.w3.org/2000/svg}"
X = np.linspace(0.1, 1.0, 12).reshape(4, 3)
W = np.ones(3)


def loss(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    total = 0.0
    for i in range(40):
        if hidden[i % 4] > 0.5:
            total = total + hidden[i % 4] * i
    return np.mean(hidden**2) + total


PICTURE = tj.draw(tj.value_and_grad(loss))(W, X)


def test_svg_is_xml_with_every_node(tmp_path: Path) -> None:
    PICTURE.save(tmp_path / "p.svg")
    root = ET.parse(tmp_path / "p.svg").getroot()
    assert root.tag == f"{SVG}svg" and float(root.get("width", 0)) > 100
    ids = {g.get("id") for g in root.iter(f"{SVG}g") if (g.get("class") or "").startswith("node")}
    assert ids == {n.id for n in PICTURE.graph.walk()}
    texts = [t.text for t in root.iter(f"{SVG}text")]
    assert "hidden = tanh" in texts and "w" in texts and "x @ w" in texts
    assert any(t and t.startswith("kept for the derivative") for t in texts)


def test_no_text_is_wider_than_its_box() -> None:
    for box in PICTURE.drawing.boxes:
        assert len(box.lines[0]) * 12 * 0.61 < box.width


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pyparsing, which pydot uses
def test_dot_is_read_by_pydot(tmp_path: Path) -> None:
    PICTURE.save(tmp_path / "p.dot")
    (graph,) = pydot.graph_from_dot_file(str(tmp_path / "p.dot"))
    names = {n.get_name().strip('"') for n in _all_nodes(graph)}
    assert {n.id for n in PICTURE.graph.walk()} <= {name.partition(":")[0] for name in names}
    assert "in0: w" in names and any(name.endswith(": tanh") for name in names)  # Netron shows names only
    assert len(graph.get_edges()) >= len(PICTURE.graph.edges)
    assert graph.get_subgraphs()


def _all_nodes(graph: Any) -> list[Any]:
    return [*graph.get_nodes(), *(n for s in graph.get_subgraphs() for n in _all_nodes(s))]


def test_json_is_the_graph(tmp_path: Path) -> None:
    PICTURE.save(tmp_path / "p.json")
    found = json.loads((tmp_path / "p.json").read_text())
    assert found == json.loads(json.dumps(PICTURE.as_dict())) and found["stage"] == "traced"
    (loop,) = [n for n in found["nodes"] if n["regions"] and not n["order"]]
    assert (
        loop["regions"][0]["label"] == "each step" and loop["line"]["text"].strip() == "for i in range(40):"
    )
    (tanh,) = [n for n in found["nodes"] if n["op"] == "tanh"]
    assert tanh["ports"][0] | {"name": "", "stored": ""} == {
        "name": "", "user": "hidden", "type": "f64[4]", "dtype": "f64", "shape": [4], "bytes": 32, "residual": True,
        "stored": "",
    }  # fmt: skip


def test_png_has_a_header_and_a_size(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="no wheel of resvg-py for this machine")
    # The other one takes seconds to be painted.
    picture = tj.draw(tj.grad(lambda w, x: np.mean(np.tanh(x @ w) ** 2)))(W, X)
    picture.save(tmp_path / "p.png")
    data = (tmp_path / "p.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
    width, height = struct.unpack(">II", data[16:24])
    assert abs(width - 2 * picture.drawing.width) < 200 and abs(height - 2 * picture.drawing.height) < 200


def test_the_styles_are_those_that_makers_of_png_know() -> None:
    """resvg leaves out rules with other selectors, and paints what they are of black."""
    rules = re.findall(r"([^{}<>][^{}]*)\{", PICTURE.svg().split("<style>")[1].split("</style>")[0])
    assert len(rules) > 10
    assert all(re.fullmatch(r"[a-z]*(\.[a-z]+)*([ >,][a-z.]+)*", rule) for rule in rules), rules


def test_onnx_is_checked_by_onnx(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="the library onnx, 30 MB, is not installed: pip install onnx")
    PICTURE.save(tmp_path / "p.onnx")
    model = onnx.load(tmp_path / "p.onnx")
    onnx.checker.check_model(model)
    kinds = {n.op_type for n in model.graph.node}
    assert {"dot_general", "tanh", "scan", "Identity"} <= kinds
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
    assert shapes["w"] == [3] and shapes["x"] == [4, 3]
    scans = [n for n in model.graph.node if n.op_type == "scan"]
    assert all(any(a.name == "region_0" and a.g.node for a in n.attribute) for n in scans)


def test_pbtxt_is_read_by_the_reader_of_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed: pip install tensorboard")
    text_format = pytest.importorskip("google.protobuf.text_format")
    from tensorboard.compat.proto.graph_pb2 import GraphDef  # type: ignore[import-not-found]

    PICTURE.save(tmp_path / "p.pbtxt")
    found = text_format.Parse((tmp_path / "p.pbtxt").read_text(), GraphDef())
    names = [n.name for n in found.node]
    assert len(names) == len(set(names)) == len([*PICTURE.graph.walk()])
    assert {i.partition(":")[0] for n in found.node for i in n.input} <= set(names)


def test_pbtxt_has_one_field_a_line(tmp_path: Path) -> None:
    """TensorBoard's page has a reader of its own, which wants that; boxes in boxes are names with `/`."""
    PICTURE.save(tmp_path / "p.pbtxt")
    depth = 0
    for line in (tmp_path / "p.pbtxt").read_text().splitlines():
        assert re.fullmatch(r' *(\w+ \{|\}|\w+: ("([^"\\]|\\[0-7]{3})*"|[\w-]+))', line), line
        depth += line.endswith("{") - (line.strip() == "}")
    assert depth == 0
    text = (tmp_path / "p.pbtxt").read_text()
    names, inputs = (re.findall(rf'^  {key}: "([^":]+)', text, re.MULTILINE) for key in ("name", "input"))
    assert len(names) == len(set(names)) == len([*PICTURE.graph.walk()]) and set(inputs) <= set(names)
    assert "w_in0" in names and any(re.fullmatch(r"scan_e\d+/0_each_step/cond_e\d+", n) for n in names)
    assert len(re.findall(r'device: "derivative"', text)) == sum(n.order > 0 for n in PICTURE.graph.walk())


def test_onnx_of_a_program_without_arguments(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    tj.draw(lambda: 1.0)().save(tmp_path / "p.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "p.onnx"))


def test_stages() -> None:
    assert PICTURE.stages[0] == "traced" and len(PICTURE.stages) > 1
    last = PICTURE.at(PICTURE.stages[-1])
    assert last.stage == PICTURE.stages[-1] and last.graph is not PICTURE.graph
    with pytest.raises(errors.PictureStageError, match="traced, "):
        PICTURE.at("optimised")
    assert repr(PICTURE).startswith("<Picture of loss, traced: ")


def test_a_format_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(errors.PictureFormatError, match=re.escape(".svg, ")):
        PICTURE.save(tmp_path / "p.bmp")
    assert not list(tmp_path.iterdir())


def test_objects_that_hold_programs_are_drawn(tmp_path: Path) -> None:
    lowered = tj.jit(loss).lower(W, X)
    report = tj.explain(loss)(W, X)
    assert report.draw().stage == "compiled" and "iframe" in report._repr_html_()
    for x in (tj.make_jaxpr(np.sin)(X), lowered, lowered.compile(), lowered.jaxpr, report):
        assert ET.fromstring(x._repr_svg_()).tag == f"{SVG}svg"
        x.save(tmp_path / "p.svg")
        assert (tmp_path / "p.svg").stat().st_size > 1000
