"""What a draw costs: python examples/cost.py [DRAWS].

The printed times are a compiled program's on another computer (M2 Max, vocabulary 49152, CPU column).  Ours are
NumPy's: the replay takes candle's own float32 steps one after the other.
"""

import sys
import time
from pathlib import Path

from safetensors.numpy import load_file
from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling, apply_repeat_penalty

GOLDEN = Path(__file__).parents[1] / "tests/golden"
DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
WHY = "another computer and another language"
WAYS = {
    "ArgMax": (Sampling.ArgMax(), "0.059"),
    "All": (Sampling.All(temperature=0.8), "0.155-0.168"),
    "TopK": (Sampling.TopK(k=40, temperature=0.8), "0.195"),
    "TopP": (Sampling.TopP(p=0.9, temperature=0.8), "1.23-1.28"),
    "TopKThenTopP": (Sampling.TopKThenTopP(k=40, p=0.9, temperature=0.8), "0.197-0.201"),
}


def milliseconds(draw):
    begun = time.perf_counter()
    for position in range(DRAWS):
        draw(position)
    return f"{(time.perf_counter() - begun) / DRAWS * 1000:.3f}"


row = load_file(GOLDEN / "smollm2_rows.safetensors")["logits"][0]
for name, (sampling, printed) in WAYS.items():
    processor = LogitsProcessor.from_sampling(1, sampling)
    show(f"ms {name}", milliseconds(lambda _, processor=processor: processor.sample(row)), printed, WHY)

gumbel = fd.Plan.parse("candle: GumbelSoftmax temperature=0.8")
why = f"{WHY}, and fairdraw's noise: Metal's large calls cannot be replayed"
show("ms GumbelSoftmax", milliseconds(lambda at: fd.sample(gumbel, row, seed=1, position=at)), "0.44-0.46", why)
context = list(range(64))
show("ms apply_repeat_penalty", milliseconds(lambda _: apply_repeat_penalty(row, 1.1, context)), "0.007", WHY)
