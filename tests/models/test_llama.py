import numpy as np
import pytest

from fairdraw.errors import ParameterError

TEXT = np.random.default_rng(1).integers(0, 50, size=600).tolist()


def test_feeding_at_once_equals_feeding_one_by_one(tiny_session):
    # 300 tokens are three chunks.
    twin = tiny_session.fork()
    for token in TEXT[:300]:
        one_by_one = twin.feed([token])
    np.testing.assert_allclose(tiny_session.feed(TEXT[:300]), one_by_one, atol=1e-5)
    assert tiny_session.length == twin.length == 300


def test_a_later_token_does_not_change_an_earlier_answer(tiny_session):
    early = tiny_session.fork().feed(TEXT[:5])
    tiny_session.feed(TEXT[:9])
    tiny_session.rollback(4)
    np.testing.assert_allclose(tiny_session.feed(TEXT[4:5]), early, atol=1e-5)


def test_rollback_equals_recomputation(tiny_session):
    fresh = tiny_session.fork()
    tiny_session.feed(TEXT[:40])
    tiny_session.rollback(7)
    np.testing.assert_allclose(tiny_session.feed(TEXT[100:120]), _after(fresh, TEXT[:7], TEXT[100:120]), atol=1e-6)
    assert tiny_session.length == 27


def _after(session, *pieces):
    for piece in pieces:
        logits = session.feed(piece)
    return logits


def test_rollback_to_nothing_starts_anew(tiny_session):
    fresh = tiny_session.fork()
    tiny_session.feed(TEXT[:10])
    tiny_session.rollback(0)
    np.testing.assert_array_equal(tiny_session.feed(TEXT[:3]), fresh.feed(TEXT[:3]))


@pytest.mark.parametrize("length", [-1, 6])
def test_rollback_names_the_lengths_it_can_reach(tiny_session, length):
    tiny_session.feed(TEXT[:5])
    with pytest.raises(ParameterError, match=rf"length must be in \[0, 5\].*got {length}"):
        tiny_session.rollback(length)


def test_a_fork_and_its_origin_do_not_touch_each_other(tiny_session):
    tiny_session.feed(TEXT[:20])
    expected = tiny_session.fork().feed([3])
    fork = tiny_session.fork()
    fork.feed(TEXT[50:60])
    fork.rollback(2)
    fork.feed(TEXT[60:90])
    np.testing.assert_array_equal(tiny_session.feed([3]), expected)
    assert (tiny_session.length, fork.length) == (21, 32)


def test_a_fork_that_writes_over_its_past_leaves_the_origin_alone(tiny_session):
    tiny_session.feed(TEXT[:20])
    expected = tiny_session.fork().feed([3])
    fork = tiny_session.fork()
    fork.rollback(2)
    fork.feed(TEXT[60:65])
    np.testing.assert_array_equal(tiny_session.feed([3]), expected)


def test_the_cache_keeps_its_tokens_when_it_grows(tiny_session):
    twin = tiny_session.fork()
    tiny_session.feed(TEXT[:500])
    grown = tiny_session.feed(TEXT[500:600])
    np.testing.assert_allclose(grown, twin.feed(TEXT), atol=1e-5)


def test_logits_are_a_fresh_float32_array_each_time(tiny_session):
    first = tiny_session.feed([1])
    kept = first.copy()
    second = tiny_session.feed([2])
    assert first.dtype == np.float32
    assert first.shape == (50,)
    second[:] = 0
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("tokens", [[], [[1, 2]], 5])
def test_feed_wants_a_flat_sequence_with_a_token(tiny_session, tokens):
    with pytest.raises(ParameterError, match="at least one token id"):
        tiny_session.feed(tokens)


@pytest.mark.parametrize("wrong", [-1, 50, 2**70, 1.0, True, "1", None])
def test_feed_names_the_id_it_does_not_know(tiny_session, wrong):
    tiny_session.feed([4])
    with pytest.raises(ParameterError) as caught:
        tiny_session.feed([wrong] if isinstance(wrong, bool | str) else [wrong, 3])
    assert caught.value.value == [wrong]
    assert "whole numbers in [0, 50)" in str(caught.value)
    assert tiny_session.length == 1


