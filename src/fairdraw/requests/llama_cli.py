"""A command line of llama.cpp: ``llama-cli``, ``llama-server`` and the like.

Read: llama.cpp 0c1e57098, common/arg.cpp.  A negative temperature is taken as 0 there; in a flag that begins with two
dashes ``_`` is read as ``-``; a value is always the next word, whatever it begins with, and never stands after ``=``.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from types import MappingProxyType

from fairdraw.dialects.reading import did_you_mean
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
OTHERS = MappingProxyType(
    dict.fromkeys(("-m", "--model", "-mu", "--model-url", "-hf", "-hfr", "--hf-repo", "-hff", "--hf-file"), "the model")
    | dict.fromkeys(("-p", "--prompt", "-f", "--file", "-bf", "--binary-file"), "the prompt")
    | dict.fromkeys(("-sys", "--system-prompt", "-sysf", "--system-prompt-file"), "the prompt")
    | dict.fromkeys(("--chat-template", "--chat-template-file", "--chat-template-kwargs"), "how the prompt is written")
    | dict.fromkeys(("--in-prefix", "--in-suffix", "-r", "--reverse-prompt"), "how the prompt is written")
    | dict.fromkeys(("--host", "--port", "--api-key", "-a", "--alias", "-np", "--parallel"), "how it is served")
    | dict.fromkeys(("-c", "--ctx-size", "--keep", "-b", "--batch-size", "-ub", "--ubatch-size"), "how it runs")
    | dict.fromkeys(("-t", "--threads", "-tb", "--threads-batch", "-ngl", "--gpu-layers"), "how it runs")
    | dict.fromkeys(("--n-gpu-layers", "-md", "--model-draft", "--lora", "--mmproj", "--log-file"), "how it runs")
)
"""Flags that take a value and do not concern the law, and what they are about."""
SWITCHES = frozenset(
    (
        *("--ignore-eos", "-cnv", "--conversation", "-no-cnv", "--no-conversation", "-st", "--single-turn", "--jinja"),
        *("-i", "--interactive", "-e", "--escape", "--no-escape", "--no-mmap", "--mlock", "--no-warmup", "--version"),
        *("--no-display-prompt", "-v", "--verbose", "--log-disable", "-sp", "--special", "-mli", "--multiline-input"),
    )
)
"""Flags without a value."""
_READ = frozenset(
    (
        *(*FLAGS, *GRAMMARS, "--samplers", "--sampler-seq", "--sampling-seq"),
        *("--dry-sequence-breaker", "-l", "--logit-bias", "--ignore-eos"),
    )
)
"""Flags that this reader knows what to do with."""
_NEAR = 0.8
"""How much of a slip must be a flag; less, and other flags of llama.cpp would count as slips."""
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
            bias = _joined(flag, bias, _bias(flag, _given(flag, value)))
            request["logit_bias"] = bias
        elif flag in GRAMMARS:
            raise PlanError(f"{flag} is a grammar, which is no stage", "pass what it allows as a mask")
        else:
            left.append(LeftOut(name=flag, value=value, why=_why_left_out(flag)))
    return Asked(dialect=ENGINE, request=request, left_out=tuple(left))


def _why_left_out(flag: str) -> str:
    """Why a flag is no part of the plan.

    Raises
    ------
    PlanError
        It looks like a slip for one that is.
    """
    name, equals, value = flag.partition("=")
    if equals and name in _READ:
        raise PlanError(f"llama.cpp has no flag {flag}", f"the value is the next word: {name} {value}")
    if flag in OTHERS or flag in SWITCHES:
        return f"{ASIDE}: {OTHERS.get(flag, 'another flag')}"
    hint = did_you_mean(name, _READ, cutoff=_NEAR) if name.startswith("--") else ""
    if hint:
        raise PlanError(f"fairdraw does not know the flag {flag}, and llama.cpp refuses what it does not know", hint)
    return "fairdraw does not know this flag"


def _pairs(text: str) -> Iterator[tuple[str, str | None]]:
    """Flags with their values; words before the first flag are the program."""
    try:
        # As in a shell, a backslash at the end of a line goes on with the next one.
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as problem:
        raise PlanError(f"a command line must have its quotes closed: {problem}") from None
    place = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    while place < len(words):
        word = words[place]
        flag = word.replace("_", "-") if word.startswith("--") else word
        if not flag.startswith("-"):
            raise PlanError(
                f"llama.cpp takes no word without a flag, got {word!r}", "a text of several words is quoted"
            )
        following = words[place + 1] if place + 1 < len(words) else None
        if following is not None and _takes(flag, following):
            yield flag, following
            place += 2
        else:
            yield flag, None
            place += 1


def _takes(flag: str, following: str) -> bool:
    """Whether the next word is a flag's value; of a flag that is not known here, it is unless it looks like a flag."""
    if flag in SWITCHES:
        return False
    looks_like_a_flag = following.startswith("-") and not re.match(r"-\.?\d", following)
    return flag in _READ or flag in OTHERS or not looks_like_a_flag


def _given(flag: str, value: str | None) -> str:
    if value is None:
        raise PlanError(f"{flag} needs a value")
    return value


def _number(flag: str, value: str | None, whole: bool) -> float:
    text = _given(flag, value)
    kind = "a whole number" if whole else "a finite number"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise ParameterError(flag, text, kind) from None
    # Python reads 1_0 as ten; C++ stops at the underscore.
    if "_" in text or not (whole or math.isfinite(number)):
        raise ParameterError(flag, text, kind)
    return number


def _bias(flag: str, text: str) -> tuple[str, float]:
    """``15043+1`` or ``15043-1.5``."""
    match = re.fullmatch(r"([0-9]+)([+-](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", text)
    if match is None or not math.isfinite(float(match[2])):
        raise ParameterError(flag, text, "a token id, a sign and a finite number", "for instance 15043-1.5")
    return str(int(match[1])), float(match[2])


def _joined(flag: str, bias: dict[str, float], pair: tuple[str, float]) -> dict[str, float]:
    token, number = pair
    if token in bias:
        raise ParameterError(flag, f"{token} twice", "given once for each token id", "add the two numbers")
    return {**bias, token: number}


LLAMA_CLI = Format(name="llama_cli", engine=ENGINE, meaning="command line of llama-cli or llama-server", read=read)
