"""A garden path and a long way: what beams of several widths and rules find, and what is drawn without replacement.

python examples/beams.py
"""

import numpy as np

import fairdraw as fd
from fairdraw.generation.beams import transformers_beams, vllm_beams
from fairdraw.models.scripted import ScriptedModel

GARDEN = {(): [0.5, 0.3, 0.2], (0,): [0.34, 0.33, 0.33], (1,): [0.5, 0.26, 0.24], (2,): [1.0, 0.0, 0.0]}
"""The likeliest first letter leads to no likely text, the third to a certain one."""
LONG_WAY = {(): [0.5, 0.3, 0.2]}
"""Letter a ends a text; after b come only b, after c only c."""


def model(laws, ends=()):
    def law(tokens):
        with np.errstate(divide="ignore"):
            return np.log(laws.get(tokens[1:], [float(token == tokens[-1]) for token in range(3)]))

    return ScriptedModel(law=law, texts=(b"a", b"b", b"c"), ends=ends)


def show(name, found):
    texts = [f"{''.join('abc'[token] for token in text.tokens)} {text.score:.4f}" for text in found.texts[:3]]
    print(f"{name:24} {found.rows:2} rows: {', '.join(texts)}")


two, four = fd.Plan.parse("fairdraw: max_tokens=2"), fd.Plan.parse("fairdraw: max_tokens=4")
print("garden path")
for width in (1, 2, 3, 9):
    show(f"width {width}", fd.beam_search(model(GARDEN), [0], two, fd.Beams(width=width)))
for seed in (1, 2):
    show(f"3 drawn with seed {seed}", fd.stochastic_beams(model(GARDEN), [0], two, count=3, seed=seed))
print("long way")
for penalty in (0.0, 1.0):
    for early in ("full", "heuristic", "never"):
        beams = fd.Beams(width=1, length_penalty=penalty, early_stopping=early)
        show(f"penalty {penalty:.0f}, {early}", fd.beam_search(model(LONG_WAY, (0,)), [0], four, beams))
show("transformers", fd.beam_search(model(LONG_WAY, (0,)), [0], four, transformers_beams(num_beams=2)))
show("vllm", fd.beam_search(model(LONG_WAY, (0,)), [0], four, vllm_beams(beam_width=2)))
