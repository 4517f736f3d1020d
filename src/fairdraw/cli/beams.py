"""The flags that follow several texts at a time, and the table of what they found."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from fairdraw.cli.flags import WHOLE
from fairdraw.cli.output import Kind, print_json, print_table, words
from fairdraw.constraints.protocol import Constraint
from fairdraw.domains import Choice, require
from fairdraw.errors import ParameterError, PlanError
from fairdraw.generation.beam_search import BeamTexts, beam_search, require_search
from fairdraw.generation.beams import Beams, transformers_beams, vllm_beams
from fairdraw.generation.prompts import Prompt
from fairdraw.generation.speculation.settings import Speculation
from fairdraw.generation.stochastic_beams import require_race, stochastic_beams
from fairdraw.models import Model
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan

GROUP = Group(
    "Beams", help="Follow several texts at a time; --n says how many come back, all if not given.", sort_key=6
)
_WORD = Parameter(group=GROUP)
Rules = Literal["fairdraw", "transformers", "vllm", "stochastic"]
_TRANSFORMERS_EARLY: dict[str, bool | Literal["never"]] = {"false": False, "true": True, "never": "never"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamFlags:
    """How wide, and by whose rules."""

    beams: Annotated[int | None, WHOLE, _WORD] = None
    """How many texts to follow at a time; those found are printed with their scores."""
    beams_rules: Annotated[Rules | None, _WORD] = None
    """Whose search: fairdraw, transformers or vllm; if not given, the plan's engine. stochastic: different
    sequences of tokens, which may spell one text, drawn."""
    beams_length_penalty: Annotated[float | None, _WORD] = None
    """Score = logprob / length ^ penalty. 0, which is off, if not given; 1 in transformers and vllm."""
    beams_early_stopping: Annotated[str | None, _WORD] = None
    """never (if not given), heuristic, full or off; in transformers false (if not given), true or never."""

    def __post_init__(self) -> None:
        given = {"rules": self.beams_rules, **self._numbers()}
        first = next((name for name, value in given.items() if value is not None), None)
        if self.beams is None and first:
            raise PlanError(f"--beams-{first} needs --beams", "how many texts to follow at a time: --beams 4")

    def _numbers(self) -> dict[str, object]:
        return {"length-penalty": self.beams_length_penalty, "early-stopping": self.beams_early_stopping}

    def rules(self, plan: Plan) -> Rules:
        """Those asked for, or the engine's of the plan."""
        engine = plan.dialect.partition("@")[0]
        return self.beams_rules or (
            "transformers" if engine == "transformers" else "vllm" if engine == "vllm" else "fairdraw"
        )

    def search(self, plan: Plan, sequences: int | None) -> Beams | None:
        """The beams of a search; None for stochastic ones.

        Raises
        ------
        ParameterError, PlanError
            A value makes no sense, or the rules do not know the flag.
        """
        assert self.beams is not None
        width, penalty, early, rules = (
            self.beams,
            self.beams_length_penalty,
            self.beams_early_stopping,
            self.rules(plan),
        )
        require("beams", width, Beams.domains["width"])
        unknown = {"stochastic": ("length-penalty", "early-stopping"), "vllm": ("early-stopping",)}.get(rules, ())
        for name in unknown:
            if self._numbers()[name] is not None:
                raise PlanError(f"--beams-{name} has no meaning with {rules} beams", "leave it out")
        if sequences is not None and rules in ("stochastic", "vllm"):
            raise PlanError(f"--n has no meaning with {rules} beams", "all of them come back")
        if sequences is not None and sequences > width:
            raise ParameterError("--n", sequences, f"at most --beams, {width}", "it says how many of them come back")
        if rules == "stochastic":
            return None
        if rules == "vllm":
            return vllm_beams(beam_width=width, length_penalty=1.0 if penalty is None else penalty)
        if rules == "fairdraw":
            wanted = 0.0 if penalty is None else penalty
            return Beams(width=width, sequences=sequences, length_penalty=wanted, early_stopping=early or "never")  # type: ignore[arg-type]
        require("early_stopping", early or "false", Choice(tuple(_TRANSFORMERS_EARLY)))
        return transformers_beams(
            num_beams=width,
            num_return_sequences=width if sequences is None else sequences,
            length_penalty=1.0 if penalty is None else penalty,
            early_stopping=_TRANSFORMERS_EARLY[early or "false"],
        )

    def check(self, plan: Plan, params: SamplingParams, *, replay: str | None, speculation: Speculation | None) -> None:
        """Say what is wrong before a model is fetched.

        Raises
        ------
        ParameterError, PlanError
            A flag has no meaning here, or the plan none for beams.
        """
        if replay or speculation:
            other = "--replay" if replay else "--speculate"
            raise PlanError(f"--beams and {other} cannot be combined", "leave one of them out")
        alone = _alone(plan, params)
        if self.search(plan, _sequences(plan, params)) is None:
            require_race(alone)
            return
        if alone.limits.seed is not None:
            hint = "--beams-rules stochastic draws"
            raise ParameterError("--seed", alone.limits.seed, "absent for a search, which draws nothing", hint)
        require_search(alone)


def beams_command(
    flags: BeamFlags,
    model: Model,
    prompt: Prompt,
    plan: Plan,
    params: SamplingParams,
    max_tokens: int,
    constraint: Constraint | None,
    *,
    as_json: bool,
) -> int:
    """Find the texts and print them; the table goes to stdout, figures to stderr."""
    assert flags.beams is not None
    begun = time.perf_counter()
    beams, alone = flags.search(plan, _sequences(plan, params)), _alone(plan, params)
    if beams is None:
        found = stochastic_beams(model, prompt, alone, count=flags.beams, max_tokens=max_tokens, constraint=constraint)
    else:
        found = beam_search(model, prompt, alone, beams, max_tokens=max_tokens, constraint=constraint)
    if as_json:
        print_json(found.to_json())
        return 0
    _print(found, flags.rules(plan), time.perf_counter() - begun)
    return 0


def _sequences(plan: Plan, params: SamplingParams) -> int | None:
    """How many texts ``--n`` or the plan asks for, if any."""
    return params.n or (plan.limits.n if plan.limits.n > 1 else None)


def _alone(plan: Plan, params: SamplingParams) -> Plan:
    """The plan of one text; how many there are is a matter of the beams."""
    seed = params.seed
    return replace(plan, limits=replace(plan.limits, n=1, seed=plan.limits.seed if seed is None else seed))


def _print(found: BeamTexts, rules: str, seconds: float) -> None:
    columns: list[tuple[str, Kind]] = [("score", "right"), ("logprob", "right"), ("tokens", "right"), ("end", "left")]
    rows = [
        (f"{text.score:.4f}", f"{text.logprob:.4f}", len(text.tokens), text.finish_reason, text.text)
        for text in found.texts
    ]
    print_table("", [*columns, ("text", "wrap")], rows)
    if len({text.text for text in found.texts}) < len(found.texts):
        words("some texts are equal: their tokens differ (--json shows them), and one text has several spellings")
    how = f"{rules} beams" if found.beams is None else f"{rules} beams of width {found.beams.width}"
    seed = "" if found.seed is None else f"seed {found.seed} | "
    words(f"{found.plan} | {how} | {seed}{found.rows} rows of the model | {found.rows / seconds:.1f} rows/s")
