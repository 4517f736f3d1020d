import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairdraw.replay import rust_selection
from fairdraw.replay.rust_selection import select_nth

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/rust_selection.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["small"], ids=lambda case: case["name"])
def test_small_rows_are_left_in_rusts_order(case):
    assert select_nth(np.array(case["keys"]), case["place"]).tolist() == case["order"]


@pytest.mark.parametrize("case", GOLDEN["large"], ids=lambda case: f"{case['place']} of keys below {case['modulus']}")
def test_rows_of_49152_are_left_in_rusts_order(case):
    keys = (np.arange(case["items"], dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)) >> np.uint64(1)
    order = select_nth(keys.astype(np.int64) % case["modulus"], case["place"])
    assert order[:8].tolist() == case["first"]
    assert zlib.crc32(order.astype("<u4").tobytes()) == case["crc32"]


def test_the_golden_rows_reach_the_search_by_ninthers(monkeypatch):
    sizes = []
    original = rust_selection._partition_by_ninthers
    monkeypatch.setattr(
        rust_selection,
        "_partition_by_ninthers",
        lambda keys, order: (sizes.append(order.size), original(keys, order))[1],
    )
    for case in GOLDEN["small"]:
        select_nth(np.array(case["keys"]), case["place"])
    assert len(sizes) >= 2


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.data())
def test_what_stands_before_the_place_is_no_larger_and_what_stands_after_no_smaller(keys, data):
    place = data.draw(st.integers(0, len(keys) - 1))
    order = select_nth(np.array(keys), place)
    left = [keys[index] for index in order]
    assert sorted(order) == list(range(len(keys)))
    assert left[place] == sorted(keys)[place]
    assert all(key <= left[place] for key in left[:place])
    assert all(key >= left[place] for key in left[place:])


def cyclic_lomuto(keys: list[int], limit: int) -> list[int]:
    """The partition written as a loop that moves a gap, one item at a time."""
    items = list(range(len(keys)))
    held, gap, below = items[0], 0, 0
    for right in [*range(1, len(keys)), None]:
        item = held if right is None else items[right]
        items[gap], items[below] = items[below], item
        gap, below = right, below + (keys[item] < limit)
    return items


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.integers(0, 10))
def test_the_tape_of_the_partition_is_the_moving_gap(keys, limit):
    order = np.arange(len(keys) + 1)
    middle = rust_selection._partition(np.array([limit, *keys]), order, 0, equal_goes="after")
    assert middle == sum(key < limit for key in keys)
    order[[0, middle]] = order[[middle, 0]]
    assert (order[1:] - 1).tolist() == cyclic_lomuto(keys, limit)
