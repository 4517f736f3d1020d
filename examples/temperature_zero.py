"""What four engines make of temperature 0; where one fails, so do we, in words that name the parameter."""

import re

from side_by_side import show

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling

LOGITS = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
NOT_A_NUMBER = 'Err("A weight is negative, too large or not a valid number")'


def outcome(make):
    """candle's own words: the token, or the error, which ours quotes in its hint."""
    try:
        return f"Ok({make().sample(LOGITS)})"
    except fd.ParameterError as error:
        print(f"[ours: {str(error).splitlines()[0]}]")
        return f'Err("{re.search(chr(39) + "(.*)" + chr(39), error.hint)[1]}")'


def from_sampling(way, **fields):
    return lambda: LogitsProcessor.from_sampling(42, way(**fields))


show("new T=0", outcome(lambda: LogitsProcessor.new(42, 0.0)), "Ok(0)")
show("All T=0", outcome(from_sampling(Sampling.All, temperature=0.0)), NOT_A_NUMBER)
show("TopP T=0", outcome(from_sampling(Sampling.TopP, p=0.9, temperature=0.0)), NOT_A_NUMBER)
show("TopK T=0", outcome(from_sampling(Sampling.TopK, k=2, temperature=0.0)), NOT_A_NUMBER)
show("All T=0.001", outcome(from_sampling(Sampling.All, temperature=0.001)), "Ok(0)")

try:
    fd.Plan.parse("transformers: do_sample=true temperature=0.0")
except fd.ParameterError as error:
    print(f"[ours: {str(error).splitlines()[0]}]")
    words = re.search("`temperature` .*`do_sample=False`\\.", error.hint)
    show(
        "hf T=0",
        words[0] if words else error.hint,
        "`temperature` (=0.0) has to be a strictly positive float, otherwise your next token scores will be invalid. "
        "If you're looking for greedy decoding strategies, set `do_sample=False`.",
    )

plan = fd.Plan.parse("fairdraw: temperature=0")
print("fairdraw's own dialect takes the best token:", fd.sample(plan, LOGITS, seed=1, position=0).token)
