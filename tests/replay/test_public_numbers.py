"""Each number printed in four articles comes out, or stands in a list with the reason why it cannot."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay import transformers
from fairdraw.replay.candle import LogitsProcessor, Sampling, apply_repeat_penalty
from fairdraw.replay.candle_softmax import softmax
from fairdraw.replay.torch_race import race
from fairdraw.streams.candle_metal import MetalGenerator
from fairdraw.streams.torch_mt19937 import TorchGenerator

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS = {
    number["id"]: number
    for number in json.loads((GOLDEN / "public_vectors.json").read_text(encoding="utf-8"))["numbers"]
}
NOT_REPRODUCIBLE = {
    number["id"]: number["reason"] for number in json.loads((GOLDEN / "not_reproducible.json").read_text())["numbers"]
}
TESTED = sorted(NUMBERS.keys() - NOT_REPRODUCIBLE.keys() - {"multinomial == argmax"})
ELSEWHERE = {
    "multinomial == argmax": ("engines/test_replay_torch.py", "test_1000_of_1000_seeds_draw_the_token_of_multinomial"),
}
"""What needs the engine itself, and the test that has it."""
SIX = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])


def sampling_of(given):
    fields = {name: value for name, value in given["sampling"].items() if name != "kind"}
    return getattr(Sampling, given["sampling"]["kind"])(**fields)


def candle_draws(given, count, seed):
    return LogitsProcessor.from_sampling(seed, sampling_of(given)).sample_many(np.float32(given["logits"]), count)


def frequencies(given):
    tokens = candle_draws(given, given["draws"], given["seed_found"])
    return [f"{count / given['draws']:.4f}" for count in np.bincount(tokens, minlength=6)]


def candle_words(error):
    """What candle says, out of the hint of our error."""
    return re.search(r"'(.*)'", error.hint)[1]


def at_zero(given):
    try:
        if "new_temperature" in given:
            return f"Ok({LogitsProcessor.new(42, given['new_temperature']).sample(SIX)})"
        return f"Ok({candle_draws(given, 1, 42)[0]})"
    except fd.ParameterError as error:
        return f'Err("{candle_words(error)}")'


def error_text(name):
    flat, metal = SIX.reshape(1, 6), MetalGenerator()
    gumbel = Sampling.GumbelSoftmax(temperature=0.8)
    calls = {
        "rank ArgMax": lambda: LogitsProcessor.from_sampling(42, Sampling.ArgMax()).sample(flat),
        "rank All": lambda: LogitsProcessor.from_sampling(42, Sampling.All(temperature=0.8)).sample(flat),
        "rank GumbelSoftmax": lambda: LogitsProcessor.from_sampling(42, gumbel, device_generator=metal).sample(flat),
        "rank apply_repeat_penalty": lambda: apply_repeat_penalty(flat, 1.1, []),
        "cpu set_seed": lambda: LogitsProcessor.from_sampling(42, gumbel).sample(SIX),
        "hf T=0": lambda: fd.Plan.parse("transformers@5.22: do_sample=true temperature=0.0"),
    }
    with pytest.raises((fd.LogitsError, fd.ParameterError)) as error:
        calls[name]()
    if name == "hf T=0":
        return error.value.hint.partition("itself says: ")[2]
    return candle_words(error.value)


def metal_uniforms(given):
    device = MetalGenerator()
    if "after" in given:
        device.uniforms(4)
    if "set_seed" in given:
        device.uniforms(9)
        device.set_seed(given["set_seed"])
    return [str(value) for value in device.uniforms(4)]


def metal_gumbel(given):
    device = MetalGenerator()
    processor = LogitsProcessor.from_sampling(
        42, Sampling.GumbelSoftmax(temperature=given["T"]), device_generator=device
    )
    if "after" in given or "set_seed" in given:
        processor.sample_many(given["logits"], 16)
    if "set_seed" in given:
        device.set_seed(given["set_seed"])
    return processor.sample_many(given["logits"], 16).tolist()


def kept(given, name):
    if "probs" in given:
        text = {
            "top-p edge hf": "transformers: do_sample=true top_k=0 top_p={p}",
            "top-p edge candle": "candle: TopP p={p} temperature=1.0",
        }[name]
        return fd.law(fd.Plan.parse(text.format(**given)), np.log(np.float32(given["probs"]))).support.size
    names = {"T": "temperature", "top_k": "top_k", "top_p": "top_p"}
    wanted = " ".join(f"{names[key]}={value}" for key, value in given.items() if key in names)
    return fd.law(fd.Plan.parse(f"reference: {wanted}"), given["logits"]).support.size


def torch_entropy(given):
    """In float32 as torch's Categorical has it; scaled by float32(1 / T), as on a GPU."""
    row = np.float32(given["logits"]) * np.float32(1 / given["T"])
    weights = np.exp((row - row.max()).astype(np.float64)).astype(np.float32)
    logprobs = row - (row.max() + np.float32(np.log(float(weights.sum(dtype=np.float32)))))
    return f"{-(softmax(logprobs, 'sequential') * logprobs).sum(dtype=np.float32):.6f}"


def smallest_first_sum(given):
    shares = softmax(np.float32(given["logits"]), "sequential")
    return f"{np.add.accumulate(shares[::-1], dtype=np.float32)[-1]:.8f}"


