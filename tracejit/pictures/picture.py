"""What users hold: a program as a picture, at one of its stages."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tracejit.errors import PictureFormatError, PictureStageError
from tracejit.pictures.changes import mark
from tracejit.pictures.chart import chart
from tracejit.pictures.dot import dot
from tracejit.pictures.fold import folded
from tracejit.pictures.graph_def import graph_def
from tracejit.pictures.layout import Drawing, layout
from tracejit.pictures.model import Graph
from tracejit.pictures.onnx_file import model
from tracejit.pictures.page import frame, page
from tracejit.pictures.png import png
from tracejit.pictures.svg import size_of, svg

#: The graph of a stage; it is made when it is first looked at.
Stages = Mapping[str, Callable[[], Graph]]


class Picture:
    """A program as a picture, at one of its `stages`: 'traced' is what was recorded, then come the passes that changed
    it, by their names, and 'compiled' shows which equations share a nest of loops, and what is stored.

    Notebooks show it. `save(path)` writes a file, `svg()`, `dot()` and `as_dict()` give what is in it, and `graph` is
    the data: nodes, edges, regions. `at(stage)` is the picture of another stage.
    """

    def __init__(self, name: str, stages: Callable[[], Stages], stage: str, graphviz: bool = True) -> None:
        self.name = name
        self._make = stages
        self.stage = stage
        self.graphviz = graphviz

    @cached_property
    def _stages(self) -> Stages:
        return self._make()

    @property
    def stages(self) -> list[str]:
        """The stages that the program went through, in order."""
        return list(self._stages)

    def at(self, stage: str) -> Picture:
        """The picture of another stage. Raises PictureStageError where there is none of this name."""
        if stage not in self._stages:
            raise PictureStageError(stage=stage, stages=", ".join(self.stages))
        other = Picture(self.name, self._make, stage, self.graphviz)
        other.__dict__.update(_stages=self._stages, _graphs=self._graphs)
        return other

    @cached_property
    def _graphs(self) -> dict[str, Graph]:
        """Graphs of stages that were looked at, which pictures of all stages share."""
        return {}

    @cached_property
    def graph(self) -> Graph:
        """The program at this stage as data, with what has changed since the stage before."""
        graph = self._plain(self.stage)
        at = self.stages.index(self.stage)
        if at and not graph.since:
            mark(self.stages[at - 1], self._plain(self.stages[at - 1]), graph)
        return graph

    def _plain(self, stage: str) -> Graph:
        if stage not in self._graphs:
            self._graphs[stage] = self._stages[stage]()
        return self._graphs[stage]

    @cached_property
    def drawing(self) -> Drawing:
        """The graph, laid out; a large one in parts (see `fold`)."""
        return layout(folded(self.graph, opened=False), self.graphviz)

    def svg(self) -> str:
        """An SVG document."""
        return svg(self.graph, self.drawing)

    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return dot(self.graph)

    def as_dict(self) -> dict[str, Any]:
        """The graph as plain containers, numbers and strings."""
        return {"stage": self.stage, **self.graph.as_dict()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture. The name's end says how: .svg, .html, .dot (or .gv), .png, .json, .onnx or .pbtxt.

        Raises PictureFormatError for another one, PictureLibraryError where .png or .onnx need a library.
        """
        form = Path(path).suffix.lower()
        if form not in _WRITERS:
            raise PictureFormatError(path=os.fspath(path), formats=", ".join(_WRITERS))
        data = _WRITERS[form](self)
        Path(path).write_bytes(data if isinstance(data, bytes) else data.encode())

    def html(self) -> str:
        """A self-contained HTML page: the graph of every stage to move about in, and the lines of the source."""
        return page(self.name, self.stage, {s: self.at(s).graph for s in self.stages}, self.graphviz)

    def memory(self) -> str:
        """An SVG document of the memory that the compiled program borrows, over time: a chart of its blocks. For the
        stage 'compiled'; an empty text for others, which have no memory yet."""
        return "" if self.graph.memory is None else chart(self.graph.memory)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return frame(self.html())

    def __repr__(self) -> str:
        count = sum(n.kind == "equation" for n in self.graph.walk())
        return f"<Picture of {self.name or 'a program'}, {self.stage}: {count} equations>"


def _png(picture: Picture) -> bytes:
    text = picture.svg()
    return png(text, *size_of(picture.graph, picture.drawing))


_WRITERS: dict[str, Callable[[Picture], str | bytes]] = {
    ".svg": Picture.svg,
    ".html": Picture.html,
    ".dot": Picture.dot,
    ".gv": Picture.dot,
    ".png": _png,
    ".json": lambda p: json.dumps(p.as_dict(), indent=1),
    ".onnx": lambda p: model(p.graph),
    ".pbtxt": lambda p: graph_def(p.graph),
}
