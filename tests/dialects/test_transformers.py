"""What only the transformers dialects have: the engine's order, its checks across parameters, watermarks as data."""

import json

import numpy as np
import pytest

import fairdraw as fd

FACTS = fd.ModelFacts(vocab_size=64, end_token_ids=(2,))
EVERYTHING = {
    "do_sample": True,
    "temperature": 0.7,
    "top_h": 0.9,
    "top_k": 40,
    "top_p": 0.9,
    "min_p": 0.01,
    "typical_p": 0.95,
    "epsilon_cutoff": 1e-4,
    "eta_cutoff": 1e-4,
    "guidance_scale": 1.5,
    "sequence_bias": {(1, 2): 0.5},
    "encoder_repetition_penalty": 1.2,
    "repetition_penalty": 1.1,
    "no_repeat_ngram_size": 3,
    "encoder_no_repeat_ngram_size": 3,
    "bad_words_ids": [[7]],
    "min_new_tokens": 4,
    "forced_bos_token_id": 1,
    "forced_eos_token_id": 2,
    "max_new_tokens": 9,
    "remove_invalid_values": True,
    "exponential_decay_length_penalty": (5, 1.5),
    "suppress_tokens": [8],
    "begin_suppress_tokens": [9],
    "watermarking_config": {"bias": 1.0},
    "renormalize_logits": True,
}
PROCESSORS = [
    *("guidance", "sequence_bias", "prompt_penalty", "repetition_penalty", "no_repeat_ngram", "no_prompt_ngram"),
    *("bad_words", "min_tokens", "forced_tokens", "forced_tokens", "finite_scores", "length_decay"),
    *("suppressed_tokens", "suppressed_tokens", "suppressed_tokens", "mask"),
]
CUTS = ["temperature", "top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta"]
LAST = ["watermark", "log_softmax"]


def resolve(**request) -> fd.Plan:
    return fd.Plan.resolve(request, dialect="transformers", facts=FACTS)


def names(plan: fd.Plan) -> list[str]:
    return [stage.name for stage in plan.stages]


@pytest.mark.parametrize("version", ["5.22", "5.24"])
def test_everything_at_once_runs_in_the_engines_order_and_greedy_leaves_out_the_cuts(version):
    for do_sample, order in ((True, [*PROCESSORS, *CUTS, *LAST]), (False, [*PROCESSORS, *LAST])):
        request = EVERYTHING | {"do_sample": do_sample}
        assert names(fd.Plan.resolve(request, dialect=f"transformers@{version}", facts=FACTS)) == order


def test_everything_at_once_reads_back_from_text_and_json():
    plan = resolve(**EVERYTHING)
    assert fd.Plan.parse(str(plan), facts=FACTS) == plan
    assert fd.Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_nothing_but_top_k_is_on_by_default():
    assert names(resolve(do_sample=True)) == ["mask", "top_k"]
    assert names(resolve()) == ["mask"]


def test_the_two_versions_differ_in_padding_and_in_the_order_of_biases():
    plans = [fd.Plan.resolve(EVERYTHING, dialect=f"transformers@{v}", facts=FACTS) for v in ("5.22", "5.24")]
    differing = [(a, b) for a, b in zip(*(plan.stages for plan in plans), strict=True) if a != b]
    assert [(a.name, a.order, b.order) for a, b in differing[:1]] == [("sequence_bias", "given", "by_length")]
    assert [(a.name, a.scope, b.scope) for a, b in differing[1:]] == [("repetition_penalty", "padded", "all")]


@pytest.mark.parametrize("name", ["epsilon_cutoff", "eta_cutoff"])
@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0, 2.0])
def test_a_cutoff_outside_0_to_1_is_off_as_in_the_engine(name, value):
    assert names(resolve(do_sample=True, top_k=0, **{name: value})) == ["mask"]


def test_min_new_tokens_takes_the_place_of_min_length():
    assert [stage.count for stage in resolve(min_length=9, min_new_tokens=2).stages[:-1]] == [2]
    assert [stage.count for stage in resolve(min_length=9).stages[:-1]] == [9]
    assert names(resolve(min_length=9, min_new_tokens=0)) == ["mask"]


