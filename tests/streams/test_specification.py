"""docs/stream.md is complete: two implementations written from it give every answer of docs/stream_vectors.json.

One is plain Python and always runs; the other is C99 and needs a compiler.
"""

from __future__ import annotations

import importlib.util
import json
import math
import random
import re
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.draws import DRAWS
from fairdraw.errors import LogitsError
from fairdraw.masses import EXP2
from fairdraw.stages import STAGES
from fairdraw.streams import logarithms
from fairdraw.streams.noise import STREAM_VERSION
from streams.specification import reference
from streams.specification.compiled import Compiled
from streams.specification.reference import Context, Noise

ROOT = Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "docs" / "stream_vectors.json").read_text(encoding="utf-8"))
NOTHING = Context([], [], 0, None)
Entry = dict[str, Any]
TIES = ("lowest", "all", "highest", "any")
RANDOM_STAGES = (
    lambda chance: f"temperature(value={10 ** chance.uniform(-3, 3)}, operation={chance.choice(OPERATIONS)})",
    lambda chance: f"top_k(k={chance.choice([1, 2, 5, 20, 400])}, ties={chance.choice(TIES)})",
    lambda chance: f"top_p(p={chance.random()}, boundary={chance.choice(BOUNDARIES)}, ties={chance.choice(TIES)})",
    lambda chance: f"top_p(p={chance.choice([0, 0.5, 0.999999, 1])}, mass=raw)",
    lambda chance: f"min_p(p={10 ** chance.uniform(-21, 0)}, boundary={chance.choice(BOUNDARIES)})",
    lambda chance: f"typical(p={chance.random()}, boundary={chance.choice(BOUNDARIES)}, ties={chance.choice(TIES)})",
    lambda chance: f'logit_bias(bias={{"0": {chance.gauss(0, 9)}}})',
    lambda chance: "mask()",
)
OPERATIONS, BOUNDARIES = ("exact", "exact", "divide", "multiply"), ("inclusive", "strict")


@pytest.fixture(scope="module", params=["python", "c"])
def stream(request, tmp_path_factory):
    """An implementation written from the page."""
    if request.param == "python":
        return reference
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler (cc) here; the Python implementation has checked the same page and vectors")
    return Compiled(compiler, tmp_path_factory.mktemp("stream"))


@lru_cache
def logits(name: str) -> tuple[float, ...]:
    row = VECTORS["rows"][name]
    if "entries" in row:
        return tuple(floats(row["entries"]))
    recipe = row["recipe"]
    hashed = ((i * recipe["multiplier"] % 2**32) >> recipe["shift"] for i in range(recipe["vocab"]))
    return tuple(h / recipe["divide"] - recipe["subtract"] for h in hashed)


def floats(texts: list[str]) -> list[float]:
    return [float.fromhex(text) for text in texts]


def noise_of(entry: Entry) -> Noise:
    parts = (entry["position"], entry["sample_index"], entry.get("purpose", 0), entry.get("round", 0))
    return Noise(int(entry["seed"]), *parts)


def context_of(entry: Entry) -> Context:
    history = entry.get("history", {"prompt": [], "output": [], "left_padding": 0})
    return Context(history["prompt"], history["output"], history["left_padding"], entry.get("allowed"))


def run(stream, entries: list[float], entry: Entry):
    context = context_of(entry)
    if stream is reference:
        return reference.run(reference.enter(entries), entry["stages"], context)
    return stream.run(entries, entry["stages"], context)


def random_case(seed: int, widest: int) -> tuple[list[float], fd.Plan, Noise]:
    """A row, a plan and a key that follow from a number."""
    chance = random.Random(seed)
    vocab = chance.choice([1, 2, 7, 30, widest])
    scale, grid = chance.choice([1e-40, 0.01, 1.0, 5.0, 30.0, 1e4, 1e37]), chance.choice([0, 0, 0.5, 4.0])
    row = [chance.gauss(0, 1) for _ in range(vocab)]
    row = [reference.float32((round(x / grid) * grid if grid else x) * scale) for x in row]
    row = [-math.inf if chance.random() < 0.1 else x for x in row]
    stages = " > ".join(chance.choice(RANDOM_STAGES)(chance) for _ in range(chance.randrange(5)))
    rule = chance.choice(["race()"] * 3 + ["greedy()", "inverse_cdf()", "exponential_race()", "clipped_gumbel()"])
    plan = fd.Plan.parse(f"custom: checkpoint() > {stages}{' > ' if stages else ''}{rule}")
    return row, plan, Noise(chance.randrange(2**64), chance.randrange(2**32), chance.randrange(2**32))


