import numpy as np
import pytest

from fairdraw.errors import ParameterError
from fairdraw.streams.rust_std import StdRng, chacha_blocks, key_from_u64

RFC_KEY = np.arange(32, dtype=np.uint8).view("<u4").astype(np.uint32)
NO_KEY = np.zeros(8, np.uint32)


def first_bytes(words, count: int) -> str:
    return np.asarray(words).astype("<u4").tobytes()[:count].hex()


def pair(words) -> int:
    low, high = (int(word) for word in words)
    return low | high << 32


def test_blocks_of_20_rounds_are_those_of_rfc_8439_under_the_zero_key():
    block = chacha_blocks(NO_KEY, 0, 1, rounds=20)[0]
    assert first_bytes(block, 32) == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def test_blocks_of_12_rounds_are_the_published_ones_under_the_zero_key():
    # draft-strombergson-chacha-test-vectors, ChaCha12, 256-bit key, TC1.
    assert first_bytes(chacha_blocks(NO_KEY, 0, 1)[0], 16) == "9bf49a6a0755f953811fce125f2683d5"


def test_the_generator_gives_the_numbers_of_rands_own_test():
    # rand 0.9, src/rngs/std.rs, test_stdrng_construction: a word pair, a key from the next words, a pair of its own.
    first = StdRng([1, 23, 456, 7890, 0, 0, 0, 0])
    assert pair(first.draw_words(2)) == 10719222850664546238
    assert pair(StdRng(first.draw_words(8)).draw_words(2)) == 14064965282130556830


def test_the_key_of_seed_0_is_two_steps_of_the_congruence_done_by_hand():
    # state 1 = 11634580027462260723 = 0xA17654E46FBE17F3: turn 20; state 2 follows from it.
    state = 0xA17654E46FBE17F3
    expected = []
    for _ in range(2):
        mixed, turn = (((state >> 18) ^ state) >> 27) & 0xFFFFFFFF, state >> 59
        bits = f"{mixed:032b}"
        expected.append(int(bits[32 - turn :] + bits[: 32 - turn], 2))
        state = (state * 6364136223846793005 + 11634580027462260723) % 2**64
    assert expected[0] == 0xF973F2EC
    assert key_from_u64(0)[:2].tolist() == expected


def test_all_64_bits_of_the_seed_count():
    keys = {tuple(key_from_u64(seed).tolist()) for seed in (0, 1, 2**32, 2**63, 2**64 - 1)}
    assert len(keys) == 5


def test_words_do_not_depend_on_how_many_are_drawn_at_once():
    at_once = StdRng.seed_from_u64(7).draw_words(1000)
    piecemeal = StdRng.seed_from_u64(7)
    pieces = [piecemeal.draw_words(count) for count in (1, 15, 16, 17, 300, 0, 255, 396)]
    assert np.concatenate(pieces).tolist() == at_once.tolist()


def test_the_block_counter_has_64_bits():
    beyond = chacha_blocks(RFC_KEY, 2**32 - 1, 2)
    assert beyond[1].tolist() == chacha_blocks(RFC_KEY, 2**32, 1)[0].tolist()
    assert beyond[1].tolist() != chacha_blocks(RFC_KEY, 0, 1)[0].tolist()


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "42"])
def test_a_seed_outside_64_bits_is_refused_by_name(seed):
    with pytest.raises(ParameterError, match=r"^seed must be a whole number in 0..18446744073709551615"):
        StdRng.seed_from_u64(seed)


@pytest.mark.parametrize("key", [[0] * 7, [0.5] * 8, [-1] + [0] * 7, [2**32] + [0] * 7])
def test_a_key_is_eight_words(key):
    with pytest.raises(ParameterError, match=r"^key must be eight words of 32 bits"):
        StdRng(key)
