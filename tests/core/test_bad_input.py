"""What must not come in: every mistake is one of our ValueErrors that says what must hold and what came."""

import math

import ml_dtypes
import numpy as np
import pytest

import fairdraw as fd
from fairdraw.arrays import as_logits, as_mask
from fairdraw.cli import warmup
from fairdraw.kernels import backends
from fairdraw.stages import AllowedIds, BadWords, LogitBias, MinTokens, PresenceFrequencyPenalty, RepetitionPenalty

ROW = [2.0, 1.5, 1.0, 0.5, 0.0]
PLAN = fd.Plan.parse("fairdraw: temperature=0.7 top_k=3")
NAN, INF = math.nan, math.inf


def law(logits: object = ROW, plan: fd.Plan = PLAN, **more: object):
    return lambda: fd.law(plan, logits, **more)


def sample(**more: object):
    return lambda: fd.sample(PLAN, ROW, **({"seed": 1, "position": 0} | more))


def many(**more: object):
    return lambda: fd.sample_many(PLAN, ROW, **({"seed": 1, "positions": [0, 1]} | more))


def ask(**params: object):
    return lambda: fd.SamplingParams(**params)


def read(text: str):
    return lambda: fd.Plan.parse(text)


def after(stage: object, history: fd.History | None = None):
    return lambda: fd.law(fd.Plan.of(stage), ROW, history=history)


