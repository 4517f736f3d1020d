"""What the first minute of a process is like: python benches/first_minute.py [SECONDS] [VOCAB]

Two processes draw tokens for so many seconds (60 by default), with FAIRDRAW_BACKEND unset: one with an empty folder for
compiled kernels, one with the folder that it left.  Each prints the time from before ``import fairdraw`` to the first
token, the longest calls before, during and after loading, and its memory.  Then every mode is compiled in a third
folder, for the time of each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

CODE = """
import sys, time
begun = time.perf_counter()
import numpy as np
numpy_there = time.perf_counter()
import fairdraw as fd
plan = fd.Plan.parse("fairdraw: temperature=0.8 top_k=50 top_p=0.9")
seconds, vocab = float(sys.argv[1]), int(sys.argv[2])
row = np.random.default_rng(0).standard_normal(vocab).astype(np.float32)
counted = time.perf_counter()
fd.sample(plan, row, seed=1, position=0)
first = time.perf_counter()
ready = fd.kernels.backends._READY
spans, position = [], 0
def memory():
    try:
        return next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmRSS"))
    except OSError:
        return 0
before = memory()
while time.perf_counter() - begun < seconds:
    position += 1
    start = time.perf_counter()
    fd.sample(plan, row, seed=1, position=position)
    spans.append((time.perf_counter() - start, start - begun, bool(ready), "numba" in sys.modules))
    if "top_k" in ready:
        time.sleep(0.001)
def report(title, kept):
    times = sorted(time * 1e3 for time, *_ in kept)
    if times:
        worst = ", ".join(f"{time:.1f}" for time in times[-4:])
        print(f"  {title:34} {len(times):6} calls, median {times[len(times) // 2]:.2f} ms, longest {worst}")
print(f"  import numpy and fairdraw to the first token {(first - begun) * 1e3:.0f} ms", end=", ")
print(f"of which numpy {(numpy_there - begun) * 1e3:.0f}")
report("NumPy, before Numba", [s for s in spans if not s[3]])
report("NumPy, Numba loading or compiling", [s for s in spans if s[3] and not s[2]])
report("kernel", [s for s in spans if s[2]])
switched = next((s[1] for s in spans if s[2]), None)
after = "not yet" if switched is None else f"after {switched:.1f} s"
print(f"  kernel {after}; memory {before} MB, then {memory()} MB")
"""


def main(seconds: str = "60", vocab: str = "49152") -> None:
    with tempfile.TemporaryDirectory() as folder:
        variables = {name: value for name, value in os.environ.items() if name != "FAIRDRAW_BACKEND"}
        variables |= {"NUMBA_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1"}
        for title in ("empty folder", "filled folder"):
            print(f"{title}, vocabulary {vocab}", flush=True)
            subprocess.run([sys.executable, "-c", CODE, seconds, vocab], env=variables, check=True)
    with tempfile.TemporaryDirectory() as folder:
        print("every mode compiled, one after the other", flush=True)
        for _ in range(2):
            begun = time.perf_counter()
            command = [sys.executable, "-m", "fairdraw.cli", "warmup"]
            subprocess.run(command, env=variables | {"NUMBA_CACHE_DIR": folder}, check=True, stderr=subprocess.DEVNULL)
            print(f"  {time.perf_counter() - begun:.1f} s in all", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
