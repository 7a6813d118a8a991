"""How this package is imported: without looking for garbage meanwhile."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Importing makes many objects and no garbage; looking for it would take a fifth of the time. Afterwards they
    count as old ones (that is what `unfreeze` makes of all objects), which the next collections pass over too."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        if not gc.get_freeze_count():  # else the user has frozen some, which must stay so
            gc.freeze()
            gc.unfreeze()
    finally:
        gc.enable()
