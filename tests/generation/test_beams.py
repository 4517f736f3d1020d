from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.constraints.choice import Choice
from fairdraw.draws import Greedy
from fairdraw.generation.beam_search import beam_search
from fairdraw.generation.beams import (
    Beams,
    Ended,
    continuations,
    goes_on,
    part,
    penalised_score,
    transformers_beams,
    vllm_beams,
    with_ended,
)
from fairdraw.models.scripted import ScriptedModel
from fairdraw.one_token import remember
from fairdraw.stages import Mirostat2, Xtc

PLAIN = fd.Plan.of()
NEVER_ENDS = ()


def tabular(
    laws: dict, texts: tuple[bytes, ...] = (b"a", b"b", b"c", b"d"), ends: tuple[int, ...] = ()
) -> ScriptedModel:
    """Probabilities by the tokens after the prompt, which is one token."""
    with np.errstate(divide="ignore"):
        rows = {tokens: np.log(law) for tokens, law in laws.items()}
    return ScriptedModel(law=lambda tokens: rows[tokens[1:]], texts=texts[: len(laws[()])], ends=ends)


def random_model(seed: int, vocab: int, ends: tuple[int, ...]) -> ScriptedModel:
    def law(tokens: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng([seed, *tokens]).normal(size=vocab) * 2

    return ScriptedModel(law=law, texts=(b"a", b"b", b"c", b"d")[:vocab], ends=ends)


def every_text(model: ScriptedModel, plan: fd.Plan, most: int, ends: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Logprob of each whole text, by the law of each of its tokens."""
    whole: dict[tuple[int, ...], float] = {}
    growing = {(): 0.0}
    for length in range(1, most + 1):
        longer = {}
        for tokens, logprob in growing.items():
            history = fd.History(prompt=[0], output=tokens)
            law = fd.law(plan, model.start().feed([0, *tokens]), history=history)
            for token in law.support.tolist():
                after = logprob + math.log(law.probabilities[token])
                (whole if token in ends or length == most else longer)[(*tokens, token)] = after
        growing = longer
    return whole


@pytest.mark.parametrize("penalty", [-1.0, 0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("rules", ["together", "each"])
def test_with_room_for_every_beginning_it_is_exhaustive_search(penalty, rules):
    more = {"early_stopping": "off"} if rules == "each" else {}
    for seed in range(6):
        vocab, most, ends = ((3, 4, (0,)), (4, 3, (1, 2)), (2, 5, (1,)))[seed % 3]
        model = random_model(seed, vocab, ends)
        texts = every_text(model, PLAIN, most, ends)
        expected = sorted(texts, key=lambda tokens: -texts[tokens] / len(tokens) ** penalty)
        beams = Beams(width=len(texts), length_penalty=penalty, candidates=rules, **more)
        found = beam_search(model, [0], PLAIN, beams, max_tokens=most).texts
        assert [text.tokens for text in found] == expected
        assert [text.logprob for text in found] == pytest.approx([texts[tokens] for tokens in expected], abs=1e-6)
        assert [text.finish_reason == "stop" for text in found] == [tokens[-1] in ends for tokens in expected]


def test_with_never_the_best_text_is_found_by_any_width_that_holds_all_beginnings():
    """Two ends and one other token: one beginning of each length, and three candidates a step."""
    for seed in range(40):
        model = random_model(seed, 3, (0, 1))
        texts = every_text(model, PLAIN, 6, (0, 1))
        for penalty in (-0.5, 0.0, 1.0, 3.0):
            best = max(texts, key=lambda tokens: texts[tokens] / len(tokens) ** penalty)
            beams = Beams(width=3, sequences=1, length_penalty=penalty)
            (found,) = beam_search(model, [0], PLAIN, beams, max_tokens=6).texts
            assert found.tokens == best, (seed, penalty)


GARDEN = tabular(
    {
        (): [0.5, 0.3, 0.2],
        (0,): [0.34, 0.33, 0.33],
        (1,): [0.5, 0.25, 0.25],
        (2,): [1.0, 0.0, 0.0],
    }
)


@pytest.mark.parametrize(("width", "text", "chance"), [(1, "aa", 0.17), (2, "aa", 0.17), (3, "ca", 0.2)])
def test_a_garden_path_of_the_third_likeliest_word_is_missed_by_widths_1_and_2(width, text, chance):
    (found,) = beam_search(GARDEN, [0], PLAIN, Beams(width=width, sequences=1), max_tokens=2).texts
    assert (found.text, math.exp(found.logprob)) == (text, pytest.approx(chance, abs=1e-7))


def test_a_deeper_garden_path_needs_the_second_beam_for_two_steps():
    laws = {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.9, 0.1], (0, 0): [0.55, 0.45], (0, 1): [0.5, 0.5]}
    laws |= {(1, 0): [1.0, 0.0], (1, 1): [0.5, 0.5]}
    texts = [beam_search(tabular(laws), [0], PLAIN, Beams(width=w), max_tokens=3).texts[0] for w in (1, 2)]
    assert [(text.text, round(math.exp(text.logprob), 6)) for text in texts] == [("aaa", 0.165), ("baa", 0.36)]


def test_equal_scores_go_to_the_lower_beam_then_the_lower_id():
    found = continuations(Beams(width=2), np.array([[-2.0, -1.0, -2.0], [-2.0, -1.0, -1.0]]), 1)
    assert list(zip(found.parents.tolist(), found.tokens.tolist(), strict=True)) == [(0, 1), (1, 1), (1, 2), (0, 0)]


def test_equal_texts_come_in_the_order_of_their_ids():
    model = ScriptedModel(law=lambda tokens: [0.0, 0.0, 0.0], texts=(b"a", b"b", b"c"))
    found = beam_search(model, [0], PLAIN, Beams(width=4), max_tokens=2)
    assert [text.text for text in found.texts] == ["aa", "ab", "ac", "ba"]


def test_of_equal_ended_texts_the_older_stands_first_and_the_set_keeps_the_width():
    def text(token: int, value: float) -> Ended:
        return Ended(tokens=(token,), logprob=value, score=value, reason="stop")

    old, new = [text(1, -1.0), text(2, -2.0)], [text(3, -1.0), text(4, -3.0)]
    assert [one.tokens for one in with_ended(Beams(width=3), old, new)] == [(1,), (3,), (2,)]
    each = Beams(width=3, candidates="each", early_stopping="off")
    assert [one.tokens for one in with_ended(each, old, new)] == [(1,), (3,), (2,), (4,)]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([3, 100, 33000]), st.integers(1, 40))
def test_candidates_are_the_head_of_the_whole_order(seed, running, vocab, width):
    random = np.random.default_rng(seed)
    totals = np.round(random.normal(size=(running, vocab)) * 8) / 8
    totals[random.random(totals.shape) < 0.2] = -np.inf
    flat = totals.ravel()
    order = np.lexsort((np.arange(flat.size), -flat))
    order = order[flat[order] > -np.inf][: 3 * width]
    found = continuations(Beams(width=width), totals, 2)
    assert (found.parents * vocab + found.tokens).tolist() == order.tolist()
    assert found.scores.tolist() == flat[order].tolist()


def test_each_takes_two_widths_of_every_beam():
    totals = np.array([[-1.0, -2.0, -3.0, -9.0], [-1.5, -2.5, -3.5, -0.5]])
    found = continuations(vllm_beams(beam_width=1), totals, 1)
    assert list(zip(found.parents.tolist(), found.tokens.tolist(), strict=True)) == [(1, 3), (0, 0), (1, 0), (0, 1)]


def test_an_end_behind_the_first_width_candidates_counts_for_vllm_alone():
    totals = np.log([[0.5, 0.3, 0.2]])
    for beams, tokens in ((transformers_beams(num_beams=2), []), (vllm_beams(beam_width=2), [2])):
        found = continuations(beams, totals, 1)
        running, ending = part(beams, found, found.tokens == 2)
        assert (running.tokens.tolist(), ending.tokens.tolist()) == ([0, 1], tokens)


def test_so_many_candidates_are_looked_at_that_the_width_runs_on_past_several_ends():
    """Three ends take the first three places of each beam."""
    totals = np.log([[0.3, 0.25, 0.2, 0.15, 0.1], [0.3, 0.25, 0.2, 0.15, 0.1]])
    found = continuations(Beams(width=2), totals, 3)
    running, ending = part(Beams(width=2), found, found.tokens < 3)
    assert list(zip(running.parents.tolist(), running.tokens.tolist(), strict=True)) == [(0, 3), (1, 3)]
    assert list(zip(ending.parents.tolist(), ending.tokens.tolist(), strict=True)) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(
    ("length", "end", "value"),
    [
        ("generated", 1, -12.0 / 4**0.5),
        ("generated_but_end", 1, -12.0 / 3**0.5),
        ("generated_but_end", 0, -12.0 / 4**0.5),
        ("whole_but_end", 1, -12.0 / 9**0.5),
    ],
)
def test_the_penalty_counts_the_tokens_that_the_rule_names(length, end, value):
    beams = Beams(width=1, length_penalty=0.5, length=length)
    assert penalised_score(beams, -12.0, prompt=6, generated=4, end=end) == value


def test_a_text_that_is_nothing_but_its_end_counts_one_token():
    assert (
        penalised_score(
            Beams(width=1, length_penalty=1, length="generated_but_end"), -2.0, prompt=1, generated=1, end=1
        )
        == -2
    )


@pytest.mark.parametrize(
    ("early", "penalty", "best", "on"),
    [
        ("full", 1.0, -0.1, False),
        ("heuristic", 1.0, -1.9, True),
        ("heuristic", 1.0, -2.0, False),
        ("never", 1.0, -4.9, True),
        ("never", 1.0, -5.0, False),
        ("never", 0.0, -1.0, False),
        ("never", -1.0, -0.49, True),
        ("never", -1.0, -0.5, False),
        ("off", 1.0, -99.0, True),
    ],
)
def test_a_search_stops_when_the_best_running_text_cannot_beat_the_worst_ended_one(early, penalty, best, on):
    """The worst has -1; two tokens so far, at most five."""
    ended = [Ended(tokens=(i,), logprob=s, score=s, reason="stop") for i, s in ((0, -0.5), (1, -1.0))]
    beams = Beams(width=2, length_penalty=penalty, early_stopping=early)
    assert goes_on(beams, ended, best, prompt=1, generated=2, most=5) is on
    assert goes_on(beams, ended[:1], best, prompt=1, generated=2, most=5)


def test_the_heuristic_gives_up_a_long_text_that_never_finds():
    """End at once: score -0.7 / 1.  The other way costs 1.6 at first and nothing after: -1.6 / 4 at the end."""
    laws = {(): [0.5, 0.3, 0.2]} | {(2,) * n: [0.0, 0.0, 1.0] for n in (1, 2, 3)}
    laws |= {(1, *(2,) * n): [0.0, 0.0, 1.0] for n in range(3)}
    model = tabular(laws, ends=(0,))
    found = {
        early: beam_search(
            model, [0], PLAIN, Beams(width=1, length_penalty=1, early_stopping=early), max_tokens=4
        ).texts[0]
        for early in ("full", "heuristic", "never")
    }
    assert found["full"].tokens == found["heuristic"].tokens == (0,)
    assert found["never"].tokens == (1, 2, 2, 2)
    assert found["never"].score == pytest.approx(math.log(0.3) / 4)


PENALISED = fd.Plan.resolve(
    {"temperature": 0.8, "repetition_penalty": 1.7, "presence_penalty": 0.3, "bad_words_ids": [[1, 1], [2, 0]]}
)


def test_stages_see_the_history_of_their_own_beam():
    for seed in range(8):
        model = random_model(seed, 3, (0,))
        texts = every_text(model, PENALISED, 4, (0,))
        found = beam_search(model, [0], PENALISED, Beams(width=len(texts)), max_tokens=4).texts
        assert {text.tokens: text.logprob for text in found} == pytest.approx(texts, abs=1e-6)


def test_scores_of_the_stages_on_logprobs_are_not_normalised_again():
    """Halves and quarters; the penalty doubles the logprob of the prompt's token 0, and a bad word takes token 2."""
    model = ScriptedModel(law=lambda tokens: np.log([0.5, 0.25, 0.25]) + 3.0, texts=(b"a", b"b", b"c"))
    plan = fd.Plan.resolve({"repetition_penalty": 2.0, "bad_words_ids": [[2]]}, dialect="transformers@5.24")
    found = beam_search(model, [0], plan, transformers_beams(num_beams=2, num_return_sequences=2), max_tokens=1)
    assert [text.tokens for text in found.texts] == [(0,), (1,)]
    assert [text.score for text in found.texts] == pytest.approx([2 * math.log(0.5), math.log(0.25)], abs=1e-6)


def test_raw_scores_are_the_models_own_and_what_is_forbidden_stays_so():
    model = ScriptedModel(law=lambda tokens: np.log([0.5, 0.25, 0.25]), texts=(b"a", b"b", b"c"))
    plan = fd.Plan.resolve({"temperature": 0.5, "repetition_penalty": 2.0, "bad_words_ids": [[2]]})
    found = beam_search(model, [0], plan, vllm_beams(beam_width=2), max_tokens=1)
    assert [text.logprob for text in found.texts] == pytest.approx([math.log(0.5), math.log(0.25)], abs=1e-6)


def test_vllm_goes_to_the_limit_counts_the_prompt_and_lets_running_texts_join_at_the_end():
    laws = {(): [0.6, 0.3, 0.1], (1,): [0.1, 0.8, 0.1], (2,): [0.1, 0.8, 0.1], (1, 1): [0.2, 0.7, 0.1]}
    laws |= {(1, 2): [0.2, 0.7, 0.1], (2, 1): [0.2, 0.7, 0.1]}
    found = beam_search(tabular(laws, ends=(0,)), [0], PLAIN, vllm_beams(beam_width=2), max_tokens=3).texts
    assert [text.tokens for text in found] == [(1, 1, 1), (0,)]
    assert [text.score for text in found] == pytest.approx([math.log(0.168) / 4, math.log(0.6) / 1], abs=1e-6)
    assert [text.finish_reason for text in found] == ["length", "stop"]


def test_a_stateful_stage_remembers_for_each_beam_apart():
    plan = fd.Plan.of(Mirostat2(tau=1.0, eta=0.5))
    model = random_model(3, 4, NEVER_ENDS)
    found = beam_search(model, [0], plan, Beams(width=6), max_tokens=4)
    assert len(found.texts) > 1
    for text in found.texts:
        logprob, memory = 0.0, None
        for step, token in enumerate(text.tokens):
            history, row = (
                fd.History(prompt=[0], output=text.tokens[:step]),
                model.start().feed([0, *text.tokens[:step]]),
            )
            logprob += math.log(fd.law(plan, row, history=history, memory=memory).probabilities[token])
            memory = remember(plan, row, token, seed=0, position=0, history=history, memory=memory)
        assert text.logprob == pytest.approx(logprob, abs=1e-6)


TEXTS = (b"<end>", b"ye", b"s", b"no", b"ne", b"zzz")
MASKED = fd.Plan.parse("fairdraw: temperature=1")


def test_under_a_constraint_each_beam_follows_its_own_track():
    model = ScriptedModel(law=lambda tokens: [0.0, 1.0, 0.0, 2.0, -3.0, 9.0], texts=TEXTS, ends=(0,))
    found = beam_search(model, [5], MASKED, Beams(width=4), max_tokens=4, constraint=Choice(("yes", "none", "no")))
    assert sorted(text.text for text in found.texts) == ["no", "none", "yes"]
    assert {text.finish_reason for text in found.texts} == {"stop"}


def test_a_beam_at_a_dead_end_is_given_up_and_all_of_them_are_an_error():
    plan = fd.Plan.resolve({"bad_words_ids": [[1, 0], [1, 1], [1, 2]]})
    model = ScriptedModel(law=lambda tokens: [0.0, 5.0, 0.0], texts=(b"a", b"b", b"c"))
    found = beam_search(model, [0], plan, Beams(width=2), max_tokens=2)
    assert [text.text for text in found.texts] == ["ab", "aa"]
    with pytest.raises(fd.LogitsError, match="logits after bad_words, 1 tokens into the output"):
        beam_search(model, [0], plan, Beams(width=1), max_tokens=2)


def test_the_end_token_is_not_shown_and_no_text_ends_before_min_tokens():
    model = ScriptedModel(law=lambda tokens: [3.0, 1.0, 0.0], texts=TEXTS[:3], ends=(0,))
    facts = fd.ModelFacts(vocab_size=3, end_token_ids=(0,))
    plan = fd.Plan.resolve({"min_tokens": 2, "stop_token_ids": [2]}, facts=facts)
    best = beam_search(model, [1], plan, Beams(width=2, sequences=1), max_tokens=5).texts
    assert [(text.text, text.tokens, text.finish_reason) for text in best] == [("yeye", (1, 1, 0), "stop")]


def test_without_a_stage_that_forbids_it_an_early_end_is_a_token_like_any_other_as_in_generate():
    model = ScriptedModel(law=lambda tokens: [3.0, 1.0, 0.0], texts=TEXTS[:3], ends=(0,))
    plan = fd.Plan.of(draw=Greedy(), limits=fd.Limits(min_tokens=2))
    (found,) = beam_search(model, [1], plan, Beams(width=1), max_tokens=5).texts
    alone = fd.generate(model, [1], plan, seed=1, max_tokens=5)
    assert found.tokens == alone.tokens == (0, 0, 0)
    assert (found.text, found.finish_reason) == (alone.text, alone.finish_reason)


def test_max_tokens_0_gives_one_empty_text():
    found = beam_search(GARDEN, [0], PLAIN, Beams(width=2), max_tokens=0)
    assert [(text.tokens, text.text, text.finish_reason) for text in found.texts] == [((), "", "length")]


def test_the_context_of_the_model_ends_the_search():
    model = ScriptedModel(law=lambda tokens: [0.0, 1.0], texts=(b"a", b"b"), context_length=4)
    assert beam_search(model, [0, 0], PLAIN, Beams(width=2)).texts[0].text == "bb"


def test_the_model_is_asked_once_for_the_prompt_and_once_for_each_running_beam():
    asked = []
    model = ScriptedModel(law=lambda tokens: asked.append(tokens) or [0.0, 1.0, 0.5], texts=(b"a", b"b", b"c"))
    found = beam_search(model, [0, 0], PLAIN, Beams(width=2), max_tokens=3)
    assert found.rows == len(asked) == len(set(asked)) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stop": ["x"]}, "stop must be empty with beams"),
        ({"logprobs": 1}, "logprobs must be None with beams"),
        ({"n": 2}, "n must be 1 here"),
        ({"seed": 1}, "seed must be None for a search"),
    ],
)
def test_a_limit_that_beams_do_not_have_is_refused(change, message):
    with pytest.raises(fd.ParameterError, match=message):
        beam_search(GARDEN, [0], fd.Plan.resolve(change), Beams(width=2), max_tokens=2)


