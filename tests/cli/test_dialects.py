"""``fairdraw dialects``."""

import json

from fairdraw.dialects import DIALECTS


def test_every_dialect_stands_in_the_list(cli):
    ran = cli("dialects")
    assert ran.code == 0
    first_words = [line.split()[0] for line in ran.out.splitlines() if line and not line.startswith(" ")]
    assert first_words[2:] == list(DIALECTS)
    assert ran.err == "fairdraw dialects NAME shows its parameters\n"


def test_one_dialect_shows_each_parameter_once_with_its_default(cli):
    out = cli("dialects", "transformers").out
    assert out.startswith("transformers@5.24\n")
    starts = [line.split()[:2] for line in out.splitlines() if line]
    assert starts.count(["top_k", "50"]) == 1
    assert ["temperature", "1.0"] in starts


def test_a_version_can_be_named(cli):
    assert cli("dialects", "transformers@5.22").out.startswith("transformers@5.22\n")


def test_the_variants_of_an_engine_are_listed_with_their_parameters(cli):
    out = cli("dialects", "candle").out
    for variant in ("ArgMax", "All", "TopK", "TopP", "TopKThenTopP", "GumbelSoftmax"):
        assert any(line.startswith(f"{variant} ") for line in out.splitlines())
    # The same everywhere, so once; not the same everywhere, so with the variants.
    assert sum(line.startswith("repeat_penalty ") for line in out.splitlines()) == 1
    assert "temperature" in out
    assert "(GumbelSoftmax)" in out


def test_json_has_every_variant_and_parameter(cli):
    ran = cli("dialects", "--json")
    listed = {entry["name"]: entry for entry in json.loads(ran.out)["dialects"]}
    assert ran.err == ""
    assert list(listed) == list(DIALECTS)
    for name, dialect in DIALECTS.items():
        for variant_name, variant in dialect.variants.items():
            here = [p["name"] for p in listed[name]["variants"][variant_name]]
            assert here == [p.name for p in variant.parameters]
    assert json.loads(cli("dialects", "candle", "--json").out) == listed["candle@0.11"]


def test_an_unknown_name_is_refused_with_the_nearest(cli):
    ran = cli("dialects", "transfomers")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "fairdraw: no dialect is called 'transfomers'\nhint: did you mean 'transformers'?\n"


def test_the_matrix_shows_in_which_switches_engines_differ(cli):
    out = cli("dialects", "--matrix").out
    lines = [line.split() for line in out.splitlines()]
    assert ["transformers@5.24", "all", "inclusive", "current", "any", "inclusive"] in lines
    assert ["mistral_rs@0.9", "any", "inclusive", "current", "any", "strict"] in lines
    one = json.loads(cli("dialects", "candle", "--matrix", "--json").out)["matrix"]
    assert [row["engine"] for row in one][-1] == "candle@0.11 GumbelSoftmax"
    assert {row["engine"].partition(" ")[0] for row in one} == {"candle@0.11"}
