"""vLLM's replay against its own kernel, run by Triton's interpreter: no GPU, and nothing of vLLM but one file.

`pip install triton` and `pip install --no-deps vllm==0.33.0`; the package itself is never imported.  Triton chooses
its interpreter when it is imported, so the kernel runs in a process of its own: this file as a script.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from fairdraw.replay.vllm import draw

pytestmark = pytest.mark.engines

CASES = 300


class Case(NamedTuple):
    row: np.ndarray
    seed: int
    place: int
    temperature: float
    in_float64: bool


def cases() -> Iterator[Case]:
    random = np.random.default_rng(33)
    for _ in range(CASES):
        vocab = int(random.choice([6, 50, 1000, 3000, 49152], p=[0.4, 0.3, 0.15, 0.12, 0.03]))
        row = (random.normal(size=vocab) * 2).astype(np.float32)
        if random.random() < 0.3:
            row[1:][random.random(vocab - 1) < 0.5] = -np.inf
        yield Case(
            row=row,
            seed=int(random.integers(-(2**63), 2**63 - 1)),
            place=int(random.integers(2**20)),
            temperature=float(random.choice([1.0, 0.7, 0.01, 1.7, 0.0])),
            in_float64=bool(random.random() < 0.3),
        )


def ours(case: Case) -> str | int:
    """The token, or the doubt."""
    drawn = draw(
        case.row,
        seed=case.seed,
        position=case.place + 1,
        temperature=case.temperature,
        precision="float64" if case.in_float64 else "float32",
    )
    return drawn.doubt or drawn.token


def test_the_kernel_s_tokens_are_drawn_again():
    pytest.importorskip("triton", reason="vLLM's kernel runs in Triton's interpreter: pip install triton vllm")
    if find_spec("vllm") is None:
        pytest.skip("vLLM's kernel is read from its package: pip install vllm, several GB of CUDA libraries")
    command, interpreted = [sys.executable, "-W", "ignore", __file__], os.environ | {"TRITON_INTERPRET": "1"}
    real = json.loads(subprocess.run(command, env=interpreted, capture_output=True, check=True).stdout)
    drawn = [ours(case) for case in cases()]
    doubted = sum(isinstance(token, str) for token in drawn)
    different = [(a, b) for a, b in zip(real, drawn, strict=True) if a != b and not isinstance(b, str)]
    assert len(real) == CASES
    assert different == []
    assert doubted <= 3


def _kernel() -> ModuleType:
    """The engine's ``gumbel.py``, with Triton in place of its own doors to it."""
    import triton

    folder = Path(next(iter(find_spec("vllm").submodule_search_locations)))
    doors = ModuleType("vllm.triton_utils")
    doors.triton, doors.tl = triton, triton.language
    sys.modules |= {"vllm": ModuleType("vllm"), "vllm.triton_utils": doors}
    source = spec_from_file_location("vllm_gumbel", folder / "v1/worker/gpu/sample/gumbel.py")
    module = module_from_spec(source)
    source.loader.exec_module(module)
    return module


def _engine_tokens() -> Iterator[int]:
    import torch

    kernel = _kernel()
    for case in cases():
        token = kernel.gumbel_sample(
            torch.tensor(case.row)[None],
            torch.tensor([0], dtype=torch.int32),
            torch.tensor([case.temperature], dtype=torch.float32),
            torch.tensor([case.seed], dtype=torch.int64),
            torch.tensor([case.place], dtype=torch.int64),
            apply_temperature=True,
            is_drafting=False,
            use_fp64=case.in_float64,
        )
        yield int(token)


if __name__ == "__main__":
    print(json.dumps(list(_engine_tokens())))
