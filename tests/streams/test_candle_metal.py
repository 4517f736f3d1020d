import json
from pathlib import Path

import numpy as np
import pytest

from fairdraw.errors import ParameterError
from fairdraw.streams.candle_metal import MetalGenerator

PRINTED = {
    number["id"]: number
    for number in json.loads((Path(__file__).parents[1] / "golden/public_vectors.json").read_text())["numbers"]
    if number["kind"] == "metal_rand4"
}


def generator_of(given: dict) -> MetalGenerator:
    generator = MetalGenerator()
    if "set_seed" in given:
        generator.set_seed(given["set_seed"])
    if given.get("after") == "one rand(4)":
        generator.uniforms(4)
    return generator


@pytest.mark.parametrize("name", PRINTED)
def test_four_uniforms_print_as_they_were_printed(name):
    uniforms = generator_of(PRINTED[name]["given"]).uniforms(4)
    assert [str(value) for value in uniforms] == PRINTED[name]["printed"]


def test_28_printed_uniforms_are_checked():
    assert sum(len(number["printed"]) for number in PRINTED.values()) == 28


def test_seeds_below_2_to_32_are_all_alike_as_shipped():
    streams = {MetalGenerator(seed).uniforms(6).tobytes() for seed in (0, 1, 42, 299792458, 2**32 - 1)}
    assert len(streams) == 1


def test_only_the_upper_half_of_a_seed_counts_as_shipped():
    high = 5 * 2**32
    assert MetalGenerator(high + 42).uniforms(6).tolist() == MetalGenerator(high).uniforms(6).tolist()
    assert MetalGenerator(high).uniforms(6).tolist() != MetalGenerator(2 * high).uniforms(6).tolist()


def test_only_the_lower_half_of_a_seed_counts_as_meant():
    meant = {seed: MetalGenerator(seed, seed_reading="as_meant").uniforms(6).tolist() for seed in (7, 42, 2**32 + 42)}
    assert meant[42] == meant[2**32 + 42]
    assert meant[42] != meant[7]


def test_a_seed_as_meant_is_the_swapped_seed_as_shipped():
    shipped, meant = MetalGenerator(42 * 2**32), MetalGenerator(42, seed_reading="as_meant")
    for _ in range(3):
        assert shipped.uniforms(6).tolist() == meant.uniforms(6).tolist()


def test_setting_the_seed_again_starts_again():
    generator = MetalGenerator(2**32)
    first = generator.uniforms(5).tolist()
    assert generator.uniforms(5).tolist() != first
    generator.set_seed(2**32)
    assert generator.uniforms(5).tolist() == first


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 63, 64])
def test_every_place_is_filled_with_a_number_in_the_unit_interval(count):
    uniforms = MetalGenerator(2**40).uniforms(count)
    assert uniforms.shape == (count,)
    assert uniforms.dtype == np.float32
    assert len(set(uniforms.tolist())) == count
    assert np.all((uniforms >= 0) & (uniforms <= 1))


def test_front_places_do_not_depend_on_the_number_of_values():
    assert MetalGenerator().uniforms(64)[:3].tolist() == MetalGenerator().uniforms(6)[:3].tolist()


def test_bounds_map_in_float32():
    plain, mapped = MetalGenerator().uniforms(8), MetalGenerator().uniforms(8, 1e-7, 0.999)
    width, low = np.float32(np.float32(0.999) - np.float32(1e-7)), np.float32(1e-7)
    assert mapped.tolist() == (plain * width + low).tolist()


def test_a_call_beyond_one_simd_group_is_refused_with_the_reason():
    with pytest.raises(ParameterError, match=r"(?s)count must be a whole number in 1\.\.64, got 65\nhint: .* race"):
        MetalGenerator().uniforms(65)


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(ParameterError, match=r"^seed_reading must be one of 'as_shipped', 'as_meant', got 'fixed'"):
        MetalGenerator(seed_reading="fixed")
    with pytest.raises(ParameterError, match=r"^seed must be"):
        MetalGenerator(-1)
    with pytest.raises(ParameterError, match=r"^low must be below high"):
        MetalGenerator().uniforms(4, 1.0, 1.0)
