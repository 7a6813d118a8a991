"""How many references there are to an object: whether anybody else can see it."""

from __future__ import annotations

import sys
from typing import Any


def _count_of_popped(holder: list[Any]) -> int:
    x = holder.pop()
    return sys.getrefcount(x)


#: What `sys.getrefcount` says of what one local variable holds: measured, as it differs between Python versions.
ONLY_LOCAL = _count_of_popped([[]])
