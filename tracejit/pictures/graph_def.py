"""Graphs as TensorFlow's GraphDef in text, which the graph view of TensorBoard and Netron open. They are pictures, as
ONNX files are. Names with `/` are boxes in boxes there: the programs that an equation holds lie in its box."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracejit.pictures.model import Graph, Node, Port

#: The names of element types in TensorFlow.
_TYPES = {
    "f16": "HALF", "f32": "FLOAT", "f64": "DOUBLE", "bf16": "BFLOAT16", "bool": "BOOL", "c64": "COMPLEX64",
    "c128": "COMPLEX128", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "u16": "UINT16",
    "u32": "UINT32", "u64": "UINT64",
}  # fmt: skip


def graph_def(graph: Graph) -> str:
    """The file."""
    return "\n".join(_nodes(graph, "", ""))


def _nodes(graph: Graph, scope: str, holder: str) -> Iterator[str]:
    """The nodes of a program in the box `scope`; its inputs come from the node `holder`, if it is a region."""
    names = {n.id: scope + _name(f"{n.op or n.title}_{n.id.rpartition('.')[2]}") for n in graph.nodes}
    operands: dict[str, list[str]] = {n.id: [] for n in graph.nodes}
    for e in graph.edges:
        operands[e.target].append(names[e.source] + (f":{e.port}" if e.port else ""))
    for n in graph.nodes:
        given = [holder] if holder and n.kind == "input" else operands[n.id]
        yield _node(n, names[n.id], given)
        for k, region in enumerate(n.regions):
            inner = f"{names[n.id]}/{_name(f'{k}_{region.label}')}/"
            yield from _nodes(region.graph, inner, names[n.id])


def _node(node: Node, name: str, operands: list[str]) -> str:
    outermost = node.kind == "input" and not operands
    lines = [f"name: {_quoted(name)}", f"op: {_quoted('Placeholder' if outermost else node.op or node.kind)}"]
    lines += [f"input: {_quoted(o)}" for o in operands]
    # TensorBoard has a colour for each device: here for each half.
    lines.append(f"device: {_quoted('derivative' if node.order else 'program')}")
    if node.ports:
        shapes = [line for p in node.ports for line in _block("shape", _shape(p))]
        lines += _attribute("_output_shapes", _block("list", shapes))
        lines += _attribute("dtype", [f"type: DT_{_TYPES.get(node.ports[0].dtype, 'INVALID')}"])
    told = {"equation": node.text, "effects": ", ".join(node.effects), **node.params}
    if node.line is not None:
        told["line"] = f"{node.line.file}:{node.line.number}: {node.line.text.strip()}"
    for key, value in told.items():
        lines += _attribute(key, [f"s: {_quoted(value)}"]) if value else []
    return "\n".join(_block("node", lines))


def _block(name: str, lines: list[str]) -> list[str]:
    """A message: TensorBoard's reader wants each field in a line."""
    return [f"{name} {{", *(f"  {line}" for line in lines), "}"]


def _shape(port: Port) -> list[str]:
    sizes = [n if isinstance(n, int) else -1 for n in port.shape]
    return [line for n in sizes for line in _block("dim", [f"size: {n}"])]


def _attribute(key: str, value: list[str]) -> list[str]:
    return _block("attr", [f"key: {_quoted(key)}", *_block("value", value)])


def _name(text: str) -> str:
    """A name as TensorFlow allows it, which begins with a letter or a digit."""
    plain = re.sub(r"[^A-Za-z0-9_.\-]+", "_", text)
    return plain if plain[0].isalnum() else f"x{plain}"


def _quoted(text: str) -> str:
    def escaped(byte: int) -> str:
        plain = 32 <= byte < 127 and byte not in b'"\\'
        return chr(byte) if plain else f"\\{byte:03o}"

    return '"' + "".join(map(escaped, text.encode(errors="backslashreplace"))) + '"'
