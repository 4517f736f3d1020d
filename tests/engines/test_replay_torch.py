"""Replays against real torch and transformers, on the CPU: the tokens themselves."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import fairdraw as fd
from engines.harness import engine_dialect
from fairdraw.replay import nano_vllm, transformers
from fairdraw.streams.torch_mt19937 import TorchGenerator

pytestmark = pytest.mark.engines

GOLDEN = Path(__file__).parents[1] / "golden"
DOCUMENT_ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
PLAIN = "transformers: do_sample=true top_k=0"
SETTINGS = (
    {"top_k": 0},
    {"temperature": 0.7},
    {"top_k": 40, "top_p": 0.9, "temperature": 0.8},
    {"top_k": 0, "min_p": 0.05},
    {"top_k": 0, "typical_p": 0.9},
    {"top_k": 3, "repetition_penalty": 1.3},
)


@cache
def long_row() -> np.ndarray:
    return load_file(GOLDEN / "smollm2_rows.safetensors")["logits"][0]


def random_rows(seed: int, steps: int, vocab: int) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=(steps, vocab)) * 2).astype(np.float32)


@cache
def stub(vocab: int):
    """A model whose logits are given: row by row, whatever the ids."""
    import torch
    from transformers import GenerationMixin, LlamaConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutput

    class Given(PreTrainedModel, GenerationMixin):
        config_class = LlamaConfig

        def __init__(self, config):
            super().__init__(config)
            self.unused = torch.nn.Parameter(torch.zeros(1))

        def forward(self, input_ids, attention_mask=None, **_):
            step = input_ids.shape[1] - self.prompt_length
            return CausalLMOutput(logits=torch.tensor(self.rows[:, step : step + 1]))

    return Given(LlamaConfig(vocab_size=vocab, bos_token_id=None, eos_token_id=None, pad_token_id=None))


def generated(prompts: list[list[int]], rows: np.ndarray, seed: int, config: dict) -> list[list[int]]:
    """What generate() draws for prompts of one length when the model gives rows, shape (batch, step, vocab)."""
    import torch

    model = stub(rows.shape[-1])
    model.rows, model.prompt_length = rows, len(prompts[0])
    torch.manual_seed(seed)
    ids = model.generate(torch.tensor(prompts), do_sample=True, use_cache=False, max_new_tokens=rows.shape[1], **config)
    return ids[:, len(prompts[0]) :].tolist()


def test_two_million_exponentials_are_torch_s_bit_for_bit():
    import torch

    for seed in (0, 42, 2**32 + 42, 2**64 - 1):
        real = torch.empty(500_000).exponential_(generator=torch.Generator().manual_seed(seed)).numpy()
        ours = TorchGenerator(seed).exponentials(real.size)
        assert np.array_equal(real.view(np.uint32), ours.view(np.uint32))


@pytest.mark.parametrize("name", ["six", "long"])
def test_1000_of_1000_seeds_draw_the_token_of_multinomial(name):
    import torch

    row = DOCUMENT_ROW if name == "six" else long_row()
    plan, probabilities = fd.Plan.parse(PLAIN), torch.softmax(torch.tensor(row), -1)
    different = []
    for seed in range(1000):
        torch.manual_seed(seed)
        real = int(torch.multinomial(probabilities, 1))
        if transformers.draw(plan, row, TorchGenerator(seed)).token != real:
            different.append(seed)
    assert different == []


def test_a_draw_uses_two_words_for_every_id_of_the_row():
    import torch

    torch.manual_seed(5)
    torch.multinomial(torch.softmax(torch.tensor(long_row()), -1), 1)
    generator = TorchGenerator(5)
    generator.words(2 * 49152)
    assert torch.empty(1).exponential_().item() == generator.exponentials(1)[0]


@pytest.mark.parametrize("vocab", [6, 50, 1000])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_whole_runs_of_generate_are_drawn_again(vocab, setting):
    prompt = [1, 2, 3]
    plan = fd.Plan.resolve({"do_sample": True, **setting}, dialect=engine_dialect())
    for seed in range(25):
        rows = random_rows(seed, 16, vocab)
        (real,) = generated([prompt], rows[None], seed, setting)
        steps = transformers.replay(plan, rows, seed=seed, history=fd.History(prompt=prompt))
        assert [step.token for step in steps] == real, (seed, [step.doubt for step in steps])


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_long_run_over_49152_ids_is_drawn_again(setting):
    prompt = [1, 2, 3]
    plan = fd.Plan.resolve({"do_sample": True, **setting}, dialect=engine_dialect())
    rows = long_row() + random_rows(3, 24, 49152) / 8
    (real,) = generated([prompt], rows[None], 42, setting)
    steps = transformers.replay(plan, rows, seed=42, history=fd.History(prompt=prompt))
    assert [step.token for step in steps] == real


def test_a_batch_fills_its_noise_row_by_row():
    rows = random_rows(0, 24, 50).reshape(3, 8, 50)
    real = generated([[1], [2], [3]], rows, 7, {})
    plan, generator = fd.Plan.resolve({"do_sample": True}, dialect=engine_dialect()), TorchGenerator(7)
    ours = [[transformers.draw(plan, row, generator).token for row in step] for step in rows.swapaxes(0, 1)]
    assert np.transpose(ours).tolist() == real


def test_500_of_500_seeds_draw_the_token_of_nano_vllm_s_eager_formula():
    import torch

    for row, temperature in ((DOCUMENT_ROW, 0.5), (long_row(), 0.6)):
        plan = fd.Plan.resolve({"temperature": temperature}, dialect="nano_vllm")
        logits, temperatures = torch.tensor(row)[None], torch.tensor([temperature])
        different = []
        for seed in range(500):
            torch.manual_seed(seed)
            probabilities = torch.softmax(logits.float().div(temperatures.unsqueeze(1)), dim=-1)
            noise = torch.empty_like(probabilities).exponential_(1).clamp_min_(1e-10)
            real = int(probabilities.div_(noise).argmax(dim=-1))
            if nano_vllm.draw(plan, row, TorchGenerator(seed)).token != real:
                different.append(seed)
        assert different == []
