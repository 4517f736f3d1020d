"""Many requests on SmolLM2, and scoring: python benches/many_requests.py [requests] [tokens].

Requests join and leave at random, each with its own plan, seed, stops and constraint; each text is compared with its
solo run. Then what a shared prompt saves, what a step costs beside its forward passes, and tokens scored a second.
"""

from __future__ import annotations

import os
import random
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import fairdraw as fd
from fairdraw.constraints.regex import Regex
from fairdraw.generation.batch import Request, RequestBatch, generate_many
from fairdraw.generation.scoring import score

PLANS = (
    "fairdraw: temperature=0.7 top_k=40 top_p=0.9",
    "fairdraw: temperature=0",
    "fairdraw: temperature=0.9 min_p=0.05 repetition_penalty=1.1 presence_penalty=0.2",
    'fairdraw: temperature=1.0 top_p=0.95 stop=["."] min_tokens=3',
    "fairdraw: temperature=0.8 mirostat=2",
    "candle: TopKThenTopP k=40 p=0.9 temperature=0.8",
)
PROMPTS = ("Write about the sea.", "Why is the sky blue?", "Name three rivers.", "How do I boil an egg?", "Say hello.")
CONSTRAINTS = (None, None, None, Regex(r"[A-Z][a-z ,']{10,60}\."))


def requests(model, count: int, tokens: int) -> list[Request]:
    pick = random.Random(64)
    return [
        Request(
            prompt=pick.choice(PROMPTS),
            plan=fd.Plan.parse(pick.choice(PLANS), facts=model.facts),
            seed=pick.getrandbits(64),
            sample_index=pick.randrange(4),
            max_tokens=pick.randrange(1, tokens + 1),
            constraint=pick.choice(CONSTRAINTS),
        )
        for _ in range(count)
    ]


def alone(model, request: Request) -> fd.Completion:
    return fd.generate(
        model,
        request.prompt,
        request.plan,
        seed=request.seed,
        sample_index=request.sample_index,
        max_tokens=request.max_tokens,
        constraint=request.constraint,
    )


def joins_and_leaves(model, count: int, tokens: int) -> None:
    asked, pick = requests(model, count, tokens), random.Random(1)
    batch, waiting, joined, most, steps, drawn = RequestBatch(model), list(range(count)), {}, 0, 0, 0
    pick.shuffle(waiting)
    begun = time.thread_time()
    while waiting or batch.running:
        for _ in range(min(len(waiting), pick.randrange(5))):
            which = waiting.pop()
            joined[batch.add(asked[which])] = which
        if batch.running and pick.random() < 0.4:
            batch.cancel(pick.choice(batch.running))
        most = max(most, len(batch.running))
        drawn += len(batch.step())
        steps += 1
    together = time.thread_time() - begun
    begun = time.thread_time()
    same = left = 0
    for number, which in joined.items():
        (text,), solo = batch.take(number), alone(model, asked[which])
        if text.finish_reason == "cancelled":
            left += 1
            same += text.tokens == solo.tokens[: len(text.tokens)] and solo.text.startswith(text.text)
        else:
            same += text == solo
    seconds = time.thread_time() - begun
    print(f"{count} requests, at most {most} at once, {steps} steps, {drawn} tokens and ends; {left} cancelled")
    print(f"texts equal to their solo run (cancelled ones: its beginning): {same} of {count}")
    print(f"processor seconds: {together:.1f} together, {seconds:.1f} one after the other, the cancelled ones whole")


def shared_prompt(model, samples: int, tokens: int) -> None:
    plan = fd.Plan.parse(PLANS[0])
    prompt = "Summarise this text. " + "The train leaves at noon from platform four. " * 12
    begun = time.thread_time()
    (texts,) = generate_many(model, [Request(prompt=prompt, plan=plan, seed=1, n=samples, max_tokens=tokens)])
    together = time.thread_time() - begun
    begun = time.thread_time()
    solo = [fd.generate(model, prompt, plan, seed=1, sample_index=i, max_tokens=tokens) for i in range(samples)]
    seconds = time.thread_time() - begun
    print(
        f"{samples} samples of {len(texts[0].prompt_tokens)} prompt tokens: {together:.1f} s with the prompt read once,"
    )
    print(f"{seconds:.1f} s without; equal: {sum(a == b for a, b in zip(texts, solo, strict=True))} of {samples}")


def scoring(model, tokens: int) -> None:
    text = model.tokenizer.encode("The sea is a vast and mysterious realm, teeming with life. " * 60)[:tokens]
    plan = fd.Plan.parse("fairdraw: temperature=0.8 top_p=0.95")
    for name, more in (
        ("raw, together", {}),
        ("raw, singly", {"feeding": "singly"}),
        ("under a plan", {"plan": plan}),
        ("under a plan, together", {"plan": plan, "feeding": "together"}),
    ):
        begun = time.thread_time()
        scored = score(model, text, **more)
        seconds = time.thread_time() - begun
        speed = (tokens - 1) / seconds
        print(f"scored {name:22} {speed:6.1f} tokens/s, total {scored.total:.6f}, {len(scored.outside)} outside")


if __name__ == "__main__":
    count, most = (int(sys.argv[1]) if len(sys.argv) > 1 else 64), (int(sys.argv[2]) if len(sys.argv) > 2 else 16)
    loaded = fd.load_model()
    joins_and_leaves(loaded, count, most)
    shared_prompt(loaded, 8, 4)
    scoring(loaded, 257)