@pytest.mark.parametrize(
    ("prompt", "output", "suppressed"),
    [
        ([5], [], False),
        ([5], [1], True),
        ([5], [1, 6], False),
        ([5, 6], [], True),
        ([5, 6], [1], False),
        ([5, 6, 7], [], True),
    ],
)
def test_a_forced_first_id_puts_the_beginning_off_after_a_prompt_of_one_id_alone(prompt, output, suppressed):
    plan = resolve(do_sample=True, top_k=0, forced_bos_token_id=1, begin_suppress_tokens=[1, 3])
    law = fd.law(plan, np.zeros(8), history=fd.History(prompt=prompt, output=output))
    allowed = [1] if len(prompt + output) == 1 else [0, 2, 4, 5, 6, 7] if suppressed else list(range(8))
    assert law.support.tolist() == allowed


def test_a_forced_last_id_needs_to_know_which_is_the_last():
    with pytest.raises(fd.ParameterError, match="forced_eos_token_id must be unset beside no max_new_tokens"):
        resolve(forced_eos_token_id=2)


@pytest.mark.parametrize("name", ["forced_bos_token_id", "forced_eos_token_id"])
def test_an_empty_list_of_forced_ids_is_refused(name):
    with pytest.raises(fd.ParameterError, match=f"{name} must be unset, or a non-empty list"):
        resolve(max_new_tokens=3, **{name: []})


def test_what_forces_the_end_needs_one():
    with pytest.raises(fd.ParameterError, match="must be unset where no end id is known") as caught:
        fd.Plan.resolve({"exponential_decay_length_penalty": [1, 1.5]}, dialect="transformers")
    assert caught.value.parameter == "exponential_decay_length_penalty"


@pytest.mark.parametrize("pair", [[1], [1, 2, 3], [-1, 1.5], [1.5, 1.5], [1, 0.0], 5, "12"])
def test_a_length_penalty_is_a_pair_of_a_length_and_a_factor(pair):
    with pytest.raises(fd.ParameterError, match="a pair"):
        resolve(exponential_decay_length_penalty=pair)


class Watermark:
    """The engine's own object, as far as it is read."""

    def to_dict(self) -> dict:
        return {"bias": 1.5, "context_width": 2}


def test_a_watermark_may_be_a_mapping_pairs_or_the_engines_object():
    ways = ({"bias": 1.5, "context_width": 2}, [["bias", 1.5], ["context_width", 2]], Watermark())
    plans = {resolve(watermarking_config=way) for way in ways}
    assert len(plans) == 1
    stage = plans.pop().stages[-1]
    assert (stage.bias, stage.share, stage.key, stage.scheme, stage.width) == (1.5, 0.25, 15_485_863, "lefthash", 2)


@pytest.mark.parametrize("fields", [{"greenlist_ratio": 1.0}, {"ngram_len": 5}, {"seeding_scheme": "none"}, 5, "bias"])
def test_a_watermark_with_other_fields_or_values_is_refused(fields):
    with pytest.raises(fd.ParameterError, match="watermarking_config must be a mapping with some of greenlist_ratio"):
        resolve(watermarking_config=fields)


def test_guidance_needs_the_second_row():
    plan = resolve(do_sample=True, guidance_scale=2.0)
    with pytest.raises(fd.ParameterError, match="a second row of logits"):
        fd.law(plan, np.zeros(4))
    weights = fd.law(plan, np.log([2.0, 1.0]), second=np.zeros(2))
    assert weights.probabilities == pytest.approx([0.8, 0.2])


def test_padding_is_text_for_all_but_the_repetition_penalty_of_5_24():
    padded = fd.History(prompt=[5, 6], left_padding=2)
    row = np.zeros(8)
    for request, changed in (
        ({"watermarking_config": {"context_width": 2}}, 2),
        ({"sequence_bias": {(5, 6, 3): 1.0}}, 1),
        ({"bad_words_ids": [[5, 6, 3]]}, 1),
        ({"encoder_repetition_penalty": 2.0}, 0),
        ({"no_repeat_ngram_size": 1}, 2),
        ({"encoder_no_repeat_ngram_size": 1}, 2),
    ):
        scores = fd.law(resolve(**request), row, history=padded).trace[-1].row.scores
        assert np.count_nonzero(scores) == changed, request


def test_equal_tokens_at_the_cut_of_top_h_are_open():
    law = fd.law(resolve(do_sample=True, top_k=0, top_h=0.5), np.zeros(4))
    assert [(tie.group.tolist(), tie.count) for tie in law.open_ties] == [([0, 1, 2, 3], 2)]
