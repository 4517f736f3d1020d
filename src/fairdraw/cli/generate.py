"""``fairdraw generate``: a text as it comes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from fairdraw.cli.inputs import model_named, plan_from
from fairdraw.cli.output import print_json, stdout, table, words
from fairdraw.generation.loop import Generation, start
from fairdraw.generation.result import Completion
from fairdraw.logprobs import Alternative, Meaning
from fairdraw.models import Model
from fairdraw.params import SamplingParams

MAX_TOKENS = 256
"""How many tokens at most when nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    completion: Completion
    seconds: float


def generate_command(
    prompt: str,
    *,
    plan: str | None,
    dialect: str,
    params: SamplingParams,
    model: str,
    prompt_format: str,
    logprobs_mean: Meaning,
    as_json: bool,
) -> int:
    """Write ``n`` texts; the text goes to stdout, seed and figures to stderr."""
    if plan is None and params.min_tokens is None and params.bad_words is None:
        # A mistake in the flags is said at once, before a model is fetched.
        plan_from(plan, params, dialect, None)
    loaded = model_named(model)
    chosen = plan_from(plan, params, dialect, loaded.facts, kept=("seed", "max_tokens", "n"))
    limits = replace(chosen.limits, n=1)
    seed = params.seed if params.seed is not None else limits.seed
    limit = params.max_tokens if params.max_tokens is not None else limits.max_tokens
    one = replace(chosen, limits=limits)
    done: list[_Timed] = []
    count = params.n or chosen.limits.n
    for index in range(count):
        generation = start(
            loaded,
            prompt if prompt_format == "chat" else loaded.tokenizer.encode(prompt),
            one,
            seed=seed,
            sample_index=index,
            max_tokens=MAX_TOKENS if limit is None else limit,
            logprobs_mean=logprobs_mean,
        )
        seed = generation.seed
        if count > 1 and not as_json:
            words(f"[{index}]")
        done.append(_write(generation, None if as_json else sys.stdout.write))
        if not as_json:
            _report(done[-1], loaded)
    if as_json:
        print_json({"completions": [timed.completion.to_json() for timed in done]})
    return 0


def _write(generation: Generation, write: Callable[[str], object] | None) -> _Timed:
    begun = time.perf_counter()
    for step in generation:
        if write and step.text:
            write(step.text)
            sys.stdout.flush()
    if write:
        write("\n")
        sys.stdout.flush()
    return _Timed(completion=generation.completion(), seconds=time.perf_counter() - begun)


def _report(timed: _Timed, model: Model) -> None:
    done = timed.completion
    if done.logprobs:
        rows = [
            (
                model.tokenizer.token_text(e.chosen.token),
                f"{e.chosen.logprob:.4f}",
                e.chosen.rank,
                _others(e.top, model),
            )
            for e in done.logprobs
        ]
        title = f"logprobs, {done.logprobs[0].meaning}"
        columns = [("token", "left"), ("logprob", "right"), ("rank", "right"), ("best", "wrap")]
        stdout().print(table(title, columns, rows))
    why = done.finish_reason if done.stop_reason is None else f"{done.finish_reason}: {done.stop_reason!r}"
    speed = len(done.tokens) / timed.seconds if timed.seconds else 0.0
    words(f"{done.plan} | seed {done.seed} | {len(done.tokens)} tokens, {why} | {speed:.1f} tokens/s")


def _others(top: tuple[Alternative, ...], model: Model) -> str:
    return "  ".join(f"{model.tokenizer.token_text(a.token)} {a.logprob:.2f}" for a in top)
