"""SmolLM2-135M-Instruct on one CPU thread: a real model without a compiler, without torch, without a hub."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from fairdraw.context import ModelFacts
from fairdraw.domains import Whole, require
from fairdraw.models import gguf_file
from fairdraw.models.fetching import SMOLLM2, cache_directory, cannot_write, fetch
from fairdraw.models.llama import LlamaSession, LlamaWeights, Rotation, rotation
from fairdraw.models.progress import progress
from fairdraw.text.tokenizer import Tokenizer

# <|im_end|> ends an answer, <|endoftext|> a document: llama.cpp stops at both.
_END_TOKENS = ("<|endoftext|>", "<|im_end|>")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmolLM2:
    """The loaded model; sessions share its weights."""

    name: str
    """Name in the table of models."""
    facts: ModelFacts
    """Vocabulary size 49152, end tokens 0 and 2, context 8192."""
    tokenizer: Tokenizer
    """Text into token ids and back, with the chat template."""
    weights: LlamaWeights
    """Float32, mapped from the cache."""
    angles: Rotation
    """The rotary table."""

    def start(self) -> LlamaSession:
        """Open an empty session.

        Returns
        -------
        LlamaSession
        """
        return LlamaSession(self.weights, self.angles)

    def first_layers(self, count: int) -> SmolLM2:
        """Shorten the model to its first layers and its own output head: a draft for speculation.

        Parameters
        ----------
        count : int
            1 to 30.

        Returns
        -------
        SmolLM2
            Shares the weights; named ``smollm2:COUNT``.

        Raises
        ------
        ParameterError
            There are fewer layers.
        """
        require("layers", count, Whole(1, self.weights.shape.layers))
        return replace(self, name=f"{self.name}:{count}", weights=self.weights.first_layers(count))


def load() -> SmolLM2:
    """Load the model; the first time ever, fetch and prepare it.

    Returns
    -------
    SmolLM2

    Raises
    ------
    UnavailableError
        The weights are not there and cannot be fetched, or a package of the extra ``demo`` is missing.

    Notes
    -----
    The first time 93 MB are downloaded and 540 MB of float32 written to the cache. Later loads map that file.
    """
    directory = _prepared()
    tokenizer = gguf_file.read_tokenizer(directory)
    weights = gguf_file.read_weights(directory)
    facts = ModelFacts(
        vocab_size=weights.shape.vocab_size,
        end_token_ids=tuple(tokenizer.special_tokens[text] for text in _END_TOKENS),
        context_length=weights.shape.context_length,
        encode=tokenizer.encode,
    )
    return SmolLM2(name="smollm2", facts=facts, tokenizer=tokenizer, weights=weights, angles=rotation(weights.shape))


def _prepared() -> Path:
    directory = cache_directory() / f"smollm2-{SMOLLM2.file_sha256[:12]}-layout{gguf_file.LAYOUT}"
    if directory.is_dir():
        return directory
    file = gguf_file.open_gguf(fetch(SMOLLM2))
    try:
        _prepare(file, directory)
    except OSError as error:
        raise cannot_write(directory.parent, error) from error
    return directory


def _prepare(file: gguf_file.GgufFile, directory: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="prepare-", dir=directory.parent) as folder:
        # A folder of its own inside: the rename must not take what TemporaryDirectory removes.
        fresh = Path(folder) / "weights"
        fresh.mkdir()
        with progress("Preparing SmolLM2 (once)", file.shape.layers) as report:
            gguf_file.write_weights(file, fresh, report)
        _move_in(fresh, directory)


def _move_in(fresh: Path, directory: Path) -> None:
    try:
        fresh.rename(directory)
    except OSError:
        # Another process was first; its files are the same.
        if not directory.is_dir():
            raise
        shutil.rmtree(fresh)
