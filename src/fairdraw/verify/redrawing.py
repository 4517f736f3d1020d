"""Drawing a recorded text again: the same tokens, or where and why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairdraw.constraints.reading import from_json
from fairdraw.constraints.tracking import Track
from fairdraw.context import Memory
from fairdraw.domains import SEED, TokenIds, Whole, require
from fairdraw.errors import PlanError
from fairdraw.generation.constrained import draw_constrained, start_track
from fairdraw.generation.loop import FAIRDRAW, drawer
from fairdraw.generation.memories import next_memory
from fairdraw.history import History
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan
from fairdraw.sampling import law
from fairdraw.streams.noise import STREAM_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One step at which another token was drawn than the record has."""

    step: int
    """Counted from 0, after the prompt."""
    recorded: int
    drawn: int
    probability_recorded: float
    """Of the recorded token, under the plan's law on this machine's logits."""
    probability_drawn: float
    doubt: str
    """Replay alone: what the engine's own rounding may have changed; "" if nothing."""

    @property
    def reason(self) -> str:
        """One sentence."""
        if self.probability_recorded == 0:
            return (
                f"the plan cannot draw the recorded token {self.recorded} here: the model, the prompt or the plan "
                "is not the recorded one"
            )
        if self.doubt:
            return self.doubt
        return (
            f"both tokens can be drawn (probabilities {self.probability_recorded:.4g} and "
            f"{self.probability_drawn:.4g}): the seed is another one, or the logits are not the recorded ones"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrawing:
    """A record drawn again, every step on the recorded tokens before it."""

    steps: int
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether every token was drawn again."""
        return not self.differences

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "same": self.same,
            "steps": self.steps,
            "drawn_again": self.steps - len(self.differences),
            "differences": [
                {
                    "step": d.step,
                    "recorded": d.recorded,
                    "drawn": d.drawn,
                    "probability_recorded": d.probability_recorded,
                    "probability_drawn": d.probability_drawn,
                    "reason": d.reason,
                }
                for d in self.differences
            ],
        }


def redraw(
    record: Mapping[str, object], model: Model, *, on_progress: Callable[[int], None] | None = None
) -> Redrawing:
    """Draw a recorded text again.

    Parameters
    ----------
    record : mapping
        What ``Completion.to_json`` wrote.
    model : Model
        Where the logits come from; it should be the recorded one.
    on_progress : callable, optional
        Gets how many steps are done.

    Returns
    -------
    Redrawing

    Raises
    ------
    PlanError
        Not a record, or one of another stream version or model.

    Notes
    -----
    Each step is fed the recorded tokens, so that one difference does not hide what comes after it.  A recorded
    token that the recorded constraint forbids is the last step.
    """
    plan, prompt, tokens = _read(record, model)
    seed: int = require("seed", record["seed"], SEED)  # type: ignore[assignment]
    sample_index: int = require("sample_index", record["sample_index"], Whole(0))  # type: ignore[assignment]
    memory: Memory | None = None
    draw = drawer(str(record["stream"]), plan, seed, sample_index, lambda: memory)
    track = _track(record, model, plan)
    session, history = model.start(), History(prompt=prompt)
    differences = []
    fed = prompt
    for step, recorded in enumerate(tokens):
        logits = session.feed(fed)
        mask = track.mask() if track else None
        if track is None or mask is None:
            drawn = draw(logits, history)
        else:
            drawn = draw_constrained(
                track, plan, logits, mask, seed=seed, sample_index=sample_index, history=history, memory=memory
            )
        if drawn.token != recorded:
            probabilities = law(plan, logits, history=history, mask=mask, memory=memory).probabilities
            here = recorded < probabilities.size
            differences.append(
                Difference(
                    step=step,
                    recorded=recorded,
                    drawn=drawn.token,
                    probability_recorded=float(probabilities[recorded]) if here else 0.0,
                    probability_drawn=float(probabilities[drawn.token]),
                    doubt=drawn.doubt,
                )
            )
        if track and not track.state.allows(recorded):
            # Behind a token that the constraint forbids there is no mask to draw with.
            return Redrawing(steps=step + 1, differences=tuple(differences))
        if track:
            track.advance(recorded)
        memory = next_memory(plan, logits, recorded, seed, sample_index, history, mask, memory)
        history.append(recorded)
        fed = (recorded,)
        if on_progress:
            on_progress(step + 1)
    return Redrawing(steps=len(tokens), differences=tuple(differences))


def _track(record: Mapping[str, object], model: Model, plan: Plan) -> Track | None:
    """The recorded constraint, from its beginning."""
    data = record.get("constraint")
    return None if data is None else start_track(from_json(data), model, plan)  # type: ignore[arg-type]


def _read(record: Mapping[str, object], model: Model) -> tuple[Plan, tuple[int, ...], tuple[int, ...]]:
    names = ("stream", "stream_version", "model", "plan", "seed", "sample_index", "prompt_tokens", "tokens")
    missing = [name for name in names if not isinstance(record, Mapping) or name not in record]
    if missing:
        raise PlanError(f"a record must have {', '.join(missing)}", "`fairdraw generate --json` writes one")
    if record["stream"] == FAIRDRAW and record["stream_version"] != STREAM_VERSION:
        raise PlanError(f"the record must be of stream version {STREAM_VERSION}, got {record['stream_version']!r}")
    if record["model"] != model.name:
        raise PlanError(f"the record was made with the model {record['model']!r}, got {model.name!r}")
    plan = Plan.from_json(record["plan"])  # type: ignore[arg-type]
    prompt, tokens = (require(name, record[name], TokenIds()) for name in ("prompt_tokens", "tokens"))
    return plan, prompt, tokens  # type: ignore[return-value]
