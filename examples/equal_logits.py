"""transformers and candle on the same logits: laws exactly, and 100,000 of candle's own draws.

The article's row is not printed.  Ours is SmolLM2's (4-bit file) after "你好,今天天气", so the numbers are others and
the findings the same: alone, temperature, top-k and top-p agree; transformers' hidden top_k=50 and the mass that
candle measures p on do not.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling, apply_repeat_penalty

GOLDEN = Path(__file__).parents[1] / "tests/golden"
ROW = load_file(GOLDEN / "smollm2_rows.safetensors")["logits"][3]
IDS = json.loads((GOLDEN / "smollm2_token_ids.json").read_text(encoding="utf-8"))["contexts"][16]["token_ids"]
WHY = "another row of another file of the model"
ALL, TOP_K = Sampling.All(temperature=0.7), Sampling.TopK(k=40, temperature=0.7)
TOP_P, BOTH = Sampling.TopP(p=0.9, temperature=0.7), Sampling.TopKThenTopP(k=40, p=0.9, temperature=0.7)
SETTINGS = {  # transformers' parameters, candle's; printed: kept, largest difference, total variation, draws
    "t07": ("top_k=0", "All", ALL, "49152 49152", "6.98e-9", "2.14e-8", "0.0017 0.0000 0.0000"),
    "t07_def": ("", "All", None, "50 49152", "1.34e-2", "6.06e-2", ""),
    "k40": ("top_k=40", "TopK k=40", TOP_K, "40 40", "1.49e-8", "5.32e-8", "0.0016 0.0000 0.0000"),
    "p09": ("top_k=0 top_p=0.9", "TopP p=0.9", TOP_P, "31 31", "1.49e-8", "2.68e-8", "0.0016 0.0000 0.0000"),
    "k40p09": ("top_k=40 top_p=0.9", "TopKThenTopP k=40 p=0.9", BOTH, "14 31", "1.85e-2", "7.45e-2",
               "0.0016 0.0000 0.0748"),
}  # fmt: skip

for name, (ours, theirs, sampling, kept, largest, distance, draws) in SETTINGS.items():
    hf = fd.Plan.parse(f"transformers: do_sample=true temperature=0.7 {ours}")
    candle = fd.Plan.parse(f"candle: {theirs} temperature=0.7")
    result = fd.compare(hf, candle, ROW)
    show(f"{name} kept", [result.kept_a, result.kept_b], kept, WHY)
    show(f"{name} max", f"{result.max_difference:.2e}", largest, WHY)
    show(f"{name} TV", f"{result.total_variation:.2e}", distance, WHY)
    if sampling:
        p_hf, p_candle = (fd.law(plan, ROW).probabilities for plan in (hf, candle))
        tokens = LogitsProcessor.from_sampling(42, sampling, sum_order="neon").sample_many(ROW, 100_000)
        shares = np.bincount(tokens, minlength=ROW.size) / tokens.size
        outside = [shares[law == 0].sum() for law in (p_candle, p_hf)]
        show(f"{name} draws", [f"{x:.4f}" for x in (abs(shares - p_candle).max(), *outside)], draws, WHY)

top = np.sort(fd.law(fd.Plan.parse("fairdraw: temperature=0.7"), ROW).probabilities)[-40:]
show("mass of the top 40", f"{top.sum():.4f}", "0.9208", WHY)
penalised = fd.law(
    fd.Plan.parse("transformers: do_sample=true repetition_penalty=1.3"), ROW, history=fd.History(prompt=IDS)
)
candle_row, hf_row = apply_repeat_penalty(ROW, 1.3, IDS), penalised.trace[1].row.scores
show("rep13 context and changed", [len(IDS), np.count_nonzero(candle_row != ROW)], "46 34", WHY)
print(f"[the two engines' rows after the penalty are the same bits: {np.array_equal(candle_row, hf_row)}]")