LOGITS = [
    ("a scalar", law(np.float32(1)), "logits must have one axis, (vocab,), got shape ()"),
    ("a batch", law([ROW]), "logits must have one axis, (vocab,), got shape (1, 5)\nhint: pass one row"),
    ("no entry", law(np.zeros(0, np.float32)), "logits must have at least one entry, got none"),
    ("an empty list", law([]), "logits must have at least one entry, got none"),
    ("whole numbers", law([1, 2, 3]), "logits must be floating point, got dtype int64\nhint: convert them"),
    ("unsigned numbers", law(np.uint8([1, 2])), "logits must be floating point, got dtype uint8"),
    ("booleans", law([True, False]), "logits must be floating point, got dtype bool"),
    ("complex numbers", law([1 + 0j, 2]), "logits must be floating point, got dtype complex128"),
    ("texts", law(["1", "2"]), "logits must be an array of floats, got list"),
    ("objects", law(np.array([1.0, None])), "logits must be an array of floats, got numpy.ndarray"),
    ("a ragged list", law([[1.0], [1.0, 2.0]]), "logits must be an array of floats that NumPy can read"),
    ("nothing", law(None), "logits must be an array of floats, got NoneType"),
    ("NaN", law([1.0, NAN]), "logits must have no NaN, got NaN at id 1\nhint: the model's output is broken"),
    ("NaN beside inf", law([INF, NAN]), "logits must have no NaN, got NaN at id 1"),
    ("a signalling NaN", law(np.array([0x7FF0000000000001, 0], np.uint64).view(np.float64)), "got NaN at id 0"),
    ("+inf", law([1.0, INF]), "no value above float32's range, got inf at id 1\nhint: to force a token"),
    ("beyond float32", law(np.array([0.0, 1e39])), "no value above float32's range, got 1e+39 at id 1"),
    ("only -inf", law([-INF, -INF]), "logits must have a finite entry, got nothing but -inf\nhint: a mask upstream"),
    ("below float32", law(np.array([-1e39, -1e40])), "logits must have a finite entry, got nothing but -inf"),
]
MASKS = [
    ("a mask of numbers", law(mask=[1, 1, 1, 1, 1]), "mask must be an array of bool, one for each id, got 'int64'"),
    (
        "a short mask",
        law(mask=[True] * 4),
        "mask must be as wide as the logits row, (5,), got 'shape (4,)'\nhint: fill",
    ),
    ("a wide mask", law(mask=[True] * 6), "mask must be as wide as the logits row, (5,), got 'shape (6,)'"),
    ("a batch of masks", law(mask=[[True] * 5]), "mask must be as wide as the logits row, (5,), got 'shape (1, 5)'"),
    ("an empty mask", law(mask=[False] * 5), "logits after mask, 0 tokens into the output, must leave a token"),
    (
        "a mask that no stage reads",
        law(plan=fd.Plan.parse("custom: top_k(k=3)"), mask=[True] * 5),
        "mask must be None for a plan without a mask stage, got 'a mask'\nhint: put Mask()",
    ),
]
IDS = [
    ("bias on V", after(LogitBias(bias={5: -100})), "logit_bias must be a token id in 0..4, got 5"),
    ("bias on -1", lambda: LogitBias(bias={-1: 5}), "got {-1: 5}"),
    ("bias twice", lambda: LogitBias(bias=[(1, 1.0), (1, 2.0)]), "must be a mapping from token id"),
    ("bias twice, once as text", lambda: LogitBias(bias={1: 1.0, "1": 2.0}), "must be a mapping from token id"),
    ("bias NaN", lambda: LogitBias(bias={1: NAN}), "to a finite number, got {1: nan}"),
    ("bias inf", lambda: LogitBias(bias={1: INF}), "to a finite number, got {1: inf}"),
    ("bias on 1.0", lambda: LogitBias(bias={1.0: 1.0}), "must be a mapping from token id"),
    ("bias on True", lambda: LogitBias(bias={True: 1.0}), "must be a mapping from token id"),
    ("bias on ' 1'", lambda: LogitBias(bias={" 1": 1.0}), "must be a mapping from token id"),
    ("bias on a superscript", lambda: LogitBias(bias={"²": 1.0}), "must be a mapping from token id"),
    ("bias as text", lambda: LogitBias(bias={1: "1"}), "must be a mapping from token id"),
    ("bias as a number", lambda: LogitBias(bias=1.0), "must be a mapping from token id"),
    ("allowed V", after(AllowedIds(ids=[0, 5])), "allowed_token_ids must be a token id in 0..4, got 5"),
    ("allowed -1", lambda: AllowedIds(ids=[-1]), "must be a list of token ids (whole numbers >= 0), got [-1]"),
    ("allowed 2^31", lambda: AllowedIds(ids=[2**31]), "must be a list of token ids"),
    ("allowed 1.0", lambda: AllowedIds(ids=[1.0]), "must be a list of token ids"),
    ("allowed True", lambda: AllowedIds(ids=[True]), "must be a list of token ids"),
    ("allowed '1'", lambda: AllowedIds(ids="1"), "must be a list of token ids"),
    ("a bad word with V", after(BadWords(sequences=[[0, 5]])), "bad_words must be a token id in 0..4, got 5"),
    ("a bad word of no id", lambda: BadWords(sequences=[[]]), "must be a list of non-empty lists of token ids"),
    ("bad words as ids", lambda: BadWords(sequences=[0]), "must be a list of non-empty lists of token ids"),
    ("bad words as text", lambda: BadWords(sequences="no"), "must be a list of non-empty lists of token ids"),
    ("an end id V", after(MinTokens(count=1, end_ids=[5])), "end_ids must be a token id in 0..4, got 5"),
    (
        "a seen id V",
        after(RepetitionPenalty(penalty=2.0), fd.History(prompt=[5])),
        "history must be a token id in 0..4, got 5\nhint: the logits row ends there",
    ),
    (
        "a drawn id V",
        after(PresenceFrequencyPenalty(presence=1.0), fd.History(output=[5])),
        "history must be a token id in 0..4, got 5",
    ),
    ("a prompt of -1", lambda: fd.History(prompt=[-1]), "prompt must be a list of token ids (whole numbers >= 0)"),
    ("a prompt of floats", lambda: fd.History(prompt=[1.0]), "prompt must be a list of token ids"),
    ("an output of text", lambda: fd.History(output="ab"), "output must be a list of token ids"),
    (
        "padding beyond the prompt",
        lambda: fd.History(prompt=[1], left_padding=2),
        "left_padding must be a whole number",
    ),
    ("padding of -1", lambda: fd.History(prompt=[1], left_padding=-1), "left_padding must be a whole number in 0..1"),
    ("an appended -1", lambda: fd.History().append(-1), "token must be a whole number in 0..2147483647, got -1"),
    ("an appended True", lambda: fd.History().append(True), "token must be a whole number in 0..2147483647, got True"),
    ("an appended 2^31", lambda: fd.History().append(2**31), "token must be a whole number in 0..2147483647"),
    ("an appended 1.5", lambda: fd.History().append(1.5), "token must be a whole number in 0..2147483647"),
    ("an appended text", lambda: fd.History().append("1"), "token must be a whole number in 0..2147483647"),
    ("an appended None", lambda: fd.History().append(None), "token must be a whole number in 0..2147483647"),
    ("a rollback into the prompt", lambda: fd.History(prompt=[1]).rollback(1), "count must be a whole number in 0..0"),
]
NUMBERS = [
    *(
        (f"temperature {x}", ask(temperature=x), f"temperature must be 0 or a number in [1e-38, 1e+38], got {x}")
        for x in (NAN, INF, -1, -0.5, 1e39)
    ),
    ("temperature True", ask(temperature=True), "temperature must be 0 or a number in [1e-38, 1e+38], got True"),
    ("temperature '1'", ask(temperature="1"), "temperature must be 0 or a number in [1e-38, 1e+38], got '1'"),
    ("temperature [1]", ask(temperature=[1.0]), "temperature must be 0 or a number in [1e-38, 1e+38], got [1.0]"),
    *(
        (f"{name} {x}", ask(**{name: x}), f"{name} must be a number in [0, 1], got {x!r}")
        for name in ("top_p", "min_p", "typical_p")
        for x in (1.5, -0.1, NAN, INF, True, "0.9")
    ),
    *(
        (f"top_k {x!r}", ask(top_k=x), f"top_k must be a whole number >= 0, got {x!r}")
        for x in (2.5, 3.0, True, "5", -1, NAN)
    ),
    *(
        (f"repetition_penalty {x}", ask(repetition_penalty=x), "repetition_penalty must be a finite number > 0")
        for x in (0, -1.0, NAN, INF, True)
    ),
    *(
        (f"{name} {x}", ask(**{name: x}), f"{name} must be a finite number")
        for name in ("presence_penalty", "frequency_penalty")
        for x in (NAN, -INF, "1", False)
    ),
    *(
        (f"{name} {x!r}", ask(**{name: x}), f"{name} must be a whole number >= 0")
        for name in ("min_tokens", "max_tokens", "penalty_last_n", "logprobs")
        for x in (-1, 1.0, True)
    ),
    *((f"n {x!r}", ask(n=x), "n must be a whole number in 1..4294967295") for x in (0, 2**32, 1.0)),
    *(
        (f"stop {x!r}", ask(stop=x), "stop must be a non-empty string or a list of them")
        for x in ("", ["a", ""], [1], 1)
    ),
    *((f"ignore_eos {x!r}", ask(ignore_eos=x), "ignore_eos must be true or false") for x in (1, "true")),
    (
        "temperature in a text",
        read("fairdraw: temperature=NaN"),
        "temperature must be 0 or a number in [1e-38, 1e+38], got nan",
    ),
    ("top_k in a text", read("fairdraw: top_k=2.5"), "top_k must be a whole number >= 0, got 2.5"),
    ("top_k as a word", read('fairdraw: top_k="5"'), "top_k must be a whole number >= 0, got '5'"),
    ("top_p in a text", read("fairdraw: top_p=1.01"), "top_p must be a number in [0, 1], got 1.01"),
    ("a null in a composed plan", read("custom: top_p(p=null)"), "top_p.p must be a number in [0, 1], got None"),
]
SEED, WORD = "must be a whole number in 0..18446744073709551615", "must be a whole number in 0..4294967295"
SEEDS = [
    *((f"seed {x!r}", sample(seed=x), f"seed {SEED}, got {x!r}") for x in (-1, 2**64, True, 1.0, "1", None)),
    *((f"position {x!r}", sample(position=x), f"position {WORD}, got {x!r}") for x in (-1, 2**32, True, 1.0, None)),
    *((f"index {x!r}", sample(sample_index=x), f"sample_index {WORD}") for x in (-1, 2**32, False, 0.0)),
    *((f"many: seed {x!r}", many(seed=x), f"seed {SEED}") for x in (-1, 2**64, True, 1.0)),
    *((f"many: positions {x!r}", many(positions=x), f"positions {WORD}") for x in ([-1], [0, 2**32], [2**40])),
    *(
        (f"many: positions {x!r}", many(positions=x), "whole numbers on one axis")
        for x in ([0.0], [True], [[1]], ["1"])
    ),
    ("many: indices", many(sample_indices=[2**32]), f"sample_indices {WORD}"),
    ("params: seed", ask(seed=2**64), f"seed {SEED}"),
]


