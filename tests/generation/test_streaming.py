"""What is streamed is what is returned, however bytes are cut into tokens, and whoever writes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.generation.batch import Request, RequestBatch
from fairdraw.generation.loop import start
from generation.toy import ToyTokenizer

ALPHABET = "abé😀"


@dataclass(frozen=True)
class Text:
    tokens: tuple[bytes, ...]
    stops: tuple[str, ...]
    included: bool

    @property
    def plan(self) -> fd.Plan:
        limits = {"stop": list(self.stops), "include_stop_str_in_output": self.included}
        return fd.Plan.resolve({"temperature": 0.0, "max_tokens": len(self.tokens), **limits})

    @property
    def first_match(self) -> tuple[str, str | None]:
        """Read character by character: what comes before the first stop string, and that string."""
        whole = b"".join(self.tokens).decode("utf-8", "replace")
        for end in range(1, len(whole) + 1):
            if ending := [stop for stop in self.stops if whole[:end].endswith(stop)]:
                stop = max(ending, key=len)
                return whole[: end - len(stop)], stop
        return whole, None


@st.composite
def texts(draw: st.DrawFn) -> Text:
    """Parts of stop strings, so that many begin and few are completed; cut anywhere, within characters too."""
    stops = tuple(draw(st.lists(st.text(ALPHABET, min_size=1, max_size=5), max_size=3)))
    parts = [stop[:length] for stop in stops for length in range(1, len(stop) + 1)]
    whole = "".join(draw(st.lists(st.sampled_from([*parts, *ALPHABET]), min_size=1, max_size=8))).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    tokens = tuple(whole[begin:end] for begin, end in pairwise([0, *cuts, len(whole)]))
    return Text(tokens=tokens, stops=stops, included=draw(st.booleans()))


@dataclass
class ScriptSession:
    model: Scripts
    tokens: list[int] = field(default_factory=list)

    def feed(self, tokens: Sequence[int]) -> np.ndarray:
        self.tokens.extend(tokens)
        which, step = self.tokens[0], len(self.tokens) - 1
        best = len(self.model.texts) + sum(len(text.tokens) for text in self.model.texts[:which]) + step
        return np.where(np.arange(self.model.facts.vocab_size) == best, np.float32(1), np.float32(0))

    def fork(self) -> ScriptSession:
        return ScriptSession(self.model, list(self.tokens))


@dataclass
class Scripts:
    """After the prompt [i] the greedy text is text i, token by token."""

    texts: Sequence[Text]
    name: str = "scripts"

    @property
    def tokenizer(self) -> ToyTokenizer:
        return ToyTokenizer(texts=(*[b"?"] * len(self.texts), *(token for text in self.texts for token in text.tokens)))

    @property
    def facts(self) -> fd.ModelFacts:
        return fd.ModelFacts(vocab_size=self.tokenizer.vocab_size)

    def start(self) -> ScriptSession:
        return ScriptSession(self)


def check(text: Text, shown: list[str], done: fd.Completion) -> None:
    before, stop = text.first_match
    assert "".join(shown) == done.text
    assert done.text == before + (stop if stop is not None and text.included else "")
    assert (done.finish_reason, done.stop_reason) == (("stop", stop) if stop is not None else ("length", None))
    for count in range(len(shown)):
        so_far = "".join(shown[:count])
        assert before.startswith(so_far), "a part of the stop string left"


@given(texts())
def test_what_is_streamed_is_what_is_returned_and_no_part_of_a_stop_string_leaves(text):
    generation = start(Scripts([text]), [0], text.plan, seed=0)
    shown = [step.text for step in generation]
    check(text, shown, generation.completion())


@given(st.lists(texts(), min_size=1, max_size=5))
def test_the_same_holds_for_texts_that_are_written_side_by_side(several):
    batch = RequestBatch(Scripts(several))
    numbers = [batch.add(Request(prompt=[which], plan=text.plan, seed=0)) for which, text in enumerate(several)]
    shown: dict[int, list[str]] = {number: [] for number in numbers}
    for news in batch:
        assert news.step is not None
        shown[news.request].append(news.step.text)
    for number, text in zip(numbers, several, strict=True):
        (done,) = batch.take(number)
        check(text, shown[number], done)


@given(texts(), st.integers(0, 12))
def test_a_text_that_is_cancelled_at_any_step_is_what_was_streamed_and_no_part_of_a_stop_string(text, steps):
    batch = RequestBatch(Scripts([text]))
    number = batch.add(Request(prompt=[0], plan=text.plan, seed=0))
    shown = [news.step.text for _ in range(steps) for news in batch.step() if news.step]
    batch.cancel(number)
    (done,) = batch.take(number)
    assert "".join(shown) == done.text
    before, _ = text.first_match
    if done.finish_reason == "cancelled":
        assert before.startswith(done.text)
    else:
        check(text, shown, done)


@given(texts())
def test_offsets_say_how_many_characters_each_token_found(text):
    generation = start(Scripts([text]), [0], text.plan, seed=0)
    for _ in generation:
        pass
    done = generation.completion()
    whole = b"".join(text.tokens).decode("utf-8", "replace")
    assert len(done.text_offsets) == len(done.tokens)
    for token, offset in enumerate(done.text_offsets):
        read = b"".join(text.tokens[:token])
        assert whole[:offset] == read.decode("utf-8", "ignore")
