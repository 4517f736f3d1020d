from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.regex import Regex
from fairdraw.generation.batch import Failed, News, Request, RequestBatch, generate_many
from fairdraw.generation.loop import generate
from fairdraw.generation.speculation.drafts.lookup import PromptLookup
from fairdraw.generation.speculation.settings import Speculation
from fairdraw.stages import Stage
from generation.speculation.toys import PrefixModel, PrefixSession
from generation.toy import ToyModel

FACTS = PrefixModel(ends=(0,)).facts
PLANS = [
    fd.Plan.resolve(parameters, facts=FACTS)
    for parameters in (
        {"temperature": 0.0},
        {"temperature": 1.0, "logprobs": 2},
        {"temperature": 0.8, "top_p": 0.9, "top_k": 8},
        {"repetition_penalty": 1.3, "presence_penalty": 0.5, "min_p": 0.02},
        {"stop": ["ab", "cde"], "min_tokens": 2},
        {"stop_token_ids": [3], "ignore_eos": True, "include_stop_str_in_output": True, "stop": ["k"]},
        {"xtc_probability": 0.5, "xtc_threshold": 0.1},
        {"mirostat": 2, "mirostat_tau": 2.0},
        {"no_repeat_ngram_size": 1, "allowed_token_ids": [2, 3, 4, 5]},
        {"no_repeat_ngram_size": 2, "logit_bias": {"5": 2.0}},
    )
]
CONSTRAINTS = [None, None, Choice(("bed", "deck", "fled", "begged")), Regex("[b-f]{3,9}k?")]
SPECULATIONS = [None, None, None, Speculation(draft=PromptLookup()), Speculation(draft=PromptLookup(), way="accept")]


def a_request(generator: np.random.Generator) -> Request:
    def pick(choices: Sequence) -> object:
        return choices[int(generator.integers(len(choices)))]

    return Request(
        prompt=generator.integers(1, 12, generator.integers(1, 6)).tolist(),
        plan=pick(PLANS),
        seed=int(generator.integers(2**63)),
        n=int(generator.integers(1, 4)),
        sample_index=int(generator.integers(5)),
        max_tokens=int(generator.integers(0, 14)),
        logprobs_mean=pick(("raw", "processed")),
        constraint=pick(CONSTRAINTS),
        speculation=pick(SPECULATIONS),
    )


def alone(model, request: Request) -> list[fd.Completion | str]:
    texts: list[fd.Completion | str] = []
    for index in range(request.sample_index, request.sample_index + (request.n or 1)):
        try:
            done = generate(
                model,
                request.prompt,
                replace(request.plan, limits=replace(request.plan.limits, n=1)),
                seed=request.seed,
                sample_index=index,
                max_tokens=request.max_tokens,
                logprobs_mean=request.logprobs_mean,
                stream=request.stream,
                constraint=request.constraint,
                speculation=request.speculation,
            )
        except fd.FairdrawError as problem:
            texts.append(str(problem))
        else:
            texts.append(done)
    return texts


def plain(outcomes) -> list[fd.Completion | str]:
    return [str(outcome.error) if isinstance(outcome, Failed) else outcome for outcome in outcomes]


def test_64_requests_that_join_and_leave_at_random_have_the_texts_they_have_alone():
    generator = np.random.default_rng(64)
    model = PrefixModel(ends=(0,))
    requests = [a_request(generator) for _ in range(64)]
    batch, waiting, joined, left = RequestBatch(model), list(range(64)), {}, set()
    shown: dict[tuple[int, int], str] = {}
    while waiting or batch.running:
        for _ in range(min(len(waiting), int(generator.integers(0, 6)))):
            which = waiting.pop(int(generator.integers(len(waiting))))
            joined[batch.add(requests[which])] = which
        if batch.running and generator.random() < 0.2:
            left.add(victim := batch.running[int(generator.integers(len(batch.running)))])
            batch.cancel(victim)
        for news in batch.step():
            place = news.request, news.sample_index
            shown[place] = shown.get(place, "") + (news.step.text if news.step else "")
    assert sorted(joined.values()) == list(range(64))
    assert len(left) > 5
    kinds = set()
    for number, which in joined.items():
        solo, together = alone(model, requests[which]), plain(batch.take(number))
        assert len(solo) == len(together)
        for one, other in zip(solo, together, strict=True):
            if isinstance(other, str) or other.finish_reason != "cancelled":
                assert one == other
                kinds.add(other.finish_reason if isinstance(other, fd.Completion) else "failed")
            elif isinstance(one, fd.Completion):
                kinds.add("cancelled")
                assert number in left
                assert one.tokens[: len(other.tokens)] == other.tokens
                assert one.text.startswith(other.text)
            if isinstance(other, fd.Completion):
                assert shown.get((number, other.sample_index), "") == other.text
    assert kinds == {"stop", "length", "cancelled", "failed"}


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), min_size=1, max_size=6), st.integers(0, 2**32))
def test_order_and_time_of_joining_change_nothing(joins, entropy):
    model = PrefixModel(ends=(0,), seed=3)
    batch, step, numbers = RequestBatch(model), 0, {}
    by_time = sorted(enumerate(joins), key=lambda item: item[1][1])
    requests = [a_request(np.random.default_rng([entropy, kind])) for kind, _ in joins]
    while by_time or batch.running:
        while by_time and by_time[0][1][1] <= step:
            index = by_time.pop(0)[0]
            numbers[index] = batch.add(requests[index])
        batch.step()
        step += 1
    for index, number in numbers.items():
        assert plain(batch.take(number)) == alone(model, requests[index])


