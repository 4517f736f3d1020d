"""A vocabulary cut over eight ranks: what each says in each round, in bytes, and that all come to the same token."""

import numpy as np

import fairdraw as fd
from fairdraw.kernels.merge import merge_all, size_in_bytes
from fairdraw.kernels.rounds import converse
from fairdraw.sharded import enter_piece

RANKS, VOCAB = 8, 128_256
SHAPES = {
    "greedy": "fairdraw: temperature=0",
    "whole row": "fairdraw: temperature=0.8",
    "min-p": "fairdraw: min_p=0.05",
    "top-k": "fairdraw: temperature=0.7 top_k=50",
    "top-k, top-p": "fairdraw: temperature=0.7 top_k=50 top_p=0.9",
    "top-p": "fairdraw: temperature=0.8 top_p=0.95",
    "top-k 5000": "fairdraw: top_k=5000",
    "raw top-p": "candle: TopKThenTopP k=40 p=0.9 temperature=0.7",
    "inverse CDF": "custom: temperature(value=0.8) > top_p(p=0.95) > inverse_cdf()",
}


class Rank:
    """One machine: its own piece, and its own copy of the protocol."""

    def __init__(self, plan, row, number):
        first, stop = (VOCAB * n // RANKS for n in (number, number + 1))
        self.shard = enter_piece(plan, row[first:stop], first=first, vocab=VOCAB)
        self.talk = converse(plan, vocab=VOCAB, seed=42, position=7)
        self.question, self.token = next(self.talk), None

    def hear(self, answers):
        try:
            self.question = self.talk.send(merge_all(answers))
        except StopIteration as end:
            self.token = end.value.token


def all_gather(ranks):
    """The one thing that an engine brings: every rank gets what every rank says."""
    answers = [rank.shard.answer(rank.question) for rank in ranks]
    for rank in ranks:
        rank.hear(answers)
    return [size_in_bytes(answer) for answer in answers]


row = (-1.1 * np.log(np.random.default_rng(0).permutation(VOCAB) + 2.7)).astype(np.float32)
for name, text in SHAPES.items():
    plan = fd.Plan.parse(text)
    ranks, said = [Rank(plan, row, number) for number in range(RANKS)], []
    while ranks[0].token is None:
        kind = type(ranks[0].question).__name__
        said.append(f"{kind} {max(all_gather(ranks))}")
    tokens = {rank.token for rank in ranks}
    assert tokens == {fd.sample(plan, row, seed=42, position=7).token}
    print(f"{name:13} token {tokens.pop():6}, {len(said)} rounds, bytes a rank: {', '.join(said)}")
