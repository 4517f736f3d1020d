"""The five numbers of a PyTorch tutorial's sampler on the row [1000, 999, 997, 990, 980].

Near 1400 the float32 numbers lie 1.2e-4 apart, so an entropy "to six places" says how a device scales, not what the
entropy is.  Dividing by .7, as PyTorch does on a CPU, gives 0.546041; the printed 0.546166 comes out of multiplying by
float32(1 / .7), as its CUDA code does with a Python number.
"""

import numpy as np
from side_by_side import show

import fairdraw as fd
from fairdraw.replay.torch_race import race
from fairdraw.streams.torch_mt19937 import TorchGenerator

ROW = np.float32([1000, 999, 997, 990, 980])


def exponentials(row):
    return np.exp((row - row.max()).astype(np.float64)).astype(np.float32)


def entropy(row):
    """In float32, as torch.distributions.Categorical computes it."""
    weights = exponentials(row)
    total = weights.sum(dtype=np.float32)
    logprobs = row - (np.float32(np.log(np.float64(total))) + row.max())
    return f"{-(weights / total * logprobs).sum(dtype=np.float32):.6f}"


def law(text):
    return fd.law(fd.Plan.parse(f"reference: {text}"), ROW)


show("entropy 1.5", entropy(ROW / np.float32(1.5)), "0.877431")
show("entropy 0.7", entropy(ROW * np.float32(1 / 0.7)), "0.546166")
print(f"[0.7, divided as on a CPU: {entropy(ROW / np.float32(0.7))}]")
print("[exact:", *(f"{fd.law(fd.Plan.parse(f'fairdraw: temperature={t}'), ROW).entropy:.6f}" for t in (1.5, 0.7)), "]")

shares = exponentials(ROW) / np.add.accumulate(exponentials(ROW), dtype=np.float32)[-1]
show("prob_sum", f"{np.add.accumulate(shares[::-1], dtype=np.float32)[-1]:.8f}", "1.00000000")
print(f"[that is the smallest first; the largest first: {np.add.accumulate(shares, dtype=np.float32)[-1]:.8f}]")

show("top_k_kept", law("temperature=0.7 top_k=3").support.size, "3")
kept = law("top_p=0.9").support
show("top_p_kept", kept.size, "2")
print("sampled, which the tutorial does not print:", race(ROW, kept, TorchGenerator(42).exponentials(5)).token)
