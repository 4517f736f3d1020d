"""transformers' tokens, against what torch 2.13.0 and transformers 5.24.0 drew on a CPU, and the doubts."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay.result import Replayed
from fairdraw.replay.torch_race import race, softmax
from fairdraw.replay.transformers import draw, replay
from fairdraw.streams.torch_mt19937 import TorchGenerator

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
PLAIN = fd.Plan.parse("transformers: do_sample=true top_k=0")


def tokens(steps) -> list[int]:
    return [step.token for step in steps]


def test_sixteen_tokens_are_those_of_generate():
    """Drawn by transformers 5.24.0 after torch.manual_seed(42)."""
    assert tokens(replay(PLAIN, [ROW] * 16, seed=42)) == [0, 2, 4, 2, 0, 0, 1, 0, 4, 0, 0, 3, 3, 0, 4, 2]


def test_the_penalty_follows_the_tokens_that_were_drawn():
    """Drawn by transformers 5.24.0 after torch.manual_seed(7), prompt [1, 2, 3]."""
    plan = fd.Plan.parse("transformers@5.24: do_sample=true top_k=3 repetition_penalty=1.3")
    prompt = fd.History(prompt=[1, 2, 3])
    steps = replay(plan, [ROW] * 16, seed=7, history=prompt)
    assert tokens(steps) == [0, 0, 1, 0, 1, 1, 1, 0, 2, 0, 1, 0, 0, 1, 0, 0]
    assert prompt.output_length == 0


def test_a_batch_shares_one_generator_row_after_row():
    """Drawn by transformers 5.24.0 for two prompts after torch.manual_seed(7)."""
    plan, generator = fd.Plan.parse("transformers: do_sample=true"), TorchGenerator(7)
    steps = [[draw(plan, ROW, generator).token for _ in range(2)] for _ in range(8)]
    assert np.transpose(steps).tolist() == [[0, 1, 4, 1, 2, 1, 0, 0], [0, 0, 1, 0, 0, 0, 1, 0]]


def test_eight_tokens_over_49152_ids_are_those_of_multinomial(real_rows):
    """Drawn by torch 2.13.0 after torch.manual_seed(42)."""
    steps = replay(PLAIN, [real_rows[0]] * 8, seed=42)
    assert tokens(steps) == [504, 504, 504, 504, 504, 3280, 504, 49]
    assert [step.doubt for step in steps] == [""] * 8


def test_seeds_2_to_the_32_apart_draw_alike():
    assert replay(PLAIN, [ROW] * 9, seed=42) == replay(PLAIN, [ROW] * 9, seed=2**32 + 42)


def test_a_cut_leaves_the_noise_of_the_ids_it_removes_in_place():
    """A token that stays and would have won without the cut still wins."""
    cut = fd.Plan.parse("transformers: do_sample=true top_k=3")
    pairs = list(zip(tokens(replay(PLAIN, [ROW] * 200, seed=1)), tokens(replay(cut, [ROW] * 200, seed=1)), strict=True))
    assert all(free == bound for free, bound in pairs if free < 3)
    assert any(free >= 3 for free, _ in pairs)


def test_a_greedy_plan_takes_the_first_best_and_no_noise():
    generator, fresh = TorchGenerator(3), TorchGenerator(3)
    assert draw(fd.Plan.parse("transformers: do_sample=false"), [1.0, 2.0, 2.0], generator) == Replayed(token=1)
    assert generator.words(1) == fresh.words(1)


def test_a_mask_forbids():
    mask = np.array([False, False, False, False, False, True])
    assert draw(PLAIN, ROW, TorchGenerator(0), mask=mask).token == 5


def test_equal_tokens_at_a_top_p_edge_raise_a_doubt_only_where_one_of_them_could_win():
    """Of four equal tokens top-p keeps two; an unstable sort says which."""
    plan = fd.Plan.parse("transformers: do_sample=true top_k=0 top_p=0.5")
    steps = replay(plan, [np.zeros(4, np.float32)] * 20, seed=0)
    assert all("unstable sort" in step.doubt for step in steps)
    mixed = np.log(np.float32([0.6, 0.1, 0.1, 0.1, 0.1]))
    plan = fd.Plan.parse("transformers: do_sample=true top_k=0 top_p=0.75")
    steps = replay(plan, [mixed] * 200, seed=0)
    sure = [step for step in steps if not step.doubt]
    assert {step.token for step in sure} == {0}
    assert 0.4 < len(sure) / 200 < 0.8


def test_a_cut_within_rounding_raises_a_doubt_only_where_it_matters():
    """[.2, .6, .1, .1] at 0.8: the engine's float32 keeps two tokens, the next float three."""
    plan = fd.Plan.parse("transformers: do_sample=true top_k=0 top_p=0.8")
    row = np.log(np.float32([0.2, 0.6, 0.15, 0.05]))
    steps = replay(plan, [row] * 200, seed=0)
    doubted = sum(bool(step.doubt) for step in steps)
    assert 0 < doubted < 100
    assert {step.token for step in steps if not step.doubt} <= {0, 1}


def test_arrivals_within_rounding_raise_a_doubt():
    noise = np.float32([1.0, np.nextafter(np.float32(1.0), np.float32(2)), 5.0])
    drawn = race(np.zeros(3, np.float32), np.arange(3), noise)
    assert (drawn.token, drawn.doubt) == (0, "ids [0, 1] arrive within float32 rounding of each other")
    assert race(np.zeros(3, np.float32), np.arange(3), np.float32([1.0, 1.001, 5.0])).doubt == ""


def test_equal_arrivals_go_to_the_lower_id():
    assert race(np.zeros(3, np.float32), np.arange(3), np.float32([2.0, 1.0, 1.0])).token == 1


def test_only_kept_ids_race_and_each_has_its_own_noise():
    """Weights 1/2 and 1/2: 2.0 arrives before 4.0; the noise of ids 0 and 2 is another's."""
    drawn = race(np.zeros(4, np.float32), np.array([1, 3]), np.float32([1.0, 4.0, 0.5, 2.0]))
    assert drawn.token == 3


def test_softmax_is_float32_and_leaves_out_what_is_not_kept():
    probabilities = softmax(np.float32([0.0, 9.0, 0.0, np.log(2.0)]), np.array([0, 2, 3]))
    assert probabilities.dtype == np.float32
    assert probabilities.tolist() == pytest.approx([0.25, 0.25, 0.5], rel=2e-7)


def test_a_plan_of_another_engine_is_refused():
    with pytest.raises(fd.PlanError, match="replays plans of transformers, got one of candle"):
        draw(fd.Plan.parse("candle: All temperature=1.0"), ROW, TorchGenerator(0))


def test_a_bad_row_is_refused():
    with pytest.raises(fd.LogitsError, match="have no NaN"):
        replay(PLAIN, [ROW, [float("nan"), 0.0]], seed=0)
