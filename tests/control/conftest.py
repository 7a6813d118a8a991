"""How each check runs: evaluated in Python (the oracle of the native loops), natively, and under jit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tracejit.api.jitted import jit
from tracejit.config import config


@pytest.fixture(params=["python", "native", "jit"])
def run(request: Any) -> Iterator[Callable[[Any], Any]]:
    """Makes a function run the way of this parameter."""
    with config.override(check_types=True, disable_jit=request.param == "python"):
        yield jit if request.param == "jit" else lambda f: f
