"""mlx-lm's own functions against the law, on random rows with ties: `pip install "mlx[cpu]==0.32.4" mlx-lm==0.32.2`."""

import numpy as np
import pytest

import fairdraw as fd

pytestmark = pytest.mark.engines

mx = pytest.importorskip("mlx.core", reason="needs mlx and mlx-lm")
sample_utils = pytest.importorskip("mlx_lm.sample_utils", reason="needs mlx and mlx-lm")

CASES, WITHIN = 300, 3e-6
CUTS = {"top_p": (0.1, 0.5, 0.75, 0.9, 0.99), "min_p": (0.02, 0.1, 0.3, 0.5), "top_k": (1, 2, 3)}
PENALTIES = {
    "repetition_penalty": (0.8, 1.3, 2.0),
    "presence_penalty": (-0.5, 0.25, 1.5),
    "frequency_penalty": (-0.3, 0.25),
    "repetition_context_size": (0, 1, 3),
    "presence_context_size": (0, 1, 3),
    "frequency_context_size": (0, 1, 3),
}


def chosen(table: dict, random: np.random.Generator) -> dict:
    return {name: random.choice(numbers).item() for name, numbers in table.items() if random.random() < 0.5}


def scores_of(engine: dict, penalties: dict, row: np.ndarray, tokens: list[int], monkeypatch) -> np.ndarray:
    """The scores from which the engine draws its token."""
    logits = mx.array(row[None])
    for process in sample_utils.make_logits_processors(**penalties):
        logits = process(mx.array(tokens), logits)
    seen = []
    monkeypatch.setattr(
        sample_utils, "categorical_sampling", lambda scores, temp: seen.append(scores * (1.0 / temp)) or mx.array([0])
    )
    sample_utils.make_sampler(**engine)(logits - mx.logsumexp(logits, keepdims=True))
    return np.array(seen[0][0].tolist())


def is_the_same(law: fd.Weights, engine: np.ndarray) -> bool:
    """Up to which of equal tokens the engine's partition happened to take."""
    ours = law.probabilities.copy()
    for tie in law.open_ties:
        taken = tie.group[engine[tie.group] > 0]
        if taken.size != tie.count:
            return False
        share = ours[tie.group].max()
        ours[tie.group] = 0
        ours[taken] = share
    return bool(np.abs(ours - engine).max() <= WITHIN)


def test_the_law_is_what_the_real_sampler_draws_from(monkeypatch):
    random = np.random.default_rng(32)
    mx.disable_compile()
    for _ in range(CASES):
        row = (random.normal(size=random.choice([4, 6, 40, 200, 32768], p=[0.3, 0.3, 0.2, 0.19, 0.01])) * 3).astype(
            np.float32
        )
        row = np.round(row * 4) / 4 if random.random() < 0.5 else row
        engine = {"temp": random.choice([0.3, 1.0, 1.7]).item(), **chosen(CUTS, random)}
        penalties, tokens = chosen(PENALTIES, random), random.integers(0, 4, size=random.integers(1, 9)).tolist()
        scores = scores_of(engine, penalties, row, tokens, monkeypatch)
        weights = np.exp(scores - scores.max())
        plan = fd.Plan.resolve({**engine, **penalties}, dialect="mlx_lm")
        law = fd.law(plan, row, history=fd.History(prompt=tokens[:2], output=tokens[2:]))
        assert any(is_the_same(reading, weights / weights.sum()) for reading in (law, *law.others)), str(plan)
