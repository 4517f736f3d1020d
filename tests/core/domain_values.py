"""Values from a domain, for hypothesis: what any parameter or field may be, built from its Domain alone."""

from dataclasses import MISSING, fields
from functools import cache

import hypothesis.strategies as st

from fairdraw.dialects.transformers_parameters import WATERMARK, StartAndFactor, WatermarkFields
from fairdraw.domains import (
    BiasMap,
    Choice,
    Domain,
    Real,
    SequenceBiasMap,
    StrictReal,
    Texts,
    TokenIds,
    TokenSequences,
    Truth,
    Whole,
)

IDS = st.integers(0, 63)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
LARGEST = 1e37
"""Numbers beyond have no float32 and no stage."""


@cache
def values(domain: Domain) -> st.SearchStrategy:
    """Allowed values, small enough for a vocabulary of 64."""
    match domain:
        case Real():
            low, high = max(domain.low, -LARGEST), min(domain.high, LARGEST)
            exempt = [st.just(int(domain.exempt))] if isinstance(domain, StrictReal) else []
            floats = st.floats(low, high, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-37)
            return st.one_of(floats.filter(domain.holds), *exempt)
        case Whole():
            return st.integers(domain.low or 0, min(domain.high or 2**40, 2**64 - 1))
        case Truth():
            return st.booleans()
        case Choice():
            return st.sampled_from(domain.words)
        case TokenIds():
            return st.one_of(IDS, st.lists(IDS, max_size=4))
        case TokenSequences():
            return st.lists(st.lists(IDS, min_size=1, max_size=3), min_size=domain.least, max_size=3)
        case Texts():
            return st.one_of(TEXTS, st.lists(TEXTS, max_size=3))
        case SequenceBiasMap():
            sequences = st.lists(IDS, min_size=1, max_size=3).map(tuple)
            return st.dictionaries(sequences, st.floats(-100, 100), max_size=3).filter(domain.holds)
        case BiasMap():
            bias = st.floats(-100, 100)
            return st.one_of(st.dictionaries(IDS, bias, max_size=3), st.dictionaries(IDS.map(str), bias, max_size=3))
        case StartAndFactor():
            return st.tuples(st.integers(0, 8), st.floats(0.5, 2.0))
        case WatermarkFields():
            return st.fixed_dictionaries({}, optional={name: values(field) for name, (field, _) in WATERMARK.items()})
    raise AssertionError(f"no values for {domain}")


@cache
def filled(kind: type) -> st.SearchStrategy:
    """Instances of a stage or a draw with any allowed fields; made once, since a new strategy is dear to check."""
    given = {field.name: values(kind.domains[field.name]) for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    return st.fixed_dictionaries(
        {name: given[name] for name in given if name in needed},
        optional={name: given[name] for name in given if name not in needed},
    ).map(lambda chosen: kind(**chosen))
