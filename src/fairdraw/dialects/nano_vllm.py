"""nano-vllm: temperature and nothing else.

Read: GeeeekExplorer/nano-vllm at bb823b3, nanovllm/sampling_params.py and nanovllm/layers/sampler.py.  Logits in
float32 divided by a float32 temperature, softmax, then probabilities over Exp(1) noise floored at 1e-10.  A
temperature of 1e-10 or less fails an assertion when the request is made; there is no greedy mode and no seed.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.base import Dialect, Parameter, Step, by_our_names
from fairdraw.dialects.steps import DIVIDED_TEMPERATURE, always_sampling
from fairdraw.domains import Real, Truth, Whole
from fairdraw.stages import Mask

PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(1e-10, open="low"), default=1.0, canonical="temperature",
        default_source="sampling_params.py", refusal="AssertionError: greedy sampling is not permitted",
        meaning="divides the logits in float32; 1.0 changes nothing",
    ),
    Parameter(
        name="max_tokens", domain=Whole(0), default=64, canonical="max_tokens", limit="max_tokens",
        default_source="sampling_params.py", meaning="at most this many tokens",
    ),
    Parameter(
        name="ignore_eos", domain=Truth(), default=False, canonical="ignore_eos", limit="ignore_eos",
        default_source="sampling_params.py", meaning="whether to go on after the model's end token",
    ),
)  # fmt: skip


NANO_VLLM = Dialect(
    engine="nano_vllm",
    version="",
    summary="temperature alone; no greedy, no cut, no penalty, no seed; 64 tokens",
    source="nano-vllm bb823b3: nanovllm/sampling_params.py, nanovllm/layers/sampler.py",
    variants=always_sampling(PARAMETERS, Step(stage=Mask), DIVIDED_TEMPERATURE),
    from_params=by_our_names("nano_vllm", PARAMETERS),
    elsewhere=MappingProxyType({"temp": "temperature", "max_new_tokens": "max_tokens"}),
)
