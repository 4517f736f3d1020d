"""Every dialect draws from the law that it states: 300 random plans each, 100 000 draws, one pooled G-test.

The G of each plan is over cells of at least 10 expected draws; the sum over a dialect's plans is compared with a
chi-squared law.  All dialects together raise a false alarm with probability 1e-6; seeds are fixed.
"""

import json
from zlib import crc32

import numpy as np
import pytest
from scipy.stats import chi2

import fairdraw as fd
from fairdraw.dialects import DIALECTS
from fairdraw.draws import Undocumented
from fairdraw.errors import FairdrawError
from fairdraw.verify.statistics import g_test

PLANS, DRAWS, LONG = 300, 100_000, 2
FALSE_ALARM = 1e-6
DRAWING = [
    dialect
    for dialect in DIALECTS.values()
    if not any(isinstance(mode.draw, Undocumented) for mode in dialect.variants[""].modes)
]
VALUES = {
    "temperature": (0.0, 0.3, 0.7, 1.0, 1.0, 1.3, 2.0),
    "top_k": (1, 2, 3, 5, 8, 20, 40),
    "top_p": (0.1, 0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 1.0),
    "min_p": (0.0, 0.02, 0.1, 0.3, 0.5),
    "typical_p": (0.2, 0.5, 0.9, 1.0),
    "repetition_penalty": (0.8, 1.0, 1.2, 1.8),
    "presence_penalty": (-0.5, 0.0, 0.4, 1.5),
    "frequency_penalty": (-0.3, 0.0, 0.4),
    "penalty_last_n": (0, 1, 3, 64),
    "logit_bias": ({1: 2.0}, {0: -100.0, 5: 1.5}),
    "allowed_token_ids": ([1, 2, 3, 5, 8], list(range(20))),
    "bad_words_ids": ([[3], [1, 2]],),
    "do_sample": (True, True, True, False),
    "seed": (7,),
    "filter_apply_order": ("top_k_first", "joint"),
    "xtc_threshold": (0.05, 0.2),
    "top_h": (0.3, 0.7, 0.95),
    "epsilon_cutoff": (0.0, 0.001, 0.05),
    "eta_cutoff": (0.0, 0.001, 0.05),
    "no_repeat_ngram_size": (0, 2, 3),
    "encoder_no_repeat_ngram_size": (0, 2, 3),
    "encoder_repetition_penalty": (0.8, 1.0, 1.5),
    "suppress_tokens": ([3, 4],),
    "begin_suppress_tokens": ([5, 6],),
    "exponential_decay_length_penalty": ([1, 1.5],),
    "watermarking_config": ({"bias": 1.0}, {"seeding_scheme": "selfhash"}),
    "renormalize_logits": (False, True),
    "remove_invalid_values": (False, True),
}
"""By canonical name, or by the engine's where there is none."""
COINS = {"xtc_probability": (0.3, 1.0)}
"""Seldom, because each draw tosses and has to go through the stages."""
FACTS = fd.ModelFacts(vocab_size=64, end_token_ids=(2,))


def request_of(variant, random: np.random.Generator) -> dict:
    request = {}
    for parameter in variant.parameters:
        name = parameter.canonical or parameter.name
        chance, known = (0.02, COINS) if name in COINS else (0.45, VALUES)
        if name in known and (parameter.required or random.random() < chance):
            request[parameter.name] = known[name][random.integers(len(known[name]))]
    return request


def row_of(random: np.random.Generator, vocab: int) -> np.ndarray:
    row = random.normal(size=vocab) * random.choice([1.0, 3.0])
    if vocab > 64:
        # A long tail: a few likely tokens over a flat rest.
        row = np.concatenate([random.normal(size=64) * 2 + 9, random.normal(size=vocab - 64)])
    grid = random.choice([0.0, 0.5, 0.0625])
    row = np.round(row / grid) * grid if grid else row
    if random.random() < 0.2:
        row[1:][random.random(vocab - 1) < 0.3] = -np.inf
    return row.astype(np.float32)


def plans_of(dialect, random: np.random.Generator):
    """Random plans with a row and a history each; what the engine refuses is not one."""
    made = 0
    while made < PLANS:
        variant = list(dialect.variants)[random.integers(len(dialect.variants))]
        request = request_of(dialect.variants[variant], random)
        row = row_of(random, 32768 if made < LONG else 64)
        ids = random.integers(0, 64, size=random.integers(0, 9)).tolist()
        history = fd.History(prompt=ids[::2], output=ids[1::2])
        try:
            plan = fd.Plan.resolve(request, dialect=dialect.name, variant=variant, facts=FACTS)
            weights = fd.law(plan, row, history=history)
        except FairdrawError:
            continue
        made += 1
        yield plan, row, history, weights


@pytest.mark.parametrize("dialect", DRAWING, ids=lambda dialect: dialect.name)
def test_its_tokens_follow_its_law_and_its_plans_survive_text_and_json(dialect):
    random = np.random.default_rng(crc32(dialect.engine.encode()))
    total, freedom, drawn = 0.0, 0, 0
    for number, (plan, row, history, weights) in enumerate(plans_of(dialect, random)):
        assert fd.Plan.parse(str(plan), facts=FACTS) == plan
        assert fd.Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
        tosses = any(len(stage.branches()) > 1 for stage in plan.stages)
        draws = 100 if tosses else DRAWS // PLANS + 34
        tokens = fd.sample_many(
            plan, row, seed=number, positions=np.arange(draws), sample_indices=number, history=history
        )
        assert np.isin(tokens, weights.support).all(), plan
        test = g_test(np.bincount(tokens, minlength=row.size), weights.probabilities, minimum_expected=10)
        total, freedom, drawn = total + test.statistic, freedom + test.degrees_of_freedom, drawn + draws
    assert drawn >= DRAWS
    assert freedom > 200
    assert chi2.sf(total, freedom) > FALSE_ALARM / len(DRAWING), (total, freedom)