def test_a_full_context_is_refused_with_its_limit_and_leaves_the_session_alone(tiny_session):
    tiny_session.feed((TEXT * 2)[:1095])
    expected = tiny_session.fork().feed([1, 2, 3, 4, 5])
    with pytest.raises(ParameterError, match=r"at most 1100 in all.*got '6 after 1095'"):
        tiny_session.feed([1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(tiny_session.feed([1, 2, 3, 4, 5]), expected)


def test_numpy_ids_of_any_width_are_ids(tiny_session):
    expected = tiny_session.fork().feed([1, 2])
    for dtype in (np.uint8, np.int32, np.uint64):
        np.testing.assert_array_equal(tiny_session.fork().feed(np.array([1, 2], dtype=dtype)), expected)


def test_extreme_activations_stay_finite(tiny_session):
    # A gate far below -88 overflows exp; the answer is 0, without a warning.
    tiny_session._weights.gate_up[:] *= 1e4
    assert np.isfinite(tiny_session.feed(TEXT[:4])).all()


TREE = ([7, 8, 9, 10, 11, 12], [-1, 0, -1, 2, 0, 1])
WAYS = ([7], [7, 8], [9], [9, 10], [7, 11], [7, 8, 12])


def test_a_chain_fed_at_once_has_the_bits_of_its_tokens_fed_one_by_one(tiny_session):
    tiny_session.feed(TEXT[:30])
    twin = tiny_session.fork()
    alone = np.stack([twin.feed([token]) for token in TEXT[30:39]])
    np.testing.assert_array_equal(tiny_session.feed_all(TEXT[30:39]), alone)
    np.testing.assert_array_equal(tiny_session.feed([3]), twin.feed([3]))


def test_a_tree_fed_at_once_has_the_bits_of_each_of_its_ways(tiny_session):
    tiny_session.feed(TEXT[:30])
    fork = tiny_session.fork()
    for row, way in zip(tiny_session.feed_all(*TREE), WAYS, strict=True):
        twin = fork.fork()
        np.testing.assert_array_equal(row, [twin.feed([token]) for token in way][-1])


@pytest.mark.parametrize("way", [[], [0], [2, 3], [0, 4], [0, 1, 5]])
def test_what_is_kept_of_a_tree_is_as_if_it_had_been_fed_alone(tiny_session, way):
    tiny_session.feed(TEXT[:30])
    twin = tiny_session.fork()
    tiny_session.feed_all(*TREE)
    tiny_session.keep(way)
    for index in way:
        twin.feed([TREE[0][index]])
    assert tiny_session.length == 30 + len(way)
    assert tiny_session.hidden.shape == (len(way), 16)
    np.testing.assert_array_equal(tiny_session.feed([3]), twin.feed([3]))


def test_the_hidden_vectors_are_what_the_output_matrix_reads(tiny_session):
    rows = tiny_session.feed_all(TEXT[:5])
    np.testing.assert_allclose(tiny_session.hidden @ tiny_session._weights.embedding.T, rows, atol=1e-4)
    tiny_session.rollback(3)
    assert tiny_session.hidden.shape == (3, 16)
    tiny_session.feed(TEXT[:300])
    assert tiny_session.hidden.shape == (300, 16)


def test_looking_ahead_refuses_what_is_no_tree_and_no_way(tiny_session):
    with pytest.raises(ParameterError, match="parents must be 2 indices"):
        tiny_session.feed_all([1, 2], [-1, 1])
    with pytest.raises(ParameterError, match="feed_all comes first"):
        tiny_session.keep([0])
    tiny_session.feed_all([1, 2])
    with pytest.raises(ParameterError, match=r"way must be ascending indices in \[0, 2\)"):
        tiny_session.keep([2])
    assert tiny_session.length == 2


def test_tokens_fed_together_have_the_rows_of_tokens_fed_alone_up_to_their_last_digits(tiny_session):
    tokens = [int(token) for token in np.random.default_rng(4).integers(0, 50, 300)]
    alone = tiny_session.fork()
    tiny_session.feed(tokens[:7])
    rows = tiny_session.feed_together(tokens[7:])
    alone.feed(tokens[:7])
    expected = np.stack([alone.feed([token]) for token in tokens[7:]])
    assert rows.shape == (293, 50)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-4)
    assert tiny_session.length == 300
