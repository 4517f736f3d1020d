"""What a draw costs beside one read of its row: FAIRDRAW_BACKEND=numba python benches/kernels.py [ROWS.safetensors]

The whole public call, `fairdraw.sample`, over numpy.max of the same warm row: medians of thread CPU time, the two
interleaved.  ROWS has a tensor ``logits`` of real rows (tests/golden/smollm2_rows.safetensors by default).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("FAIRDRAW_BACKEND", "numba")

import numpy as np
from safetensors.numpy import load_file

import fairdraw as fd

PLANS = {
    "greedy": "fairdraw: temperature=0",
    "T .8": "fairdraw: temperature=0.8",
    "k 50": "fairdraw: temperature=0.8 top_k=50",
    "k 50 p .9": "fairdraw: temperature=0.8 top_k=50 top_p=0.9",
    "transf. k 50 p .9": "transformers: do_sample=true top_k=50 top_p=0.9",
    "candle k 50 p .9": "candle: TopKThenTopP k=50 p=0.9 temperature=0.8",
    "min-p .05": "fairdraw: temperature=0.8 min_p=0.05",
    "p .9": "fairdraw: temperature=0.8 top_p=0.9",
    "inverse CDF": "custom: temperature(value=0.8) > inverse_cdf()",
}
REAL = Path(__file__).parents[1] / "tests" / "golden" / "smollm2_rows.safetensors"
REPEATS, BATCH = 60, 5


def rows_of(kind: str, vocab: int) -> list[np.ndarray]:
    """Synthetic rows: peaky and LM-like are Zipf rows, top-p 0.9 keeping tens and thousands of tokens."""
    rng = np.random.default_rng(1)
    zipf = -1.1 * np.log(rng.permutation(vocab) + 2.7) + 0.3 * rng.standard_normal(vocab)
    row = {
        "peaky": lambda: 2.5 * zipf,
        "LM-like": lambda: 1.3 * zipf,
        "flat": lambda: rng.standard_normal(vocab),
        "equal": lambda: np.zeros(vocab),
        "half -inf": lambda: np.where(rng.random(vocab) < 0.5, -np.inf, rng.standard_normal(vocab)),
    }[kind]()
    return [row.astype(np.float32)]


def microseconds(job: Callable[[], object]) -> float:
    begun = time.thread_time_ns()
    for _ in range(BATCH):
        job()
    return (time.thread_time_ns() - begun) / BATCH / 1e3


def measure(plan: fd.Plan, rows: list[np.ndarray]) -> tuple[float, float]:
    """Median cost of numpy.max and of a draw, microseconds of thread CPU time."""
    reads, draws = [], []
    for i in range(REPEATS):
        row = rows[i % len(rows)]
        fd.sample(plan, row, seed=1, position=i)
        reads.append(microseconds(row.max))
        draws.append(microseconds(lambda row=row, i=i: fd.sample(plan, row, seed=2, position=i)))
    return statistics.median(reads), statistics.median(draws)


def main(path: Path) -> None:
    plans = {name: fd.Plan.parse(text) for name, text in PLANS.items()}
    print("microseconds of a draw, and how many times numpy.max of the row that is")
    print(f"{'V':>7} {'row':<10}{'max':>7}" + "".join(f"{name:>19}" for name in plans))
    cases = [(49152, "real", list(load_file(path)["logits"]))]
    kinds = ("peaky", "LM-like", "flat", "equal", "half -inf")
    cases += [(vocab, kind, rows_of(kind, vocab)) for vocab in (49152, 128256) for kind in kinds]
    cases += [(1, "one id", rows_of("flat", 1))]
    for vocab, kind, rows in cases:
        results = [measure(plan, rows) for plan in plans.values()]
        cells = "".join(f"{draw:>11.1f} ({draw / read:>4.1f})" for read, draw in results)
        print(f"{vocab:>7} {kind:<10}{statistics.median(read for read, _ in results):>7.1f} {cells}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REAL)
