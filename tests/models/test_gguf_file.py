"""A tiny GGUF, written by the gguf package, against a forward pass that folds and fuses nothing."""

import gguf
import numpy as np
import pytest

from fairdraw.errors import UnavailableError
from fairdraw.models.gguf_file import open_gguf, read_tokenizer, read_weights, write_weights
from fairdraw.models.llama import LlamaSession, rotation

LAYERS, WIDTH, HEADS, GROUPS, FORWARD, VOCAB = 2, 32, 4, 2, 64, 6
HEAD = WIDTH // HEADS
TOKENS = ["<|end|>", "h", "i", "Ġ", "hi", "!"]


def _tensors():
    generator = np.random.default_rng(7)
    sizes = {"token_embd": (VOCAB, WIDTH), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        sizes |= {block + "attn_norm": (WIDTH,), block + "ffn_norm": (WIDTH,)}
        sizes |= {block + "attn_q": (WIDTH, WIDTH), block + "attn_output": (WIDTH, WIDTH)}
        sizes |= {block + "attn_k": (GROUPS * HEAD, WIDTH), block + "attn_v": (GROUPS * HEAD, WIDTH)}
        sizes |= {block + "ffn_gate": (FORWARD, WIDTH), block + "ffn_up": (FORWARD, WIDTH)}
        sizes |= {block + "ffn_down": (WIDTH, FORWARD)}
    return {name: generator.normal(scale=0.3, size=size).astype(np.float32) for name, size in sizes.items()}


def _write(path, tensors, architecture="llama"):
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    writer.add_rope_freq_base(100.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCAB)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 1, 1, 1, 1, 1])
    writer.add_token_merges(["h i"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_chat_template("{{ messages[0].content }}<|end|>")
    for name, tensor in tensors.items():
        kind = gguf.GGMLQuantizationType.Q8_0 if name == "token_embd" else None
        data = tensor if kind is None else gguf.quants.quantize(tensor, kind)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def prepared(tmp_path):
    tensors = _tensors()
    folder = tmp_path / "weights"
    folder.mkdir()
    done = []
    write_weights(open_gguf(_write(tmp_path / "tiny.gguf", tensors)), folder, done.append)
    assert done == [1, 2]
    quantised = gguf.quants.quantize(tensors["token_embd"], gguf.GGMLQuantizationType.Q8_0)
    tensors["token_embd"] = gguf.quants.dequantize(quantised, gguf.GGMLQuantizationType.Q8_0)
    return folder, tensors


def _norm(x, gain):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5) * gain


def _turn(x, positions):
    turned = x.copy()
    for pair in range(HEAD // 2):
        angle = positions * 100.0 ** (-2 * pair / HEAD)
        a, b = x[:, 2 * pair], x[:, 2 * pair + 1]
        turned[:, 2 * pair] = a * np.cos(angle) - b * np.sin(angle)
        turned[:, 2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
    return turned


def _plain_forward(tensors, ids):
    w = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    positions = np.arange(len(ids))
    x = w["token_embd"][ids]
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        y = _norm(x, w[block + "attn_norm"])
        query, key, value = (y @ w[block + f"attn_{part}"].T for part in "qkv")
        mixed = []
        for head in range(HEADS):
            mine = slice(head * HEAD, (head + 1) * HEAD)
            shared = slice(head // 2 * HEAD, (head // 2 + 1) * HEAD)
            scores = _turn(query[:, mine], positions) @ _turn(key[:, shared], positions).T / np.sqrt(HEAD)
            scores[positions[:, None] < positions] = -np.inf
            share = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed.append(share / share.sum(axis=1, keepdims=True) @ value[:, shared])
        x = x + np.concatenate(mixed, axis=1) @ w[block + "attn_output"].T
        y = _norm(x, w[block + "ffn_norm"])
        gate = y @ w[block + "ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w[block + "ffn_up"].T)) @ w[block + "ffn_down"].T
    return _norm(x[-1], w["output_norm"]) @ w["token_embd"].T


def test_fused_weights_give_the_logits_of_the_plain_forward_pass(prepared):
    folder, tensors = prepared
    weights = read_weights(folder)
    logits = LlamaSession(weights, rotation(weights.shape)).feed([0, 4, 3, 1, 5])
    np.testing.assert_allclose(logits, _plain_forward(tensors, [0, 4, 3, 1, 5]), atol=1e-4)


def test_weights_are_mapped_read_only(prepared):
    weights = read_weights(prepared[0])
    assert not weights.gate_up.flags.writeable


def test_the_tokenizer_comes_with_the_weights(prepared):
    tokenizer = read_tokenizer(prepared[0])
    assert tokenizer.encode("hi h<|end|>")[:3] == [4, 3, 1]
    assert tokenizer.special_tokens == {"<|end|>": 0}
    assert (tokenizer.bos_id, tokenizer.eos_id) == (0, 0)
    assert tokenizer.chat_template == "{{ messages[0].content }}<|end|>"


def test_weights_cut_short_are_named_with_a_way_out(prepared):
    folder, _ = prepared
    whole = (folder / "down.npy").read_bytes()
    (folder / "down.npy").write_bytes(whole[:-10])
    with pytest.raises(UnavailableError, match=r"incomplete\nhint: delete"):
        read_weights(folder)


def test_a_file_that_is_no_gguf_is_named(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"no gguf at all" * 10)
    with pytest.raises(UnavailableError, match=r"broken\.gguf is not a readable GGUF"):
        open_gguf(tmp_path / "broken.gguf")


def test_another_architecture_is_named(tmp_path):
    path = _write(tmp_path / "other.gguf", _tensors(), architecture="gemma")
    with pytest.raises(UnavailableError, match="got 'gemma'"):
        open_gguf(path)
