"""What the peers on torch share: the rows as tensors, and the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fairdraw.benchmarks.contenders import SEED, Job, Work


def job_on_tensors(work: Work, draw: Callable[[Any, Any], object]) -> Job:
    """Make a job of a function that draws one token for each row of a float32 tensor, shape (batch, vocab).

    The tensors are views of the rows, made beforehand.  torch's number of threads is set for the whole process.
    """
    torch = import_module("torch")
    torch.set_num_threads(work.threads)
    generator = torch.Generator().manual_seed(SEED)
    whole, free = torch.from_numpy(work.rows), torch.inference_mode()
    if work.batch > 1:
        return free(lambda turn, step: draw(whole, generator))
    rows = whole.split(1)
    return free(lambda turn, step: draw(rows[turn % len(rows)], generator))
