"""Beam search against the real ``generate(num_beams=...)`` of transformers, on a tiny random Llama."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import fairdraw as fd
from engines.harness import engine_dialect
from fairdraw.generation.beam_search import beam_search
from fairdraw.generation.beams import transformers_beams
from fairdraw.models.scripted import ScriptedModel

pytestmark = pytest.mark.engines

VOCAB = 24
PROMPTS = ((3, 7, 11), (5,), (1, 2, 3, 4, 5, 6), (20, 20, 9, 13))
SETTINGS = (
    {"num_beams": 5, "max_new_tokens": 6, "eos_token_id": [*range(16)], "early_stopping": "never",
     "num_return_sequences": 5},
    {"num_beams": 3, "max_new_tokens": 8, "eos_token_id": [0], "early_stopping": True, "num_return_sequences": 3},
    {"num_beams": 4, "max_new_tokens": 8, "eos_token_id": [0, 1, 2], "num_return_sequences": 2},
    {"num_beams": 4, "max_new_tokens": 8, "eos_token_id": [0, 1], "early_stopping": "never", "length_penalty": 2.0,
     "num_return_sequences": 4},
    {"num_beams": 4, "max_new_tokens": 8, "eos_token_id": [0, 1], "length_penalty": 2.0, "num_return_sequences": 4},
    {"num_beams": 3, "max_new_tokens": 10, "eos_token_id": [0, 4, 8], "length_penalty": 0.0,
     "early_stopping": "never"},
    {"num_beams": 3, "max_new_tokens": 10, "eos_token_id": [0, 4, 8], "length_penalty": -1.0,
     "num_return_sequences": 3},
    {"num_beams": 5, "max_new_tokens": 5, "eos_token_id": [0], "length_penalty": -0.5, "early_stopping": "never",
     "num_return_sequences": 5},
    {"num_beams": 6, "max_new_tokens": 7, "num_return_sequences": 6},
    {"num_beams": 4, "max_new_tokens": 6, "eos_token_id": [0, 1, 2], "repetition_penalty": 1.6,
     "num_return_sequences": 4},
    {"num_beams": 4, "max_new_tokens": 8, "eos_token_id": [0, 1, 2], "min_new_tokens": 3, "early_stopping": True,
     "length_penalty": 0.7, "num_return_sequences": 4},
    {"num_beams": 5, "max_new_tokens": 9, "eos_token_id": [0, 3], "bad_words_ids": [[5], [6, 7], [2, 2]],
     "early_stopping": "never", "length_penalty": 0.6, "num_return_sequences": 5},
)  # fmt: skip
BEAMS = ("num_beams", "num_return_sequences", "length_penalty", "early_stopping")
WITHIN = 1e-5


@dataclass(frozen=True)
class Found:
    texts: list[tuple[int, ...]]
    scores: list[float]


@cache
def llama(seed: int):
    """Weights wide enough that some tokens are much likelier than others."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.set_verbosity_error()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.35,
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def theirs(model, prompt: tuple[int, ...], setting: dict) -> Found:
    import torch

    with torch.no_grad():
        given = model.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), pad_token_id=VOCAB - 1,
            do_sample=False, return_dict_in_generate=True, output_scores=True, **setting,
        )  # fmt: skip
    ends, texts = setting.get("eos_token_id", []), []
    for row in given.sequences[:, len(prompt) :].tolist():
        stop = next((place for place, token in enumerate(row) if token in ends), len(row) - 1)
        texts.append(tuple(row[: stop + 1]))
    return Found(texts, given.sequences_scores.tolist())


def ours(model, prompt: tuple[int, ...], setting: dict) -> Found:
    import torch

    def law(tokens: tuple[int, ...]) -> np.ndarray:
        with torch.no_grad():
            return model(torch.tensor([tokens])).logits[0, -1].numpy()

    request = {name: value for name, value in setting.items() if name not in BEAMS}
    plan = fd.Plan.resolve(request, dialect=engine_dialect())
    beams = transformers_beams(**{name: setting[name] for name in BEAMS if name in setting})
    found = beam_search(ScriptedModel(law=law, texts=(b"x",) * VOCAB), prompt, plan, beams)
    return Found([text.tokens for text in found.texts], [text.score for text in found.texts])


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_texts_and_scores_are_the_engines(number):
    setting = SETTINGS[number]
    for seed in range(4):
        for prompt in PROMPTS:
            expected, found = theirs(llama(seed), prompt, setting), ours(llama(seed), prompt, setting)
            assert found.texts == expected.texts, (seed, prompt)
            np.testing.assert_allclose(found.scores, expected.scores, rtol=WITHIN, err_msg=f"{seed} {prompt}")


def test_the_settings_tell_the_ways_of_stopping_and_of_scoring_apart():
    """Else the twelve could agree whatever those rules were."""

    def texts(**changes: object) -> list:
        setting = {"num_beams": 4, "max_new_tokens": 8, "eos_token_id": [0, 1], "num_return_sequences": 4} | changes
        return [theirs(llama(seed), prompt, setting).texts for seed in range(4) for prompt in PROMPTS]

    ways = [texts(length_penalty=2.0, early_stopping=early) for early in (False, True, "never")]
    penalties = [texts(length_penalty=penalty) for penalty in (-1.0, 0.0)]
    assert all(a != b for some in (ways, penalties) for i, a in enumerate(some) for b in some[:i])
