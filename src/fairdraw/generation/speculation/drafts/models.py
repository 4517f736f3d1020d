"""A model as the draft of another: any with the same tokens, or the first layers of the target itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairdraw.domains import Whole, require
from fairdraw.errors import ParameterError
from fairdraw.generation.speculation.drafts.base import Drafter, DraftRequest, grow
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import Tree
from fairdraw.models.protocol import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDraft:
    """Another model that reads the same token ids."""

    model: Model

    @property
    def name(self) -> str:
        """``model:NAME``."""
        return f"model:{self.model.name}"

    def start(self, target: Model) -> Drafter:
        """Begin a text; the rows of both must be of one width."""
        own, wanted = self.model.facts.vocab_size, target.facts.vocab_size
        if own != wanted:
            hint = "a draft's token ids must mean what the target's mean"
            raise ParameterError("draft.vocab_size", own, f"{wanted}, the target's", hint)
        return ModelDrafter(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLayers:
    """The target shortened: its first layers, then its own output head."""

    layers: int
    """How many layers."""

    def __post_init__(self) -> None:
        require("layers", self.layers, Whole(1))

    @property
    def name(self) -> str:
        """``layers:N``."""
        return f"layers:{self.layers}"

    def start(self, target: Model) -> Drafter:
        """Begin a text.

        Raises
        ------
        ParameterError
            The target has fewer layers, or cannot be shortened.
        """
        shorten: Callable[[int], Model] | None = getattr(target, "first_layers", None)
        if shorten is None:
            raise ParameterError("draft", self.name, f"one that {target.name} has", "lookup needs no second model")
        return ModelDrafter(shorten(self.layers))


class ModelDrafter:
    """A draft model's text in progress; it rolls back to what the target kept."""

    def __init__(self, model: Model) -> None:
        self._session = model.start()
        self._fed: list[int] = []
        context = model.facts.context_length
        self._room = context if context is not None else 2**32

    def propose(self, request: DraftRequest) -> Tree:
        """Draw a tree; nothing where the model's context is full."""
        if request.text.position + len(request.widths) - 1 > self._room:
            return Tree()
        return grow(request, self._logits_after)

    def _logits_after(self, text: Tentative, ahead: int) -> object:
        tokens = list(text.tokens)
        # The last token is always fed: its logits are asked for.
        common = min(len(self._fed), len(tokens) - 1)
        while self._fed[:common] != tokens[:common]:
            common -= 1
        self._session.rollback(common)
        self._fed = tokens[:common]
        logits = self._session.feed(tokens[common:])
        self._fed = tokens
        return logits
