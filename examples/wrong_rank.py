"""A row that still has its batch axis: candle speaks of ranks, we say what to pass; our hint quotes candle."""

import re

import numpy as np
from side_by_side import show

from fairdraw.errors import LogitsError
from fairdraw.replay.candle import LogitsProcessor, Sampling, apply_repeat_penalty
from fairdraw.streams.candle_metal import MetalGenerator

ROW = np.float32([[2.0, 1.5, 1.0, 0.5, 0.0, -1.0]])


def sampled(sampling):
    return lambda: LogitsProcessor.from_sampling(42, sampling, device_generator=MetalGenerator()).sample(ROW)


CALLS = {
    "rank ArgMax": (sampled(Sampling.ArgMax()), "unexpected rank, expected: 0, got: 1 ([1])"),
    "rank All": (sampled(Sampling.All(temperature=0.8)), "unexpected rank, expected: 1, got: 2 ([1, 6])"),
    "rank GumbelSoftmax": (
        sampled(Sampling.GumbelSoftmax(temperature=0.8)),
        "unexpected rank, expected: 0, got: 1 ([1])",
    ),
    "rank apply_repeat_penalty": (
        lambda: apply_repeat_penalty(ROW, 1.1, []),
        "unexpected rank, expected: 1, got: 2 ([1, 6])",
    ),
}

for name, (call, printed) in CALLS.items():
    try:
        call()
    except LogitsError as error:
        print(f"[ours: {str(error).splitlines()[0]}]")
        show(name, re.search("unexpected rank[^']*", error.hint)[0], printed)
