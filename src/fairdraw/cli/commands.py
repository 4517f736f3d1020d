"""The commands and their flags; what each does stands in a module of its own."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

import fairdraw
from fairdraw.cli.compare import compare_command
from fairdraw.cli.dialects import dialects_command
from fairdraw.cli.explain import explain_command
from fairdraw.cli.generate import generate_command
from fairdraw.logprobs import Meaning
from fairdraw.params import SamplingParams

app = App(
    name="fairdraw",
    help="Logits into tokens, exactly, reproducibly and provably.",
    version=f"fairdraw {fairdraw.__version__}, stream version {fairdraw.STREAM_VERSION}",
)
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object instead of text.")]
Flags = Annotated[SamplingParams, Parameter(name="*")]
Ids = Annotated[tuple[int, ...], Parameter(negative="")]


@app.command
def generate(
    prompt: str,
    /,
    *,
    plan: str | None = None,
    dialect: str = "fairdraw",
    params: Flags = SamplingParams(),  # noqa: B008
    model: str = "smollm2",
    prompt_format: Annotated[Literal["chat", "text"], Parameter(name="--format")] = "chat",
    logprobs_mean: Meaning = "raw",
    as_json: Json = False,
) -> int:
    """Write a text with a real model and print it as it comes.

    Parameters
    ----------
    prompt
        What to answer (or, with --format text, to go on from).
    plan
        How to draw, as text: "candle: TopK k=40 temperature=0.7". Instead of the parameters as flags.
    dialect
        Which engine reads the flags.
    model
        Where the logits come from.
    prompt_format
        A message in the model's chat template, or plain text.
    logprobs_mean
        What reported logprobs mean: the model's own row; after temperature; under the law drawn from.
    """
    return generate_command(
        prompt,
        plan=plan,
        dialect=dialect,
        params=params,
        model=model,
        prompt_format=prompt_format,
        logprobs_mean=logprobs_mean,
        as_json=as_json,
    )


@app.command
def explain(
    plan: str,
    /,
    *,
    prompt: str | None = None,
    logits: str | None = None,
    tensor: str | None = None,
    row: int | None = None,
    prompt_ids: Ids = (),
    output_ids: Ids = (),
    model: str | None = None,
    top: int = 10,
    as_json: Json = False,
) -> int:
    """Show every effective value of a plan with its origin, and what each stage does to a row.

    Parameters
    ----------
    plan
        A plan as text: "transformers: do_sample=true temperature=0.7".
    prompt
        Show it on the row that the model gives after this message.
    logits
        Show it on a row of a file: .npy, .npz or .safetensors.
    tensor
        Name of the array in a file that has several.
    row
        Number of the row; the first if the file has several.
    prompt_ids
        Token ids of the prompt, for penalties, when the row comes from a file.
    output_ids
        Token ids drawn so far.
    model
        Model for --prompt (smollm2), or whose token texts label the ids of --logits.
    top
        How many of the best tokens to show.
    """
    return explain_command(
        plan,
        prompt=prompt,
        logits=logits,
        tensor=tensor,
        row=row,
        prompt_ids=prompt_ids,
        output_ids=output_ids,
        model=model,
        top=top,
        as_json=as_json,
    )


@app.command
def compare(
    plan_a: str,
    plan_b: str,
    /,
    *,
    logits: str | None = None,
    prompt: str | None = None,
    tensor: str | None = None,
    row: int | None = None,
    prompt_ids: Ids = (),
    output_ids: Ids = (),
    model: str | None = None,
    draws: int = 0,
    seed: int = 0,
    as_json: Json = False,
) -> int:
    """Say whether two plans sample from the same law on these rows, and if not, why.

    Exit code: 0 same, 1 differ, 2 a failure, 3 could not tell.

    Parameters
    ----------
    plan_a
        A plan as text.
    plan_b
        Another.
    logits
        Rows of a file: .npy, .npz or .safetensors; all of them, or --row.
    prompt
        Or the row that the model gives after this message.
    tensor
        Name of the array in a file that has several.
    row
        Number of the row; without it, all.
    prompt_ids
        Token ids of the prompt, for penalties, when the rows come from a file.
    output_ids
        Token ids drawn so far.
    model
        Model for --prompt (smollm2), or whose token texts label the ids of --logits.
    draws
        Also draw this many tokens from each plan, and test them.
    seed
        Seed of these draws.
    """
    return compare_command(
        plan_a,
        plan_b,
        logits=logits,
        prompt=prompt,
        tensor=tensor,
        row=row,
        prompt_ids=prompt_ids,
        output_ids=output_ids,
        model=model,
        draws=draws,
        seed=seed,
        as_json=as_json,
    )


@app.command
def dialects(engine: str | None = None, /, *, as_json: Json = False) -> int:
    """List the engines whose sampling is known exactly, or the parameters of one.

    Parameters
    ----------
    engine
        ``engine`` or ``engine@version``: show its variants, parameters, defaults and off values.
    """
    return dialects_command(engine, as_json=as_json)
