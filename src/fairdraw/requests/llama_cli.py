"""A command line of llama.cpp: ``llama-cli``, ``llama-server`` and the like.

Read: llama.cpp 0c1e57098, common/arg.cpp.  A negative temperature is taken as 0 there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from types import MappingProxyType

from fairdraw.errors import ParameterError, PlanError
from fairdraw.requests.base import ASIDE, Asked, Format, LeftOut

ENGINE = "llama_cpp"
FLAGS = MappingProxyType(
    {
        "--temp": "temperature",
        "--temperature": "temperature",
        "--top-k": "top_k",
        "--top-p": "top_p",
        "--min-p": "min_p",
        "--top-nsigma": "top_n_sigma",
        "--top-n-sigma": "top_n_sigma",
        "--xtc-probability": "xtc_probability",
        "--xtc-threshold": "xtc_threshold",
        "--typical": "typical_p",
        "--typical-p": "typical_p",
        "--repeat-last-n": "repeat_last_n",
        "--repeat-penalty": "repeat_penalty",
        "--presence-penalty": "presence_penalty",
        "--frequency-penalty": "frequency_penalty",
        "--dry-multiplier": "dry_multiplier",
        "--dry-base": "dry_base",
        "--dry-allowed-length": "dry_allowed_length",
        "--dry-penalty-last-n": "dry_penalty_last_n",
        "--dynatemp-range": "dynatemp_range",
        "--dynatemp-exp": "dynatemp_exponent",
        "--mirostat": "mirostat",
        "--mirostat-lr": "mirostat_eta",
        "--mirostat-ent": "mirostat_tau",
        "--adaptive-target": "adaptive_target",
        "--adaptive-decay": "adaptive_decay",
        "-s": "seed",
        "--seed": "seed",
        "-n": "n_predict",
        "--predict": "n_predict",
        "--n-predict": "n_predict",
    }
)
"""Flag with a number to the parameter."""
WHOLE = frozenset(
    ("top_k", "repeat_last_n", "dry_allowed_length", "dry_penalty_last_n", "mirostat", "seed", "n_predict")
)
"""Parameters whose number is a whole one."""
GRAMMARS = frozenset({"--grammar", "--grammar-file", "-j", "--json-schema", "-jf", "--json-schema-file"})
_UNSET = {"seed": (-1, 2**32 - 1), "n_predict": (-1, -2)}


def read(text: str) -> Asked:
    """Read a command line, its program's name or not.

    Raises
    ------
    PlanError
        A grammar, or a flag without its value.
    ParameterError
        A value that is no number where one belongs.

    Examples
    --------
    >>> asked = read("llama-cli -m model.gguf --temp 0.5 --top-k 20 --samplers 'top_k;temperature' -p 'Hi there'")
    >>> dict(asked.request)
    {'temperature': 0.5, 'top_k': 20, 'samplers': ['top_k', 'temperature']}
    """
    request: dict[str, object] = {}
    left: list[LeftOut] = []
    bias: dict[str, float] = {}
    breakers: list[str] = []
    for flag, value in _pairs(text):
        if flag in FLAGS:
            name = FLAGS[flag]
            number = _number(flag, value, name in WHOLE)
            if number in _UNSET.get(name, ()):
                left.append(LeftOut(name=flag, value=number, why="means: not set"))
            else:
                request[name] = max(0.0, number) if name == "temperature" else number
        elif flag == "--samplers":
            request["samplers"] = [word for word in _given(flag, value).split(";") if word]
        elif flag in ("--sampler-seq", "--sampling-seq"):
            request["samplers"] = [_given(flag, value)]
        elif flag == "--dry-sequence-breaker":
            breakers += [] if value == "none" else [_given(flag, value)]
            request["dry_sequence_breakers"] = list(breakers)
        elif flag == "--ignore-eos":
            request["ignore_eos"] = True
        elif flag in ("-l", "--logit-bias"):
            bias |= _bias(flag, _given(flag, value))
            request["logit_bias"] = dict(bias)
        elif flag in GRAMMARS:
            raise PlanError(f"{flag} is a grammar, which is no stage", "pass what it allows as a mask")
        else:
            left.append(LeftOut(name=flag, value=value, why=f"{ASIDE}: another flag"))
    return Asked(dialect=ENGINE, request=request, left_out=tuple(left))


_SWITCHES = frozenset({"--ignore-eos"})


def _pairs(text: str) -> Iterator[tuple[str, str | None]]:
    """Flags with their values; words before the first flag are the program."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise PlanError(f"a command line must have its quotes closed: {problem}") from None
    place = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    while place < len(words):
        flag, _, joined = words[place].partition("=")
        following = words[place + 1] if place + 1 < len(words) else None
        takes = flag not in _SWITCHES and not joined
        is_value = following is not None and (not following.startswith("-") or re.match(r"-\.?\d", following))
        if takes and is_value:
            yield flag, following
            place += 2
        else:
            yield flag, joined or None
            place += 1


def _given(flag: str, value: str | None) -> str:
    if value is None:
        raise PlanError(f"{flag} needs a value")
    return value


def _number(flag: str, value: str | None, whole: bool) -> float:
    text = _given(flag, value)
    try:
        return int(text) if whole else float(text)
    except ValueError:
        raise ParameterError(flag, text, "a whole number" if whole else "a number") from None


def _bias(flag: str, text: str) -> dict[str, float]:
    """``15043+1`` or ``15043-1.5``."""
    match = re.fullmatch(r"(\d+)([+-][0-9.]+)", text)
    if match is None:
        raise ParameterError(flag, text, "a token id, a sign and a number", "for instance 15043-1.5")
    return {match[1]: float(match[2])}


LLAMA_CLI = Format(name="llama_cli", engine=ENGINE, meaning="command line of llama-cli or llama-server", read=read)
