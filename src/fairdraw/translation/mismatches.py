"""In what two meanings differ, one thing at a time, and what that makes of a translation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

from fairdraw.stages import CutStage, DynamicTemperature, Smoothing, SpareMinP, Stage, StatefulStage, XtcAverage
from fairdraw.translation.candidates import total_temperature
from fairdraw.translation.meaning import (
    EDGE_FIELDS,
    Cut,
    Edit,
    Meaning,
    alike,
    near,
    same_cut,
    same_draw,
    same_edit,
    same_meaning,
    same_stage,
)

STAGE_OF_CUT = {"top_k": "top_k", "gap": "min_p", "top_p": "top_p", "sigma": "top_n_sigma"}
_STAGE_OF_EDIT = {
    "repetition": "repetition_penalty",
    "presence": "presence_penalty",
    "frequency": "frequency_penalty",
    "bias": "logit_bias",
    "sequence bias": "sequence_bias",
    "dry": "dry",
}
_ROW_ALONE = (CutStage, DynamicTemperature, Smoothing, SpareMinP, XtcAverage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One thing that the target does otherwise than the source."""

    stage: str
    """Name of the stage, or "draw"."""
    kind: Literal["missing", "different", "extra", "order"]
    of_row: bool
    """Whether it is a function of the row alone, so that rows say how much it matters."""
    sides: tuple[str, ...] = ("", "")
    """What the source and the target have, where it is "different"."""


def mismatches(wanted: Meaning, got: Meaning) -> tuple[Mismatch, ...]:
    """Everything in which a target's meaning differs from the wanted one; empty if they are one meaning."""
    if same_meaning(wanted, got):
        return ()
    found = [*_forbidden(wanted, got), *_edits(wanted, got), *_stages(wanted, got), *_cuts(wanted, got)]
    ways = total_temperature(wanted), total_temperature(got)
    if not wanted.is_greedy and not got.is_greedy and not near(*ways):
        sides = f"{ways[0]:.6g}", f"{ways[1]:.6g}"
        found.append(Mismatch(stage="temperature", kind="different", of_row=True, sides=sides))
    if not same_draw(wanted.draw, got.draw):
        undocumented = "undocumented" in (getattr(wanted.draw, "name", ""), getattr(got.draw, "name", ""))
        sides = _draw_words(wanted), _draw_words(got)
        found.append(Mismatch(stage="draw", kind="different", of_row=not undocumented, sides=sides))
    return tuple(found) or (Mismatch(stage="", kind="order", of_row=True),)


def _draw_words(meaning: Meaning) -> str:
    return meaning.draw if isinstance(meaning.draw, str) else meaning.draw.name


def _forbidden(wanted: Meaning, got: Meaning) -> Iterator[Mismatch]:
    for stage in sorted(wanted.forbidden - got.forbidden, key=lambda stage: stage.name):
        yield Mismatch(stage=stage.name, kind="missing", of_row=False)
    for stage in sorted(got.forbidden - wanted.forbidden, key=lambda stage: stage.name):
        yield Mismatch(stage=stage.name, kind="extra", of_row=False)


def _edits(wanted: Meaning, got: Meaning) -> Iterator[Mismatch]:
    own, theirs = _flat(wanted), _flat(got)
    before = len(own), len(theirs)
    for edit in list(own):
        twin = next((other for other in theirs if same_edit(edit, other)), None)
        if twin is not None:
            own.remove(edit)
            theirs.remove(twin)
    for edit in own:
        twin = next((other for other in theirs if other.kind == edit.kind), None)
        if twin is None:
            yield Mismatch(stage=_STAGE_OF_EDIT[edit.kind], kind="missing", of_row=False)
        else:
            theirs.remove(twin)
            sides = _seen(edit), _seen(twin)
            yield Mismatch(stage=_STAGE_OF_EDIT[edit.kind], kind="different", of_row=False, sides=sides)
    for edit in theirs:
        yield Mismatch(stage=_STAGE_OF_EDIT[edit.kind], kind="extra", of_row=False)
    kinds = [[{edit.kind for edit in group} for group in m.edits] for m in (wanted, got)]
    if before[0] == before[1] and not own and not theirs and kinds[0] != kinds[1]:
        yield Mismatch(stage="repetition_penalty", kind="order", of_row=False)


def _flat(meaning: Meaning) -> list[Edit]:
    return [edit for group in meaning.edits for edit in group]


def _seen(edit: Edit) -> str:
    """An edit's numbers, and which tokens it looks at."""
    numbers = ", ".join(f"{number:.6g}" for number in edit.numbers[:3])
    if edit.kind in ("bias", "sequence bias"):
        return numbers
    scope, window = edit.detail[-2:]
    tokens = "the output" if scope == "output" else "prompt and output"
    return f"{numbers} over {tokens}" + (f", the last {window} tokens" if window is not None else "")


def _stages(wanted: Meaning, got: Meaning) -> Iterator[Mismatch]:
    own, theirs = ([s.stage for s in m.sections if s.stage is not None] for m in (wanted, got))
    for stage in own:
        twin = next((other for other in theirs if type(other) is type(stage)), None)
        if twin is None:
            yield Mismatch(stage=stage.name, kind="missing", of_row=of_row(stage))
        elif not same_stage(stage, twin):
            names = [f.name for f in fields(stage) if f.name not in EDGE_FIELDS]
            names = [name for name in names if not alike(getattr(stage, name), getattr(twin, name))]
            sides = tuple(
                ", ".join(f"{name} {_number(getattr(side, name))}" for name in names) for side in (stage, twin)
            )
            yield Mismatch(stage=stage.name, kind="different", of_row=of_row(stage), sides=sides)
    for stage in theirs:
        if not any(type(other) is type(stage) for other in own):
            yield Mismatch(stage=stage.name, kind="extra", of_row=of_row(stage))


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def of_row(stage: Stage) -> bool:
    """Whether a stage is a function of the row alone."""
    return isinstance(stage, _ROW_ALONE) and not isinstance(stage, StatefulStage)


def _cuts(wanted: Meaning, got: Meaning) -> Iterator[Mismatch]:
    if got.is_greedy and not wanted.is_greedy:
        return
    own, theirs = ([cut for section in m.sections for cut in section.cuts] for m in (wanted, got))
    for kind, stage in STAGE_OF_CUT.items():
        mine, other = ([cut for cut in cuts if cut.kind == kind] for cuts in (own, theirs))
        if mine and not other:
            yield Mismatch(stage=stage, kind="missing", of_row=True)
        elif other and not mine:
            yield Mismatch(stage=stage, kind="extra", of_row=True)
        elif len(mine) != len(other) or not all(same_cut(x, y) for x, y in zip(mine, other, strict=True)):
            sides = tuple(" then ".join(_measured(cut) for cut in cuts) for cuts in (mine, other))
            yield Mismatch(stage=stage, kind="different", of_row=True, sides=sides)


def _measured(cut: Cut) -> str:
    """A cut in words: its number and what it is a share of."""
    if cut.kind == "gap":
        return f"logits within {cut.number:.6g} of the best"
    if cut.kind == "top_k":
        return f"{cut.number:g}"
    inside = [STAGE_OF_CUT[c.kind] for c in cut.inside]
    where = (
        f"what {', '.join(dict.fromkeys(inside))} leave{'s' if len(inside) == 1 else ''}" if inside else "the whole row"
    )
    heat = f" at temperature {cut.temperature:.6g}" if cut.kind == "top_p" else ""
    return f"{cut.number:.6g} of {where}{heat}"
