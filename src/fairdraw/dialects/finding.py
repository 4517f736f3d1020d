"""Finding a dialect by name."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects import DIALECTS
from fairdraw.dialects.base import Dialect
from fairdraw.dialects.reading import did_you_mean
from fairdraw.errors import ParameterError, PlanError

_NICKNAMES = MappingProxyType(dict.fromkeys(("hf", "huggingface", "hugging_face"), "transformers"))
"""What people call an engine that is not near its name."""


def find_dialect(name: str) -> Dialect:
    """The dialect of ``engine@version``; without a version the newest known one, and patch versions do not count.

    Raises
    ------
    PlanError
        Unknown engine or version; the hint has the known ones.
    ParameterError
        The name is no text.

    Examples
    --------
    >>> find_dialect("transformers").name
    'transformers@5.24'
    >>> find_dialect("transformers@5.22.0").name
    'transformers@5.22'
    """
    if not isinstance(name, str):
        raise ParameterError("dialect", name, "a text, 'engine' or 'engine@version'")
    engine, _, version = name.partition("@")
    versions = {d.version: d for d in DIALECTS.values() if d.engine == engine}
    if not versions:
        engines = dict.fromkeys(d.engine for d in DIALECTS.values())
        near = _NICKNAMES.get(engine.lower())
        hint = f"did you mean {near!r}?" if near else did_you_mean(engine.lower(), engines)
        raise PlanError(f"no dialect is called {engine!r}", hint or f"known: {', '.join(engines)}")
    if not version:
        return list(versions.values())[-1]
    for known, dialect in versions.items():
        if version == known or (known and version.startswith(f"{known}.")):
            return dialect
    numbered = ", ".join(f"{engine}@{v}" for v in versions if v)
    raise PlanError(f"{engine} is not known at version {version!r}", f"known: {numbered or engine}")
