import numpy as np
import pytest

from fairdraw.models import Model, load
from fairdraw.models.llama import LlamaSession, LlamaShape, LlamaWeights, rotation

TINY = LlamaShape(
    layers=2,
    width=16,
    heads=4,
    key_value_heads=2,
    feed_forward=24,
    vocab_size=50,
    context_length=1100,
    rope_base=10000.0,
    norm_epsilon=1e-5,
)


@pytest.fixture(scope="session")
def smollm2() -> Model:
    return load(model="smollm2")


@pytest.fixture
def tiny_session() -> LlamaSession:
    """Random weights: everything about caches holds for them as well."""
    generator = np.random.default_rng(0)

    def matrix(*shape: int):
        return generator.normal(scale=0.3, size=shape).astype(np.float32)

    weights = LlamaWeights(
        shape=TINY,
        embedding=matrix(50, 16),
        output_gain=matrix(16),
        query_key_value=matrix(2, 16, 32),
        attention_output=matrix(2, 16, 16),
        gate_up=matrix(2, 16, 48),
        down=matrix(2, 24, 16),
    )
    return LlamaSession(weights, rotation(TINY))
