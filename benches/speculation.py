"""What speculation is worth on SmolLM2: python benches/speculation.py [tokens] [setting ...].

Twenty prompts, half of which ask for something that stands in them. For each setting: tokens, how often the target
was asked, how many guesses were accepted, the bound on it (from the ways that accept and reject; for match it would
cost a law), processor seconds beside the same texts without speculation, and how many texts have the same bits.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import fairdraw as fd
from fairdraw.constraints.regex import Regex
from fairdraw.generation.speculation.drafts import FirstLayers, PromptLookup
from fairdraw.generation.speculation.settings import Speculation

PLAIN = "fairdraw: temperature=0.7 top_k=40 top_p=0.9"
STAGES = (
    "fairdraw: temperature=0.8 min_p=0.05 repetition_penalty=1.1 presence_penalty=0.1 frequency_penalty=0.1 "
    'logit_bias={"504":1.0,"28":-0.5}'
)
SENTENCES = Regex(r"([A-Z][a-z ,']{3,60}\. ){1,8}")
LINES = (
    "apples: 3, pears: 5, plums: 8",
    "def area(width, height):\n    return width * height",
    "The train leaves at noon from platform four.",
    "Paris is the capital of France. Rome is the capital of Italy.",
    "red, green, blue, yellow, violet, orange",
)
PROMPTS = [
    *(f"Repeat this text word for word: {line}" for line in LINES),
    *(f"Repeat this text twice: {line}" for line in LINES),
    "Write about the sea.",
    "Why is the sky blue?",
    "Name three rivers in Europe.",
    "Explain what a prime number is.",
    "Write a haiku about snow.",
    "How do I boil an egg?",
    "Tell a short story about a fox.",
    "What is the largest planet?",
    "Give advice for a good night's sleep.",
    "Describe the taste of a lemon.",
]
# Name: plan, constraint, speculation.
SETTINGS = {
    "lookup": (PLAIN, None, Speculation(draft=PromptLookup())),
    "lookup, 8 ahead": (PLAIN, None, Speculation(draft=PromptLookup(), tokens=8)),
    "lookup, tree 3 2": (PLAIN, None, Speculation(draft=PromptLookup(), widths=(3, 2))),
    "lookup, stages": (STAGES, None, Speculation(draft=PromptLookup())),
    "lookup, stages, regex": (STAGES, SENTENCES, Speculation(draft=PromptLookup())),
    "lookup, accept": (PLAIN, None, Speculation(draft=PromptLookup(), way="accept")),
    "layers 28": (PLAIN, None, Speculation(draft=FirstLayers(layers=28), tokens=2)),
    "layers 28, tree 2": (PLAIN, None, Speculation(draft=FirstLayers(layers=28), tokens=2, widths=(2,))),
    "layers 28, accept": (PLAIN, None, Speculation(draft=FirstLayers(layers=28), tokens=2, way="accept")),
    "layers 28, block": (PLAIN, None, Speculation(draft=FirstLayers(layers=28), tokens=2, way="block")),
    "layers 28, tree 2, accept": (
        PLAIN,
        None,
        Speculation(draft=FirstLayers(layers=28), tokens=2, widths=(2,), way="accept"),
    ),
}


def main(tokens: int, names: list[str]) -> None:
    model = fd.load_model()
    print(f"{len(PROMPTS)} prompts, at most {tokens} tokens each, one thread")
    print(f"{'setting':27} tokens  asked  guessed accepted  rate  bound  seconds  alone  same bits")
    alone: dict[tuple[str, bool], tuple[list[fd.Completion], float]] = {}
    for name in names or SETTINGS:
        plan, constraint, speculation = SETTINGS[name]
        chosen = fd.Plan.parse(plan)
        key = (plan, constraint is not None)
        if key not in alone:
            alone[key] = write(model, chosen, tokens, constraint, None)
        texts, seconds = write(model, chosen, tokens, constraint, speculation)
        row(name, texts, seconds, *alone[key])


def write(model, plan, tokens, constraint, speculation):
    begun = time.thread_time()
    texts = [
        fd.generate(model, prompt, plan, seed=seed, max_tokens=tokens, constraint=constraint, speculation=speculation)
        for seed, prompt in enumerate(PROMPTS)
    ]
    return texts, time.thread_time() - begun


def row(name, texts, seconds, alone, alone_seconds) -> None:
    counts = [text.speculated for text in texts]
    total = {
        field: sum(getattr(c, field) for c in counts)
        for field in ("tokens", "target_steps", "proposed", "accepted", "reached")
    }
    bounds = [(c.bound, c.reached) for c in counts if c.reached]
    known = [b * n for b, n in bounds if b is not None]
    # A mean over the texts that happen to have a bound would be one of easy texts.
    bound = sum(known) / total["reached"] if known and len(known) == len(bounds) else None
    rate = total["accepted"] / max(1, total["reached"])
    same = sum(a.tokens == b.tokens for a, b in zip(texts, alone, strict=True))
    shown = "-" if bound is None else f"{bound:.3f}"
    print(
        f"{name:27} {total['tokens']:6} {total['target_steps']:6} {total['proposed']:8} {total['accepted']:8}"
        f" {rate:5.3f} {shown:>6} {seconds:8.1f} {alone_seconds:6.1f}  {same:2}/{len(texts)}",
        flush=True,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 16, sys.argv[2:])
