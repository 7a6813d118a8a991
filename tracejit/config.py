"""Settings, read once from the environment and changeable at run time.

`config.debug` is TRACEJIT_DEBUG (0 to 4: cache events, jaxpr, each pass, source).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any


def _flag(name: str) -> bool:
    return os.environ.get(name, "0").lower() not in ("", "0", "false", "off")


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.lstrip("-").isdigit() else default


@dataclass
class Config:
    """The settings of this process; `with config.override(debug=2): ...` for a block."""

    debug: int = 0
    disable_jit: bool = False
    check_types: bool = False  # typecheck the IR after every trace and pass
    cache_size: int = 4096  # compiled functions kept in memory, over all functions

    @contextlib.contextmanager
    def override(self, **settings: Any) -> Iterator[None]:
        """Change settings inside a `with` block. Raises AttributeError for an unknown name."""
        known = {f.name for f in fields(self)}
        for name in settings:
            if name not in known:
                raise AttributeError(f"tracejit.config has no setting {name!r}; it has {sorted(known)}")
        old = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in old.items():
                setattr(self, name, value)


config = Config(
    debug=_number("TRACEJIT_DEBUG", 0),
    disable_jit=_flag("TRACEJIT_DISABLE_JIT"),
    check_types=_flag("TRACEJIT_CHECK_TYPES"),
    cache_size=_number("TRACEJIT_CACHE_SIZE", 4096),
)
