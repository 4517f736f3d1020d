"""The real model: the same text, bit for bit, and fewer steps of the target.

Of each kind of prompt some are taken here; benches/speculation.py takes all twenty, see docs/speculation.md.
"""

import pytest

import fairdraw as fd
from fairdraw.constraints.regex import Regex
from fairdraw.generation.loop import generate
from fairdraw.generation.speculation.drafts import FirstLayers, PromptLookup
from fairdraw.generation.speculation.settings import Speculation
from fairdraw.models import load

pytestmark = pytest.mark.model
LINES = (
    "apples: 3, pears: 5, plums: 8",
    "def area(width, height): return width * height",
    "The train leaves at noon from platform four.",
    "Paris is the capital of France.",
    "red, green, blue, yellow, violet",
)
PROMPTS = [
    *(f"Repeat this text word for word: {line}" for line in LINES),
    *(f"Repeat this text twice: {line}" for line in LINES),
    *(f"Which words are in this text? {line}" for line in LINES),
    *(f"Translate this text into French: {line}" for line in LINES),
]
PLAIN = "fairdraw: temperature=0.7 top_k=40 top_p=0.9 max_tokens=12"
STAGES = (
    "fairdraw: temperature=0.8 min_p=0.05 repetition_penalty=1.1 presence_penalty=0.1 frequency_penalty=0.1 "
    'logit_bias={"504":1.0,"28":-0.5} max_tokens=12'
)
SENTENCES = Regex(r"([A-Z][a-z ,']{3,60}\. ){1,8}")


@pytest.fixture(scope="module")
def model():
    return load(model="smollm2")


def both(model, plan, speculation, **more):
    alone, ahead = [], []
    for seed, prompt in enumerate(PROMPTS[::4]):
        alone.append(generate(model, prompt, plan, seed=seed, **more))
        ahead.append(generate(model, prompt, plan, seed=seed, speculation=speculation, **more))
    return alone, ahead


@pytest.mark.parametrize(("plan", "constraint"), [(PLAIN, None), (STAGES, SENTENCES)], ids=["plain", "every stage"])
def test_with_prompt_lookup_texts_have_the_same_bits_and_take_fewer_steps(model, plan, constraint):
    alone, ahead = both(model, fd.Plan.parse(plan), Speculation(draft=PromptLookup()), constraint=constraint)
    assert [done.tokens for done in ahead] == [done.tokens for done in alone]
    assert [done.text for done in ahead] == [done.text for done in alone]
    steps = sum(done.speculated.target_steps for done in ahead)
    assert steps < sum(len(done.tokens) for done in alone)


def test_a_tree_of_a_shortened_model_has_the_same_bits_too(model):
    plan = fd.Plan.parse(PLAIN)
    setting = Speculation(draft=FirstLayers(layers=28), tokens=2, widths=(2,))
    for prompt in PROMPTS[:2]:
        alone = generate(model, prompt, plan, seed=1)
        ahead = generate(model, prompt, plan, seed=1, speculation=setting)
        assert ahead.tokens == alone.tokens
        assert ahead.speculated.accepted > 0


def test_all_layers_are_the_model_itself_and_more_are_refused(model):
    assert model.first_layers(30).name == "smollm2:30"
    assert (model.first_layers(30).start().feed([1, 2]) == model.start().feed([1, 2])).all()
    for count in (0, 31):
        with pytest.raises(fd.ParameterError, match=r"layers must be .*30"):
            model.first_layers(count)
