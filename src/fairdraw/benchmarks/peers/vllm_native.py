"""vLLM's algorithm where it has no kernel of its own, in torch: written anew from its description.

With top-p the whole row is sorted, ascending; top-k and top-p mask the sorted row, which is scattered back.  Top-k
alone takes the k-th score as a threshold.  Then a softmax, and the token is the argmax of probability / Exp(1).
"""

from __future__ import annotations

from typing import Any

from fairdraw.benchmarks.contenders import Contender, Job, Work
from fairdraw.benchmarks.modes import Mode
from fairdraw.benchmarks.peers.tensors import job_on_tensors

MASKED = float("-inf")


def _prepare(work: Work) -> Job:
    mode = work.mode
    return job_on_tensors(work, lambda rows, generator: _draw(rows, mode, generator))


def _draw(rows: Any, mode: Mode, generator: Any) -> Any:
    if mode.temperature == 0:
        return rows.argmax(-1)
    scores = rows / mode.temperature
    if mode.min_p is not None:
        shares = scores.softmax(-1)
        scores = scores.masked_fill_(shares < mode.min_p * shares.amax(-1, keepdim=True), MASKED)
    if mode.top_p is not None:
        scores = _cut_sorted(scores, mode.top_k, mode.top_p)
    elif mode.top_k is not None:
        last = scores.topk(min(mode.top_k, scores.shape[-1])).values[..., -1:]
        scores = scores.masked_fill_(scores < last, MASKED)
    probabilities = scores.softmax(-1)
    race = probabilities.new_empty(probabilities.shape).exponential_(generator=generator)
    return probabilities.div_(race).argmax(-1)


def _cut_sorted(scores: Any, k: int | None, p: float) -> Any:
    ascending, ids = scores.sort()
    if k is not None:
        last = ascending[..., -min(k, ascending.shape[-1]), None]
        ascending = ascending.masked_fill_(ascending < last, MASKED)
    lost = ascending.softmax(-1).cumsum(-1) <= 1 - p
    lost[..., -1] = False  # the best always stays
    return ascending.masked_fill_(lost, MASKED).scatter(-1, ids, ascending)


VLLM = Contender(
    name="vllm",
    role="peer",
    meaning="vLLM's torch-native algorithm, written anew",
    prepare=_prepare,
    packages=("torch",),
    extra="engines",
)
