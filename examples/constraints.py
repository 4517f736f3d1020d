"""What masking each step does to whole texts: its law beside the model's own, given that the text is legal."""

import numpy as np

import fairdraw as fd
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.conditional import conditional_law, draw_by_rejection, masked_law
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.vocabulary import Vocabulary

PLAN = fd.Plan.parse("fairdraw: temperature=1.0")
TOKENS = (b"", b"yes", b"no", b"ye", b"s", b".", b" way")
VOCABULARY = Vocabulary(token_bytes=TOKENS, width=len(TOKENS), end_ids=(0,))
# Shares in percent of: end, yes, no, ye, s, ".", " way".
SHARES = {
    (): (0, 20, 70, 10, 0, 0, 0),
    (2,): (10, 0, 0, 0, 0, 10, 80),
    (1,): (70, 0, 0, 0, 0, 30, 0),
    (3,): (0, 0, 0, 0, 100, 0, 0),
    (3, 4): (60, 0, 0, 0, 0, 40, 0),
    (2, 5): (100, 0, 0, 0, 0, 0, 0),
    (1, 5): (100, 0, 0, 0, 0, 0, 0),
    (3, 4, 5): (100, 0, 0, 0, 0, 0, 0),
}
"""A model that would rather say "no way", which is not among the choices."""


def rows(tokens):
    with np.errstate(divide="ignore"):
        return np.log(SHARES[tokens])


for constraint in (Choice(("yes", "no")), Choice(("yes.", "no.")), Regex(r"(yes|no)\.?")):
    arguments = (rows, PLAN, constraint, VOCABULARY)
    masked, whole = (law(*arguments, most=4) for law in (masked_law, conditional_law))
    tries = [draw_by_rejection(*arguments, seed=42, first_index=1000 * n, most=4) for n in range(60)]
    accepted = [VOCABULARY.text(one.tokens) for one in tries]
    distance = masked.total_variation(whole)
    print(f"{constraint}: free texts are legal with {whole.legal:.2f}; total variation {distance:.4f}")
    others = masked.of_bytes(VOCABULARY)
    for text, probability in whole.of_bytes(VOCABULARY).items():
        seen = accepted.count(text) / len(accepted)
        print(
            f"    {text.decode():5} masked {others[text]:.4f}  conditional {probability:.4f}  by rejection {seen:.3f}"
        )