def exponentials_per_draw():
    generator = TorchGenerator(42)
    transformers.draw(fd.Plan.parse("transformers: do_sample=true"), np.zeros(49152, np.float32), generator)
    return TorchGenerator(42).words(100_000).tolist().index(generator.words(1)[0]) // 2


def drawn_by_reference(given):
    law = fd.law(fd.Plan.parse("reference: top_p=0.9"), given["logits"])
    return race(np.float32(given["logits"]), law.support, TorchGenerator(given["seed"]).exponentials(5)).token


def sums_of_the_printed_shares():
    shares = {at: NUMBERS[f"temperature {at}"]["printed"] for at in ("1.0", "2.0")}
    return {
        "top 3 at T=1": f"{sum(shares['1.0'][:3]):.0%}",
        "top 3 at T=2": f"{sum(shares['2.0'][:3]):.0%}",
        "top 5 at T=2": f"{sum(shares['2.0'][:5]):.0%}",
    }


def kept_by_transformers(given):
    plan = fd.Plan.parse(f"transformers: do_sample=true top_k={given['top_k']}")
    return (fd.law(plan, np.float32(given["logits"])).probabilities > 0).tolist()


def counts(given):
    return np.bincount(candle_draws(given, given["draws"], given["seed_found"]), minlength=4).tolist()


def default_top_k():
    return {part.name: part for part in fd.Plan.parse("transformers@5.22: do_sample=true").stages}["top_k"].k


OURS = {
    "probs": lambda given, _: [f"{p:.4f}" for p in softmax(np.float32(given["logits"]), "neon")],
    "mass": lambda given, _: f"{softmax(np.float32(given['logits']), 'neon')[: given['first']].sum():.4f}",
    "freq200k": lambda given, _: frequencies(given),
    "draws": lambda given, _: candle_draws(given, 16, given["seed"]).tolist(),
    "zero": lambda given, _: at_zero(given),
    "error text": lambda _, name: error_text(name),
    "metal_rand4": lambda given, _: metal_uniforms(given),
    "metal_gumbel": lambda given, _: metal_gumbel(given),
    "repeat_penalty": lambda given, _: apply_repeat_penalty(*given.values()).tolist(),
    "counts": lambda given, _: counts(given),
    "mask": lambda given, _: kept_by_transformers(given),
    "kept": kept,
    "default": lambda _given, _: default_top_k(),
    "torch": lambda _given, _: exponentials_per_draw(),
    "entropy": lambda given, _: torch_entropy(given),
    "sums": lambda _given, _: sums_of_the_printed_shares(),
    "sum": lambda given, _: smallest_first_sum(given),
    "draw": lambda given, _: drawn_by_reference(given),
}


@pytest.mark.parametrize("name", TESTED)
def test_a_printed_number_comes_out(name):
    number = NUMBERS[name]
    expected = number["ours"] if number["printed"] is None else number["printed"]
    assert OURS[number["kind"]](number["given"], name) == expected


def test_no_printed_number_is_unaccounted_for():
    assert set(NUMBERS) == set(TESTED) | set(ELSEWHERE) | set(NOT_REPRODUCIBLE)
    assert not set(TESTED) & set(NOT_REPRODUCIBLE)
    assert all(NUMBERS[name]["kind"] in OURS for name in TESTED)
    assert all(len(reason) > 20 for reason in NOT_REPRODUCIBLE.values())
    for file, test in ELSEWHERE.values():
        assert f"def {test}(" in (GOLDEN.parent / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["temperature 1.0", "temperature 2.0", "temperature 0.5"])
def test_the_temperature_table_is_no_softmax_of_its_six_logits(name):
    number = NUMBERS[name]
    plan = fd.Plan.parse(f"nano_vllm: temperature={number['given']['T']}")
    shares = fd.law(plan, number["given"]["logits"]).probabilities
    assert [f"{share:.4f}" for share in shares] == number["ours"]
    assert [round(share, 2) for share in shares[:5]] != number["printed"][:5]


def test_no_tail_of_words_left_out_saves_the_temperature_table():
    """With a = exp(l / 2) over such words, T = 2 bounds sum a from above and T = 0.5 wants sum a^4 >= 15.9.

    Read as widely as can be: the first share is at least the printed one less half a unit at T = 2, and below the
    printed one plus a whole unit at T = 0.5.
    """
    logits = np.array(NUMBERS["temperature 1.0"]["given"]["logits"])
    first = {at: NUMBERS[f"temperature {at}"]["printed"][0] for at in ("2.0", "0.5")}
    most = np.exp(logits[0] / 2) / (first["2.0"] - 0.005) - np.exp(logits / 2).sum()
    least = np.exp(2 * logits[0]) / (first["0.5"] + 0.01) - np.exp(2 * logits).sum()
    assert (round(most, 2), round(least, 1)) == (0.89, 15.9)
    assert most**4 < least


def test_the_printed_entropy_at_0_7_is_that_of_a_device_that_multiplies():
    """Dividing in float32, as on a CPU, gives 0.546041; the exact entropy is 0.546081."""
    given = NUMBERS["entropy 0.7"]["given"]
    row = np.float32(given["logits"])
    divided = fd.law(fd.Plan.parse("reference: temperature=0.7"), row).entropy
    exact = fd.law(fd.Plan.parse("fairdraw: temperature=0.7"), row).entropy
    assert f"{exact:.6f}" == "0.546081"
    assert abs(divided - exact) < 1e-4
    assert abs(float(NUMBERS["entropy 0.7"]["printed"]) - exact) < 1e-4
