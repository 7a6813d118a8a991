"""Programs in strings whose source Python and jit can find, as in notebooks."""

from __future__ import annotations

import linecache
import types


def compiled(source: str, name: str) -> types.CodeType:
    """`source` compiled as the file `name`, which `linecache` knows from now on."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    return compile(source, name, "exec")
