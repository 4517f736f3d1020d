"""What a seed rules: the same one twice, then another (25 tokens, All at temperature 0.8).

The article's texts come from the 8-bit file through candle's own kernels, and its prompt is not printed.  Ours are
candle's draws on the logits of the 4-bit file, so the texts differ; what repeats, repeats.
"""

from side_by_side import show
from writing import write

from fairdraw.replay.candle import LogitsProcessor, Sampling

PROMPT, TOKENS = "Write about the sea.", 25
WHY = "other logits: another prompt, 4 bits for 8, other kernels"


def text(seed):
    processor = LogitsProcessor.from_sampling(seed, Sampling.All(temperature=0.8), sum_order="neon")
    return write(PROMPT, TOKENS, lambda row, ids: processor.sample(row))


first, again = text(42), text(42)
printed = "The misty dawn barely penetrates the sleepy way of the sea, beckoning the speaker, creaming with the salty"
show("text seed 42", first, printed, WHY)
print(f"[again with 42: {'the same text' if again == first else 'ANOTHER TEXT'}]")
show(
    "text seed 43",
    text(43),
    "In the vast expanse of the sea, where the spray danced on the waves, I find myself lost in a world of wonder",
    WHY,
)
