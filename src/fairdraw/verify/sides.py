"""One side of a comparison, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from fairdraw.dialects.reading import ENGINE_DEFAULT, MODEL_FILE, Setting
from fairdraw.plan import CUSTOM, Plan
from fairdraw.plan_format import format_part, format_setting
from fairdraw.verify.differences import ROUNDING, Key, keyed
from fairdraw.weights import Weights

LONGEST = 60
"""Characters of a value inside a sentence."""
SEEN = {"all": "history", "output": "output", "padded": "history with its left padding"}
"""What a penalty's scope is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A plan, its law on the row, and its name in sentences."""

    name: str
    plan: Plan
    weights: Weights

    def values(self, key: Key) -> dict[str, object]:
        """The fields of a stage, and words about it that sentences need."""
        stage = keyed(self.plan)[key]
        values: dict[str, object] = {field.name: getattr(stage, field.name) for field in fields(stage)}
        index = list(keyed(self.plan)).index(key)
        values["kept"] = self.weights.trace[index + 1].kept
        values["before"] = self._before(index)
        values["kth"] = ordinal(values["k"]) if isinstance(values.get("k"), int) else ""
        values["seen"] = SEEN.get(str(values.get("scope")), "history")
        return values

    def presence(self, key: Key) -> tuple[str, str]:
        """A stage in the names in which it was asked for, and who asked: an origin, or "" for a composed plan."""
        stage = keyed(self.plan)[key]
        settings = [s for s in self._settings(stage.name) if _fills(s, stage)]
        asked = [s for s in settings if s.origin != ENGINE_DEFAULT] or settings
        text = " ".join(format_setting(setting) for setting in asked) or format_part(stage)
        text = text if stage.name in text else f"{text} ({stage.name})"
        origins = {setting.origin for setting in asked}
        origin = next((o for o in (ENGINE_DEFAULT, MODEL_FILE) if origins == {o}), "")
        return (text if len(text) <= LONGEST else f"a {stage.name} stage"), origin

    @property
    def mode(self) -> str:
        """Why the engine goes on as it does: ``do_sample is false by default``; "" where nothing says."""
        if self.plan.dialect == CUSTOM:
            return ""
        reasons = [_is(setting) for setting in self.plan.settings if setting.effect == "chooses the mode"]
        return " and ".join(reasons) or (f"{self.plan.variant} was asked for" if self.plan.variant else "")

    def _settings(self, stage_name: str) -> list[Setting]:
        return [s for s in self.plan.settings if stage_name in s.effect.split(", ")]

    def _before(self, index: int) -> str:
        """Where a stage stands: ``inside the top 40``, or on the whole row."""
        cuts = {"top_k", "top_p", "min_p", "typical"}
        earlier = [stage for stage in self.plan.stages[:index] if stage.name in cuts]
        if not earlier:
            return "on the whole row"
        last = earlier[-1]
        return f"inside the top {getattr(last, 'k')}" if last.name == "top_k" else f"on what {last.name} leaves"  # noqa: B009


def names(plan_a: Plan, plan_b: Plan) -> tuple[str, str]:
    """What two plans are called: engines, else engines with versions, else the first and the second plan."""
    full = (plan_a.dialect, plan_b.dialect)
    engines = [dialect.partition("@")[0] for dialect in full]
    for a, b in (engines, full):
        if a != b:
            return tuple("the composed plan" if name == CUSTOM else name for name in (a, b))  # type: ignore[return-value]
    return "the first plan", "the second plan"


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def number(value: object) -> str:
    """A number to six digits: ``0.9``, ``1e-7``; anything else as it is."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e+") if isinstance(value, float) else str(value)


def listed(items: Sequence[object], most: int = 5) -> str:
    """``1, 2 and 3``, or ``1, 2, 3, 4, 5 and 7 more``."""
    words = [str(item) for item in items[:most]]
    if len(items) > most:
        return f"{', '.join(words)} and {len(items) - most} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _is(setting: Setting) -> str:
    words = {None: "unset", True: "true", False: "false"}
    plain = setting.value is None or isinstance(setting.value, bool)
    value = words[setting.value] if plain else number(setting.value)  # type: ignore[index]
    by_default = setting.origin == ENGINE_DEFAULT and setting.value is not None
    return f"{setting.name} is {value}{' by default' if by_default else ''}"


def _fills(setting: Setting, stage: object) -> bool:
    """Whether a setting is one of the stage's own numbers: another stage of the same name may have others."""
    values = [getattr(stage, field.name) for field in fields(stage)]  # type: ignore[arg-type]
    if not isinstance(setting.value, (int, float)):
        return True
    return any(
        isinstance(value, (int, float)) and math.isclose(value, setting.value, rel_tol=ROUNDING) for value in values
    )
