"""transformers' meaning of top_k=40 top_p=0.9 inside candle: a closure keeps 40 and renormalises, then TopP.

100,000 of candle's own draws against transformers' law.  The article's row is not printed; ours is SmolLM2's (4-bit
file) after "你好,今天天气".
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling

GOLDEN = Path(__file__).parents[1] / "tests/golden"
ROW = load_file(GOLDEN / "smollm2_rows.safetensors")["logits"][3]
WHY = "another row of another file of the model"


def keep_40_and_renormalise(probabilities):
    best = np.argsort(-probabilities, kind="stable")[:40]
    kept = np.zeros_like(probabilities)
    kept[best] = probabilities[best]
    probabilities[:] = kept / np.add.accumulate(kept, dtype=np.float32)[-1]


hf = fd.law(fd.Plan.parse("transformers: do_sample=true temperature=0.7 top_k=40 top_p=0.9"), ROW).probabilities
processor = LogitsProcessor.from_sampling(42, Sampling.TopP(p=0.9, temperature=0.7), sum_order="neon")
tokens = processor.sample_many(ROW, 100_000, keep_40_and_renormalise)
shares = np.bincount(tokens, minlength=ROW.size) / tokens.size

print("transformers keeps", np.count_nonzero(hf))
show("hfsem tokens drawn", np.count_nonzero(shares), "14", WHY)
show("hfsem max|freq-p_hf|", f"{abs(shares - hf).max():.4f}", "0.0015", WHY)
show("hfsem outside hf set", f"{shares[hf == 0].sum():.4f}", "0.0000")
