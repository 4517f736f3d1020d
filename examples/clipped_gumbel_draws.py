"""When do draws show that candle's GumbelSoftmax is not softmax?  python examples/clipped_gumbel_draws.py [ROW DRAWS].

Row 26 of the 30 is flat, and 224 draws are enough; row 16 has little in its tail and takes 2524 (both with seed 1).
The comparison of the laws needs none.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import fairdraw as fd
from fairdraw.verify.drawing import LEVEL
from fairdraw.verify.statistics import g_test

GOLDEN = Path(__file__).parents[1] / "tests/golden"
STORED = json.loads((GOLDEN / "smollm2_rows.json").read_text(encoding="utf-8"))["rows"]
ROW, DRAWS = (int(word) for word in sys.argv[1:] or ("26", "224"))

row = load_file(GOLDEN / "smollm2_rows.safetensors")["logits"][STORED.index(ROW)]
clipped, softmax = (fd.Plan.parse(f"candle: {way} temperature=1.0") for way in ("GumbelSoftmax", "All"))

found = fd.compare(clipped, softmax, row)
print(f"row {ROW}: {found.verdict}, total variation {found.total_variation:.6f}\n    {found.reason}")

tokens = fd.sample_many(clipped, row, seed=1, positions=0, sample_indices=np.arange(DRAWS))
law = fd.law(softmax, row).probabilities
for draws in (DRAWS - 1, DRAWS):
    p_value = g_test(np.bincount(tokens[:draws], minlength=law.size), law).p_value
    print(f"{draws} draws: softmax is {'refuted' if p_value < LEVEL else 'not refuted'}, p = {p_value:.2e}")
