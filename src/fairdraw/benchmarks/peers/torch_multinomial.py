"""torch as people write it by hand: topk or sort for a cut, then softmax and multinomial."""

from __future__ import annotations

from typing import Any

from fairdraw.benchmarks.contenders import Contender, Job, Work
from fairdraw.benchmarks.modes import Mode
from fairdraw.benchmarks.peers.tensors import job_on_tensors


def _prepare(work: Work) -> Job:
    mode = work.mode
    return job_on_tensors(work, lambda rows, generator: _draw(rows, mode, generator))


def _draw(rows: Any, mode: Mode, generator: Any) -> Any:
    if mode.temperature == 0:
        return rows.argmax(-1)
    scores, ids = rows / mode.temperature, None
    if mode.top_k is not None:
        scores, ids = scores.topk(min(mode.top_k, scores.shape[-1]))
    elif mode.top_p is not None:
        scores, ids = scores.sort(descending=True)
    probabilities = scores.softmax(-1)
    if mode.top_p is not None:
        before = probabilities.cumsum(-1) - probabilities
        probabilities = probabilities.masked_fill(before >= mode.top_p, 0)
    if mode.min_p is not None:
        least = mode.min_p * probabilities.amax(-1, keepdim=True)
        probabilities = probabilities.masked_fill(probabilities < least, 0)
    drawn = probabilities.multinomial(1, generator=generator)
    return (drawn if ids is None else ids.gather(-1, drawn)).squeeze(-1)


TORCH = Contender(
    name="torch",
    role="peer",
    meaning="torch's softmax and multinomial, after topk or sort for a cut",
    prepare=_prepare,
    packages=("torch",),
    extra="engines",
)
