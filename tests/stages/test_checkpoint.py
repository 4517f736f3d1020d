import pytest

import fairdraw as fd
from fairdraw.stages import Checkpoint, Temperature, TopK, TopP
from stages.one_stage import SIX, kept, law


def test_a_checkpoint_changes_nothing_by_itself():
    assert law(SIX, Checkpoint()).total_variation(law(SIX)) == 0.0


def test_the_last_checkpoint_of_a_name_counts():
    again = (Checkpoint(), TopK(k=3), Checkpoint(), TopP(p=0.75, mass="raw"))
    assert kept(SIX, *again) == kept(SIX, TopK(k=3), TopP(p=0.75)) == [0, 1]


def test_a_checkpoint_remembers_the_temperature_at_its_place():
    """The two best weigh .675 at temperature 1 and .516 at temperature 2."""
    half, cut = Temperature(value=2.0), TopP(p=0.6, mass="raw")
    assert kept(SIX, half, Checkpoint(), cut) == [0, 1, 2]
    assert kept(SIX, Checkpoint(), half, cut) == [0, 1]


def test_a_plan_that_measures_on_a_checkpoint_needs_one_before():
    with pytest.raises(fd.PlanError, match="which no stage before it sets"):
        fd.Plan.of(TopK(k=3), TopP(p=0.5, mass="raw"))
    with pytest.raises(
        fd.ParameterError, match=r"checkpoint.label must be one of 'raw', 'begin', 'drawn', got 'other'"
    ):
        Checkpoint(label="other")
