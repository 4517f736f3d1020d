import json

import pytest

from fairdraw.benchmarks.cases import Case
from fairdraw.benchmarks.results import Result, findings, groups, losses
from fairdraw.benchmarks.timing import Times


def result(*, fairdraw=(20.0, 10.0), mode="top_k", batch=1, threads=1, vocab=8, rows="flat", **others) -> Result:
    """Contender to (wall, CPU) microseconds."""
    times = {
        name: Times(wall_us=wall, cpu_us=cpu, repeats=3)
        for name, (wall, cpu) in {"fairdraw": fairdraw, "max": (4.0, 2.5), **others}.items()
    }
    return Result(case=Case(mode=mode, batch=batch, threads=threads, vocab=vocab, rows=rows), times=times)


@pytest.mark.parametrize(
    ("batch", "threads", "clock", "expected"),
    [(1, 1, "thread CPU time", 10.0), (8, 1, "wall time", 20.0), (1, 2, "wall time", 20.0)],
)
def test_the_threads_clock_decides_for_single_rows_in_one_thread_and_wall_time_elsewhere(
    batch, threads, clock, expected
):
    measured = result(batch=batch, threads=threads)
    assert (measured.clock, measured.microseconds("fairdraw")) == (clock, expected)


def test_ratios_are_of_the_same_clock_and_none_where_one_was_not_measured():
    measured = result(candle=(100.0, 80.0))
    assert measured.ratio("fairdraw", "max") == 4.0
    assert measured.ratio("candle", "fairdraw") == 8.0
    assert measured.ratio("torch", "fairdraw") is None
    assert result(batch=8, candle=(100.0, 80.0)).ratio("candle", "fairdraw") == 5.0


def test_json_has_the_case_both_clocks_and_both_ratios():
    data = json.loads(json.dumps(result(candle=(100.0, 80.0)).to_json()))
    assert data.pop("contenders") == {
        "fairdraw": {"wall_us": 20, "cpu_us": 10, "repeats": 3, "ratio_to_max": 4, "ratio_to_fairdraw": 1},
        "max": {"wall_us": 4, "cpu_us": 2.5, "repeats": 3, "ratio_to_max": 1, "ratio_to_fairdraw": 0.25},
        "candle": {"wall_us": 100, "cpu_us": 80, "repeats": 3, "ratio_to_max": 32, "ratio_to_fairdraw": 8},
    }
    assert data == {
        "mode": "top_k", "batch": 1, "threads": 1, "vocab": 8, "rows": "flat", "clock": "thread CPU time",
    }  # fmt: skip


def test_a_table_is_a_mode_a_batch_and_a_number_of_threads():
    results = [result(), result(vocab=9), result(batch=8), result(mode="top_p"), result(threads=2)]
    assert {key: len(group) for key, group in groups(results).items()} == {
        ("top_k", 1, 1): 2, ("top_k", 8, 1): 1, ("top_p", 1, 1): 1, ("top_k", 1, 2): 1,
    }  # fmt: skip


def test_growth_is_the_largest_vocabulary_over_the_smallest_of_the_same_rows():
    results = [
        result(vocab=30, fairdraw=(0.0, 45.0)),
        result(vocab=10, fairdraw=(0.0, 10.0)),
        result(vocab=20, fairdraw=(0.0, 99.0)),
        result(vocab=40, rows="peaky"),
    ]
    (found,) = findings(results)
    assert (found.question, found.mode, found.rows, found.ratio) == ("growth", "top_k", "flat", 4.5)
    assert found.where == "V=30 over V=10, batch 1, 1 thread"


def test_a_batch_is_compared_with_a_smaller_batch_and_not_with_single_rows():
    results = [result(batch=256, fairdraw=(9.0, 1.0)), result(batch=8, fairdraw=(10.0, 1.0)), result()]
    (found,) = findings(results)
    assert (found.question, found.ratio, found.where) == ("batch", 0.9, "batch 256 over 8, V=8, 1 thread")


def test_the_gain_of_threads_is_one_threads_wall_time_over_that_of_all():
    results = [result(batch=8, threads=4, fairdraw=(5.0, 1.0)), result(batch=8, fairdraw=(18.0, 9.0))]
    (found,) = findings(results)
    assert (found.question, found.ratio, found.where) == ("threads", 3.6, "1 thread over 4, V=8, batch 8")


def test_nothing_is_found_where_an_end_is_missing():
    assert findings([result(), result(rows="peaky", batch=8, threads=2)]) == ()


def test_a_faster_peer_is_a_loss_and_an_equal_one_is_none():
    results = [result(candle=(1.0, 5.0)), result(vocab=9, candle=(1.0, 10.0), torch=(1.0, 11.0))]
    (loss,) = losses(results, ["candle", "torch"])
    assert (loss.peer, loss.case.vocab, loss.ratio) == ("candle", 8, 0.5)
    assert loss.to_json()["ratio"] == 0.5
