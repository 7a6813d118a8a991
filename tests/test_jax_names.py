"""Which of JAX's public names there are: all that tests/jax_names.txt lists, but those that the guide for those who
come from JAX says are not there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs/howto/from-jax.md"
#: Modules of JAX whose names are elsewhere.
PLACES = {"jax.ops": "tracejit.lax", "jax.typing": "numpy.typing"}


def listed() -> dict[str, list[str]]:
    """Module of JAX -> its public names."""
    text = Path(__file__).with_name("jax_names.txt").read_text(encoding="utf-8")
    rows = re.sub(r"\n\s+", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return {module: names.split() for module, names in (row.split(": ") for row in rows)}


def absent() -> dict[str, set[str]]:
    """What the guide says is not there: module of JAX -> names."""
    rows = re.findall(
        r"(?m)^\| `(jax[\w.]*)` \| (.*?) \|", PAGE.read_text(encoding="utf-8").partition("## Names")[2]
    )
    found: dict[str, set[str]] = {}
    for module, names in rows:
        found.setdefault(module, set()).update(re.findall(r"`(\w+)`", names))
    return found


def there(module: str) -> Any:
    """Our module for one of JAX."""
    if module in PLACES:
        return importlib.import_module(PLACES[module])
    name = module.replace("jax", "tracejit", 1)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:  # an object that has the names, such as a distribution
        outer, _, last = name.rpartition(".")
        return getattr(importlib.import_module(outer), last, None)


@pytest.mark.parametrize("module", listed())
def test_names(module: str) -> None:
    space = there(module)
    missing = {n for n in listed()[module] if not hasattr(space, n)}
    assert missing == absent().get(module, set())


def test_the_guide_lists_known_modules() -> None:
    assert set(absent()) <= set(listed())
