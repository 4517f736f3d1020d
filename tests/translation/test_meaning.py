"""The algebra: pairs of plans that mean the same, pairs that do not, and the laws that bear it out."""

import numpy as np
import pytest

from fairdraw.plan import Plan
from fairdraw.sampling import law
from fairdraw.translation.meaning import meaning, same_meaning
from translation.random_plans import HISTORY, distinct_row, long_tail

ROWS = [distinct_row(40, seed) for seed in range(3)] + [long_tail(7)]


def _apart(a: Plan, b: Plan) -> float:
    return max(law(a, row, history=HISTORY).total_variation(law(b, row, history=HISTORY)) for row in ROWS)


DIVIDED = 'temperature(value=0.5, operation="divide")'
SAME = (
    ("top_k(k=7) > temperature(value=0.6)", "temperature(value=0.6) > top_k(k=7)"),
    ("top_n_sigma(n=1.5) > temperature(value=0.6)", "temperature(value=0.6) > top_n_sigma(n=1.5)"),
    ("min_p(p=0.25) > temperature(value=0.5)", "temperature(value=0.5) > min_p(p=0.0625)"),
    ("temperature(value=2.0) > temperature(value=0.25)", "temperature(value=0.5)"),
    ("min_p(p=0.1) > top_k(k=7)", "top_k(k=7) > min_p(p=0.1)"),
    ("min_p(p=0.1) > min_p(p=0.3)", "min_p(p=0.3)"),
    ("top_k(k=9) > top_k(k=4)", "top_k(k=4)"),
    ("checkpoint() > top_k(k=7) > top_p(p=0.8, mass=raw)", "top_p(p=0.8) > top_k(k=7)"),
    ("top_k(k=7) > top_p(p=0.8) > min_p(p=0.1) > top_k(k=9)", "top_k(k=7) > top_p(p=0.8) > min_p(p=0.1)"),
    (f"{DIVIDED} > presence_frequency_penalty(presence=0.4)",
     f"presence_frequency_penalty(presence=0.2) > {DIVIDED}"),
    (f'{DIVIDED} > logit_bias(bias={{"3": 2.0}})', f'logit_bias(bias={{"3": 1.0}}) > {DIVIDED}'),
    ("temperature(value=0.5) > presence_frequency_penalty(presence=0.4)",
     "presence_frequency_penalty(presence=0.4) > temperature(value=0.5)"),
    (f"{DIVIDED} > repetition_penalty(penalty=1.3)", f"repetition_penalty(penalty=1.3) > {DIVIDED}"),
    ('logit_bias(bias={"3": 2.0}) > allowed_ids(ids=[0, 1, 3])',
     'allowed_ids(ids=[0, 1, 3]) > logit_bias(bias={"3": 2.0})'),
    ("temperature(value=0.5) > top_k(k=1)", "greedy()"),
    ("temperature(value=0.5) > top_p(p=0.9) > greedy()", "greedy()"),
    ("typical(p=0.8) > top_k(k=5) > temperature(value=0.5)", "typical(p=0.8) > temperature(value=0.5) > top_k(k=5)"),
    ("top_k(k=9) > candidate_typical(p=0.8, candidates=9)",
     'top_k(k=9) > typical(p=0.8, boundary="strict", ties="any")'),
)  # fmt: skip
OTHER = (
    ("top_p(p=0.8) > temperature(value=0.6)", "temperature(value=0.6) > top_p(p=0.8)"),
    ("top_p(p=0.8) > top_k(k=3)", "top_k(k=3) > top_p(p=0.8)"),
    ("top_p(p=0.8) > top_p(p=0.8)", "top_p(p=0.8)"),
    ("top_k(k=5) > top_n_sigma(n=0.7)", "top_n_sigma(n=0.7) > top_k(k=5)"),
    ("min_p(p=0.25) > temperature(value=0.5)", "temperature(value=0.5) > min_p(p=0.25)"),
    ("typical(p=0.8) > temperature(value=0.5)", "temperature(value=0.5) > typical(p=0.8)"),
    ("typical(p=0.8) > top_k(k=5)", "top_k(k=5) > typical(p=0.8)"),
    ('repetition_penalty(penalty=1.5) > logit_bias(bias={"3": 2.0})',
     'logit_bias(bias={"3": 2.0}) > repetition_penalty(penalty=1.5)'),
    ("checkpoint() > top_k(k=3) > top_p(p=0.7) > at_least(count=5)",
     "top_k(k=3) > checkpoint() > top_p(p=0.7) > at_least(count=5)"),
    ("min_p(p=0.2) > dynamic_temperature(low=0.2, high=2.0, candidates=30)",
     "min_p(p=0.2) > dynamic_temperature(low=0.2, high=2.0)"),
    ("top_k(k=6) > dynamic_temperature(low=0.2, high=2.0, candidates=30)",
     "top_k(k=6) > dynamic_temperature(low=0.2, high=2.0)"),
    ('logit_bias(bias={"3": 2.0}) > presence_frequency_penalty(presence=0.9) > repetition_penalty(penalty=1.5)',
     'logit_bias(bias={"3": 2.0}) > repetition_penalty(penalty=1.5) > presence_frequency_penalty(presence=0.9)'),
    ("top_p(p=0.7) > truncated(p=0.9)", "top_p(p=0.7)"),
    ("clipped_gumbel()", "race()"),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_means_the_same_has_the_same_law(first, second):
    a, b = Plan.parse(f"custom: {first}"), Plan.parse(f"custom: {second}")
    assert same_meaning(meaning(a), meaning(b))
    assert _apart(a, b) < 2e-6


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_what_has_another_law_does_not_mean_the_same(first, second):
    a, b = Plan.parse(f"custom: {first}"), Plan.parse(f"custom: {second}")
    assert not same_meaning(meaning(a), meaning(b))
    assert _apart(a, b) > 1e-4


def test_random_chains_of_one_meaning_have_one_law_and_most_have_another():
    rng = np.random.default_rng(20)
    parts = (
        "temperature(value=0.5)", "temperature(value=2.0)", "top_k(k=6)", "top_p(p=0.8)", "min_p(p=0.1)",
        "top_n_sigma(n=1.2)", "typical(p=0.9)", "min_p(p=0.01)",
    )  # fmt: skip
    same = 0
    for _ in range(400):
        chosen = rng.choice(len(parts), size=3, replace=False)
        a, b = (Plan.parse("custom: " + " > ".join(parts[i] for i in rng.permutation(chosen))) for _ in range(2))
        if not same_meaning(meaning(a), meaning(b)):
            continue
        same += a != b
        row = distinct_row(30, int(rng.integers(1000)))
        assert law(a, row).total_variation(law(b, row)) < 1e-9, (str(a), str(b))
    assert same > 40
