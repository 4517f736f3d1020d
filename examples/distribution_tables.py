"""Eight tables of frequencies, 200,000 draws each, to the last printed digit.

The document does not print the seed: of 0 to 4999 only 7 gives the first table, and 7 gives all eight.  Each table
has a fresh processor.
"""

import numpy as np
from side_by_side import frequencies, show

from fairdraw.replay.candle import LogitsProcessor, Sampling
from fairdraw.replay.candle_softmax import softmax

LOGITS = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
SEED, DRAWS = 7, 200_000
THREE = "0.5066 0.3076 0.1859 0.0000 0.0000 0.0000"
TWO = "0.6228 0.3772 0.0000 0.0000 0.0000 0.0000"
TABLES = {
    "dist All t=1": (Sampling.All(temperature=1.0), "0.4209 0.2540 0.1539 0.0936 0.0566 0.0211"),
    "dist All t=0.5": (Sampling.All(temperature=0.5), "0.6353 0.2341 0.0856 0.0319 0.0117 0.0015"),
    "dist TopK k=2": (Sampling.TopK(k=2, temperature=1.0), TWO),
    "dist TopP p=0.7": (Sampling.TopP(p=0.7, temperature=1.0), THREE),
    "dist TopP p=0.8": (Sampling.TopP(p=0.8, temperature=1.0), THREE),
    "dist TopKThenTopP k=3 p=0.6": (Sampling.TopKThenTopP(k=3, p=0.6, temperature=1.0), TWO),
    "dist TopKThenTopP k=3 p=0.75": (Sampling.TopKThenTopP(k=3, p=0.75, temperature=1.0), THREE),
    "dist TopKThenTopP k=3 p=0.9": (Sampling.TopKThenTopP(k=3, p=0.9, temperature=1.0), THREE),
}

probabilities = softmax(np.float32(LOGITS), "neon")
show("softmax6", [f"{p:.4f}" for p in probabilities], "0.4197 0.2546 0.1544 0.0936 0.0568 0.0209")
show("mass of the first 2", f"{probabilities[:2].sum():.4f}", "0.6743")
show("mass of the first 3", f"{probabilities[:3].sum():.4f}", "0.8287")
for name, (sampling, printed) in TABLES.items():
    tokens = LogitsProcessor.from_sampling(SEED, sampling).sample_many(LOGITS, DRAWS)
    show(name, frequencies(tokens.tolist()), printed)
