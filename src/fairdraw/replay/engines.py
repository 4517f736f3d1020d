"""Replaying step by step: one object for each engine whose dialect and whose stream are both known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import as_logits
from fairdraw.context import Context
from fairdraw.dialects.llama_cpp_parameters import sampler_names
from fairdraw.dialects.reading import did_you_mean
from fairdraw.draws import ClippedGumbel
from fairdraw.errors import ParameterError, PlanError
from fairdraw.history import History
from fairdraw.masses import RealMasses
from fairdraw.plan import Plan
from fairdraw.replay import llama_cpp, nano_vllm, transformers
from fairdraw.replay.candle import LogitsProcessor, apply_repeat_penalty
from fairdraw.replay.candle_sampling import Sampling
from fairdraw.replay.result import Replayed
from fairdraw.replay.rust_selection import select_nth
from fairdraw.rows import Row
from fairdraw.stages import EditStage
from fairdraw.streams.torch_mt19937 import TorchGenerator


class Replayer(Protocol):
    """An engine's generator in progress: each call is one step of one text."""

    def __call__(self, logits: object, history: History) -> Replayed:
        """Draw the next token as the engine does, and move its generator on."""
        ...


def replayer(engine: str, plan: Plan, seed: int) -> Replayer:
    """Start an engine's own generator for a plan of its dialect.

    Parameters
    ----------
    engine : str
        "candle", "transformers", "nano_vllm" or "llama_cpp".
    plan : Plan
        Of that engine's dialect.
    seed : int, 0 to 2^64-1
        As the engine takes it.

    Returns
    -------
    Replayer
        Call it with each step's logits and the history before that step, in order, once each.

    Raises
    ------
    PlanError
        An engine that cannot be replayed here, or a plan of another dialect.
    ParameterError
        A draw that the engine itself cannot seed (candle's GumbelSoftmax on the CPU).

    Examples
    --------
    >>> plan = Plan.parse("candle: All temperature=1")
    >>> step = replayer("candle", plan, 42)
    >>> [step([2.0, 1.5, 1.0, 0.5, 0.0, -1.0], History()).token for _ in range(8)]
    [0, 1, 0, 1, 3, 1, 5, 0]
    """
    if engine not in REPLAYERS:
        by_hand = f"fairdraw.replay.{engine} does, from Python" if engine == "vllm" else ""
        hint = by_hand or did_you_mean(engine, REPLAYERS) or f"known: {', '.join(REPLAYERS)}"
        raise PlanError(f"{engine!r} cannot be replayed by a plan", hint)
    if plan.dialect.partition("@")[0] != engine:
        hint = f"write the plan in its own names: {engine}: ..."
        raise PlanError(f"a replay of {engine} needs a plan of its dialect, got one of {plan.dialect}", hint)
    return REPLAYERS[engine](plan, seed)


def _candle(plan: Plan, seed: int) -> Replayer:
    values = {setting.name: setting.value for setting in plan.settings}
    if isinstance(plan.draw, ClippedGumbel):
        hint = "any other variant can be replayed; on Metal, fairdraw.replay.candle takes a MetalGenerator"
        raise ParameterError("variant", plan.variant, "one that candle's CPU can seed", hint)
    processor = _candle_processor(plan.variant, values, seed)
    penalty, window, best = (values.get(name) for name in ("repeat_penalty", "repeat_last_n", "closure_top_k"))
    closure = partial(_keep_and_renormalise, k=best) if isinstance(best, int) else _unchanged

    def step(logits: object, history: History) -> Replayed:
        row = logits
        if penalty != 1.0 and window:
            tokens = (*history.prompt, *history.output)
            row = apply_repeat_penalty(row, float(penalty), tokens[-window:])  # type: ignore[arg-type, operator]
        return Replayed(token=processor.sample_f(row, closure))

    return step


def _candle_processor(variant: str, values: dict[str, object], seed: int) -> LogitsProcessor:
    if not variant:
        return LogitsProcessor.new(seed, values["temperature"], values["top_p"])  # type: ignore[arg-type]
    fields = {name: values[name] for name in ("k", "p", "temperature") if name in values}
    return LogitsProcessor.from_sampling(seed, getattr(Sampling, variant)(**fields))


def _unchanged(probabilities: NDArray[np.float32]) -> None:
    """The closure of a plan that has none."""


def _keep_and_renormalise(probabilities: NDArray[np.float32], k: int) -> None:
    """The closure of ``closure_top_k``: zero all but the k best, divide by their float32 sum in id order."""
    if k >= probabilities.size:
        hint = "Rust's selection fails there"
        raise ParameterError("closure_top_k", k, f"less than the width of the row, {probabilities.size}", hint)
    # Probabilities are not negative, so the complement of their bits orders them from the largest down.
    order = select_nth(~np.ascontiguousarray(probabilities).view(np.int32), k)
    probabilities[order[k:]] = 0
    probabilities /= np.add.accumulate(probabilities, dtype=np.float32)[-1]


def _transformers(plan: Plan, seed: int) -> Replayer:
    generator = TorchGenerator(seed)
    return lambda logits, history: transformers.draw(plan, logits, generator, history=history)


def _nano_vllm(plan: Plan, seed: int) -> Replayer:
    generator = TorchGenerator(seed)
    return lambda logits, history: nano_vllm.draw(plan, logits, generator)


LLAMA_CHAIN = ("checkpoint", "at_least", "top_k", "top_p", "min_p", "temperature")
"""Stages that the replay of llama.cpp has, beside edits."""
LLAMA_SAMPLERS = ("penalties", "dry", "top_k", "top_p", "min_p", "temperature")
"""Its samplers, in this order."""


def _llama_cpp(plan: Plan, seed: int) -> Replayer:
    edits = tuple(stage for stage in plan.stages if isinstance(stage, EditStage))
    cuts = [stage.name for stage in plan.stages[1:] if not isinstance(stage, EditStage)]
    values = {setting.name: setting.value for setting in plan.settings}
    order = tuple(name for name in sampler_names(values) if name in LLAMA_SAMPLERS)
    if set(cuts) - set(LLAMA_CHAIN) or order != LLAMA_SAMPLERS or plan.variant:
        hint = "the replay has the usual chain: bias, penalties, DRY, top-k, top-p, min-p, temperature"
        raise ParameterError("samplers", ", ".join(cuts), "the usual chain, other samplers off", hint)
    fields = {name: values[name] for name in ("top_k", "top_p", "min_p", "temperature", "min_keep")}
    chain, generator = llama_cpp.Chain(**fields), llama_cpp.LlamaGenerator(seed)  # type: ignore[arg-type]

    def step(logits: object, history: History) -> Replayed:
        row = Row.of(as_logits(logits), RealMasses)
        for edit in edits:
            row = edit.apply(row, Context(history=history))
        return llama_cpp.draw(chain.apply(row.scores), generator)

    return step


REPLAYERS: MappingProxyType[str, Callable[[Plan, int], Replayer]] = MappingProxyType(
    {"candle": _candle, "transformers": _transformers, "nano_vllm": _nano_vllm, "llama_cpp": _llama_cpp}
)
"""Engine to what starts its generator.  vLLM's noise has to be handed in: see its module."""
