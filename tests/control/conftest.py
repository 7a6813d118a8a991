"""How each check runs: evaluated in Python (the oracle of the native loops), natively, and under jit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tracejit.api.jit.jitted import jit
from tracejit.config import config
from tracejit.interpreters import nans


@pytest.fixture(params=["python", "native", "jit"])
def run(request: Any) -> Iterator[Callable[[Any], Any]]:
    """Makes a function run the way of this parameter."""
    one_by_one = nans.running_again() if request.param == "python" else contextlib.nullcontext()
    with config.override(check_types=True), one_by_one:
        yield jit if request.param == "jit" else lambda f: f
