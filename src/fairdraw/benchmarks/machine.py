"""On what a benchmark ran: processor, cores, versions."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

PACKAGES = ("numpy", "numba", "torch", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where times come from; ratios travel between machines, times do not."""

    processor: str
    cores: int
    """Cores that this process may use."""
    system: str
    python: str
    fairdraw: str
    packages: dict[str, str]
    """Version of each package that counts here and is installed."""

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)


def this_machine() -> Machine:
    """Describe the machine that this runs on."""
    return Machine(
        processor=_processor(),
        cores=count_cores(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        fairdraw=_version("fairdraw") or "not installed",
        packages={name: version for name in PACKAGES if (version := _version(name))},
    )


def count_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    source = Path("/proc/cpuinfo")
    if source.is_file():
        for line in source.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
