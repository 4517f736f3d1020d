import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import LogitBias, PresenceFrequencyPenalty, RepetitionPenalty, Temperature
from stages.one_stage import law, scores

FOUR = [2.0, 1.0, -1.0, 0.5]
SEEN = fd.History(prompt=[0, 2], output=[1, 1])
REPETITION = RepetitionPenalty(penalty=2.0)


def test_f11_vllm_repetition_sees_the_prompt_and_the_others_do_not():
    additive = PresenceFrequencyPenalty(presence=0.5, frequency=0.25)
    assert scores(FOUR, REPETITION, additive, history=SEEN) == [1, -0.5, -2, 0.5]


def test_f11_transformers_repetition_alone():
    plan = fd.Plan.parse("transformers: do_sample=true repetition_penalty=2.0")
    assert fd.law(plan, FOUR, history=SEEN).trace[-1].row.scores.tolist() == [1, 0.5, -2, 0.5]


def test_f11_llama_cpp_all_three_over_prompt_and_output():
    additive = PresenceFrequencyPenalty(presence=0.5, frequency=0.25, scope="all", operation="together")
    assert scores(FOUR, REPETITION, additive, history=SEEN) == [0.25, -0.5, -2.75, 0.5]


def test_f11_candle_sees_the_context_that_it_is_given():
    plan = fd.Plan.parse("candle: All temperature=1 repeat_penalty=2.0")
    rows = [fd.law(plan, FOUR, history=fd.History(prompt=ids)).trace[-1].row.scores.tolist() for ids in ([], [0], [2])]
    assert rows == [FOUR, [1, 1, -1, 0.5], [2, 1, -2, 0.5]]


def test_repetition_counts_an_id_once_however_often_it_was_seen():
    assert scores([8.0, 1.0], REPETITION, history=fd.History(prompt=[0] * 80)) == [4.0, 1.0]


def test_presence_counts_once_and_frequency_each_time():
    history = fd.History(output=[0, 0, 0, 1])
    assert scores([1.0, 1.0, 1.0], PresenceFrequencyPenalty(presence=0.5), history=history) == [0.5, 0.5, 1]
    assert scores([1.0, 1.0, 1.0], PresenceFrequencyPenalty(frequency=0.5), history=history) == [-0.5, 0.5, 1]
    assert scores([1.0, 1.0, 1.0], PresenceFrequencyPenalty(frequency=-0.5), history=history) == [2.5, 1.5, 1]


@pytest.mark.parametrize(
    ("scope", "expected"), [("all", [2, 3, 2, 0.5]), ("output", [4, 3, 2, 0.5]), ("padded", [2, 1.5, 2, 0.5])]
)
def test_a_scope_is_the_output_or_the_prompt_too_or_its_padding_too(scope, expected):
    history = fd.History(prompt=[1, 0], output=[3], left_padding=1)
    assert scores([4.0, 3.0, 2.0, 1.0], RepetitionPenalty(penalty=2.0, scope=scope), history=history) == expected


@pytest.mark.parametrize("back", [10, 20, 21, 45])
@pytest.mark.parametrize("window", [20, 64, 128, None])
def test_f12_a_window_reaches_exactly_as_far_back_as_it_says(window, back):
    """The token was last seen so many tokens back: 1 is the last."""
    history = fd.History(prompt=[1] * 60, output=[0, *[1] * (back - 1)])
    expected = -2.0 if window is not None and back > window else -3.0
    assert scores([-2.0, 0.0], RepetitionPenalty(penalty=1.5, window=window), history=history)[0] == expected


@pytest.mark.parametrize("back", [10, 20, 21, 45])
def test_f12_a_window_follows_a_history_that_grows(back):
    stage, history = RepetitionPenalty(penalty=1.5, window=20), fd.History(prompt=[0])
    history.counts("all", 20)
    for _ in range(back - 1):
        history.append(1)
    assert scores([-2.0, 0.0], stage, history=history)[0] == (-3.0 if back <= 20 else -2.0)


def test_f12_a_window_of_presence_and_frequency_too():
    history = fd.History(output=[0, 0, 1, 0])
    assert scores([0.0, 0.0], PresenceFrequencyPenalty(frequency=1.0, window=3), history=history) == [-2, -1]
    assert scores([0.0, 0.0], PresenceFrequencyPenalty(frequency=1.0, window=1), history=history) == [-1, 0]


def test_f12_the_window_of_the_fairdraw_dialect_is_penalty_last_n_and_0_is_all():
    history = fd.History(prompt=[0, 1, 1])
    rows = {
        n: fd.law(fd.Plan.parse(f"fairdraw: repetition_penalty=2 penalty_last_n={n}"), [4.0, 4.0], history=history)
        for n in (0, 2, 3)
    }
    assert {n: w.trace[-1].row.scores.tolist() for n, w in rows.items()} == {0: [2, 2], 2: [4, 2], 3: [2, 2]}


def test_f13_padding_is_penalised_by_transformers_5_22_and_skipped_by_5_24():
    history = fd.History(prompt=[0, 0, 5], left_padding=2)
    texts = [f"transformers@{version}: do_sample=true repetition_penalty=2.0" for version in ("5.22", "5.24")]
    rows = [fd.law(fd.Plan.parse(t), [4.0, 3, 2, 1, 0, 5], history=history).trace[-1].row.scores for t in texts]
    assert [row.tolist() for row in rows] == [[2, 3, 2, 1, 0, 2.5], [4, 3, 2, 1, 0, 2.5]]
    ours = fd.law(fd.Plan.parse("fairdraw: repetition_penalty=2.0"), [4.0, 3, 2, 1, 0, 5], history=history)
    assert ours.trace[-1].row.scores.tolist() == [4, 3, 2, 1, 0, 2.5]


