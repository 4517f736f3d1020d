"""Speed of the embedded model: python benches/model_speed.py [tokens].

Each time in a fresh process on one thread: cold prepares the weights (download not counted), warm finds them.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def measure(tokens: int) -> dict[str, float]:
    begun = time.perf_counter()
    from fairdraw.models import load

    model = load(model="smollm2")
    session = model.start()
    logits = session.feed([1])
    first_logits = time.perf_counter() - begun
    prompt = model.tokenizer.encode("The quick brown fox jumps over the lazy dog. " * 40)[:314]
    begun = time.perf_counter()
    logits = session.feed(prompt)
    reading = len(prompt) / (time.perf_counter() - begun)
    begun = time.perf_counter()
    for _ in range(tokens):
        logits = session.feed([int(logits.argmax())])
    writing = tokens / (time.perf_counter() - begun)
    # ru_maxrss: kilobytes on Linux, bytes on macOS.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return {
        "first_logits_s": first_logits,
        "prompt_per_s": reading,
        "tokens_per_s": writing,
        "peak_MiB": peak,
    }


def in_a_fresh_process(cache: Path, tokens: int) -> dict[str, float]:
    environment = os.environ | dict.fromkeys(THREADS, "1") | {"FAIRDRAW_CACHE": str(cache)}
    command = [sys.executable, __file__, "--measure", str(tokens)]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main(tokens: int) -> None:
    import numpy as np

    from fairdraw.models.fetching import SMOLLM2, fetch

    core = os.environ.get("OPENBLAS_CORETYPE", "not set")
    print(f"numpy {np.__version__}, {cpu_name()}, one thread, OPENBLAS_CORETYPE {core}")
    weights = fetch(SMOLLM2)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / weights.name).symlink_to(weights)
        for name in ("cold", "warm"):
            figures = in_a_fresh_process(Path(folder), tokens)
            print(f"{name}: " + ", ".join(f"{key} {value:.2f}" for key, value in figures.items()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
