"""Parameters of the text, as rows that several dialects share."""

from __future__ import annotations

from fairdraw.dialects.base import Parameter
from fairdraw.domains import SEED, Texts, TokenIds, Truth, Whole

MAX_TOKENS = Parameter(
    name="max_tokens", domain=Whole(0), canonical="max_tokens", limit="max_tokens",
    meaning="at most this many tokens; unset: the caller decides",
)  # fmt: skip
STOP = Parameter(name="stop", domain=Texts(), canonical="stop", limit="stop", meaning="texts that end the output")
STOP_TOKEN_IDS = Parameter(
    name="stop_token_ids", domain=TokenIds(), canonical="stop_token_ids", limit="stop_token_ids",
    meaning="token ids that end the output, beside the model's own",
)  # fmt: skip
INCLUDE_STOP = Parameter(
    name="include_stop_str_in_output", domain=Truth(), default=False, canonical="include_stop_str_in_output",
    limit="include_stop_str_in_output", meaning="whether the stop text that matched stays in the output",
)  # fmt: skip
IGNORE_EOS = Parameter(
    name="ignore_eos", domain=Truth(), default=False, canonical="ignore_eos", limit="ignore_eos",
    meaning="whether to go on after the model's end token",
)  # fmt: skip
SEED_PARAMETER = Parameter(
    name="seed", domain=SEED, canonical="seed", limit="seed", meaning="chooses the noise; unset: a fresh one"
)
COUNT = Parameter(name="n", domain=Whole(1, 2**32 - 1), default=1, canonical="n", limit="n", meaning="how many texts")
LOGPROBS = Parameter(
    name="logprobs", domain=Whole(0), canonical="logprobs", limit="logprobs",
    meaning="how many of the best alternatives are reported; unset: no report",
)  # fmt: skip
TEXT = (MAX_TOKENS, STOP, STOP_TOKEN_IDS, INCLUDE_STOP, IGNORE_EOS, SEED_PARAMETER, COUNT, LOGPROBS)
"""All of them, in the order in which they are printed."""
