import numpy as np
import pytest

import fairdraw as fd
from fairdraw.benchmarks.cases import ALL, BATCHES, FILE, SIZES, VOCABULARIES, cases_of
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.rows import KINDS, make_rows
from fairdraw.kernels.shapes import recognise


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_float32_repeatable_different_and_can_be_drawn_from(kind):
    rows = make_rows(kind, 1000, 9)
    assert (rows.dtype, rows.shape) == (np.float32, (9, 1000))
    np.testing.assert_array_equal(rows, make_rows(kind, 1000, 9))
    assert (rows.max(axis=1) > -np.inf).all()
    assert rows.max() < np.inf
    if kind != "equal":
        assert len({row.tobytes() for row in rows}) == 9


@pytest.mark.parametrize("seed", range(20))
def test_a_half_masked_row_of_one_token_keeps_it(seed):
    assert np.isfinite(make_rows("half-inf", 1, 1, seed=seed)).all()


def test_top_p_keeps_about_5_40_and_600_tokens_of_a_zipf_row_and_most_of_a_flat_one():
    plan = fd.Plan.parse(MODES["top_p"].plan)
    kinds = ("peaky", "lm-like", "long-tail", "flat")
    kept = [fd.law(plan, make_rows(kind, 49152, 1)[0]).support.size for kind in kinds]
    for count, (low, high) in zip(kept, [(3, 10), (30, 60), (400, 900), (15_000, 49_152)], strict=True):
        assert low <= count < high


def test_half_of_a_half_masked_row_is_forbidden():
    assert 0.45 < np.isinf(make_rows("half-inf", 10_000, 1)).mean() < 0.55


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_a_plan_that_has_a_kernel(mode):
    assert recognise(fd.Plan.parse(MODES[mode].plan)) is not None


def test_full_has_every_vocabulary_kind_mode_and_batch_of_the_grid_and_quick_a_part_of_it():
    full, quick = (cases_of(SIZES[name], {}, cores=4) for name in ("full", "quick"))
    assert {case.vocab for case in full} == set(VOCABULARIES) == {49152, 128256, 151936, 262144}
    assert {case.batch for case in full} == set(BATCHES) == {1, 8, 64, 256}
    assert {case.rows for case in full} == set(KINDS)
    assert {case.mode for case in full} == set(MODES)
    assert {case.threads for case in full} == {1, 4}
    assert set(quick) < set(full)


def test_what_is_asked_replaces_an_axis_and_no_case_comes_twice():
    cases = cases_of(SIZES["full"], {"batch": [8], "vocab": [64], "rows": ["flat"], "modes": ["top_p"]}, cores=1)
    assert [(case.batch, case.vocab, case.threads) for case in cases] == [(8, 64, 1)]


def test_cases_stand_by_mode_then_batch_then_threads_then_vocabulary():
    asked = {"modes": ["top_p", "greedy"], "batch": [8, 1], "threads": [ALL, 1], "vocab": [9, 5], "rows": ["flat"]}
    found = [(c.mode, c.batch, c.threads, c.vocab) for c in cases_of(SIZES["quick"], asked, cores=2)]
    assert found[:5] == [
        ("greedy", 1, 1, 5), ("greedy", 1, 1, 9), ("greedy", 1, 2, 5), ("greedy", 1, 2, 9), ("greedy", 8, 1, 5),
    ]  # fmt: skip
    assert found[8][0] == "top_p"
    assert len(found) == 16


def test_rows_of_a_file_have_the_files_vocabulary_whatever_the_others_have():
    asked = {"modes": ["greedy"], "vocab": [5, 9], "rows": ["flat", FILE]}
    cases = cases_of(SIZES["quick"], asked, cores=1, file_vocab=7)
    assert [(case.rows, case.vocab) for case in cases] == [("flat", 5), (FILE, 7), ("flat", 9)]
