"""No kernel knows these stages: NumPy runs them, and no plan with one is taken for a simpler plan."""

import pytest

import fairdraw as fd
from fairdraw.kernels.shapes import recognise
from fairdraw.stages import (
    Checkpoint,
    DynamicTemperature,
    Epsilon,
    Eta,
    ForcedTokens,
    Guidance,
    KnapsackTopP,
    Smoothing,
    SpareMinP,
    TailFree,
    TopA,
    TopH,
    TopK,
    TopNSigma,
    Watermark,
    Xtc,
    XtcAverage,
)


@pytest.mark.parametrize(
    "stage",
    [
        DynamicTemperature(low=0.5, high=1.5),
        Epsilon(epsilon=0.1),
        Eta(epsilon=0.1),
        ForcedTokens(ids=[1], length=0),
        Guidance(scale=2.0),
        KnapsackTopP(p=0.9),
        Smoothing(factor=0.3),
        SpareMinP(p=0.1),
        TailFree(z=0.9),
        TopA(a=0.1),
        TopH(h=0.5),
        TopNSigma(n=1.0),
        Watermark(),
        Xtc(probability=0.5),
        Xtc(probability=1.0),
        XtcAverage(probability=0.5),
    ],
    ids=lambda stage: stage.name,
)
def test_it_is_not_recognised_alone_or_among_stages_that_are(stage):
    for plan in (fd.Plan.of(Checkpoint(), stage), fd.Plan.of(Checkpoint(), stage, TopK(k=3))):
        assert recognise(plan) is None
