"""Gumbel noise with and without a seed: 16 draws of "seed 42" from six logits.

The processor's seed rules the draws by weight.  It has no part in GumbelSoftmax, whose noise is the device's: candle's
CPU cannot be seeded at all, and a Metal device starts where every fresh one starts.
"""

from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling
from fairdraw.streams.candle_metal import MetalGenerator

LOGITS = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
ALL, GUMBEL = Sampling.All(temperature=1.0), Sampling.GumbelSoftmax(temperature=1.0)
FIRST = "1 1 0 4 0 0 1 2 3 3 0 0 3 0 2 0"
OURS = "nobody can draw it again: the operating system seeds candle's CPU noise.  Ours is a keyed draw of the same law"


def sixteen(sampling, device=None):
    return LogitsProcessor.from_sampling(42, sampling, device_generator=device).sample_many(LOGITS, 16).tolist()


show("all seed 42", sixteen(ALL), "0 1 0 1 3 1 5 0 4 0 1 0 0 2 0 3")
if sixteen(ALL) != sixteen(ALL):
    raise AssertionError("the same seed gave other tokens")

plan = fd.Plan.parse("candle: GumbelSoftmax temperature=1.0")
keyed = [fd.sample_many(plan, LOGITS, seed=42, positions=range(start, start + 16)).tolist() for start in (0, 16)]
show("cpu gumbel run 1", keyed[0], "1 1 2 0 0 0 2 0 0 1 2 0 1 4 0 0", OURS)
show("cpu gumbel run 2", keyed[1], "0 2 1 0 0 0 3 5 2 0 5 1 5 0 0 0", OURS)
try:
    sixteen(GUMBEL)
except fd.ParameterError as error:
    show("cpu set_seed", error.hint.split("'")[1], "cannot seed the CPU rng with set_seed")

device = MetalGenerator()
show("metal gumbel run 1", sixteen(GUMBEL, device), FIRST)
show("metal gumbel run 2", sixteen(GUMBEL, device), "0 2 2 1 2 0 0 0 1 1 2 4 1 3 0 3")
device.set_seed(42)
show("metal gumbel set_seed(42)", sixteen(GUMBEL, device), FIRST)
