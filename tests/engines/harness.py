"""The real transformers as an oracle: the law of one step, with no model behind it.

`engine_law` calls ``generate()`` of the installed transformers on a stub whose decoding loop is replaced: it applies
the chain of processors that ``generate()`` has built to one given row, and stops.  So defaults, checks, order and
arithmetic are the engine's own; only the forward pass and the draw are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray


def engine_dialect() -> str:
    """The dialect that the installed transformers must equal: ``"transformers@5.24"``."""
    return "transformers@" + ".".join(version("transformers").split(".")[:2])


def engine_law(
    config: Mapping[str, Any],
    logits_row: NDArray[np.floating],
    prompt_ids: Sequence[int],
    output_ids: Sequence[int] = (),
    attention_mask: Sequence[int] | None = None,
    second: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """The distribution that transformers samples the next token from.

    Parameters
    ----------
    config : mapping
        Arguments of ``generate()``: ``temperature``, ``eos_token_id``, ...  An argument given as None counts as
        given, so ``top_k=None`` switches the cut off and an absent ``top_k`` means 50.
    logits_row : shape (vocab,)
        What the model's last layer gives; cast to float32, as the engine does.
    prompt_ids : sequence of int
        At least one id, left padding included.
    output_ids : sequence of int
        What was generated so far.
    attention_mask : sequence of 0 and 1, as long as the prompt
        None: the engine's own guess, all ones unless ``pad_token_id`` is set.
    second : shape (vocab,)
        What the model gives without the prompt, for ``guidance_scale``.

    Returns
    -------
    float64, shape (vocab,)
        Softmax, in float64, of the scores after the engine's float32 stages; for a greedy choice, one 1.

    Raises
    ------
    ValueError, TypeError, IndexError, RuntimeError
        Whatever the engine raises; a row without a distribution is refused in the words of its draw.
    """
    scores, samples = _processed_scores(config, logits_row, prompt_ids, output_ids, attention_mask, second)
    if not samples:
        probabilities = np.zeros(len(scores))
        probabilities[_first_maximum(scores)] = 1.0
        return probabilities
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max())
    if not np.isfinite(weights).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    return weights / weights.sum()


def _first_maximum(scores: NDArray[np.float64]) -> int:
    # torch.argmax agrees with NumPy on both odd points: a NaN is a maximum, and the first maximum wins.
    return int(np.argmax(scores))


def _processed_scores(
    config: Mapping[str, Any],
    logits_row: NDArray[np.floating],
    prompt_ids: Sequence[int],
    output_ids: Sequence[int],
    attention_mask: Sequence[int] | None,
    second: NDArray[np.floating] | None,
) -> tuple[NDArray[np.float64], bool]:
    """The row after the engine's chain, and whether the engine would sample from it."""
    import torch
    from transformers import WatermarkingConfig

    model = _stub(len(logits_row))
    model.second = None if second is None else torch.tensor(np.asarray(second, dtype=np.float32)).reshape(1, 1, -1)
    model.row = torch.tensor(np.asarray(logits_row, dtype=np.float32)).unsqueeze(0)
    model.output_ids = torch.tensor([list(output_ids)], dtype=torch.long)
    given = {} if attention_mask is None else {"attention_mask": torch.tensor([list(attention_mask)])}
    prompt = torch.tensor([list(prompt_ids)], dtype=torch.long)
    # A limit far away, unless the caller sets one: without any, the engine warns.
    limit = {} if "max_length" in config else {"max_new_tokens": 10_000}
    watermark = config.get("watermarking_config")
    objects = {} if watermark is None else {"watermarking_config": WatermarkingConfig(**watermark)}
    scores, samples = model.generate(prompt, use_cache=False, **given, **(limit | dict(config) | objects))
    return scores.squeeze(0).double().numpy(), bool(samples)


@cache
def _stub(vocab_size: int) -> Any:
    """A model that transformers accepts, with a decoding loop of one step and no layers."""
    import torch
    from transformers import GenerationMixin, LlamaConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast
    from transformers.utils import logging

    logging.set_verbosity_error()

    class Stub(PreTrainedModel, GenerationMixin):
        config_class = LlamaConfig

        def __init__(self, config: LlamaConfig) -> None:
            super().__init__(config)
            self.unused = torch.nn.Parameter(torch.zeros(1))  # where the engine reads the device from

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any) -> Any:
            assert self.second is not None, "guidance alone needs the model"
            return CausalLMOutputWithPast(logits=self.second)

        def _sample(self, input_ids: torch.Tensor, logits_processor: Any, generation_config: Any, **_: Any) -> Any:
            history = torch.cat([input_ids, self.output_ids], dim=1)
            return logits_processor(history, self.row), generation_config.do_sample

    # Nothing is known of special tokens, so that a configuration alone decides.
    return Stub(LlamaConfig(vocab_size=vocab_size, bos_token_id=None, eos_token_id=None, pad_token_id=None))