def test_the_sign_decides_between_dividing_and_multiplying_and_zero_stays():
    assert scores([4.0, -4.0, 0.0], REPETITION, history=fd.History(prompt=[0, 1, 2])) == [2, -8, 0]
    half = RepetitionPenalty(penalty=0.5)
    assert scores([4.0, -4.0, 0.0], half, history=fd.History(prompt=[0, 1, 2])) == [8, -2, 0]


def test_a_penalty_is_float32_like_the_engines():
    x = np.float32(1.7)
    row = scores([float(x), 0.0], RepetitionPenalty(penalty=1.1), history=fd.History(prompt=[0]))
    assert row[0] == float(x / np.float32(1.1))
    assert row[0] != float(np.float32(float(x) / 1.1))


def test_frequency_then_presence_and_both_together_round_differently():
    x, f, p = np.float32(2.3), np.float32(0.3), np.float32(0.7)
    history = fd.History(output=[0] * 3)
    rows = [
        scores([x], PresenceFrequencyPenalty(presence=0.7, frequency=0.3, operation=operation), history=history)[0]
        for operation in ("frequency_first", "together")
    ]
    assert rows == [float(x - np.float32(3) * f - p), float(x - (np.float32(3) * f + p))]
    assert rows[0] != rows[1]


def test_d22_the_order_of_repetition_and_frequency():
    history = fd.History(output=[0, 0])
    repetition, frequency = RepetitionPenalty(penalty=1.5), PresenceFrequencyPenalty(frequency=0.8)
    first = law([2, 1, 0.5], repetition, frequency, history=history)
    last = law([2, 1, 0.5], frequency, repetition, history=history)
    assert first.probabilities.round(4).tolist() == [0.1492, 0.5296, 0.3212]
    assert last.probabilities.round(4).tolist() == [0.2302, 0.4792, 0.2906]


def test_d23_the_order_of_presence_and_temperature():
    history = fd.History(output=[0])
    presence, half = PresenceFrequencyPenalty(presence=1.0), Temperature(value=0.5)
    assert law([2, 1, 0.5], presence, half, history=history).probabilities.round(4).tolist() == [0.4223, 0.4223, 0.1554]
    divided = Temperature(value=0.5, operation="divide")
    last = law([2, 1, 0.5], divided, presence, history=history)
    assert last.probabilities.round(4).tolist() == [0.6652, 0.2447, 0.09]


def test_d20_d21_d24_scopes_and_windows_as_laws():
    history = fd.History(prompt=[0], output=[1])
    row = [1, 0.8, 0.6, 0.4]
    whole = law(row, RepetitionPenalty(penalty=1.5), history=history)
    assert whole.probabilities.round(4).tolist() == [0.2796, 0.2447, 0.2616, 0.2141]
    output = law(row, RepetitionPenalty(penalty=1.5, scope="output"), history=history)
    assert output.probabilities.round(4).tolist() == [0.3513, 0.2203, 0.2355, 0.1928]
    twice = fd.History(prompt=[0, 0], output=[1])
    additive = [PresenceFrequencyPenalty(presence=0.5, frequency=0.3, scope=scope) for scope in ("output", "all")]
    laws = [law(row, stage, history=twice).probabilities.round(4).tolist() for stage in additive]
    assert laws == [[0.3865, 0.1422, 0.2591, 0.2121], [0.1734, 0.1916, 0.3491, 0.2859]]


def test_d25_bias_and_repetition_in_both_orders():
    history = fd.History(output=[0])
    bias = LogitBias(bias={0: 2.0})
    first = law([-1, 0.5, 0], bias, REPETITION, history=history)
    last = law([-1, 0.5, 0], REPETITION, bias, history=history)
    assert first.probabilities.round(4).tolist() == [0.3837, 0.3837, 0.2327]
    assert last.probabilities.round(4).tolist() == [0.2741, 0.4519, 0.2741]


def test_a_forbidden_token_stays_forbidden():
    history = fd.History(prompt=[0], output=[0])
    for stage in (REPETITION, RepetitionPenalty(penalty=0.5), PresenceFrequencyPenalty(presence=-5.0)):
        assert scores([-np.inf, 1.0], stage, history=history) == [-np.inf, 1.0]


def test_an_unknown_id_of_the_history_is_an_error_or_ignored_as_the_engine_does():
    history = fd.History(prompt=[0, 7])
    with pytest.raises(fd.ParameterError, match=r"history must be a token id in 0..1, got 7"):
        law([1.0, 1.0], REPETITION, history=history)
    ignoring = RepetitionPenalty(penalty=2.0, unknown_ids="ignore")
    assert scores([1.0, 1.0], ignoring, history=history) == [0.5, 1.0]


@pytest.mark.parametrize(
    "stage",
    [RepetitionPenalty(penalty=1e-38), RepetitionPenalty(penalty=1e-46), PresenceFrequencyPenalty(presence=-1e39)],
)
def test_an_overflow_is_an_error_that_names_the_stage_never_a_number(stage):
    with pytest.raises(fd.LogitsError, match=f"logits after {stage.name}"):
        law([3e38, -3e38], stage, history=fd.History(output=[0, 1]))