def at_temperature(stream, entry: Entry):
    stage = {"stage": "temperature", "value": entry["temperature"], "operation": "exact"}
    return run(stream, list(logits(entry["row"])), {"stages": [stage]})


def test_the_vectors_are_what_the_library_says():
    path = ROOT / "scripts" / "write_stream_vectors.py"
    spec = importlib.util.spec_from_file_location("write_stream_vectors", path)
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    written = (ROOT / "docs" / "stream_vectors.json").read_text(encoding="utf-8")
    assert writer.text() == written, "a change of the vectors is a new stream version"
    assert len(written) < 200_000


def test_page_and_vectors_are_of_the_librarys_stream_version():
    assert VECTORS["stream_version"] == STREAM_VERSION
    assert reference.PAGE.startswith(f"# The stream, version {STREAM_VERSION}\n")


def test_the_page_names_every_stage_and_every_draw_of_the_library():
    assert [name for name in (*STAGES, *DRAWS) if f"`{name}`" not in reference.PAGE] == []


def test_the_vectors_use_every_stage_and_every_draw_that_the_page_writes_out():
    listed = reference.PAGE.partition("### 9.5")[2].partition("## 10.")[0]
    not_written_out = set(re.findall(r"`(\w+)`", listed))
    plans = [*VECTORS["cuts"], *VECTORS["draws"]]
    assert {stage["stage"] for plan in plans for stage in plan["stages"]} == set(STAGES) - not_written_out
    assert {plan["draw"]["draw"] for plan in VECTORS["draws"]} == set(DRAWS) - not_written_out


def test_the_pages_coefficients_are_the_librarys():
    assert tuple(reference.NATURAL) == logarithms.NATURAL_TAIL
    assert tuple(reference.BINARY) == logarithms.BINARY_TAIL


def test_the_pages_powers_of_two_are_the_librarys_and_cs():
    assert [float(coefficient) for coefficient in EXP2] == reference.EXP2
    source = (ROOT / "tests" / "streams" / "specification" / "stream.c").read_text(encoding="utf-8")
    table = re.search(r"POWERS\[7\] = \{([^}]*)\}", source)[1]
    assert floats(table.replace("f,", "").replace("p-13f", "p-13").split()) == reference.EXP2


def test_philox_gives_the_words(stream):
    for entry in VECTORS["philox"]:
        counter, key, words = (tuple(int(word, 16) for word in entry[name]) for name in ("counter", "key", "words"))
        assert stream.philox(counter, key) == words


def test_a_uniform_has_its_bits(stream):
    for entry in VECTORS["uniforms"]:
        place = (noise_of(entry), entry["level"], entry["index"])
        assert (stream.bits(*place)[0], stream.uniform(*place).hex()) == (int(entry["k"]), entry["u"])


def test_a_coin_is_the_uniform_of_its_stage(stream):
    for entry in VECTORS["coins"]:
        assert stream.uniform(noise_of({**entry, "purpose": 5}), 3, entry["stage"]).hex() == entry["u"]


def test_logarithms_have_the_same_bits(stream):
    for entry in VECTORS["logarithms"]:
        x = float.fromhex(entry["x"])
        assert (stream.minus_ln(x).hex(), stream.log2(x).hex()) == (entry["minus_ln"], entry["log2"])


def test_groups_and_blocks_have_their_minimum_and_its_holder(stream):
    for entry in VECTORS["nodes"]:
        find = stream.group_minimum if entry["level"] == "group" else stream.block_minimum
        minimum, holder = find(noise_of(entry), entry["index"])
        assert (minimum.hex(), holder) == (entry["minimum"], entry["holder"])


def test_ids_have_their_noise(stream):
    for entry in VECTORS["noise"]:
        noise = noise_of(entry)
        assert [stream.exponential(noise, i).hex() for i in entry["ids"]] == entry["exponentials"]


def test_entries_of_other_types_become_float32():
    for entry in VECTORS["entries"]:
        assert reference.widen(entry["type"], int(entry["bits"], 16)).hex() == entry["float32"]


