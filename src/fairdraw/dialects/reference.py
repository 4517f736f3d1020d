"""The reference sampler ``filter_logits(logits, temperature, top_k, top_p)`` of a public PyTorch tutorial.

Temperature (float32 division), top-k (all that equal the k-th stay), top-p **strict**: a token goes when the mass
before it is > p, so a prefix that lands exactly on p takes one token more.  p is a share of what top-k left.  Then
torch.multinomial.  Read and run with torch 2.13.0 on the CPU.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.base import Dialect, Parameter, Step, by_our_names, off_if
from fairdraw.dialects.steps import DIVIDED_TEMPERATURE, always_sampling
from fairdraw.domains import Real, Whole
from fairdraw.stages import Mask, TopK, TopP

PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(0, open="low"), default=1.0, canonical="temperature",
        default_source="the function's signature",
        refusal="AssertionError, without words", meaning="divides the logits in float32; 1.0 changes nothing",
    ),
    Parameter(
        name="top_k", domain=Whole(1), canonical="top_k", meaning="keep the k best and their equals; unset is off",
        refusal=lambda value: (
            "IndexError: index -1 is out of bounds for dimension 1 with size 0"
            if value == 0
            else "RuntimeError: selected index k out of range"
        ),
    ),
    Parameter(
        name="top_p", domain=Real(0, 1, open="low"), canonical="top_p", refusal="AssertionError, without words",
        meaning="keep while the mass before a token is at most p; unset or 1 is off",
    ),
)  # fmt: skip


REFERENCE = Dialect(
    engine="reference",
    version="",
    summary="temperature, top-k with all ties, then a strict top-p: one token more on an exact hit",
    source="filter_logits of a PyTorch tutorial on sampling, run with torch 2.13.0",
    variants=always_sampling(
        PARAMETERS,
        Step(stage=Mask),
        DIVIDED_TEMPERATURE,
        Step(
            stage=TopK,
            fields={"k": "top_k"},
            switches={"ties": "all", "beyond": "refuse_more"},
            off=(off_if("top_k", "is", None),),
        ),
        Step(
            stage=TopP,
            fields={"p": "top_p"},
            switches={"boundary": "strict", "ties": "any"},
            off=(off_if("top_p", "is", None), off_if("top_p", ">=", 1.0)),
        ),
    ),
    from_params=by_our_names("reference", PARAMETERS),
    elsewhere=MappingProxyType({"temp": "temperature", "k": "top_k", "p": "top_p", "do_sample": "always sampling"}),
)
