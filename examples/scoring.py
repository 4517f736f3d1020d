"""The likelihood of a text by hand: a model of two letters, its perplexity, and a plan that cannot have written it."""

import math
from dataclasses import dataclass

import numpy as np

import fairdraw as fd

LETTERS = "ab"
AFTER = {"a": (0.25, 0.75), "b": (0.9, 0.1)}
"""How probable a and b are after a letter."""


@dataclass
class Session:
    def feed(self, tokens):
        return np.log(np.float32(AFTER[LETTERS[tokens[-1]]]))


class Tokenizer:
    def encode(self, text):
        return [LETTERS.index(letter) for letter in text]

    def token_bytes(self, token):
        return LETTERS[token].encode()


@dataclass
class TwoLetters:
    name: str = "two letters"
    facts: fd.ModelFacts = fd.ModelFacts(vocab_size=2)  # noqa: RUF009
    tokenizer: Tokenizer = Tokenizer()  # noqa: RUF009

    def start(self):
        return Session()


text = "abab"
scored = fd.score(TwoLetters(), text)
print(
    f"{text}: "
    + ", ".join(f"{LETTERS[t]} {math.exp(p):.2f}" for t, p in zip(scored.tokens[1:], scored.logprobs, strict=True))
)
print(f"by hand 0.75 * 0.90 * 0.75 = {0.75 * 0.9 * 0.75:.6f}, scored {math.exp(scored.total):.6f}")
print(f"perplexity {scored.perplexity:.4f}, bits per byte {scored.bits_per_byte:.4f}")
for words in ("fairdraw: temperature=0.5", "fairdraw: top_k=1"):
    for text in ("abab", "abb"):
        law = fd.score(TwoLetters(), text, fd.Plan.parse(words))
        outside = f", could not have drawn place {law.outside[0]}" if law.outside else ""
        print(f"{words:25} {text:4} {math.exp(law.total):.6f}{outside}")