@pytest.mark.parametrize(
    ("call", "words"),
    [row[1:] for row in (*LOGITS, *MASKS, *IDS, *NUMBERS, *SEEDS)],
    ids=[row[0] for row in (*LOGITS, *MASKS, *IDS, *NUMBERS, *SEEDS)],
)
def test_a_mistake_is_told_with_what_must_hold_and_what_came(call, words):
    with pytest.raises(fd.FairdrawError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert words in str(caught.value)


def test_the_row_in_question_is_named():
    with pytest.raises(fd.LogitsError, match="logits row 3 must have no NaN, got NaN at id 1"):
        as_logits([0.0, NAN], where="logits row 3")


@pytest.mark.parametrize(("seed", "position", "index"), [(0, 0, 0), (2**64 - 1, 2**32 - 1, 2**32 - 1)])
def test_the_ends_of_the_ranges_of_seed_position_and_index_are_allowed(seed, position, index):
    token = fd.sample(PLAN, ROW, seed=seed, position=position, sample_index=index).token
    assert fd.sample_many(PLAN, ROW, seed=seed, positions=[position], sample_indices=[index]).tolist() == [token]


def test_numbers_of_numpy_are_numbers():
    asked = fd.SamplingParams(temperature=np.float32(0.5), top_k=np.int64(3), seed=np.uint64(2**64 - 1))
    assert (asked.temperature, asked.top_k, asked.seed) == (0.5, 3, 2**64 - 1)
    assert type(asked.top_k) is int
    assert type(asked.temperature) is float


EXACT = np.float32([1.5, -0.25, 3.0, -np.inf, 0.0])
KINDS = {
    "float16": EXACT.astype(np.float16),
    "bfloat16": EXACT.astype(ml_dtypes.bfloat16),
    "float64": EXACT.astype(np.float64),
    "longdouble": EXACT.astype(np.longdouble),
    "big-endian float32": EXACT.astype(">f4"),
    "big-endian float64": EXACT.astype(">f8"),
    "big-endian float16": EXACT.astype(">f2"),
    "every second entry": np.repeat(EXACT, 2)[::2],
    "backwards": EXACT[::-1].copy()[::-1],
    "a column": np.stack([EXACT, EXACT], axis=1)[:, 1],
    "a list": EXACT.tolist(),
    "a tuple of NumPy numbers": tuple(EXACT),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_row_means_the_same(kind):
    row = as_logits(KINDS[kind])
    assert row.dtype == np.float32
    assert row.dtype.isnative
    assert row.tobytes() == EXACT.tobytes()
    assert np.array_equal(fd.law(PLAN, KINDS[kind]).probabilities, fd.law(PLAN, EXACT).probabilities)
    assert fd.sample(PLAN, KINDS[kind], seed=5, position=9).token == fd.sample(PLAN, EXACT, seed=5, position=9).token


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_half_types_widen_exactly(kind):
    with np.errstate(invalid="ignore"):
        every = np.arange(2**16, dtype=np.uint16).view(kind).astype(np.float64)
    finite = every[np.isfinite(every)]
    assert np.array_equal(as_logits(finite.astype(kind)).astype(np.float64), finite)


def test_float64_is_rounded_to_float32_for_the_law_too():
    """1 + 2^-30 has no float32: it is a tie with 1."""
    assert fd.law(fd.Plan.parse("fairdraw: top_k=1"), np.array([1.0, 1 + 2.0**-30])).support.tolist() == [0]
    assert as_logits(np.array([0.1])).tolist() == [float(np.float32(0.1))]


def test_a_negative_zero_is_a_zero():
    assert not np.signbit(as_logits(np.float32([-0.0, 1.0]))).any()
    greedy = fd.Plan.parse("fairdraw: temperature=0")
    assert fd.sample(greedy, np.float32([-0.0, 0.0]), seed=1, position=0).token == 0
    assert fd.law(greedy, np.float32([-1.0, -0.0, 0.0])).support.tolist() == [1]


PLANS = [
    "fairdraw: temperature=0.7 top_k=3 top_p=0.9 min_p=0.1 typical_p=0.95",
    'fairdraw: logit_bias={"0": 5} repetition_penalty=2 presence_penalty=1 bad_words_ids=[[1]]',
    "fairdraw: allowed_token_ids=[0,1,2] frequency_penalty=1",
    "transformers: do_sample=true temperature=0.7 repetition_penalty=2",
    "candle: TopKThenTopP k=3 p=0.8 temperature=0.7",
]


@pytest.mark.parametrize("text", PLANS)
def test_the_callers_arrays_are_never_written(text):
    row, mask = np.float32([-0.0, 1.5, 1.0, 0.5, 0.0]), np.array([True, True, True, True, False])
    before = row.tobytes(), mask.tobytes()
    plan, history = fd.Plan.parse(text), fd.History(prompt=[0, 2], output=[0])
    writable = fd.law(plan, row, history=history, mask=mask)
    fd.sample(plan, row, seed=1, position=3, history=history, mask=mask)
    assert (row.tobytes(), mask.tobytes()) == before
    row.flags.writeable = mask.flags.writeable = False
    assert np.array_equal(fd.law(plan, row, history=history, mask=mask).probabilities, writable.probabilities)
    fd.sample(plan, row, seed=1, position=3, history=history, mask=mask)


def test_the_results_do_not_share_memory_with_the_row():
    row = np.float32([1.0, 2.0])
    law = fd.law(fd.Plan.parse("fairdraw:"), row)
    law.probabilities[0] = 7.0
    assert row.tolist() == [1.0, 2.0]


def test_a_mask_may_be_any_array_of_bool():
    wide = np.array([True, False, False, False, True, False])
    assert as_mask(wide[::2], 3).tolist() == [True, False, True]
    assert as_mask([True, False], 2).tolist() == [True, False]


def test_a_row_longer_than_sums_can_hold_is_refused():
    with pytest.raises(fd.LogitsError, match="at most 1048576 entries, got 1048577"):
        fd.law(fd.Plan.parse("fairdraw:"), np.zeros(2**20 + 1, np.float32))


class Unreadable:
    """What torch does where a tensor has no memory that NumPy knows."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([[1], [1, 2]], "mask must be an array of bool that NumPy can read, got 'list'\nhint: ValueError: "),
        (Unreadable(), f"that NumPy can read, got '{__name__}.Unreadable'\nhint: RuntimeError: Can't call"),
        (fd.PackedMask(words=Unreadable()), f"got '{__name__}.Unreadable'\nhint: RuntimeError: Can't call"),  # type: ignore[arg-type]
        (np.ma.array([True] * 5, mask=[True] * 5), "that hides nothing, got 'numpy.ma.MaskedArray'\nhint: .filled"),
    ],
)
def test_a_mask_that_numpy_cannot_read_is_refused_with_its_type(mask: object, said: str) -> None:
    with pytest.raises(fd.ParameterError) as caught:
        as_mask(mask, 5)
    assert said in str(caught.value)


def test_a_row_that_hides_entries_is_refused() -> None:
    with pytest.raises(fd.LogitsError, match=r"hide nothing, got numpy.ma.MaskedArray\nhint: .filled\(-np.inf\)"):
        as_logits(np.ma.array(ROW, mask=[True] + [False] * 4))


@pytest.mark.parametrize(
    ("positions", "sample_indices", "said"),
    [
        ([1, 2], [1, 2, 3], "sample_indices must be one, or one for each of the 2 positions, got '3 of them'"),
        ([[1], [1, 2]], 0, "positions must be whole numbers on one axis, got [[1], [1, 2]]"),
        ([1, 2], [[1], [1, 2]], "sample_indices must be whole numbers on one axis, got [[1], [1, 2]]"),
    ],
)
def test_positions_and_sample_indices_that_do_not_pair_are_refused(
    positions: list, sample_indices: object, said: str
) -> None:
    with pytest.raises(fd.ParameterError) as caught:
        many(positions=positions, sample_indices=sample_indices)()
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("text", ["fairdraw: top_k=3", "fairdraw: xtc_probability=0.5 xtc_threshold=0.1"])
def test_no_draws_are_an_empty_array_of_int64(text: str) -> None:
    tokens = fd.sample_many(fd.Plan.parse(text), ROW, seed=1, positions=[])
    assert (tokens.shape, tokens.dtype) == ((0,), np.int64)


def test_what_is_no_sequence_of_values_is_shown_as_it_came() -> None:
    rows, history = [ROW] * 3, fd.History(prompt=[1, 2, 3])
    for name, value in (("histories", history), ("plans", "fairdraw: top_k=3")):
        arguments = {"plans": PLAN} | {name: value}
        with pytest.raises(fd.ParameterError) as caught:
            fd.sample_batch(logits=rows, seeds=1, positions=0, **arguments)  # type: ignore[arg-type]
        assert f"{name} must be one for each of the 3 rows, got {value!r}" in str(caught.value)
    with pytest.raises(fd.ParameterError, match="histories must be one for each of the 3 rows, got '1 of them'"):
        fd.sample_batch(PLAN, rows, seeds=1, positions=0, histories=[history])


def test_warmup_notices_a_backend_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backends.VARIABLE, "cuda")
    monkeypatch.setattr(warmup, "folder", lambda: pytest.fail("it went on"))
    backends.chosen.cache_clear()
    try:
        with pytest.raises(fd.ParameterError, match="FAIRDRAW_BACKEND must be one of"):
            warmup.warmup_command(as_json=True)
    finally:
        backends.chosen.cache_clear()
