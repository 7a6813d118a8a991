"""Programs as pictures, for the objects that hold programs: notebooks show them, and `save` writes files."""

from __future__ import annotations

from typing import Any, ClassVar


class Drawn:
    """What can be drawn. `pictures` is the module that draws, which the package installs; it loads at its first use."""

    __slots__ = ()

    pictures: ClassVar[Any] = None

    def draw(self, stage: str | None = None) -> Any:
        """The program as a `Picture`, at a stage: see `tracejit.draw`."""
        return self.pictures.picture_of(self, stage)

    def save(self, path: Any, stage: str | None = None) -> None:
        """Write the picture of the program; the name's end says how: .svg, .html, .dot, .png, .json, .onnx, .pbtxt."""
        self.draw(stage).save(path)

    def _repr_svg_(self) -> str:
        return self.draw()._repr_svg_()

    def _repr_html_(self) -> str:
        return self.draw()._repr_html_()
