"""Graphs as ONNX models, which Netron shows. They are pictures: no runtime runs tracejit's primitives,
which are operators of a domain of their own. Regions are attributes that hold graphs, as those of ONNX' own loops."""

from __future__ import annotations

from typing import Any

from tracejit.errors import PictureLibraryError
from tracejit.lazily import LazyModule
from tracejit.pictures.model import Graph, Node, Port
from tracejit.version import __version__

_onnx: Any = LazyModule("onnx")

_DOMAIN = "tracejit"
#: The names of element types in ONNX.
_TYPES = {
    "f16": "FLOAT16", "f32": "FLOAT", "f64": "DOUBLE", "bf16": "BFLOAT16", "bool": "BOOL", "c64": "COMPLEX64",
    "c128": "COMPLEX128", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "u16": "UINT16",
    "u32": "UINT32", "u64": "UINT64",
}  # fmt: skip


def model(graph: Graph) -> bytes:
    """The file. Raises PictureLibraryError without the library `onnx`."""
    try:
        helper = _onnx.helper
    except ModuleNotFoundError as e:
        raise PictureLibraryError(format="onnx", library="onnx") from e
    made = helper.make_model(
        _graph(graph, set()),
        producer_name="tracejit",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(_DOMAIN, 1)],
        ir_version=8,
    )
    return made.SerializeToString()


def _graph(graph: Graph, taken: set[str], label: str = "") -> Any:
    names = _names(graph, taken)
    operands: dict[str, list[str]] = {n.id: [] for n in graph.nodes}
    for e in graph.edges:
        operands[e.target].append(names[e.source, e.port])
    inputs, outputs, nodes, infos = [], [], [], []
    for n in graph.nodes:
        results = [names[n.id, k] for k in range(len(n.ports))]
        types = [_value(name, port) for name, port in zip(results, n.ports, strict=True)]
        if n.kind in ("input", "constant"):
            inputs += types
        elif n.kind == "output":
            nodes.append(_output(n, operands[n.id], results))
            outputs += types
        else:
            nodes.append(_node(n, operands[n.id], results, taken))
            infos += types
    return _onnx.helper.make_graph(nodes, label or graph.name or "program", inputs, outputs, value_info=infos)


def _names(graph: Graph, taken: set[str]) -> dict[tuple[str, int], str]:
    """Names of the values of a graph: the user's, where nothing of the model has it yet."""
    names: dict[tuple[str, int], str] = {}
    for n in graph.nodes:
        for k, p in enumerate(n.ports):
            name = n.title if n.kind == "output" else p.user or p.name
            names[n.id, k] = f"{name} ({n.id}:{k})" if name in taken else name
            taken.add(names[n.id, k])
    return names


def _output(node: Node, operands: list[str], results: list[str]) -> Any:
    if operands:
        return _onnx.helper.make_node("Identity", operands, results, name=f"{node.id} {node.title}")
    return _onnx.helper.make_node("literal", [], results, name=node.id, domain=_DOMAIN, value=node.title)


def _node(node: Node, operands: list[str], results: list[str], taken: set[str]) -> Any:
    attributes: dict[str, Any] = {f"param_{k}": v for k, v in node.params.items()}
    attributes["equation"] = node.text
    if node.line is not None:
        attributes["line"] = f"{node.line.file}:{node.line.number}: {node.line.text.strip()}"
    if node.effects:
        attributes["effects"] = ", ".join(node.effects)
    attributes["half"] = "derivative" if node.order else "program"
    for n, region in enumerate(node.regions):
        attributes[f"region_{n}"] = _graph(region.graph, taken, region.label)
    return _onnx.helper.make_node(
        node.op,
        operands,
        results or [f"{node.id}:done"],
        name=f"{node.id} {node.title}",
        domain=_DOMAIN,
        doc_string=node.line.short if node.line else "",
        **attributes,
    )


def _value(name: str, port: Port) -> Any:
    kind = getattr(_onnx.TensorProto, _TYPES.get(port.dtype, "UNDEFINED"))
    return _onnx.helper.make_tensor_value_info(name, kind, list(port.shape))