def test_the_samples_of_a_request_read_its_prompt_once():
    model = PrefixModel()
    (texts,) = generate_many(model, [Request(prompt=[1, 2, 3], plan=PLANS[1], seed=5, n=4, max_tokens=3)])
    assert [len(fed) for fed in model.fed] == [3] + [1] * 8
    assert [text.sample_index for text in texts] == [0, 1, 2, 3]
    assert len({text.tokens for text in texts}) == 4


def test_n_of_the_plan_is_how_many_texts_there_are():
    plan = fd.Plan.resolve({"n": 3, "max_tokens": 2, "seed": 9})
    (texts,) = generate_many(PrefixModel(), [Request(prompt=[1], plan=plan)])
    assert [(text.sample_index, text.seed, text.plan.limits.n) for text in texts] == [(0, 9, 1), (1, 9, 1), (2, 9, 1)]


def test_samples_without_a_seed_share_a_fresh_one():
    (texts,) = generate_many(PrefixModel(), [Request(prompt=[1], plan=PLANS[1], n=3, max_tokens=1)])
    assert len({text.seed for text in texts}) == 1


def test_a_request_joins_with_its_first_token_in_the_next_step_and_can_leave_before_it():
    model = PrefixModel()
    batch = RequestBatch(model)
    first = batch.add(Request(prompt=[1], plan=PLANS[0], max_tokens=3))
    assert [news.request for news in batch.step()] == [first]
    second, third = (batch.add(Request(prompt=[2], plan=PLANS[0], max_tokens=2)) for _ in range(2))
    batch.cancel(third)
    assert [news.request for news in batch.step()] == [first, second]
    (never,) = batch.take(third)
    assert (never.tokens, never.text, never.finish_reason, never.fulfilled) == ((), "", "cancelled", None)
    assert batch.running == (first, second)


def test_what_a_text_held_back_is_not_shown_when_it_is_cancelled():
    plan = fd.Plan.resolve({"temperature": 0.0, "stop": ["abc"]})
    model = ToyModel(rows=[[5.0, 0.0], [0.0, 5.0]], texts=(b"xa", b"b"))
    batch = RequestBatch(model)
    number = batch.add(Request(prompt=[0], plan=plan))
    assert [batch.step()[0].step.text for _ in range(2)] == ["x", ""]
    batch.cancel(number)
    (done,) = batch.take(number)
    assert (done.text, done.tokens) == ("x", (0, 1))


def test_a_cancelled_text_fulfils_no_constraint():
    batch = RequestBatch(PrefixModel(ends=(0,)))
    number = batch.add(Request(prompt=[1], plan=PLANS[0], constraint=Regex("[a-l]*")))
    batch.step()
    batch.cancel(number)
    assert batch.take(number)[0].fulfilled is False


class BreakingSession(PrefixSession):
    def feed(self, tokens):
        if 7 in tokens:
            raise MemoryError("no room for 7")
        return super().feed(tokens)

    def fork(self):
        return BreakingSession(self.model, list(self.tokens))


