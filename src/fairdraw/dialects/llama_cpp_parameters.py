"""llama.cpp's parameters, in its server's names; the command line's and the library's are aliases."""

from __future__ import annotations

from fairdraw.dialects.base import Parameter, Values
from fairdraw.dialects.text_parameters import STOP
from fairdraw.domains import BiasMap, Domain, Real, Texts, Truth, Whole
from fairdraw.errors import ParameterError

_SOURCE = "common/common.h, common_params_sampling"
ALL = 2**31 - 1
"""More candidates than any vocabulary has."""
RANDOM_SEED = 2**32 - 1
SAMPLERS = {
    "penalties": "e",
    "dry": "d",
    "top_n_sigma": "s",
    "top_k": "k",
    "typ_p": "y",
    "top_p": "p",
    "min_p": "m",
    "xtc": "x",
    "temperature": "t",
    "adaptive_p": "a",
}
"""Sampler to its letter."""
DEFAULT_ORDER = tuple(name for name in SAMPLERS if name != "adaptive_p")
_LETTERS = {letter: name for name, letter in SAMPLERS.items()}
_SPELLINGS = {
    spelling: name
    for name in SAMPLERS
    for spelling in (name, name.replace("_", "-"), name.replace("_", ""))
} | {"nucleus": "top_p", "temp": "temperature", "typ": "typ_p"}  # fmt: skip


def sampler_names(values: Values) -> tuple[str, ...]:
    """The samplers in the request's order, by their own names; one word may be a string of letters.

    Raises
    ------
    ParameterError
        A name or letter of no sampler, which the engine passes over, or of one that reads the text (infill).
    """
    words = tuple(word.lower() for word in values["samplers"])  # type: ignore[attr-defined]
    if len(words) == 1 and words[0] not in _SPELLINGS and set(words[0]) <= set(_LETTERS):
        return tuple(_LETTERS[letter] for letter in words[0])
    for word in words:
        if word not in _SPELLINGS:
            known = ", ".join(f"{name} ({letter})" for name, letter in SAMPLERS.items())
            hint = "the engine passes over a name that it does not know; infill is not modelled"
            raise ParameterError("samplers", word, f"names, or letters in one string, of {known}", hint)
    return tuple(_SPELLINGS[word] for word in words)


def _parameter(
    name: str, domain: Domain, default: object, meaning: str, canonical: str = "", aliases: tuple[str, ...] = ()
) -> Parameter:
    return Parameter(
        name=name, domain=domain, default=default, default_source=_SOURCE, canonical=canonical, aliases=aliases,
        meaning=meaning,
    )  # fmt: skip


