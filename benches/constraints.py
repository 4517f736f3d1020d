"""What a constraint costs a step, and how many texts are valid: python benches/constraints.py [SAMPLES]

Texts come from SmolLM2 at temperature 1, without cuts.  Times are of this thread's CPU, in microseconds, along the
first steps of three texts: median, 90 % and most for the mask, means for the rest.  "draw" is `fairdraw.sample` on the
masked row and comes on top of the mask; "lazy 1" and "lazy 40" are whole steps that try 1 and 40 arrivals before they
work out the mask; "free" is how often the model's own token was allowed.  A text is valid if the package jsonschema
says so; otherwise max_tokens cut it, and its finish reason is "length".
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import numpy as np

import fairdraw as fd
from fairdraw.constraints.all_of import AllOf
from fairdraw.constraints.bad_words import BadWords
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.grammar import Grammar
from fairdraw.constraints.json_schema import JsonSchema
from fairdraw.constraints.lazy import draw_lazily
from fairdraw.constraints.protocol import Constraint
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.generation.loop import generate
from fairdraw.models import Model, load

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 10},
        "home": {
            "type": "object",
            "properties": {"zip": {"type": "string", "pattern": "^[0-9]{3}$"}, "own": {"type": "boolean"}},
            "required": ["zip", "own"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"enum": ["sea", "wind", "sky"]}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "home", "tags"],
    "additionalProperties": False,
}
PROMPT, PLAN = "A person as JSON:\n", fd.Plan.parse("fairdraw: temperature=1.0")
MOST, TEXTS, STEPS = 60, 3, 16
KINDS: dict[str, Constraint] = {
    "JSON, compact": JsonSchema(SCHEMA, whitespace="none"),
    "JSON, any white space": JsonSchema(SCHEMA),
    "regex, a date": Regex("[0-9]{4}-[01][0-9]-[0-3][0-9]"),
    "regex, any 40 characters": Regex("(?s:.){1,40}"),
    "grammar, sums": Grammar('start: term ("+" term)*\nterm: /[0-9]{1,3}/ | "(" start ")"'),
    "choice of 50": Choice([f"number {n}" for n in range(50)]),
    "20 bad words": BadWords([f"{a}{b}" for a in ("sea", "sky", "win", "sun") for b in ("", "s", "ly", " of", "!")]),
    "compact JSON, no bad words": AllOf([JsonSchema(SCHEMA, whitespace="none"), BadWords(("sea", "wind"))]),
}


def timed(job: Callable[..., Any], *arguments: object, **more: object) -> tuple[float, Any]:
    begun = time.thread_time()
    result = job(*arguments, **more)
    return 1e6 * (time.thread_time() - begun), result


def spread(times: Sequence[float]) -> str:
    return "".join(f"{np.quantile(times, q):>9.0f}" for q in (0.5, 0.9, 1.0))


def costs(model: Model, vocabulary: Vocabulary, constraint: Constraint) -> str:
    """Mask, advance and lazy draws along a few texts."""
    times: dict[str, list[float]] = {name: [] for name in ("mask", "advance", "draw", "one", "many")}
    first = []
    compiled, _ = timed(Track, constraint, vocabulary)
    for index in range(TEXTS):
        track, session = Track(constraint, vocabulary), model.start()
        history = fd.History(prompt=model.tokenizer.encode(PROMPT))
        logits = session.feed(history.prompt)
        while not track.is_complete and track.step < STEPS:
            where = {"seed": index, "position": len(history), "history": history}
            took, mask = timed(track.mask)
            times["mask"].append(took)
            took, drawn = timed(fd.sample, PLAN, logits, mask=mask, **where)
            times["draw"].append(took)
            for name, most in (("one", 1), ("many", 40)):
                took, lazy = timed(draw_lazily, track, PLAN, logits, most=most, **where)
                times[name].append(took)
                assert lazy.token == drawn.token
            first.append(track.state.allows(fd.sample(PLAN, logits, **where).token))
            if drawn.token in vocabulary.ends:
                break
            took, _ = timed(track.advance, drawn.token)
            times["advance"].append(took)
            history.append(drawn.token)
            logits = session.feed([drawn.token])
    means = "".join(f"{np.mean(times[name]):>9.0f}" for name in ("advance", "draw", "one", "many"))
    return f"{compiled / 1e3:>9.1f}{len(first):>7}{spread(times['mask'])}{means}{np.mean(first):>8.0%}"


def validity(model: Model, samples: int) -> None:
    """How many texts of the nested schema are valid, and how many were cut."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    constraint, prompt = KINDS["JSON, compact"], model.tokenizer.encode(PROMPT)
    counts: Counter[str] = Counter()
    lengths = []
    for index in range(samples):
        done = generate(model, prompt, PLAN, seed=11, sample_index=index, max_tokens=MOST, constraint=constraint)
        lengths.append(len(done.tokens))
        if done.finish_reason == "length":
            counts["cut by length" if done.fulfilled is False else "wrong"] += 1
        else:
            counts["valid" if done.fulfilled and validator.is_valid(json.loads(done.text)) else "wrong"] += 1
    print(f"{samples} samples, max_tokens {MOST}: ", end="")
    print(", ".join(f"{counts[name]} {name}" for name in ("valid", "cut by length", "wrong")), end="; ")
    print(f"tokens: median {np.median(lengths):.0f}, longest {max(lengths)}")


def main(samples: int) -> None:
    model = load("smollm2")
    took, vocabulary = timed(Vocabulary.of, model.tokenizer, model.facts)
    trie, _ = timed(Track, Regex("a"), vocabulary)
    print(f"NumPy {np.__version__}, {platform.processor() or platform.machine()}, V={vocabulary.width}")
    print(f"vocabulary {took / 1e3:.0f} ms, its trie for llguidance {trie / 1e3:.0f} ms")
    fd.sample(PLAN, np.zeros(vocabulary.width, np.float32), seed=0, position=0)
    heads = ("mask", "90 %", "most", "advance", "draw", "lazy 1", "lazy 40")
    print(f"{'':<27} start ms  steps{''.join(f'{head:>9}' for head in heads)}    free", flush=True)
    for name, constraint in KINDS.items():
        print(f"{name:<27}{costs(model, vocabulary, constraint)}", flush=True)
    validity(model, samples)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
