"""`sorted`, `list.sort`, `min` and `max` by traced keys."""

from __future__ import annotations

import pytest

from tests.programs import corpus_sorting
from tests.programs.observe import Maker, verdict


@pytest.mark.parametrize("maker", corpus_sorting.NATIVE, ids=lambda m: m.__name__)
def test_what_should_be_native_is(maker: Maker) -> None:
    assert verdict(maker) == ("native", "")
