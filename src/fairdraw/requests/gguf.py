"""The sampling metadata of a GGUF file, which replaces llama.cpp's defaults where nobody asks for anything.

Read: llama.cpp 0c1e57098, src/llama-arch.cpp and common/common.cpp (``common_init_sampler_from_model``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from fairdraw.errors import PlanError, UnavailableError
from fairdraw.requests.base import LeftOut
from fairdraw.text.packages import missing_package

PREFIX = "general.sampling."
KEYS = MappingProxyType(
    {
        "sequence": "samplers",
        "top_k": "top_k",
        "top_p": "top_p",
        "min_p": "min_p",
        "xtc_probability": "xtc_probability",
        "xtc_threshold": "xtc_threshold",
        "temp": "temperature",
        "penalty_last_n": "repeat_last_n",
        "penalty_repeat": "repeat_penalty",
        "mirostat": "mirostat",
        "mirostat_tau": "mirostat_tau",
        "mirostat_eta": "mirostat_eta",
    }
)
"""Key behind the prefix to llama.cpp's parameter."""
_WHOLE = frozenset({"top_k", "penalty_last_n", "mirostat"})


def sampling_metadata(fields: Mapping[str, object]) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """What a file's metadata says about sampling, in llama.cpp's names, and what llama.cpp does not read.

    Examples
    --------
    >>> fields = {"general.sampling.temp": 0.6, "general.sampling.sequence": "top_k;temperature", "general.name": "x"}
    >>> sampling_metadata(fields)[0]
    {'temperature': 0.6, 'samplers': ['top_k', 'temperature']}
    """
    kept: dict[str, object] = {}
    left: list[LeftOut] = []
    for key, value in fields.items():
        name = key.removeprefix(PREFIX)
        if not key.startswith(PREFIX):
            continue
        if name not in KEYS:
            left.append(LeftOut(name=key, value=value, why="llama.cpp does not read it"))
        elif name == "sequence":
            kept[KEYS[name]] = [word for word in str(value).split(";") if word]
        else:
            kept[KEYS[name]] = int(value) if name in _WHOLE else float(value)  # type: ignore[call-overload]
    return kept, tuple(left)


def read_gguf_sampling(path: str) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """`sampling_metadata` of a file.

    Raises
    ------
    PlanError
        There is no such file.
    UnavailableError
        The package ``gguf`` is missing, or the file is no GGUF.
    """
    if not Path(path).exists():
        raise PlanError(f"{path} is no file")
    try:
        from gguf import GGUFReader
    except ImportError:
        raise missing_package("gguf", "read a GGUF file") from None
    try:
        reader = GGUFReader(Path(path))
        fields = {key: f.contents() for key, f in reader.fields.items() if key.startswith(PREFIX)}
    except Exception as problem:
        raise UnavailableError(f"{path} is not a readable GGUF file ({type(problem).__name__})") from None
    return sampling_metadata(fields)
