import json
from pathlib import Path

import numpy as np
import pytest

from fairdraw.errors import ParameterError
from fairdraw.text.chat_template import encode_chat

GOLDEN = Path(__file__).parents[1] / "golden"

pytestmark = pytest.mark.model


def _greedy(model, question):
    session = model.start()
    logits = session.feed(encode_chat(model.tokenizer, [{"role": "user", "content": question}]))
    answer = []
    while (token := int(np.argmax(logits))) not in model.facts.end_token_ids:
        answer.append(token)
        logits = session.feed([token])
    return model.tokenizer.decode(answer), token


def test_the_greedy_answer_about_the_sea_is_the_one_of_llama_cpp(smollm2):
    text, end = _greedy(smollm2, "Write about the sea in two sentences.")
    assert text == "The sea is a vast and mysterious realm, teeming with life and full of wonders."
    assert end == 2


def test_logits_agree_with_the_golden_rows_within_2e_3(smollm2, real_rows):
    tags = json.loads((GOLDEN / "smollm2_rows.json").read_text(encoding="utf-8"))["tags"]
    contexts = _contexts()
    for tag, expected in zip(tags, real_rows, strict=True):
        np.testing.assert_allclose(smollm2.start().feed(contexts[tag]), expected, atol=2e-3, rtol=0)


def _contexts():
    text = (GOLDEN / "smollm2_token_ids.json").read_text(encoding="utf-8")
    return {context["tag"]: context["token_ids"] for context in json.loads(text)["contexts"]}


def test_feeding_at_once_equals_feeding_one_by_one_within_1e_3(smollm2):
    ids = _contexts()["sea_start"]
    session = smollm2.start()
    for token in ids:
        one_by_one = session.feed([token])
    np.testing.assert_allclose(smollm2.start().feed(ids), one_by_one, atol=1e-3, rtol=0)


def test_facts_are_those_of_the_file(smollm2):
    facts = smollm2.facts
    assert (facts.vocab_size, facts.end_token_ids, facts.context_length) == (49152, (0, 2), 8192)
    assert facts.encode is not None
    assert facts.encode("The sea") == [504, 3426]


def test_the_context_of_8192_tokens_is_a_limit(smollm2):
    with pytest.raises(ParameterError, match="at most 8192 in all"):
        smollm2.start().feed([1] * 8193)


def test_sessions_share_weights_and_nothing_else(smollm2):
    first, second = smollm2.start(), smollm2.start()
    first.feed([1, 2, 3])
    assert second.length == 0
