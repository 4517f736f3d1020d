"""A prefix whose mass lands on p: [.5, .3, .2] at p = .8.  Is the third token in?

In real numbers .5 + .3 is .8 and two tokens are enough.  In float32 the sum or p may be off by a digit, so fairdraw
reports the ids that rounding decides about.  The strict rule of the reference sampler takes one more on an exact hit.
"""

import numpy as np
from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling
from fairdraw.replay.transformers import replay

ROW = np.log(np.float32([0.5, 0.3, 0.2]))

transformers = fd.Plan.parse("transformers: do_sample=true top_k=0 top_p=0.8")
drawn = {step.token for step in replay(transformers, [ROW] * 1000, seed=1)}
show("top-p edge hf", len(drawn), "2")

processor = LogitsProcessor.from_sampling(1, Sampling.TopP(p=0.8, temperature=1.0))
show("top-p edge candle", len(set(processor.sample_many(ROW, 1000).tolist())), "2")

for text in ("transformers: do_sample=true top_k=0 top_p=0.8", "candle: TopP p=0.8 temperature=1.0"):
    law = fd.law(fd.Plan.parse(text), ROW)
    print(f"{text}: keeps {law.support.tolist()}, in doubt {law.in_doubt.tolist()}")

print("\nan exact hit, [.5, .25, .125, .125]:")
exact = np.log(np.float64([0.5, 0.25, 0.125, 0.125]))
for p in (0.5, 0.75, 0.875):
    kept = [
        fd.law(fd.Plan.parse(f"{engine} top_p={p}"), exact).support.size
        for engine in ("transformers: do_sample=true top_k=0", "reference:")
    ]
    print(f"    p = {p}: transformers keeps {kept[0]}, the strict rule {kept[1]}")
