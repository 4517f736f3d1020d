"""What a draw costs beside one read of its row: FAIRDRAW_BACKEND=numba python benches/kernels.py [ROWS.safetensors]

More plans than `fairdraw bench` has, and no peers: the whole public call, `fairdraw.sample`, over numpy.max of the same
warm row, medians of thread CPU time, the two interleaved.  ROWS has a tensor ``logits`` of real rows
(tests/golden/smollm2_rows.safetensors by default).
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

os.environ.setdefault("FAIRDRAW_BACKEND", "numba")

import numpy as np
from safetensors.numpy import load_file

import fairdraw as fd
from fairdraw.benchmarks.rows import make_rows
from fairdraw.benchmarks.timing import measure

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
KINDS = ("peaky", "lm-like", "flat", "equal", "half-inf")
REPEATS = 60


def measure_plan(plan: fd.Plan, rows: list[np.ndarray]) -> tuple[float, float]:
    """Median cost of numpy.max and of a draw, microseconds of thread CPU time."""

    def read(turn: int, step: int) -> object:
        return rows[turn % len(rows)].max()

    def draw(turn: int, step: int) -> object:
        return fd.sample(plan, rows[turn % len(rows)], seed=1, position=step)

    times = measure({"max": read, "draw": draw}, rows_per_call=1, repeats=REPEATS, read=read)
    return times["max"].cpu_us, times["draw"].cpu_us


def main(path: Path) -> None:
    plans = {name: fd.Plan.parse(text) for name, text in PLANS.items()}
    print("microseconds of a draw, and how many times numpy.max of the row that is")
    print(f"{'V':>7} {'row':<10}{'max':>7}" + "".join(f"{name:>19}" for name in plans))
    cases = [(49152, "real", list(load_file(path)["logits"]))]
    cases += [(vocab, kind, list(make_rows(kind, vocab, 1))) for vocab in (49152, 128256) for kind in KINDS]
    cases += [(1, "one id", list(make_rows("flat", 1, 1)))]
    for vocab, kind, rows in cases:
        results = [measure_plan(plan, rows) for plan in plans.values()]
        cells = "".join(f"{draw:>11.1f} ({draw / read:>4.1f})" for read, draw in results)
        print(f"{vocab:>7} {kind:<10}{statistics.median(read for read, _ in results):>7.1f} {cells}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REAL)