@dataclass
class BreakingModel(PrefixModel):
    def row(self, tokens):
        row = super().row(tokens)
        if tokens[0] == 5 and len(tokens) == 3:
            row[4] = np.nan
        return row

    def start(self):
        return BreakingSession(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyStage(Stage):
    name = "faulty"

    def apply(self, row, context):
        if context.history.output_length == 1:
            raise ZeroDivisionError("a fault of this stage")
        return row


def test_a_failure_stays_its_own_and_is_the_one_it_would_be_alone():
    model = BreakingModel()
    no_token = fd.Plan.resolve({"allowed_token_ids": [2, 3], "bad_words_ids": [[2], [3]]}, facts=model.facts)
    faulty = fd.Plan.of(FaultyStage())
    requests = {
        "nan": Request(prompt=[5, 1], plan=PLANS[1], seed=1, max_tokens=4),
        "empty support": Request(prompt=[1], plan=no_token, seed=1, max_tokens=4),
        "stage": Request(prompt=[1], plan=faulty, seed=1, max_tokens=4),
        "model": Request(prompt=[7], plan=PLANS[1], seed=1, n=2, max_tokens=4),
        "good": Request(prompt=[1, 2], plan=PLANS[1], seed=3, max_tokens=4),
    }
    outcomes = dict(zip(requests, generate_many(model, list(requests.values())), strict=True))
    kinds = {name: [type(getattr(o, "error", o)).__name__ for o in found] for name, found in outcomes.items()}
    assert kinds == {
        "nan": ["LogitsError"],
        "empty support": ["LogitsError"],
        "stage": ["ZeroDivisionError"],
        "model": ["MemoryError", "MemoryError"],
        "good": ["Completion"],
    }
    for name in ("nan", "empty support", "good"):
        assert plain(outcomes[name]) == alone(model, requests[name])
    (failed,) = outcomes["nan"]
    assert (len(failed.tokens), failed.text != "") == (1, True)
    assert "row 0" not in str(failed.error)


def test_a_constraint_that_breaks_takes_only_its_own_text_with_it():
    @dataclass(frozen=True)
    class Broken:
        name: str = "broken"

        def start(self, vocabulary):
            return self

        def mask(self):
            raise RuntimeError("no mask today")

    model = PrefixModel()
    good = Request(prompt=[1, 2], plan=PLANS[1], seed=3, max_tokens=4)
    batch = RequestBatch(model)
    bad, fine = batch.add(replace(good, constraint=Broken())), batch.add(good)
    news = batch.step()
    assert isinstance(news[0].outcome, Failed)
    assert isinstance(news[0].outcome.error, RuntimeError)
    assert (news[0].step, news[1].outcome) == (None, None)
    list(batch)
    assert isinstance(batch.take(bad)[0], Failed)
    assert list(batch.take(fine)) == alone(model, good)


def test_an_interruption_by_the_user_is_no_failure_of_a_text():
    class Interrupted(PrefixModel):
        def start(self):
            raise KeyboardInterrupt

    batch = RequestBatch(Interrupted())
    batch.add(Request(prompt=[1], plan=PLANS[0], max_tokens=1))
    with pytest.raises(KeyboardInterrupt):
        batch.step()


def test_engines_own_tokens_come_side_by_side_too():
    plan = fd.Plan.parse("candle: All temperature=1.0")
    requests = [Request(prompt=[1], plan=plan, seed=seed, stream="candle", max_tokens=6) for seed in (1, 2)]
    model = PrefixModel()
    assert [plain(found) for found in generate_many(model, requests)] == [alone(model, r) for r in requests]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "n must be"),
        ({"sample_index": -1}, "sample_index must be"),
        ({"sample_index": 2**32 - 1, "n": 2}, r"sample_index \+ n - 1 must be"),
        ({"prompt": []}, "prompt must be at least one token id"),
        ({"plan": "fairdraw:"}, "plan must be"),
    ],
)
def test_a_request_that_cannot_begin_does_not_join(change, words):
    batch = RequestBatch(PrefixModel())
    with pytest.raises(fd.ParameterError, match=words):
        batch.add(replace(Request(prompt=[1], plan=PLANS[0]), **change))
    assert (batch.running, batch.step()) == ((), [])


def test_a_number_is_known_until_it_is_taken():
    batch = RequestBatch(PrefixModel())
    number = batch.add(Request(prompt=[1], plan=PLANS[0], max_tokens=2))
    with pytest.raises(fd.ParameterError, match="request must be one that has ended"):
        batch.take(number)
    news = list(batch)
    ended = [entry.outcome is not None for entry in news]
    assert ({entry.request for entry in news}, ended) == ({number}, [False, False, True])
    assert isinstance(news[-1], News)
    batch.cancel(number)
    assert batch.take(number) == (news[-1].outcome,)
    assert news[-1].outcome.finish_reason == "length"
    for call in (batch.take, batch.cancel):
        with pytest.raises(fd.ParameterError, match="a number that add gave, and not taken yet"):
            call(number)


def test_only_requests_are_added():
    with pytest.raises(fd.ParameterError, match="request must be a Request"):
        RequestBatch(PrefixModel()).add("Write about the sea.")
