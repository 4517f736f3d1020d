"""Equal logits at the edge of top-k: transformers keeps all of them, candle exactly k.

The printed counts do not come with a seed.  42 gives them, and so do 33 other seeds of 0 to 4999.
"""

import numpy as np
from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling

LOGITS = np.float32([3.0, 2.0, 2.0, 1.0])

transformers = fd.Plan.parse("transformers: do_sample=true top_k=2")
candle = fd.Plan.parse("candle: TopK k=2 temperature=1.0")
show("ties hf", (fd.law(transformers, LOGITS).probabilities > 0).tolist(), "True True True False")

tokens = LogitsProcessor.from_sampling(42, Sampling.TopK(k=2, temperature=1.0)).sample_many(LOGITS, 10_000)
show("ties TopK", np.bincount(tokens, minlength=4).tolist(), "7349 2651 0 0")

comparison = fd.compare(transformers, candle, LOGITS)
print(f"compare: {comparison.verdict}, total variation {comparison.total_variation:.4f}. {comparison.reason}")
