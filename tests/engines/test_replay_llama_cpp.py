"""llama.cpp's replay against the engine in the xllamacpp wheel: its sampler library, and its server on loopback."""

import ctypes
import json
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from safetensors.numpy import load_file

from fairdraw.models.fetching import cache_directory
from fairdraw.replay.llama_cpp import Chain, LlamaGenerator, draw, replay

pytestmark = pytest.mark.engines

CASES = 400
MODEL = cache_directory() / "SmolLM2-135M-Instruct.Q4_1.gguf"
CANDIDATE = np.dtype([("id", "i4"), ("logit", "f4"), ("p", "f4")])
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
REQUESTS = (
    {"seed": 7},
    {"seed": 1, "temperature": 1.5, "top_p": 1.0},
    {"seed": 3, "temperature": 1.0, "top_k": 100, "top_p": 0.9, "min_p": 0.0},
    {"seed": 5, "temperature": 0.0},
    {"seed": 11, "top_k": 0, "top_p": 1.0, "min_p": 0.1, "temperature": 1.3},
)


class Row(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


class Engine:
    """The engine's own chain, driven through its C interface."""

    def __init__(self, library: ctypes.CDLL, chain: Chain, seed: int) -> None:
        self.library = library
        self.chain = self._made("llama_sampler_chain_init", ctypes.c_bool(True))
        keep = ctypes.c_size_t(chain.min_keep)
        for part in (
            self._made("llama_sampler_init_top_k", ctypes.c_int32(chain.top_k)),
            self._made("llama_sampler_init_top_p", ctypes.c_float(chain.top_p), keep),
            self._made("llama_sampler_init_min_p", ctypes.c_float(chain.min_p), keep),
            self._made("llama_sampler_init_temp_ext", *map(ctypes.c_float, (chain.temperature, 0.0, 1.0))),
            self._made("llama_sampler_init_dist", ctypes.c_uint32(seed)),
        ):
            library.llama_sampler_chain_add(ctypes.c_void_p(self.chain), ctypes.c_void_p(part))

    def _made(self, name: str, *arguments) -> int:
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        return function(*arguments)

    def draw(self, logits: np.ndarray) -> tuple[list[int], int]:
        """Ids that are left, in order, and the token."""
        data = np.zeros(logits.size, CANDIDATE)
        data["id"], data["logit"] = np.arange(logits.size), logits
        row = Row(data.ctypes.data, logits.size, -1, False)
        self.library.llama_sampler_apply(ctypes.c_void_p(self.chain), ctypes.byref(row))
        return data["id"][: row.size].tolist(), int(data["id"][row.selected])

    def close(self) -> None:
        self.library.llama_sampler_free(ctypes.c_void_p(self.chain))


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    pytest.importorskip("xllamacpp")
    folder = Path(find_spec("xllamacpp").origin).parent
    return ctypes.CDLL(str(next(folder.glob("xllamacpp*.so"))))


def random_chain(random: np.random.Generator) -> Chain:
    return Chain(
        top_k=int(random.choice([0, 0, 1, 3, 40, 200])),
        top_p=float(random.choice([1, 0.95, 0.5, 0.9, 0.1, 0])),
        min_p=float(random.choice([0, 0, 0.05, 0.3, 1])),
        temperature=float(random.choice([0.8, 1, 0, 1.5, 0.1])),
        min_keep=int(random.choice([0, 0, 0, 1, 3])),
    )


def random_row(random: np.random.Generator, real: np.ndarray) -> np.ndarray:
    vocab = int(random.choice([6, 50, 1000, 1500, 49152], p=[0.3, 0.3, 0.2, 0.1, 0.1]))
    if vocab == 49152:
        return real[random.integers(len(real))].copy()
    row = (random.normal(size=vocab) * random.choice([0.3, 1, 2, 4])).astype(np.float32)
    if random.random() < 0.15:
        row = np.round(row * 2) / 2
    if random.random() < 0.15:
        row[1:][random.random(vocab - 1) < 0.3] = -np.inf
    return row + np.float32(0)


def test_the_library_s_tokens_are_drawn_again_on_random_chains(library):
    random = np.random.default_rng(2026)
    real = load_file(Path(__file__).parents[1] / "golden" / "smollm2_rows.safetensors")["logits"]
    wrong, doubted, draws = [], 0, 0
    for case in range(CASES):
        chain, row, seed = random_chain(random), random_row(random, real), int(random.integers(2**32 - 1))
        engine, generator = Engine(library, chain, seed), LlamaGenerator(seed)
        left = chain.apply(row)
        for _ in range(12):
            (ids, token), ours = engine.draw(row), draw(left, generator)
            draws, doubted = draws + 1, doubted + bool(ours.doubt)
            other_set = not left.tied.size and sorted(ids) != sorted(left.ids.tolist())
            if not ours.doubt and (token != ours.token or other_set):
                wrong.append((case, chain))
        engine.close()
    assert wrong == []
    assert doubted < 0.1 * draws  # rows of half-integers are full of ties


def test_the_server_s_texts_are_drawn_again():
    """The server tells each step's 200 best logprobs: the logits up to a shift, which changes nothing."""
    pytest.importorskip("xllamacpp")
    if not MODEL.exists():
        pytest.skip("the model is not in the cache: run `fairdraw generate` once")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(MODEL), str(port)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            for request in REQUESTS:
                real, rows = _told(port, request)
                chain = Chain(**{name: value for name, value in request.items() if name != "seed"})
                assert [step.token for step in replay(chain, rows, seed=request["seed"])] == real
        finally:
            server.stdin.close()


def _told(port: int, request: dict) -> tuple[list[int], list[np.ndarray]]:
    body = {"prompt": "Write about the sea.", "n_predict": 32, "n_probs": 200, "cache_prompt": False, **request}
    call = Request(f"http://127.0.0.1:{port}/completion", json.dumps(body).encode())
    with urlopen(call, timeout=120) as answer:
        steps = json.load(answer)["completion_probabilities"]
    rows = []
    for step in steps:
        row = np.full(49152, -np.inf, np.float32)
        row[[told["id"] for told in step["top_logprobs"]]] = [told["logprob"] for told in step["top_logprobs"]]
        rows.append(row)
    return [step["id"] for step in steps], rows
