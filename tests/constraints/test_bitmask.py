from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.arrays import as_mask
from fairdraw.constraints.bitmask import allows, from_ids, widened
from fairdraw.packed_masks import PackedMask, pack, unpack, words_for

masks = st.lists(st.booleans(), max_size=200).map(lambda bits: np.array(bits, np.bool_))


@given(masks)
def test_unpacking_gives_back_what_was_packed(mask):
    assert unpack(pack(mask), mask.size).tolist() == mask.tolist()


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=6))
def test_packing_gives_back_what_was_unpacked(numbers):
    words = np.array(numbers, np.int32)
    assert pack(unpack(words, 32 * words.size)).tolist() == numbers


@given(masks)
def test_a_bit_stands_at_id_modulo_32_of_word_id_over_32(mask):
    words = pack(mask)
    bits = [bool((int(words[i // 32]) >> (i % 32)) & 1) for i in range(mask.size)]
    assert bits == mask.tolist()
    assert [allows(words, i) for i in range(mask.size)] == bits
    assert words.dtype == np.int32
    assert words.size == words_for(mask.size)


def test_words_are_little_end_first():
    assert pack(np.array([True, *[False] * 7, True])).tobytes() == b"\x01\x01\x00\x00"


@given(masks, st.integers(0, 100))
def test_ids_behind_the_words_are_forbidden_when_that_is_asked_for(mask, more):
    wide = as_mask(PackedMask(words=pack(mask), beyond="forbid"), mask.size + more)
    assert wide.tolist() == [*mask.tolist(), *[False] * more]


@given(masks, st.integers(0, 300))
def test_widening_keeps_the_ids_that_fit_and_no_other(mask, width):
    kept = (mask.tolist() + [False] * width)[:width]
    assert unpack(widened(pack(mask), width), width).tolist() == kept


def test_field_case_23_a_mask_narrower_than_the_row_leaves_nothing_unchecked():
    # Tokenizer of 40 ids, logits 96 wide, a mask of 64 bits that allows id 3 alone.
    logits = np.zeros(96, np.float32)
    logits[[80, 50, 3]] = 9, 8, 1
    words = from_ids([3], 64)
    plan = fd.Plan.parse("fairdraw: temperature=1.0")
    with pytest.raises(fd.ParameterError, match="3 words for 96 ids, got 2"):
        fd.law(plan, logits, mask=words)
    law = fd.law(plan, logits, mask=PackedMask(words=words, beyond="forbid"))
    assert law.probabilities[3] == 1.0
    assert law.probabilities.sum() == 1.0


def test_a_mask_wider_than_the_row_is_refused():
    with pytest.raises(fd.ParameterError, match="1 words for 32 ids, got 2"):
        as_mask(PackedMask(words=np.int32([1, 0]), beyond="forbid"), 32)
    with pytest.raises(fd.ParameterError, match=r"ids in 0\.\.29, got 'id 31 allowed'"):
        as_mask(from_ids([31], 32), 30)


@pytest.mark.parametrize("words", [[1.0], np.zeros(1, np.int64), np.zeros((1, 1), np.int32), [True]])
def test_what_is_no_mask_of_words_is_refused(words):
    with pytest.raises(fd.ParameterError, match="int32 words on one axis"):
        as_mask(PackedMask(words=words), 32)


def test_unsigned_words_are_read_as_they_are():
    assert as_mask(np.array([0x80000000], np.uint32), 32).nonzero()[0].tolist() == [31]


def test_an_id_outside_the_row_is_refused():
    with pytest.raises(fd.ParameterError, match=r"ids must be token ids in 0\.\.3, got -1"):
        from_ids([-1], 4)
    with pytest.raises(fd.ParameterError, match="got 4"):
        from_ids([4], 4)
    assert not allows(from_ids([3], 4), -1)
    assert not allows(from_ids([3], 4), 32)
