"""The commands and their flags; what each does stands in a module of its own."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

import fairdraw
from fairdraw.cli.asking import Asking
from fairdraw.cli.beams import BeamFlags
from fairdraw.cli.bench import Bench, bench_command
from fairdraw.cli.compare import compare_command
from fairdraw.cli.constraints import ConstraintFlags
from fairdraw.cli.dialects import dialects_command, matrix_command
from fairdraw.cli.explain import explain_command
from fairdraw.cli.flags import GENERAL, TEXT, WHOLE, SamplingFlags
from fairdraw.cli.generate import generate_command
from fairdraw.cli.inputs import Source
from fairdraw.cli.redraw import redraw_command
from fairdraw.cli.score import ScoreFlags, score_command
from fairdraw.cli.speculation import SpeculationFlags
from fairdraw.cli.translate import translate_command
from fairdraw.cli.warmup import warmup_command
from fairdraw.dialects import DIALECTS
from fairdraw.logprobs import Meaning

app = App(
    name="fairdraw",
    help="Logits into tokens, exactly, reproducibly and provably.",
    version=f"fairdraw {fairdraw.__version__}, stream version {fairdraw.STREAM_VERSION}\n{' '.join(DIALECTS)}",
    version_format="plaintext",
    suppress_keyboard_interrupt=False,
)
Json = Annotated[
    bool,
    Parameter(name="--json", negative="", show_default=False, help="Print one JSON object instead of text."),
]
Flags = Annotated[SamplingFlags, Parameter(name="*")]
Rows = Annotated[Source, Parameter(name="*")]
Int = Annotated[int, WHOLE]
General = Parameter(group=GENERAL)


@app.command
def generate(
    prompt: str,
    /,
    *,
    plan: Annotated[str | None, General] = None,
    dialect: Annotated[str | None, General] = None,
    params: Flags = SamplingFlags(),  # noqa: B008
    logprobs_mean: Annotated[Meaning | None, Parameter(group=TEXT)] = None,
    constraints: Annotated[ConstraintFlags, Parameter(name="*")] = ConstraintFlags(),  # noqa: B008
    guessing: Annotated[SpeculationFlags, Parameter(name="*")] = SpeculationFlags(),  # noqa: B008
    beams: Annotated[BeamFlags, Parameter(name="*")] = BeamFlags(),  # noqa: B008
    model: Annotated[str, General] = "smollm2",
    prompt_format: Annotated[Literal["chat", "text"], Parameter(name="--format", group=GENERAL)] = "chat",
    replay: Annotated[str | None, General] = None,
    as_json: Annotated[Json, General] = False,
) -> int:
    """Write a text with a real model and print it as it comes.

    Parameters
    ----------
    prompt
        What to answer (or, with --format text, to go on from).
    plan
        How to draw, as text, instead of the flags below: "candle: TopK k=40 temperature=0.7".
        ``fairdraw dialects`` lists the engines and their parameters.
    dialect
        Which engine reads the flags below: fairdraw if not given.
    model
        Where the logits come from.
    prompt_format
        A message in the model's chat template, or plain text.
    replay
        Draw an engine's very tokens, with its own generator and --seed: candle, transformers or nano_vllm.
    logprobs_mean
        What they mean: the model's own row (raw, if not given); after temperature; under the law drawn from.
    """
    return generate_command(
        prompt,
        plan=plan,
        dialect=dialect,
        params=params,
        model=model,
        prompt_format=prompt_format,
        replay=replay,
        logprobs_mean=logprobs_mean,
        constraint=constraints.constraint(replay=replay),
        speculation=guessing.speculation(),
        beams=beams,
        as_json=as_json,
    )


@app.command
def explain(
    plan: str | None = None,
    /,
    *,
    asking: Annotated[Asking, Parameter(name="*")] = Asking(),  # noqa: B008
    source: Rows = Source(),  # noqa: B008
    top: Int = 10,
    as_json: Json = False,
) -> int:
    """Show every effective value of a plan with its origin, and what each stage does to a row.

    Parameters
    ----------
    plan
        A plan as text: "transformers: do_sample=true temperature=0.7".
    top
        How many of the best tokens to show.
    """
    return explain_command(plan, source, top=top, as_json=as_json, asking=asking)


@app.command
def compare(
    plan_a: str | None = None,
    plan_b: str | None = None,
    /,
    *,
    everywhere: Annotated[str | None, Parameter(name="--all")] = None,
    source: Rows = Source(),  # noqa: B008
    draws: Int = 0,
    seed: Int = 0,
    html: str | None = None,
    as_json: Json = False,
) -> int:
    """Say whether two plans sample from the same law on these rows, and if not, why; or compare every engine.

    Exit code: 0 same, 1 differ, 2 a failure, 3 could not tell.

    Parameters
    ----------
    plan_a
        A plan as text.
    plan_b
        Another.
    everywhere
        Parameters instead of two plans: how far apart every two engines are at "temperature=0.7 top_k=40".
    draws
        Also draw this many tokens from each plan, and test them.
    seed
        Seed of these draws; both plans use the same noise.
    html
        With --all: also write one self-contained page with a plot to this file.
    """
    return compare_command(
        plan_a, plan_b, source, everywhere=everywhere, html=html, draws=draws, seed=seed, as_json=as_json
    )


@app.command
def translate(
    plan: str,
    /,
    *,
    to: str,
    source: Rows = Source(),  # noqa: B008
    as_json: Json = False,
) -> int:
    """Say what a plan is in another engine's own parameters: exactly, by an identity, nearly, or not at all.

    Exit code: 0 exact, 1 row-dependent, 2 a failure, 3 impossible.

    Parameters
    ----------
    plan
        A plan as text: "transformers: do_sample=true temperature=0.7".
    to
        ``engine`` or ``engine@version``. Where nothing is exact, rows (--logits) say how near it comes.
    """
    return translate_command(plan, source, to=to, as_json=as_json)


@app.command
def redraw(
    trace: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    model: str = "smollm2",
    as_json: Json = False,
) -> int:
    """Draw a recorded text again: the same tokens, or where and why not.

    Exit code: 0 every token was drawn again, 1 not, 2 a failure.

    Parameters
    ----------
    trace
        A file that `generate --json` wrote; "-" reads it from standard input.
    model
        Where the logits come from.
    """
    return redraw_command(trace, model=model, as_json=as_json)


@app.command
def score(
    text: str | None = None,
    /,
    *,
    flags: Annotated[ScoreFlags, Parameter(name="*")] = ScoreFlags(),  # noqa: B008
    as_json: Json = False,
) -> int:
    """Say how probable a text is: each token's logprob, rank and surprise, log-likelihood, perplexity, bits per byte.

    Parameters
    ----------
    text
        Plain text. Its first token follows nothing and is not scored, unless there is a --prompt.
    """
    return score_command(text, flags, as_json=as_json)


@app.command
def bench(
    *,
    asked: Annotated[Bench, Parameter(name="*")] = Bench(),  # noqa: B008
    to_json: Annotated[str | None, Parameter(name="--json", allow_leading_hyphen=True)] = None,
) -> int:
    """Measure what a draw costs beside one read of its row, and beside other samplers.

    Parameters
    ----------
    to_json
        Where to write the results as JSON: a file, or - for standard output instead of the tables.
    """
    return bench_command(asked, to_json=to_json)


@app.command
def dialects(
    engine: str | None = None,
    /,
    *,
    matrix: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    as_json: Json = False,
) -> int:
    """List the engines whose sampling is known exactly, or the parameters of one.

    Parameters
    ----------
    engine
        ``engine`` or ``engine@version``: show its variants, parameters, defaults and off values.
    matrix
        Show in which switches the engines differ: order, ties, boundaries, special values, penalties.
    """
    return matrix_command(engine, as_json=as_json) if matrix else dialects_command(engine, as_json=as_json)


@app.command
def warmup(*, as_json: Json = False) -> int:
    """Compile every kernel and keep it on disk: later processes load it in a second and never compile.

    Not needed: a kernel that is missing is compiled while NumPy draws the same tokens.
    """
    return warmup_command(as_json=as_json)
