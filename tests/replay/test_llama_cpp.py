"""llama.cpp's tokens, against what the engine's own library drew (xllamacpp 2026.10.11549, on a CPU)."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay.llama_cpp import Candidates, Chain, LlamaGenerator, draw, replay

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temperature": 1.0}
DRAWN = {
    (42, Chain()): [504, 34, 1605, 179, 4590, 10391, 10661, 253, 30, 57, 504, 34, 3563, 177, 19556, 7365],
    (7, Chain(top_k=0, top_p=1.0, min_p=0.0, temperature=1.5)): [
        504, 34, 45925, 26951, 4820, 7365, 393, 7270, 30, 6407, 24960, 34, 2944, 35094, 24364, 30233,
    ],
    (7, Chain(top_k=0, top_p=1.0, temperature=1.0)): [
        504, 34, 31431, 18614, 178, 7365, 267, 476, 28, 504, 504, 34, 1340, 30229, 4590, 10391,
    ],
    (1, Chain(top_k=0, top_p=0.9, min_p=0.0, temperature=1.0)): [
        2427, 34, 1340, 35804, 4590, 7365, 303, 2974, 9354, 7334, 504, 34, 10399, 178, 9085, 44392,
    ],
    (1, Chain(temperature=0.0)): [504, 34, 1340, 177, 504, 10391, 659, 476, 30, 504, 504, 34, 1340, 177, 504, 10391],
}  # fmt: skip


class Given:
    """A generator whose doubles are written down."""

    def __init__(self, *uniforms: float) -> None:
        self.uniforms = list(uniforms)

    def uniform(self) -> float:
        return self.uniforms.pop(0)


def candidates(*weights: float) -> Candidates:
    return Candidates(ids=np.arange(len(weights)), logits=np.log(np.float32(weights)))


@pytest.mark.parametrize(("seed", "chain"), DRAWN, ids=str)
def test_tokens_over_49152_ids_are_the_engine_s(real_rows, seed, chain):
    steps = replay(chain, [real_rows[step % 10] for step in range(16)], seed=seed)
    assert [step.token for step in steps] == DRAWN[seed, chain]
    assert [step.doubt for step in steps] == [""] * 16


def test_sixteen_draws_without_any_cut_are_the_engine_s():
    steps = replay(Chain(**OFF), [ROW] * 16, seed=42)
    assert [step.token for step in steps] == [2, 0, 2, 1, 1, 0, 1, 0, 0, 1, 0, 2, 4, 0, 5, 1]


def test_a_double_is_two_words_the_second_one_high():
    words = np.random.RandomState(42).randint(0, 2**32, size=2, dtype=np.uint64).tolist()
    assert LlamaGenerator(42).uniform() == (words[0] + words[1] * 2**32) / 2**64


def test_a_lone_candidate_uses_up_a_double_unless_the_version_spares_it():
    first, second = LlamaGenerator(3).uniform(), LlamaGenerator(3)
    second.uniform()
    lone = Candidates(ids=np.array([5]), logits=np.float32([0.0]))
    drawing, sparing = LlamaGenerator(3), LlamaGenerator(3)
    assert draw(lone, drawing).token == draw(lone, sparing, lone="spares").token == 5
    assert drawing.uniform() == second.uniform()
    assert sparing.uniform() == first


def test_the_walk_stops_where_the_sum_reaches_the_share():
    """Weights 4, 2, 2 of 8: edges at 1/2 and 3/4."""
    tokens = [draw(candidates(4, 2, 2), Given(u)).token for u in (0.0, 0.25, 0.49, 0.51, 0.74, 0.76, 0.99)]
    assert tokens == [0, 0, 0, 1, 1, 2, 2]


def test_a_uniform_on_an_edge_takes_the_token_before_it_and_says_that_this_is_in_doubt():
    drawn = draw(candidates(4, 2, 2), Given(0.5))
    assert (drawn.token, "edge between two tokens" in drawn.doubt) == (0, True)


def test_sorted_candidates_are_walked_from_the_best():
    row = np.log(np.float32([1, 2, 4]))
    assert draw(Chain(**OFF).apply(row), Given(0.3)).token == 1
    assert draw(Chain(**{**OFF, "top_k": 3}).apply(row), Given(0.3)).token == 2


def test_min_p_alone_leaves_the_order_of_ids():
    left = Chain(**{**OFF, "min_p": 0.3}).apply(np.log(np.float32([2, 1, 4])))
    assert (left.ids.tolist(), left.ordered) == ([0, 2], False)


def test_top_p_counts_at_temperature_1():
    """0.6 and 0.3 reach 0.85; at temperature 2 three tokens would be needed."""
    left = Chain(**{**OFF, "top_p": 0.85, "temperature": 2.0}).apply(np.log(np.float32([0.1, 0.6, 0.3])))
    assert left.ids.tolist() == [1, 2]


def test_a_prefix_that_lands_on_p_stops():
    assert Chain(**{**OFF, "top_p": 0.5}).apply([0.0, 0.0]).ids.tolist() == [0]


def test_min_p_one_keeps_the_best_and_its_equals_without_a_doubt():
    left = Chain(**{**OFF, "min_p": 1.0}).apply([1.0, 2.0, 2.0])
    assert (left.ids.tolist(), left.doubts) == ([1, 2], ())


def test_top_p_counts_inside_top_k():
    """Of 4, 3, 2, 1 the best two are 4/7 and 3/7: 0.55 keeps one; of all ten tenths it would keep two."""
    row = np.log(np.float32([4, 3, 2, 1]))
    assert Chain(**{**OFF, "top_k": 2, "top_p": 0.55}).apply(row).ids.tolist() == [0]
    assert Chain(**{**OFF, "top_p": 0.55}).apply(row).ids.tolist() == [0, 1]


def test_min_keep_holds_tokens_back_from_top_p_and_min_p():
    row = np.log(np.float32([8, 4, 2, 1]))
    assert Chain(**{**OFF, "top_p": 0.1, "min_keep": 2}).apply(row).ids.tolist() == [0, 1]
    assert Chain(**{**OFF, "min_p": 0.9, "min_keep": 3}).apply(row).ids.tolist() == [0, 1, 2]


def test_top_p_zero_keeps_one():
    assert Chain(**{**OFF, "top_p": 0.0}).apply(ROW).ids.tolist() == [0]


def test_temperature_zero_takes_the_first_best_and_uses_up_a_double():
    generator, other = LlamaGenerator(1), LlamaGenerator(1)
    other.uniform()
    assert draw(Chain(**{**OFF, "temperature": 0.0}).apply([1.0, 3.0, 3.0]), generator).token == 1
    assert generator.uniform() == other.uniform()


def test_equals_that_a_sort_met_raise_a_doubt_and_others_do_not():
    left = Chain(**{**OFF, "top_k": 3}).apply(np.log(np.float32([4, 1, 2, 1])))
    assert (left.ids.tolist(), left.tied.tolist()) == ([0, 2, 1], [1, 3])
    assert draw(left, Given(0.2)).doubt == ""
    assert draw(left, Given(0.99)).doubt == "the engine's sort leaves the order of id 1 and its equals open"


def test_equals_that_were_never_sorted_raise_no_doubt():
    assert draw(Chain(**OFF).apply(np.zeros(4, np.float32)), Given(0.3)).doubt == ""


def test_a_top_p_cut_within_rounding_raises_a_doubt():
    chain = Chain(**{**OFF, "top_p": 0.75})
    assert "top_p's cut" in draw(chain.apply(np.log(np.float32([0.5, 0.25, 0.25]))), Given(0.1)).doubt
    assert draw(chain.apply(np.log(np.float32([0.5, 0.3, 0.2]))), Given(0.1)).doubt == ""


@pytest.mark.parametrize("seed", [2**32 - 1, -1, 2**32, 0.5])
def test_a_seed_that_cannot_be_drawn_again_is_refused(seed):
    with pytest.raises(fd.ParameterError, match=r"seed must be a whole number in 0\.\.4294967294"):
        LlamaGenerator(seed)


@pytest.mark.parametrize("values", [{"top_k": 1.5}, {"top_p": float("nan")}, {"temperature": "hot"}, {"min_keep": -1}])
def test_a_bad_number_is_refused_by_name(values):
    with pytest.raises(fd.ParameterError, match=f"{next(iter(values))} must be"):
        Chain(**values)


def test_no_candidate_and_an_unknown_word_are_refused():
    with pytest.raises(fd.ParameterError, match="candidates must be at least one token"):
        draw(Candidates(ids=np.zeros(0, np.int64), logits=np.zeros(0, np.float32)), LlamaGenerator(0))
    with pytest.raises(fd.ParameterError, match="lone must be one of"):
        draw(candidates(1, 1), LlamaGenerator(0), lone="maybe")
