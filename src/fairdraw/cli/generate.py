"""``fairdraw generate``: a text as it comes."""

from __future__ import annotations

import sys

from fairdraw.cli.beams import BeamFlags, beams_command
from fairdraw.cli.flags import MAX_TOKENS
from fairdraw.cli.inputs import SOME_MODEL, plan_from
from fairdraw.cli.output import Kind, print_json, print_table, words
from fairdraw.cli.speculation import worth
from fairdraw.cli.writing import Timed, finished, write_in_turn
from fairdraw.constraints.protocol import Constraint
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError, PlanError
from fairdraw.generation.batch import Request, generate_many
from fairdraw.generation.drawers import FAIRDRAW, drawer
from fairdraw.generation.prompts import Prompt
from fairdraw.generation.speculation.settings import Speculation, require_speculation
from fairdraw.logprobs import Alternative, Meaning
from fairdraw.models import Model, load
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan

_KEPT = ("seed", "max_tokens", "n")
"""Flags that go with ``--plan``."""


def generate_command(
    prompt: str,
    *,
    plan: str | None,
    dialect: str | None,
    params: SamplingParams,
    model: str,
    prompt_format: str,
    replay: str | None,
    logprobs_mean: Meaning | None,
    constraint: Constraint | None,
    speculation: Speculation | None,
    beams: BeamFlags,
    as_json: bool,
) -> int:
    """Write ``n`` texts; the text goes to stdout, seed and figures to stderr."""
    # A mistake in the flags is said at once, before a model is fetched.
    checked = plan_from(plan, params, dialect, SOME_MODEL, kept=_KEPT)
    _require(checked, prompt, prompt_format, logprobs_mean)
    _require_replay(checked, params, replay)
    if speculation is not None:
        require_speculation(speculation, checked)
    if beams.beams is not None:
        beams.check(checked, params, replay=replay, speculation=speculation)
    loaded = load(model)
    chosen = plan_from(plan, params, dialect, loaded.facts, kept=_KEPT)
    asked, most = _asked(loaded, prompt, prompt_format), _most(chosen, params)
    if beams.beams is not None:
        return beams_command(beams, loaded, asked, chosen, params, most, constraint, as_json=as_json)
    request = Request(
        prompt=asked,
        plan=chosen,
        seed=params.seed,
        n=params.n,
        max_tokens=most,
        logprobs_mean=logprobs_mean or "raw",
        stream=replay or FAIRDRAW,
        constraint=constraint,
        speculation=speculation,
    )
    if as_json:
        (outcomes,) = generate_many(loaded, [request])
        print_json({"completions": [finished(outcome).to_json() for outcome in outcomes]})
    else:
        for timed in write_in_turn(loaded, request, sys.stdout):
            _report(timed, loaded)
    return 0


def _require(plan: Plan, prompt: str, prompt_format: str, logprobs_mean: Meaning | None) -> None:
    if logprobs_mean is not None and plan.limits.logprobs is None:
        raise PlanError("--logprobs-mean needs --logprobs", "how many alternatives to report: --logprobs 5")
    if prompt_format == "text" and not prompt:
        raise ParameterError("PROMPT", prompt, "not empty with --format text", "a text needs a token to go on from")


def _require_replay(plan: Plan, params: SamplingParams, replay: str | None) -> None:
    if replay is None:
        return
    drawer(replay, plan, 0, 0)
    count = params.n or plan.limits.n
    if count > 1:
        raise ParameterError("--n", count, "1 with --replay", f"{replay}'s generator knows one text for each seed")


def _asked(model: Model, prompt: str, prompt_format: str) -> Prompt:
    return prompt if prompt_format == "chat" else model.tokenizer.encode(prompt)


def _most(plan: Plan, params: SamplingParams) -> int:
    limit = params.max_tokens if params.max_tokens is not None else plan.limits.max_tokens
    return MAX_TOKENS if limit is None else limit


def _report(timed: Timed, model: Model) -> None:
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
        columns: list[tuple[str, Kind]] = [("token", "left"), ("logprob", "right"), ("rank", "right")]
        print_table(title, [*columns, ("best", "wrap")], rows)
    why = done.finish_reason if done.stop_reason is None else f"{done.finish_reason}: {done.stop_reason!r}"
    speed = len(done.tokens) / timed.seconds if timed.seconds else 0.0
    count = f"{len(done.tokens)} token{'' if len(done.tokens) == 1 else 's'},"
    if done.fulfilled is False:
        words("the text was cut before it was what the constraint asks for")
    for step, why in done.doubts:
        words(f"token {step}: {why}")
    if done.speculated:
        words(worth(done.speculated))
    whose = "" if done.stream == FAIRDRAW else f"tokens of {done.stream} | "
    seed = "greedy" if isinstance(done.plan.draw, Greedy) else f"seed {done.seed}"
    words(f"{whose}{done.plan} | {seed} | {count} {why} | {speed:.1f} tokens/s")


def _others(top: tuple[Alternative, ...], model: Model) -> str:
    return "  ".join(f"{model.tokenizer.token_text(a.token)} {a.logprob:.2f}" for a in top)
