"""SVG documents as PNG files, by resvg."""

from __future__ import annotations

from typing import Any

from tracejit.errors import PictureLibraryError
from tracejit.lazily import LazyModule

#: resvg is one wheel without dependencies for every system; cairosvg needs the system's Cairo.
_resvg: Any = LazyModule("resvg_py")

#: Pixels of the file for one of the SVG, and the most there are in a side of a file.
_ZOOM, _MOST = 2.0, 16_000


def png(svg: str, width: float, height: float) -> bytes:
    """The document, `width` times `height` pixels large, as a PNG file of twice the size, or less where that is very
    large. Raises PictureLibraryError without resvg."""
    try:
        draw = _resvg.svg_to_bytes
    except ModuleNotFoundError as e:
        raise PictureLibraryError(format="png", library="resvg-py") from e
    zoom = min(_ZOOM, _MOST / max(width, height))
    return bytes(draw(svg_string=svg, zoom=zoom, monospace_family="DejaVu Sans Mono"))