def test_chance_and_draws_with_a_law_of_their_own_are_refused():
    with pytest.raises(fd.PlanError, match="stages without chance, got xtc"):
        beam_search(GARDEN, [0], fd.Plan.of(Xtc(probability=0.5, threshold=0.1)), Beams(width=2), max_tokens=2)
    plan = fd.Plan.parse("candle: GumbelSoftmax temperature=0.7")
    with pytest.raises(fd.PlanError, match="got clipped_gumbel"):
        beam_search(GARDEN, [0], plan, Beams(width=2), max_tokens=2)
    sampled = fd.Plan.parse("transformers: do_sample=true")
    with pytest.raises(fd.PlanError, match="is no search"):
        beam_search(GARDEN, [0], sampled, transformers_beams(num_beams=2), max_tokens=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beams(width=0), r"width must be a whole number in 1\.\.65536"),
        (lambda: Beams(width=2, sequences=3), "sequences must be at most width, 2"),
        (lambda: Beams(width=2, early_stopping=True), "early_stopping must be one of 'never'"),
        (lambda: Beams(width=2, candidates="each"), "early_stopping must be 'off'"),
        (lambda: transformers_beams(num_beams=1), "1 is greedy search in transformers"),
        (lambda: transformers_beams(num_beams=2, num_return_sequences=3), "num_return_sequences must be"),
        (lambda: transformers_beams(num_beams=2, early_stopping="no"), "true, false or 'never'"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, message):
    with pytest.raises(fd.ParameterError, match=message):
        make()


def test_json_is_plain_and_complete():
    import json

    found = beam_search(GARDEN, [0], PLAIN, Beams(width=3, sequences=1), max_tokens=2)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert (data["beams"]["width"], data["texts"][0]["text"], data["seed"]) == (3, "ca", None)
