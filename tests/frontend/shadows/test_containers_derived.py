"""Lists and dicts of classes of the user's."""

from __future__ import annotations

import pytest

from tests.programs.corpus_derived import NATIVE
from tests.programs.observe import Maker, verdict
from tracejit.frontend.shadows import containers


@pytest.mark.parametrize("maker", NATIVE, ids=lambda m: m.__name__)
def test_they_are_followed(maker: Maker) -> None:
    assert verdict(maker) == ("native", "")


def test_what_holds_its_entries_in_another_way_is_not():
    class Own(dict):
        def __getitem__(self, key):
            return 1.0

    class Slots(list):
        __slots__ = ("a",)

    class Meta(type):
        pass

    class Made(list, metaclass=Meta):
        pass

    class Plain(list):
        pass

    assert containers.base_of(Plain) is list and containers.base_of(list) is None
    assert [containers.base_of(c) for c in (Own, Slots, Made, dict)] == [None] * 4
