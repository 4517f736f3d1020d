"""How long a draw and a law take: python benches/sampling_speed.py ROWS.safetensors

Medians of thread CPU time over the rows of a file (tensor ``logits``), beside one read of the row (numpy.max).
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from safetensors.numpy import load_file

import fairdraw as fd

PLANS = (
    "fairdraw: temperature=0",
    "fairdraw: temperature=0.8",
    "fairdraw: temperature=0.8 top_k=40",
    "fairdraw: temperature=0.8 top_k=40 top_p=0.9",
    "fairdraw: temperature=0.8 top_p=0.9",
    "fairdraw: temperature=0.8 min_p=0.05",
    "custom: temperature(value=0.8) > inverse_cdf()",
)


def median_ms(job: Callable[[int], object], repeats: int) -> float:
    times = []
    for i in range(repeats):
        begun = time.thread_time()
        job(i)
        times.append(time.thread_time() - begun)
    return 1e3 * statistics.median(times)


def main(path: str) -> None:
    rows = load_file(path)["logits"]
    print(f"NumPy {np.__version__}, {platform.processor() or platform.machine()}, V={rows.shape[1]}, {len(rows)} rows")
    read = median_ms(lambda i: rows[i % len(rows)].max(), 200)
    print(f"{'plan':<50}{'sample, ms':>12}{'law, ms':>10}    (one read of the row: {read:.3f} ms)")
    for text in PLANS:
        plan = fd.Plan.parse(text)
        draw = median_ms(lambda i, plan=plan: fd.sample(plan, rows[i % len(rows)], seed=1, position=i), 40)
        law = median_ms(lambda i, plan=plan: fd.law(plan, rows[i % len(rows)]), 20)
        print(f"{text:<50}{draw:>12.2f}{law:>10.1f}")


if __name__ == "__main__":
    main(sys.argv[1])
