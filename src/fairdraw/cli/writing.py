"""Texts that are written side by side and shown one after the other, each as it comes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from fairdraw.cli.output import words
from fairdraw.generation.batch import Failed, News, Outcome, Request, RequestBatch
from fairdraw.generation.result import Completion
from fairdraw.models import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A finished text, and how long it took beside the others."""

    completion: Completion
    seconds: float


def finished(outcome: Outcome) -> Completion:
    """The text, or its error raised."""
    if isinstance(outcome, Failed):
        raise outcome.error
    return outcome


def write_in_turn(model: Model, request: Request, stream: IO[str]) -> Iterator[Timed]:
    """Write the samples of a request; the first that has not ended is shown as it comes, the others wait for it.

    Yields
    ------
    Timed
        Each text when all of it is shown.

    Raises
    ------
    FairdrawError
        Of a text that failed, after those before it were shown.
    """
    count = request.plan.limits.n if request.n is None else request.n
    batch, begun = RequestBatch(model), time.perf_counter()
    batch.add(request)
    coming, arrived = iter(batch), [deque[tuple[News, float]]() for _ in range(count)]
    for index in range(count):
        if count > 1:
            words(f"[{request.sample_index + index}]")
        outcome, seconds = None, 0.0
        while outcome is None:
            while not arrived[index]:
                news = next(coming)
                arrived[news.sample_index - request.sample_index].append((news, time.perf_counter() - begun))
            news, seconds = arrived[index].popleft()
            outcome = news.outcome
            stream.write(news.step.text if news.step else "")
            stream.flush()
        # A failure that showed nothing leaves no line behind.
        if not isinstance(outcome, Failed) or outcome.text:
            stream.write("\n")
        stream.flush()
        yield Timed(completion=finished(outcome), seconds=seconds)
