"""Programs in derivatives: nothing tells them from plain ones."""

from __future__ import annotations

import pytest

from tests.programs.derivatives import derived, eagerly, jitted, undone
from tests.programs.observe import PROGRAMS
from tests.programs.test_corpus import PROGRAMS as ALL  # all corpora are there

#: Programs that are told apart in a compiled derivative: Python's numbers that are differentiated have attributes of
#: arrays, tuples that may stay are two, functions that NumPy is given are copies, and columns of indices are contiguous.
TOLD_APART = frozenset(
    [
        "corpus_lengths_b.coordinates_of_pixels",
        "corpus_packages.attributes_that_are_asked_for",
        "corpus_packages.indices_of_numbers",
        "corpus_packages.numbers_have_no_shape",
        "corpus_reflection.calls_what_python_and_numpy_refuse",
        "corpus_settings.sets_what_is_called_on_errors",
        "corpus_tuples_kept.an_object_that_keeps_the_best",
        "variants: a_pair_of_before_that_may_stay",
        "variants: a_pair_that_is_also_in_a_list",
    ]
)

#: Those that are refused there.
REFUSED = frozenset(
    [
        "corpus_holders.a_queue_of_objects",
        "corpus_holders.weak_families",
        "corpus_containers_a.global_made_and_deleted",
        "corpus_integers.inplace_casting_error",
        "corpus_lengths_b.lengths_that_must_be_equal",
        "corpus_masked.attributes_of_a_masked_argument",
        "corpus_masked.texts_of_masked_arrays",
        "corpus_measures.sums_of_a_traced_number",
        "corpus_measures.sums_that_are_not_finite",
        "corpus_objects_h.subclass_made_within_is_registered",
        "corpus_questions.partial_methods_that_ask",
        "corpus_packages.objects_that_could_be_arrays",
        "corpus_resumed.names_of_a_class",
        "corpus_structured_c.fields_that_share_memory",
        "corpus_structured_c.orders_in_memory_of_copies",
        "corpus_structured_c.records_are_copied_and_compared",
        "corpus_variates.a_generator_is_given_to_a_distribution",
        "scipy: a_curve_of_single_precision",
        "scipy: a_curve_with_given_parameters",
        "scipy: a_grid_at_nan",
        "scipy: a_grid_by_pchip",
        "scipy: a_grid_by_pchip_at_nan",
        "scipy: a_grid_by_splines",
        "scipy: a_penalized_spline",
        "scipy: a_smoothing_spline_of_nan",
        "scipy: its_derivative_has_no_data",
        "scipy: its_smoothing_is_set_anew",
        "scipy: its_sum_of_squares_is_a_float",
        "scipy: zeros_that_rounding_makes",
    ]
)

#: Programs that are told apart in derivatives outside of jit: arguments are copies, which masked arrays may be too.
TOLD_APART_OUTSIDE = frozenset(
    [
        "corpus_kept.a_derivative_keeps_its_argument",
        "corpus_masked.hard_masks",
        "corpus_public.trees_that_grow",
        "corpus_reflection.calls_what_python_and_numpy_refuse",
        "corpus_settings.sets_what_is_called_on_errors",
        "corpus_structured_c.records_are_viewed_as_an_array",
    ]
)

#: Those that are refused there.
REFUSED_OUTSIDE = frozenset(
    [
        "corpus_bytes.check_sums_of_arrays",
        "corpus_bytes.results_with_their_hash",
        "corpus_holders.a_queue_of_objects",
        "corpus_holders.weak_families",
        "corpus_containers_a.global_made_and_deleted",
        "corpus_containers_g.partial_keywords_changed_within",
        "corpus_integers.inplace_casting_error",
        "corpus_lengths_b.lengths_that_must_be_equal",
        "corpus_libraries.a_curve_that_rises",
        "corpus_masked.attributes_of_a_masked_argument",
        "corpus_masked.texts_of_masked_arrays",
        "corpus_masked.the_data_of_a_mask_is_filled",
        "corpus_measures.sums_of_a_traced_number",
        "corpus_measures.sums_that_are_not_finite",
        "corpus_objects_a.frozen_by_object_setattr",
        "corpus_objects_g.object_delattr_and_super",
        "corpus_objects_g.slots_by_object_setattr",
        "corpus_objects_h.subclass_made_within_is_registered",
        "corpus_packages.objects_that_could_be_arrays",
        "corpus_questions.partial_methods_that_ask",
        "corpus_regions.hashes_what_it_computes",
        "corpus_resumed.names_of_a_class",
        "corpus_set_again.keywords_of_a_partial_that_others_see",
        "corpus_structured.fields_of_vectors",
        "corpus_structured.rows_are_appended",
        "corpus_structured_c.fields_that_share_memory",
        "corpus_structured_c.orders_in_memory_of_copies",
        "corpus_structured_c.records_are_copied_and_compared",
        "corpus_text_c.looks_at_an_exception",
        "corpus_variates.a_generator_is_given_to_a_distribution",
        "scipy: a_curve_of_single_precision",
        "scipy: a_curve_with_given_parameters",
        "scipy: a_grid_at_nan",
        "scipy: a_grid_by_pchip",
        "scipy: a_grid_by_pchip_at_nan",
        "scipy: a_grid_by_splines",
        "scipy: a_penalized_spline",
        "scipy: a_smoothing_spline_of_nan",
        "scipy: its_derivative_has_no_data",
        "scipy: its_smoothing_is_set_anew",
        "scipy: its_sum_of_squares_is_a_float",
        "scipy: zeros_that_rounding_makes",
    ]
)


@pytest.mark.sample(180)
@pytest.mark.parametrize("name", ALL)
def test_nothing_tells_them_apart_in_compiled_derivatives(name: str) -> None:
    if name in TOLD_APART:
        pytest.skip("it is known to differ")
    kind, why = jitted(PROGRAMS[name])
    if name in REFUSED:
        assert kind == "different" and "[TJ" in why.partition("\n  jitted")[2]
    else:
        assert kind in ("native", "fallback"), why


@pytest.mark.sample(40)
@pytest.mark.parametrize("name", ALL)
def test_nothing_tells_them_apart_in_derivatives_outside_of_jit(name: str) -> None:
    if name in TOLD_APART_OUTSIDE:
        pytest.skip("it is known to differ")
    kind, why = eagerly(PROGRAMS[name])
    if name in REFUSED_OUTSIDE:
        assert kind == "different" and "[TJ" in why.partition("\n  eager")[2]
    else:
        assert kind == "same", why


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", [n for n in ALL if n.startswith("corpus_training.")])
def test_what_people_train_is_told_apart_in_no_derivative(name: str) -> None:
    maker = PROGRAMS[name]
    assert eagerly(maker) == ("same", "")
    assert derived(maker, compiled=False) == ("same", "")
    assert derived(maker, compiled=True) == ("native", "")
    kind, why = undone(maker)
    assert kind == ("refused" if "caught" in name else "native"), why
