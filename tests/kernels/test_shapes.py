"""Which plans have a kernel."""

import pytest

import fairdraw as fd
from fairdraw.kernels import promise
from fairdraw.kernels.shapes import recognise, shape


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("fairdraw: temperature=0", "greedy"),
        ("fairdraw: temperature=0.7", "temperature"),
        ("fairdraw: min_p=0.05", "min_p"),
        ("fairdraw: top_k=40", "top_k"),
        ("fairdraw: top_k=40 top_p=0.9 min_p=0.01", "top_k"),
        ("fairdraw: top_p=0.9", "top_p"),
        ("fairdraw: top_p=1.0", "temperature"),
        ("fairdraw: repetition_penalty=1.1 top_p=0.9", "top_p"),
        ("candle: TopKThenTopP k=40 p=0.9 temperature=0.7", "top_k"),
        ("candle: TopP p=0.9 temperature=0.7", "top_p"),
        ("transformers: do_sample=true temperature=0.7", "top_k"),
        ("nano_vllm: temperature=0.6", "temperature"),
        ("custom: checkpoint() > top_k(k=3) > top_p(p=0.5, mass=raw) > inverse_cdf()", "inverse_cdf"),
    ],
)
def test_a_known_plan_has_the_kernel_of_its_cuts(text: str, mode: str) -> None:
    program = recognise(fd.Plan.parse(text))
    assert program is not None
    assert program.mode == mode
    assert promise.PROMISES[mode] == "same token"


@pytest.mark.parametrize(
    "text",
    [
        "fairdraw: typical_p=0.9",
        "custom: top_k(k=3, ties=highest) > race()",
        "custom: top_p(p=0.5, ties=highest) > race()",
        "custom: top_k(k=5) > top_k(k=3) > race()",
        "custom: top_p(p=0.9) > top_p(p=0.5) > race()",
        "custom: top_k(k=5) > temperature(value=0.7, operation=divide) > race()",
        "custom: temperature(value=1e-30) > temperature(value=1e-30) > race()",
        "custom: exponential_race()",
        "custom: clipped_gumbel()",
    ],
)
def test_a_plan_that_no_kernel_draws_exactly_has_none(text: str) -> None:
    assert recognise(fd.Plan.parse(text)) is None


def test_a_shape_leaves_out_numbers_and_keeps_switches() -> None:
    one, two = (fd.Plan.parse(f"fairdraw: temperature={t} top_k={k}") for t, k in ((0.7, 40), (1.2, 50)))
    assert shape(one) == shape(two) == (("mask",), ("temperature", "exact"), ("top_k", "lowest", "off"), ("race",))
    assert shape(fd.Plan.parse("custom: top_k(k=40, ties=all) > race()"))[0] == ("top_k", "all", "off")
