"""A text of SmolLM2-135M-Instruct, one token after another (93 MB are fetched once)."""

import fairdraw as fd
from fairdraw.generation.prompts import encode_prompt

MODEL = fd.load_model("smollm2")


def write(prompt, count, choose):
    """Write up to ``count`` tokens; ``choose`` makes each of the logits and the ids so far."""
    ids = encode_prompt(MODEL, prompt)
    session, start = MODEL.start(), len(ids)
    row = session.feed(ids)
    while len(ids) < start + count:
        ids.append(int(choose(row, ids)))
        if ids[-1] in MODEL.facts.end_token_ids or len(ids) == start + count:
            break
        row = session.feed(ids[-1:])
    drawn = [token for token in ids[start:] if token not in MODEL.facts.end_token_ids]
    return b"".join(map(MODEL.tokenizer.token_bytes, drawn)).decode("utf-8", "replace")