PARAMETERS = (
    Parameter(
        name="samplers", domain=Texts(), default=DEFAULT_ORDER, default_source=_SOURCE,
        meaning="which samplers run, and in which order; adaptive_p is one more",
    ),
    _parameter(
        "temperature", Real(), 0.8, "divides the logits in float32, after all cuts; 0 or less is greedy, 1 is off",
        "temperature", ("temp",),
    ),
    _parameter(
        "dynatemp_range", Real(high=1e37), 0.0,
        "the temperature follows the entropy, so far to both sides; 0 or less is off", "dynatemp_range",
    ),
    _parameter("dynatemp_exponent", Real(0), 1.0, "above 1: cold for longer", "dynatemp_exponent"),
    _parameter("top_k", Whole(), 40, "keep exactly the k best; 0 or less is off", "top_k"),
    _parameter(
        "top_p", Real(), 0.95, "keep the shortest prefix with this share of what is left; 1 or more is off, "
        "0 or less leaves one token", "top_p",
    ),
    _parameter("min_p", Real(), 0.05, "keep tokens with this share of the best one; 0 or less is off", "min_p"),
    _parameter(
        "typical_p", Real(), 1.0, "keep the tokens whose surprise is nearest to the entropy, up to more than this "
        "mass; 1 or more is off", "typical_p", ("typ_p", "typical"),
    ),
    _parameter(
        "top_n_sigma", Real(), -1.0, "keep logits within so many deviations of the best one; 0 or less is off",
        "top_n_sigma",
    ),
    _parameter(
        "xtc_probability", Real(), 0.0, "how often the likely tokens but the last of them go; 0 or less is off",
        "xtc_probability",
    ),
    _parameter(
        "xtc_threshold", Real(), 0.1, "a token with at least this probability is a likely one; above 0.5 XTC is off",
        "xtc_threshold",
    ),
    _parameter("min_keep", Whole(0), 0, "top-p, min-p, typical and XTC leave at least so many; 0 is off"),
    Parameter(
        name="repeat_last_n", domain=Whole(), default=64, default_source=_SOURCE, canonical="penalty_last_n",
        meaning="how many of the last tokens, prompt included, the three penalties look at; 0 or less is off, and "
        "less is refused by the server",
    ),
    Parameter(
        name="repeat_penalty", domain=Real(0, open="low"), default=1.0, default_source=_SOURCE,
        canonical="repetition_penalty", refusal="penalty_repeat must be finite and greater than 0",
        meaning="divides the logits of ids seen; 1 is off",
    ),
    _parameter("presence_penalty", Real(), 0.0, "subtracted once from ids seen; 0 is off", "presence_penalty"),
    _parameter(
        "frequency_penalty", Real(), 0.0, "subtracted from ids seen for each time; 0 is off", "frequency_penalty",
    ),
    Parameter(
        name="dry_multiplier", domain=Real(0), default=0.0, default_source=_SOURCE, canonical="dry_multiplier",
        refusal="nothing; it would reward what repeats",
        meaning="subtracted from an id that would lengthen a repeat; 0 is off",
    ),
    Parameter(
        name="dry_base", domain=Real(1), default=1.75, default_source=_SOURCE, canonical="dry_base",
        refusal="nothing; its server takes less than 1 as 1.75", meaning="by what that grows with each token more",
    ),
    _parameter("dry_allowed_length", Whole(0), 2, "length from which a repeat counts", "dry_allowed_length"),
    _parameter(
        "dry_penalty_last_n", Whole(), 64, "how many of the last tokens DRY looks at; 0 or less is off",
        "dry_penalty_last_n",
    ),
    _parameter(
        "dry_sequence_breakers", Texts(), ("\n", ":", '"', "*"),
        "texts that no repeat reaches across; with dry_multiplier fairdraw takes [] alone", "dry_sequence_breakers",
    ),
    _parameter("mirostat", Whole(0, 2), 0, "its version, 1 or 2, in place of all samplers but temperature; 0 is off",
               "mirostat"),
    _parameter("mirostat_tau", Real(0), 5.0, "surprise that mirostat aims at, in bits", "mirostat_tau"),
    _parameter("mirostat_eta", Real(0), 0.1, "how fast mirostat follows", "mirostat_eta"),
    _parameter(
        "adaptive_target", Real(high=1), -1.0, "probability that adaptive_p aims at, if among samplers; below 0 is off",
        "adaptive_target",
    ),
    _parameter("adaptive_decay", Real(0, 0.99), 0.9, "how much of the past counts for adaptive_p", "adaptive_decay"),
    Parameter(name="logit_bias", domain=BiasMap(), canonical="logit_bias", meaning="added to the logits of a few ids"),
    Parameter(
        name="ignore_eos", domain=Truth(), default=False, default_source=_SOURCE, canonical="ignore_eos",
        limit="ignore_eos", meaning="whether the model's end tokens are forbidden",
    ),
    Parameter(
        name="n_predict", domain=Whole(0), canonical="max_tokens", limit="max_tokens",
        aliases=("max_tokens", "max_completion_tokens"), meaning="at most this many tokens; unset, or the engine's -1: "
        "the context's end",
    ),
    STOP,
    Parameter(
        name="seed", domain=Whole(0, RANDOM_SEED - 1), canonical="seed", limit="seed",
        refusal="nothing; its generator has 32 bits, and -1 asks for a fresh seed",
        meaning="chooses the noise; unset: a fresh one",
    ),
    Parameter(
        name="n_probs", domain=Whole(0), canonical="logprobs", limit="logprobs", aliases=("logprobs",),
        meaning="how many of the best alternatives are reported; unset: no report",
    ),
)  # fmt: skip
