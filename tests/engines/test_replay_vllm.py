"""vLLM's replay against its own kernel, run by Triton's interpreter: no GPU, and nothing of vLLM but one file.

`pip install triton` and `pip install --no-deps vllm==0.33.0`; the package itself is never imported.
"""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fairdraw.replay.vllm import draw

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

CASES = 300


@pytest.fixture(scope="module")
def kernel():
    """The engine's ``gumbel.py``, with Triton in place of its own doors to it."""
    triton = pytest.importorskip("triton")
    found = find_spec("vllm")
    if found is None:
        pytest.skip("vllm is not installed")
    file = Path(next(iter(found.submodule_search_locations))) / "v1/worker/gpu/sample/gumbel.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        doors = ModuleType("vllm.triton_utils")
        doors.triton, doors.tl = triton, triton.language
        patch.setitem(sys.modules, "vllm", ModuleType("vllm"))
        patch.setitem(sys.modules, "vllm.triton_utils", doors)
        source = spec_from_file_location("vllm_gumbel", file)
        module = module_from_spec(source)
        source.loader.exec_module(module)
        yield module


def engine_token(kernel, row: np.ndarray, seed: int, place: int, temperature: float, in_float64: bool) -> int:
    import torch

    token = kernel.gumbel_sample(
        torch.tensor(row)[None],
        torch.tensor([0], dtype=torch.int32),
        torch.tensor([temperature], dtype=torch.float32),
        torch.tensor([seed], dtype=torch.int64),
        torch.tensor([place], dtype=torch.int64),
        apply_temperature=True,
        is_drafting=False,
        use_fp64=in_float64,
    )
    return int(token)


def test_the_kernel_s_tokens_are_drawn_again(kernel):
    random, different = np.random.default_rng(33), []
    for _ in range(CASES):
        vocab = int(random.choice([6, 50, 1000, 3000, 49152], p=[0.4, 0.3, 0.15, 0.12, 0.03]))
        row = (random.normal(size=vocab) * 2).astype(np.float32)
        if random.random() < 0.3:
            row[1:][random.random(vocab - 1) < 0.5] = -np.inf
        seed, place = int(random.integers(-(2**63), 2**63 - 1)), int(random.integers(2**20))
        temperature, in_float64 = float(random.choice([1.0, 0.7, 0.01, 1.7, 0.0])), bool(random.random() < 0.3)
        precision = "float64" if in_float64 else "float32"
        ours = draw(row, seed=seed, position=place + 1, temperature=temperature, precision=precision)
        if not ours.doubt and ours.token != engine_token(kernel, row, seed, place, temperature, in_float64):
            different.append((vocab, seed, place, temperature, precision))
    assert different == []
