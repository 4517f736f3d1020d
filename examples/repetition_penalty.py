"""Greedy text without and with a repetition penalty of 1.3 on the last 64 tokens, 80 tokens each.

The article's texts come from the 8-bit file through candle's own kernels, and its prompt is not printed; ours from the
4-bit file.  The arithmetic of the penalty is the same to the bit.
"""

import numpy as np
from side_by_side import show
from writing import write

from fairdraw.replay.candle import apply_repeat_penalty

PROMPT, TOKENS, PENALTY, LAST = "List some common colors.", 80, 1.3, 64
WHY = "other logits: another prompt, 4 bits for 8, other kernels"
PLAIN = (
    "Here are some common colors:\n\n* Red: A strong, fiery, and vibrant color that is often associated with passion, "
    "energy, and excitement.\n* Blue: A deep, soothing, and calming color that is often associated with trust, "
    "stability, and calmness.\n* Green: A versatile color that can be used for everything from nature to abstract art, "
    "and is often associated with growth"
)
PENALISED = (
    "Here are some common colors:\n1. Red - This is a popular choice for many people, as it's often associated with "
    "fire and passion in the outdoors or when you're excited about something exciting happening (like sports games). \n"
    "2. Blue - Used to represent calmness; blue can also be used on walls because of its calming properties that help "
    "reduce stress levels by reducing anxiety caused from bright lights"
)
history, rows = [], []


def best_of_the_penalised(row, ids):
    history[:], rows[:] = ids, [row]
    return apply_repeat_penalty(row, PENALTY, ids[-LAST:]).argmax()


show("repeat penalty", apply_repeat_penalty([2, -2, 0.5], 2.0, [0, 1, 1, 1, 7]).tolist(), "1.0 -4.0 0.5")
show("penalty none", write(PROMPT, TOKENS, lambda row, ids: row.argmax()), PLAIN, WHY)
show("penalty 1.3, last 64", write(PROMPT, TOKENS, best_of_the_penalised), PENALISED, WHY)

# At the last token: transformers penalises the whole history, candle's examples its end.
row, whole = rows[0], apply_repeat_penalty(rows[0], PENALTY, history)
end = apply_repeat_penalty(row, PENALTY, history[-LAST:])
show("rep13 k=60 context and changed", [len(history), np.count_nonzero(whole != row)], "99 60", WHY)
show("rep13 last 64 changed", np.count_nonzero(end != row), "39", WHY)
show("rep13 last 64 max|diff|", f"{abs(whole - end).max():.6f}e0", "4.663518e0", WHY)
