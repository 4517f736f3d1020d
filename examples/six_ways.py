"""One prompt, one seed (299792458), six ways of sampling, 25 tokens each.

The article's texts come from the 8-bit file through candle's own kernels, its prompt is not printed, and it leaves
GumbelSoftmax out.  Ours are candle's draws on the logits of the 4-bit file.  Ways that share the generator's numbers
share the beginning: a cut changes a token only where it moves the share that the number falls in.
"""

from side_by_side import show
from writing import write

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling

PROMPT, TOKENS, SEED = "Write about the sea.", 25, 299792458
WHY = "other logits: another prompt, 4 bits for 8, other kernels"
WAYS = {
    "ArgMax": (
        Sampling.ArgMax(),
        "The sea, a vast and mysterious realm, beckons sailors to explore its depths and uncover its secrets.\n",
    ),
    "All t=0.8": (
        Sampling.All(temperature=0.8),
        "The deep blue of the ocean was an otherworldly sight, like nothing I'd ever seen before. Everywhere I looked",
    ),
    "All t=1.5": (
        Sampling.All(temperature=1.5),
        "##  Honpoaatio AT Mallorca Sarea Mayfelidas Near Bella afflictatica erab Repeter Foredo",
    ),
    "TopK k=40 t=0.8": (
        Sampling.TopK(k=40, temperature=0.8),
        "The deep blue of the ocean, its surface painted with hues of sapphire and turquoise, stretches out as far as "
        "the eye",
    ),
    "TopP p=0.9 t=0.8": (
        Sampling.TopP(p=0.9, temperature=0.8),
        "The deep blue of the ocean is a sea of wonder and mystery. It beckons sailors to set sail, their hearts",
    ),
}

for name, (sampling, printed) in WAYS.items():
    processor = LogitsProcessor.from_sampling(SEED, sampling, sum_order="neon")
    show(f"text {name}", write(PROMPT, TOKENS, lambda row, ids, at=processor: at.sample(row)), printed, WHY)

gumbel = fd.Plan.parse("candle: GumbelSoftmax temperature=0.8")
text = write(PROMPT, TOKENS, lambda row, ids: fd.sample(gumbel, row, seed=SEED, position=len(ids)).token)
print(f"GumbelSoftmax, with fairdraw's noise (candle's own cannot be seeded):\n    {text}")
