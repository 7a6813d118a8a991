"""`scipy.cluster` for traced values: `vq`."""

from typing import TYPE_CHECKING

from tracejit.lazily import parts as _parts

if TYPE_CHECKING:
    from tracejit.scipy.cluster import vq

__all__ = ["vq"]
__getattr__, __dir__ = _parts(__name__, __all__)
