from __future__ import annotations

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, apply_repeat_penalty
from fairdraw.replay.candle_sampling import Sampling
from fairdraw.replay.engines import REPLAYERS, replayer

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])


def tokens(plan: str, count: int = 16, seed: int = 42, history: fd.History | None = None) -> list[int]:
    parsed = fd.Plan.parse(plan)
    step = replayer(parsed.dialect.partition("@")[0], parsed, seed)
    return [step(ROW, history or fd.History()).token for _ in range(count)]


def test_candle_draws_the_printed_tokens_of_seed_42():
    # Printed for LogitsProcessor::from_sampling(42, Sampling::All { temperature: 1.0 }), candle 0.11.0.
    assert tokens("candle: All temperature=1") == [0, 1, 0, 1, 3, 1, 5, 0, 4, 0, 1, 0, 0, 2, 0, 3]


@pytest.mark.parametrize(
    ("plan", "sampling"),
    [
        ("candle: TopK k=3 temperature=0.8", Sampling.TopK(k=3, temperature=0.8)),
        ("candle: TopP p=0.8 temperature=0.8", Sampling.TopP(p=0.8, temperature=0.8)),
        ("candle: TopKThenTopP k=3 p=0.6 temperature=0.8", Sampling.TopKThenTopP(k=3, p=0.6, temperature=0.8)),
        ("candle: temperature=0.8 top_p=0.8", Sampling.TopP(p=0.8, temperature=0.8)),
        ("candle: temperature=0.8", Sampling.All(temperature=0.8)),
        ("candle: ArgMax", Sampling.ArgMax()),
        ("candle:", Sampling.ArgMax()),
    ],
)
def test_a_candle_plan_is_the_processor_that_it_names(plan, sampling):
    processor = LogitsProcessor.from_sampling(42, sampling)
    assert tokens(plan) == [processor.sample(ROW) for _ in range(16)]


def test_candle_penalises_the_last_ids_of_the_history():
    history = fd.History(prompt=[1, 2], output=[0, 0])
    processor = LogitsProcessor.from_sampling(42, Sampling.All(temperature=1.0))
    penalised = apply_repeat_penalty(ROW, 5.0, [0, 0])
    expected = [processor.sample(penalised) for _ in range(16)]
    assert tokens("candle: All temperature=1 repeat_penalty=5 repeat_last_n=2", history=history) == expected
    assert tokens("candle: All temperature=1 repeat_penalty=5 repeat_last_n=3", history=history) != expected


def test_the_closure_keeps_the_best_and_renormalises_before_the_cut():
    # Of the best three the first two have 0.8131 of the mass: the cut at 0.75 leaves two, on the whole row three.
    closed = tokens("candle: TopP p=0.75 temperature=1 closure_top_k=3", count=200)
    plain = tokens("candle: TopKThenTopP k=3 p=0.75 temperature=1", count=200)
    assert set(closed) == {0, 1}
    assert set(plain) == {0, 1, 2}


def test_every_replay_follows_its_plans_support():
    for plan in ("transformers: do_sample=true top_k=2", "candle: TopK k=2 temperature=1"):
        assert set(tokens(plan, count=100)) == {0, 1}


def test_the_seed_matters_in_every_replay():
    plans = {
        "candle": "All temperature=1",
        "transformers": "do_sample=true",
        "nano_vllm": "temperature=1",
        "llama_cpp": "",
    }
    assert set(plans) == set(REPLAYERS)
    for engine, plan in plans.items():
        assert tokens(f"{engine}: {plan}", seed=1) != tokens(f"{engine}: {plan}", seed=2)


@pytest.mark.parametrize(
    ("engine", "plan", "words"),
    [
        ("vllm", "candle: All temperature=1", "cannot be replayed"),
        ("candle", "transformers: do_sample=true", "needs a plan of its dialect"),
        ("candle", "candle: GumbelSoftmax temperature=1", "one that candle's CPU can seed"),
    ],
)
def test_what_cannot_be_replayed_is_refused(engine, plan, words):
    with pytest.raises(fd.FairdrawError, match=words):
        replayer(engine, fd.Plan.parse(plan), 1)
