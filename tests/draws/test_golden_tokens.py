"""Stream version 1, held still: tokens, noise and Philox words in ``golden/tokens.json``.

``python tests/draws/test_golden_tokens.py`` writes the file anew: only together with a new STREAM_VERSION.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.streams.noise import Noise, Purpose
from fairdraw.streams.philox import philox

FILE = Path(__file__).parents[1] / "golden" / "tokens.json"
ABOUT = (
    "fairdraw's own answers, stream version 1, NumPy reference. Row of V ids: logit of id = "
    "((id * 2654435761 mod 2^32) >> 20) / 256 - 8, exact in float32. tokens: plan -> V -> one token for each draw."
)
PLANS = (
    "custom: greedy()",
    "custom: race()",
    "custom: temperature(value=0.7) > race()",
    "custom: temperature(value=0.001) > race()",
    "custom: temperature(value=6.0, operation=multiply) > race()",
    "custom: top_k(k=5) > race()",
    "custom: temperature(value=1.5) > top_k(k=40, ties=all) > race()",
    "custom: top_p(p=0.9) > race()",
    "custom: top_p(p=0.9, boundary=strict, ties=all) > temperature(value=3.0) > race()",
    "custom: checkpoint() > top_k(k=40) > top_p(p=0.5, mass=raw) > race()",
    "custom: min_p(p=0.05) > race()",
    "custom: typical(p=0.8) > race()",
    "custom: temperature(value=0.8) > top_k(k=100) > top_p(p=0.95) > min_p(p=0.02) > race()",
    "custom: temperature(value=0.7) > inverse_cdf()",
    "custom: top_p(p=0.9) > exponential_race()",
    "custom: clipped_gumbel()",
)
VOCABULARIES = (6, 1000, 49152)
SEEDS = (0, 42, 2**32 + 42, 2**64 - 1)
DRAWS = tuple((seed, position, index) for seed in SEEDS for position in (0, 7, 2**32 - 1) for index in (0, 3))
IDS = (0, 1, 63, 64, 1023, 1024, 49151, 262143)


def golden_row(vocab: int) -> np.ndarray:
    hashed = np.arange(vocab, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)
    return ((hashed >> np.uint64(20)).astype(np.float64) / 256 - 8).astype(np.float32)


def tokens_of(plan: str, vocab: int) -> list[int]:
    parsed, row = fd.Plan.parse(plan), golden_row(vocab)
    positions, samples = (np.array([draw[i] for draw in DRAWS if draw[0] == SEEDS[0]]) for i in (1, 2))
    many = [fd.sample_many(parsed, row, seed=seed, positions=positions, sample_indices=samples) for seed in SEEDS]
    return np.concatenate(many).tolist()


def noise_of(seed: int, position: int, sample_index: int) -> dict[str, object]:
    noise = Noise(seed=seed, position=position, sample_index=sample_index)
    lone = Noise(seed=seed, position=position, sample_index=sample_index, purpose=Purpose.INVERSE_CDF)
    return {
        "draw": [seed, position, sample_index],
        "exponentials": [value.hex() for value in noise.exponentials(np.array(IDS)).tolist()],
        "leaf_uniforms": [value.hex() for value in noise.leaf_uniforms(np.array(IDS)).tolist()],
        "inverse_cdf_bits": int(lone.single_bits(0)),
    }


def words_of(index: int) -> dict[str, object]:
    """Counter and key of small, readable numbers, and all ones."""
    numbers = [2**32 - 1] * 6 if index == 7 else [(index + 1) * (place + 1) for place in range(6)]
    out = philox(tuple(np.array([word], np.uint64) for word in numbers[:4]), (numbers[4], numbers[5]))  # type: ignore[arg-type]
    return {"counter": numbers[:4], "key": numbers[4:], "words": [f"{int(word[0]):08x}" for word in out]}


def answers() -> dict[str, object]:
    return {
        "about": ABOUT,
        "stream_version": fd.STREAM_VERSION,
        "draws": [list(draw) for draw in DRAWS],
        "ids": list(IDS),
        "tokens": {plan: {str(vocab): tokens_of(plan, vocab) for vocab in VOCABULARIES} for plan in PLANS},
        "noise": [noise_of(*draw) for draw in DRAWS],
        "philox": [words_of(index) for index in range(8)],
    }


def as_text(data: dict[str, object]) -> str:
    """JSON with one list of plain values on each line."""
    lines = ["{"]
    for key, value in data.items():
        match value:
            case dict():
                rows = [
                    f"  {json.dumps(name)}: {{\n   "
                    + ",\n   ".join(f'"{v}": {json.dumps(t)}' for v, t in part.items())
                    + "}"
                    for name, part in value.items()
                ]
                lines.append(f' "{key}": {{\n' + ",\n".join(rows) + "\n },")
            case [dict(), *_]:
                lines.append(f' "{key}": [\n' + ",\n".join("  " + json.dumps(part) for part in value) + "\n ],")
            case _:
                lines.append(f' "{key}": {json.dumps(value)},')
    return "\n".join(lines).removesuffix(",") + "\n}\n"


GOLDEN = json.loads(FILE.read_text()) if FILE.exists() else {}


def test_the_file_is_of_this_stream_version_and_says_what_it_holds() -> None:
    assert GOLDEN["stream_version"] == fd.STREAM_VERSION == 1
    assert GOLDEN["about"] == ABOUT
    assert [tuple(draw) for draw in GOLDEN["draws"]] == list(DRAWS)
    assert tuple(GOLDEN["tokens"]) == PLANS


def test_the_golden_row_is_exact_in_float32() -> None:
    # 2654435761 >> 20 = 2531; 2531 / 256 - 8 = 1.88671875.
    assert golden_row(3).tolist() == [-8.0, 1.88671875, ((2 * 2654435761 % 2**32) >> 20) / 256 - 8]


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize("plan", PLANS)
def test_the_tokens_are_the_golden_ones(plan: str, vocab: int) -> None:
    assert tokens_of(plan, vocab) == GOLDEN["tokens"][plan][str(vocab)]


def test_sample_draws_the_golden_tokens_one_by_one() -> None:
    for plan in PLANS:
        for draw, token in zip(DRAWS, GOLDEN["tokens"][plan]["1000"], strict=True):
            seed, position, index = draw
            drawn = fd.sample(fd.Plan.parse(plan), golden_row(1000), seed=seed, position=position, sample_index=index)
            assert drawn.token == token


@pytest.mark.parametrize("number", range(len(DRAWS)))
def test_the_noise_has_the_golden_bits(number: int) -> None:
    assert noise_of(*DRAWS[number]) == GOLDEN["noise"][number]


@pytest.mark.parametrize("index", range(8))
def test_philox_gives_the_golden_words(index: int) -> None:
    assert words_of(index) == GOLDEN["philox"][index]


def test_seeds_that_agree_in_their_low_word_draw_other_tokens() -> None:
    tokens = GOLDEN["tokens"]["custom: race()"]["49152"]
    by_seed = [tokens[i : i + 6] for i in range(0, 24, 6)]
    assert len({tuple(part) for part in by_seed}) == 4
    assert sum(a != b for a, b in zip(by_seed[1], by_seed[2], strict=True)) >= 5


if __name__ == "__main__":
    FILE.write_text(as_text(answers()))