def test_ids_have_their_exponent_and_mass_and_the_row_its_total(stream):
    for entry in VECTORS["masses"]:
        row = at_temperature(stream, entry)
        listed = range(len(entry["masses"]))
        assert [stream.exponent(row, i) for i in listed] == entry["exponents"]
        assert [str(stream.mass(row, i)) for i in listed] == entry["masses"]
        assert str(stream.total(row)) == entry["total"]


def test_a_row_has_its_mean_exponent(stream):
    for entry in VECTORS["means"]:
        assert stream.mean(at_temperature(stream, entry)) == entry["mean"]


def test_edits_leave_the_scores(stream):
    for entry in VECTORS["edits"]:
        row = run(stream, list(logits(entry["row"])), entry)
        assert [z.hex() for z in row.z] == entry["scores"], entry


def test_an_id_races_with_its_number(stream):
    for entry in VECTORS["candidates"]:
        row, noise = at_temperature(stream, entry), noise_of(entry)
        for rule in ({"draw": "race"}, {"draw": "clipped_gumbel", "low": 1e-7, "high": 0.999}):
            numbers = [stream.candidate(row, rule, noise, i).hex() for i in range(len(entry["race"]))]
            assert numbers == entry[rule["draw"]]


def test_a_share_has_its_exponent(stream):
    for entry in VECTORS["shares"]:
        assert stream.share_exponent(entry["p"]) == entry["exponent"]


def test_a_prefix_must_reach_its_threshold(stream):
    for entry in VECTORS["thresholds"]:
        assert str(stream.threshold(entry["p"], int(entry["total"]), entry["boundary"])) == entry["need"]


def test_stages_keep_the_ids(stream):
    for entry in VECTORS["cuts"]:
        row = run(stream, list(logits(entry["row"])), entry)
        kept = {"kept": row.kept, "kept_sums": [len(row.kept), sum(row.kept), sum(i * i for i in row.kept)]}
        answers = {**kept, "peak": row.m.hex(), "total": str(stream.total(row))}
        assert {name: answers[name] for name in entry if name in answers} == {
            name: entry[name] for name in entry if name in answers
        }, entry


def test_every_draw_gives_its_token(stream):
    rows: dict[str, Any] = {}
    for entry in VECTORS["draws"]:
        plan = json.dumps([entry["row"], entry["stages"], entry.get("history"), entry.get("allowed")])
        if plan not in rows:
            rows[plan] = run(stream, list(logits(entry["row"])), entry)
        assert stream.draw(rows[plan], entry["draw"], noise_of(entry)) == entry["token"], entry


def test_a_bad_row_is_refused_and_so_is_one_that_a_stage_makes_bad(stream):
    for entry in VECTORS["refused"]:
        with pytest.raises(reference.RefusedError):
            run(stream, floats(entry["entries"]), entry)


def test_random_rows_and_plans_have_the_librarys_kept_set_and_token_or_its_refusal(stream):
    cases, widest = (300, 100) if stream is reference else (1500, 3000)
    refused = 0
    for seed in range(cases):
        row, plan, noise = random_case(seed, widest)
        data, key = plan.to_json(), noise._asdict()
        keyed = {name: key[name] for name in ("seed", "position", "sample_index")}
        try:
            drawn = fd.sample(plan, np.array(row, np.float32), **keyed)
        except LogitsError:
            refused += 1
            with pytest.raises(reference.RefusedError):
                run(stream, row, data)
        else:
            last = run(stream, row, data)
            assert last.kept == drawn.support.tolist(), (seed, str(plan))
            assert stream.draw(last, data["draw"], noise) == drawn.token, (seed, str(plan))
    assert 0 < refused < cases / 4


def test_the_golden_tokens_are_the_pages(stream):
    golden = json.loads((ROOT / "tests" / "golden" / "tokens.json").read_text(encoding="utf-8"))
    for text, answers in golden["tokens"].items():
        data = fd.Plan.parse(text).to_json()
        for vocab, count in (("6", 24), ("1000", 3)) if stream is reference else (("1000", 24), ("49152", 2)):
            entries = [((i * 2654435761 % 2**32) >> 20) / 256 - 8 for i in range(int(vocab))]
            row = run(stream, entries, data)
            drawn = [stream.draw(row, data["draw"], Noise(*key)) for key in golden["draws"][:count]]
            assert drawn == answers[vocab][:count], (text, vocab)
