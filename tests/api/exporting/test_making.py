"""Programs of the corpus, exported at each call: what is not refused does what the function does."""

from __future__ import annotations

from typing import Any

import pytest

import tracejit as tj
from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.observe import PROGRAMS, observe

#: Differences that docs/export.md has: caches stay behind, captured arrays are copied, what a function has written
#: before it raises, numbers in the text of exceptions, and warnings of empty parts.
KNOWN = {
    "corpus_containers_g.cache_filled_for_others",
    "corpus_names.a_cache_counts_its_calls",
    "corpus_names.a_cached_recursion",
    "corpus_names.a_cache_asked_in_a_loop",
    "corpus_identity.returns_a_view_of_a_captured_array",
    "corpus_exceptions.writes_then_raises_in_a_loop",
    "corpus_failing.raises_in_a_loop",
    "corpus_failing.singular_after_a_write",
    "corpus_failing.not_positive_after_a_write",
    "corpus_exceptions.assert_with_text",
    "corpus_first.raises_by_value",
    "corpus_warned.means_of_parts_that_turn_out_empty",
    "corpus_warned.spreads_of_parts_that_turn_out_empty",
    "corpus_warned.means_of_what_is_never_nan",
    "corpus_warned.middles_of_parts_that_turn_out_empty",
    "corpus_warned.what_is_not_nan_in_rows_where_all_turn_out_to_be",
}


class Refused(BaseException):
    """The program can't be exported, or says that it can't do this call."""


def exported(f: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            e = tj.export(f)(*args, **kwargs)
        except Exception as error:
            raise Refused from error
        try:
            return e(*args, **kwargs)
        except tj.TracejitError as error:
            raise Refused from error

    return call


def sampled() -> list[Any]:
    return [
        n if k % 60 == 0 else pytest.param(n, marks=pytest.mark.exhaustive)
        for k, n in enumerate(sorted(PROGRAMS.keys() - KNOWN))
    ]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sampled())
def test_the_corpus(name: str) -> None:
    maker = PROGRAMS[name]
    try:
        got = observe(maker, exported)
    except Refused:
        return
    assert got.calls == observe(maker, lambda f: f).calls
