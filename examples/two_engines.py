"""Two seeds on two engines: the law is the same, the tokens are not (temperature 0.7, every token, 20 tokens).

The article's prompt and logits are not printed: ours is a guess, on the 4-bit file.  torch races one exponential for
each of 49152 ids, candle takes one number and a table of running sums: from the second token on they would read
different parts of a stream even if it were one and the same.
"""

from itertools import takewhile

from side_by_side import show
from writing import write

import fairdraw as fd
from fairdraw.replay import transformers
from fairdraw.replay.candle import LogitsProcessor, Sampling
from fairdraw.streams.torch_mt19937 import TorchGenerator

PROMPT, TOKENS = "How do you say hello in Chinese?", 20
WHY = "other logits: another prompt, another file of the model"
PLAN = fd.Plan.parse("transformers: do_sample=true temperature=0.7 top_k=0")
TORCH = {42: "您好！🙏🎉🎉🎉�", 43: '"In Chinese, it is said to say "您好？你�'}
CANDLE = {
    42: "嗯？？？\n\n您的希望�",
    43: "Hello! Thanks for the offer. I'm so glad they're here. A simple way to say",
}


def by_torch(seed):
    generator = TorchGenerator(seed)
    return write(PROMPT, TOKENS, lambda row, ids: transformers.draw(PLAN, row, generator).token)


def by_candle(seed):
    processor = LogitsProcessor.from_sampling(seed, Sampling.All(temperature=0.7), sum_order="neon")
    return write(PROMPT, TOKENS, lambda row, ids: processor.sample(row))


for engine, text, printed in (("torch", by_torch, TORCH), ("candle", by_candle, CANDLE)):
    for seed in (42, 43):
        ours = text(seed)
        show(f"{engine} seed {seed}", ours, printed[seed], WHY)
        alike = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, printed[seed], strict=False))]
        print(f"    [alike up to here: {''.join(alike)!r}]")

generator = TorchGenerator(42)
transformers.draw(PLAN, [0.0] * 49152, generator)
words = TorchGenerator(42).words(100_000).tolist().index(generator.words(1)[0])
show("49152 random numbers per draw", words // 2, "49152")
print(f"[and each takes two words of the generator: {words}]")
