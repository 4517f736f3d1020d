"""Anthropic's messages: names and ranges alone.

Read: the docstrings of the Python SDK anthropic 0.125.0, types/message_create_params.py; version 2.14.0 has no typed
temperature, top_p or top_k any more.

- **What the service samples from is not documented**: the order of temperature, top_k and top_p, what p measures,
  which of equal tokens stays.  A request can be checked, printed and stored, and its limits hold; asking for its law
  or a token is refused, because any answer would be a guess.
- Documented: temperature 0 to 1, "not fully deterministic" at 0; top_p cuts the tokens, in decreasing order, "once it
  reaches" p; top_k the best k.  There are no penalties, no bias and no seed.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.base import Parameter
from fairdraw.dialects.hosted import hosted
from fairdraw.domains import Real, Texts, Whole

PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(0, 1), default=1.0, default_source="the service's documentation",
        canonical="temperature", meaning="higher is more random; 1 is the default",
    ),
    Parameter(
        name="top_p", domain=Real(0, 1), canonical="top_p",
        meaning="tokens in decreasing order until they reach this mass",
    ),
    Parameter(name="top_k", domain=Whole(0), canonical="top_k", meaning="only the best k tokens are considered"),
    Parameter(
        name="max_tokens", domain=Whole(0), canonical="max_tokens", limit="max_tokens",
        meaning="at most this many tokens; the service refuses a request without it",
    ),
    Parameter(
        name="stop_sequences", domain=Texts(), canonical="stop", limit="stop", meaning="texts that end the output"
    ),
)  # fmt: skip


ANTHROPIC = hosted(
    "anthropic",
    source="documentation alone: anthropic 0.125.0 and 2.14.0 (Python SDK), types/message_create_params.py",
    parameters=PARAMETERS,
    unmodelled=MappingProxyType({"thinking": "whether the model thinks first, and how long"}),
    elsewhere=MappingProxyType(
        {
            "max_new_tokens": "max_tokens",
            "stop": "stop_sequences",
            "temp": "temperature",
            "seed": "not there; the service has no seed",
        }
    ),
)
