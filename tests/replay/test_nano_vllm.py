"""nano-vllm's eager formula, against what torch 2.13.0 drew with the lines of its sampler."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay import nano_vllm
from fairdraw.replay.nano_vllm import draw, replay
from fairdraw.streams.torch_mt19937 import TorchGenerator

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
PLAN = fd.Plan.parse("nano_vllm: temperature=0.5")


class Given:
    """A generator whose noise is written down."""

    def __init__(self, *noise: float) -> None:
        self.noise = np.float32(noise)

    def exponentials(self, count: int) -> np.ndarray:
        assert count == self.noise.size
        return self.noise


def test_sixteen_tokens_are_those_of_the_eager_formula():
    """Drawn with torch 2.13.0 after torch.manual_seed(42)."""
    tokens = [step.token for step in replay(PLAN, [ROW] * 16, seed=42)]
    assert tokens == [0, 2, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 4, 2]


def test_noise_below_the_floor_counts_as_the_floor():
    """Both noises become 1e-10, so the more probable id wins; without the floor the other would."""
    plan = fd.Plan.parse("nano_vllm: temperature=1.0")
    assert draw(plan, [1.0, 0.0, 0.0], Given(1e-11, 1e-13, 1.0)).token == 0
    assert draw(plan, [1.0, 0.0, 0.0], Given(1e-9, 1e-10, 1.0)).token == 1


def test_the_temperature_divides():
    """Logits 1 and 0: at T = 0.1 the odds e^10 = 22026 beat noise of 1e4 to 1, at T = 1 they do not."""
    assert draw(fd.Plan.parse("nano_vllm: temperature=0.1"), [1.0, 0.0], Given(1.0, 1e-4)).token == 0
    assert draw(fd.Plan.parse("nano_vllm: temperature=1.0"), [1.0, 0.0], Given(1.0, 1e-4)).token == 1


def test_a_batch_shares_one_generator_row_after_row():
    generator = TorchGenerator(42)
    assert [draw(PLAN, ROW, generator).token for _ in range(4)] == [0, 2, 0, 2]


def test_a_plan_of_another_engine_is_refused():
    with pytest.raises(fd.PlanError, match="replays plans of nano_vllm, got one of fairdraw"):
        draw(fd.Plan.parse("fairdraw: temperature=1.0"), ROW, TorchGenerator(0))


def test_the_documentation_says_that_the_shipped_sampler_cannot_be_replayed():
    assert "no run of the shipped nano-vllm can be drawn again" in " ".join(nano_vllm.__doc__.split())
