"""What candle's GumbelSoftmax loses in the tail of real rows: python examples/clipped_gumbel_tail.py [all].

The article calls its law the same as softmax's.  Its uniforms lie in [1e-7, .999), so a token more than 9.69 T below
the best is never drawn: a thing that six logits hardly show.  Ten stored rows; with "all" the model makes all 30.

The last column: how many draws of the clipped law at T = 1 the pooled G-test at level 1e-6 needs to refute softmax
with power .99, by the noncentral chi-square law.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from scipy.stats import chi2, ncx2

import fairdraw as fd

GOLDEN = Path(__file__).parents[1] / "tests/golden"
CONTEXTS = json.loads((GOLDEN / "smollm2_token_ids.json").read_text(encoding="utf-8"))["contexts"]
STORED = json.loads((GOLDEN / "smollm2_rows.json").read_text(encoding="utf-8"))["rows"]
TEN = dict(zip(STORED, load_file(GOLDEN / "smollm2_rows.safetensors")["logits"], strict=True))


def laws(temperature, row):
    ways = ("GumbelSoftmax", "All")
    return [fd.law(fd.Plan.parse(f"candle: {way} temperature={temperature}"), row) for way in ways]


def power(draws, real, claimed):
    single = draws * claimed >= 5  # the others share a cell
    p, q = (np.append(law[single], law[~single].sum()) for law in (claimed, real))
    return p.size > 1 and ncx2.sf(chi2.isf(1e-6, p.size - 1), p.size - 1, draws * ((q - p) ** 2 / p).sum()) >= 0.99


def draws_needed(real, claimed):
    low, high = 1, 2**30
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle, real, claimed) else (middle, high)
    return high


if sys.argv[1:] == ["all"]:
    model = fd.load_model("smollm2")
    rows = {number: model.start().feed(context["token_ids"]) for number, context in enumerate(CONTEXTS)}
else:
    rows = TEN
print("total variation of the clipped law from softmax\nrow  context                 T=1    T=0.7  draws at T=1")
for number, row in rows.items():
    (warm, softmax), (cold, colder) = laws(1.0, row), laws(0.7, row)
    distances = f"{warm.total_variation(softmax):.6f} {cold.total_variation(colder):.6f}"
    needed = draws_needed(warm.probabilities, softmax.probabilities)
    print(f"{number:>3}  {CONTEXTS[number]['tag']:<18} {distances} {needed:>13}")
