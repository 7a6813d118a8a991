"""Programs of the corpus, exported at each call: what is not refused does what the function does."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.observe import PROGRAMS, observe

#: Differences that docs/export.md has: caches stay behind, captured arrays are copied, what a function has written
#: before it raises, numbers in the text of exceptions, warnings of empty parts, attributes of mapped files, and
#: types that depend on values.
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
    "corpus_outside.an_array_is_asked_whether_it_is_a_mapped_file",
    "corpus_copies.roots_of_matrices",
    "corpus_unseen.a_mean_of_nothing",
    "corpus_unseen.warnings_that_are_shown_once",
    "corpus_warned.means_of_no_numbers",
    "corpus_warned.means_of_nothing",
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
        n if zlib.crc32(n.encode()) % 60 == 0 else pytest.param(n, marks=pytest.mark.exhaustive)
        for n in sorted(PROGRAMS.keys() - KNOWN)
    ]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sampled())
def test_the_corpus(name: str) -> None:
    maker = PROGRAMS[name]
    try:
        got = observe(maker, exported)
    except Refused:
        return
    assert got.calls == observe(maker, lambda f: f).calls


def test_parts_of_results_that_are_parts() -> None:
    def f(x: Any) -> Any:
        z = np.array(x * 2)
        return z, z[None], np.atleast_2d(z)

    z, y, w = tj.export(f)(np.array(1.0))(np.array(1.5))
    y[0] = 7.0
    assert z == 7 and w[0, 0] == 7 and w.shape == (1, 1)
    out = tj.export(lambda x: np.broadcast_to(x, (2, 4)))(np.float64(3))(np.float64(2))
    assert out.tolist() == [[2] * 4] * 2 and not out.flags.writeable
