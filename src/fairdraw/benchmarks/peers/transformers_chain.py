"""transformers' own chain: its warpers in a ``LogitsProcessorList``, then softmax and multinomial."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairdraw.benchmarks.contenders import Contender, Job, Work
from fairdraw.benchmarks.modes import Mode
from fairdraw.benchmarks.peers.tensors import job_on_tensors


def _prepare(work: Work) -> Job:
    torch = import_module("torch")
    if work.mode.temperature == 0:
        return job_on_tensors(work, lambda rows, generator: rows.argmax(-1))
    chain, prompt = _chain(work.mode), torch.zeros((work.batch, 1), dtype=torch.long)

    def draw(rows: Any, generator: Any) -> Any:
        probabilities = chain(prompt, rows).softmax(-1)
        return probabilities.multinomial(1, generator=generator).squeeze(-1)

    return job_on_tensors(work, draw)


def _chain(mode: Mode) -> Any:
    """The warpers in the order in which ``generate`` puts them."""
    engine = import_module("transformers.generation.logits_process")
    chain = engine.LogitsProcessorList([engine.TemperatureLogitsWarper(mode.temperature)])
    if mode.top_k is not None:
        chain.append(engine.TopKLogitsWarper(mode.top_k))
    if mode.top_p is not None:
        chain.append(engine.TopPLogitsWarper(mode.top_p))
    if mode.min_p is not None:
        chain.append(engine.MinPLogitsWarper(mode.min_p))
    return chain


TRANSFORMERS = Contender(
    name="transformers",
    role="peer",
    meaning="transformers' real LogitsProcessorList, then softmax and multinomial",
    prepare=_prepare,
    packages=("torch", "transformers"),
    extra="engines",
)
