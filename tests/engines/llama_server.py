"""llama.cpp's server in the xllamacpp wheel, on loopback: raw logits in, probabilities after its chain out."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.request import Request, urlopen

import numpy as np

from fairdraw.models.fetching import cache_directory

MODEL = cache_directory() / "SmolLM2-135M-Instruct.Q4_1.gguf"
VOCAB = 49152
SERVER = """
import os, sys, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.port = sys.argv[1], int(sys.argv[2])
parameters.n_ctx, parameters.n_parallel, parameters.warmup = 512, 1, False
server = xllamacpp.Server(parameters)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""
SEEDS = 20
"""Tried until one draws a token that is no end."""
OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_last_n": 512}


class Asked:
    """A server that answers one token at a time."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/completion"

    def told(self, ids: Sequence[int], request: dict, most: int = VOCAB) -> dict[int, float]:
        """Id to probability after the chain, or to log-probability before it."""
        name = "top_probs" if request.get("post_sampling_probs") else "top_logprobs"
        value = "prob" if request.get("post_sampling_probs") else "logprob"
        for attempt in range(SEEDS):
            seed = request.get("seed", 0) + 1000 * attempt
            body = {
                "prompt": list(ids),
                "n_predict": 1,
                "n_probs": most,
                "cache_prompt": False,
                **request,
                "seed": seed,
            }
            with urlopen(Request(self.url, json.dumps(body).encode()), timeout=120) as answer:
                steps = json.load(answer).get("completion_probabilities")
            if steps:
                break
        else:
            raise AssertionError(f"{SEEDS} seeds have drawn an end, of which the server tells nothing")
        step = steps[0]
        return {told["id"]: told[value] for told in step[name]}

    def probabilities(self, ids: Sequence[int], request: dict) -> dict[int, float]:
        """What it draws from: the best 2000 ids and their probabilities, of all that are left."""
        return self.told(ids, {**request, "post_sampling_probs": True}, most=2000)

    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """The raw row, float32.

        The server tells logits up to a shift; a repetition penalty of 2 on one seen token betrays its size: a
        positive logit loses half of itself against the tokens not seen, a negative one as much again.
        """
        row = np.full(VOCAB, -np.inf)
        for token, logprob in self.told(ids, {}).items():
            row[token] = logprob
        punished = self.told(ids, OFF | {"repeat_penalty": 2.0, "post_sampling_probs": True})
        seen, unseen = np.array(sorted(set(ids))), int(np.setdiff1d(np.argsort(-row), ids, assume_unique=True)[0])
        token = int(seen[np.argmax(row[seen])])
        lost = (row[token] - row[unseen]) - math.log(punished[token] / punished[unseen])
        logit = 2 * lost if row[token] - row[unseen] > -20 and lost > 0 else math.nan
        return np.float32(row + (logit - row[token]))


@contextmanager
def llama_server() -> Iterator[Asked]:
    """Start one and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(MODEL), str(port)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield Asked(port)
        finally:
            assert server.stdin is not None
            server.stdin.close()
