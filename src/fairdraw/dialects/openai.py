"""OpenAI's chat completions: names and ranges alone.

Read: the docstrings of the Python SDK openai 3.57.0, types/chat/completion_create_params.py.

- **What the service samples from is not documented**: the order of temperature and top_p, what p measures, which of
  equal tokens stays, what penalties see of the prompt.  A request can be checked, printed and stored, and its limits
  hold; asking for its law or a token is refused, because any answer would be a guess.
- Documented: temperature 0 to 2; top_p "the tokens with top_p probability mass"; a bias of -100 to 100, added to the
  logits before sampling, whose effect "will vary per model"; penalties of -2 to 2 on the text so far; a seed is
  best effort.  There is no top_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from fairdraw.dialects.base import Parameter
from fairdraw.dialects.hosted import hosted
from fairdraw.domains import BiasMap, Real, Texts, Whole

_SOURCE = "the service's documentation"
MOST_STOPS = 4


@dataclass(frozen=True, slots=True)
class _FewTexts(Texts):
    """A sequence of at most four strings."""

    text: str = f"a non-empty string or a list of at most {MOST_STOPS}"

    def holds(self, value: object) -> bool:
        """Whether a value is a non-empty string or a short sequence of them."""
        return Texts.holds(self, value) and len(self.clean(value)) <= MOST_STOPS


PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(0, 2), default=1.0, default_source=_SOURCE, canonical="temperature",
        meaning="higher is more random; 1 is the default",
    ),
    Parameter(
        name="top_p", domain=Real(0, 1), default=1.0, default_source=_SOURCE, canonical="top_p",
        meaning="the tokens with this probability mass are considered; 1 is the default",
    ),
    Parameter(
        name="frequency_penalty", domain=Real(-2, 2), default=0.0, default_source=_SOURCE,
        canonical="frequency_penalty", meaning="against ids by how often the text so far has them",
    ),
    Parameter(
        name="presence_penalty", domain=Real(-2, 2), default=0.0, default_source=_SOURCE,
        canonical="presence_penalty", meaning="against ids that the text so far has",
    ),
    Parameter(
        name="logit_bias", domain=BiasMap(100), canonical="logit_bias", meaning="added to the logits before sampling"
    ),
    Parameter(
        name="max_completion_tokens", domain=Whole(0), canonical="max_tokens", limit="max_tokens",
        aliases=("max_tokens",), meaning="at most this many tokens, those of hidden reasoning included",
    ),
    Parameter(
        name="stop", domain=_FewTexts(), canonical="stop", limit="stop", meaning="texts that end the output, at most 4"
    ),
    Parameter(
        name="seed", domain=Whole(0, 2**63 - 1), canonical="seed", limit="seed", meaning="best effort, in beta"
    ),
    Parameter(
        name="n", domain=Whole(1, 2**32 - 1), default=1, default_source=_SOURCE, canonical="n", limit="n",
        meaning="how many texts are drawn",
    ),
    Parameter(
        name="top_logprobs", domain=Whole(0, 20), canonical="logprobs", limit="logprobs",
        meaning="how many of the best alternatives are reported; needs logprobs",
    ),
)  # fmt: skip


OPENAI = hosted(
    "openai",
    source="documentation alone: openai 3.57.0 (Python SDK), types/chat/completion_create_params.py",
    parameters=PARAMETERS,
    unmodelled=MappingProxyType(
        {
            "logprobs": "whether logprobs are reported; top_logprobs says how many",
            "response_format": "a grammar of the service's own",
            "reasoning_effort": "how long the model thinks first",
            "verbosity": "how long the answer is",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "max_new_tokens": "max_completion_tokens",
            "temp": "temperature",
            "top_k": "not there; the service has no top-k",
            "repetition_penalty": "frequency_penalty or presence_penalty",
        }
    ),
)
