"""Read a llama GGUF once and write what the forward pass wants: float32, fused, transposed.

The ``gguf`` package parses the file and undoes the quantisation; the layout is our own (`LAYOUT`), one .npy
per kind of matrix. NumPy maps these files into memory, so a later start reads nothing it does not use and
several processes share the pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from fairdraw.errors import UnavailableError
from fairdraw.models.llama import LlamaShape, LlamaWeights
from fairdraw.text.packages import missing_package
from fairdraw.text.tokenizer import Tokenizer

LAYOUT = 1
"""Version of the files `write_weights` writes. Raise it when their meaning changes."""

_MATRICES = ("embedding", "output_gain", "query_key_value", "attention_output", "gate_up", "down")
# Rows of the embedding undone at a time: 4096 x 576 float32 are 9.4 MB.
_ROWS = 4096
# llama.cpp, llama_token_type: control tokens and user-defined ones.
_SPECIAL_TYPES = (3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """An open GGUF: its numbers, its vocabulary and its tensors by name."""

    shape: LlamaShape
    """The numbers of the architecture."""
    fields: Mapping[str, Any]
    """Metadata by key."""
    tensors: Mapping[str, Any]
    """Quantised tensors by name, mapped from the file."""

    def read_rows(self, name: str, rows: slice) -> NDArray[np.float32]:
        """Undo the quantisation of some rows of a tensor.

        Parameters
        ----------
        name : str
            The tensor's name in the file.
        rows : slice
            Of its first axis.

        Returns
        -------
        float32
            Output axis first, as PyTorch would store it.
        """
        from gguf.quants import dequantize

        tensor = self.tensors[name]
        return np.asarray(dequantize(tensor.data[rows], tensor.tensor_type), dtype=np.float32)

    def read(self, name: str) -> NDArray[np.float32]:
        """Undo the quantisation of a whole tensor; see `read_rows`."""
        return self.read_rows(name, slice(None))

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer the metadata describes."""
        kinds = self.fields["tokenizer.ggml.token_type"]
        return Tokenizer(
            tokens=self.fields["tokenizer.ggml.tokens"],
            merges=self.fields["tokenizer.ggml.merges"],
            special_ids=[index for index, kind in enumerate(kinds) if kind in _SPECIAL_TYPES],
            chat_template=self.fields["tokenizer.chat_template"],
            bos_id=self.fields["tokenizer.ggml.bos_token_id"],
            eos_id=self.fields["tokenizer.ggml.eos_token_id"],
        )


def open_gguf(path: Path) -> GgufFile:
    """Parse a GGUF of the llama architecture with tied output.

    Parameters
    ----------
    path : Path
        The file; it stays mapped while the result lives.

    Returns
    -------
    GgufFile

    Raises
    ------
    UnavailableError
        The package ``gguf`` is missing, or the file is no such GGUF.
    """
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise missing_package("gguf", "read the model's weights") from error
    try:
        reader = GGUFReader(path)
    except (ValueError, IndexError, OSError) as error:
        raise UnavailableError(f"{path} is not a readable GGUF file", "delete it and start again") from error
    fields = {key: field.contents() for key, field in reader.fields.items()}
    architecture = fields.get("general.architecture")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if architecture != "llama" or "output.weight" in tensors:
        raise UnavailableError(f"{path} must hold a llama model with tied output, got {architecture!r}")
    return GgufFile(shape=_shape(fields), fields=fields, tensors=tensors)


def _shape(fields: Mapping[str, Any]) -> LlamaShape:
    return LlamaShape(
        layers=fields["llama.block_count"],
        width=fields["llama.embedding_length"],
        heads=fields["llama.attention.head_count"],
        key_value_heads=fields["llama.attention.head_count_kv"],
        feed_forward=fields["llama.feed_forward_length"],
        vocab_size=fields["llama.vocab_size"],
        context_length=fields["llama.context_length"],
        rope_base=fields["llama.rope.freq_base"],
        norm_epsilon=fields["llama.attention.layer_norm_rms_epsilon"],
    )


def write_weights(file: GgufFile, directory: Path, report: Callable[[int], None]) -> None:
    """Write a GGUF's weights and tokenizer into a directory; `read_weights` opens them.

    Parameters
    ----------
    file : GgufFile
        The source.
    directory : Path
        Exists and is empty.
    report : callable
        Called with the number of layers done so far.
    """
    shape = file.shape
    (directory / "shape.json").write_text(json.dumps(asdict(shape)), encoding="utf-8")
    (directory / "tokenizer.json").write_text(file.tokenizer().to_json(), encoding="utf-8")
    np.save(directory / "output_gain.npy", file.read("output_norm.weight"))
    with _new_array(directory, "embedding", (shape.vocab_size, shape.width)) as stream:
        for first in range(0, shape.vocab_size, _ROWS):
            rows = slice(first, min(first + _ROWS, shape.vocab_size))
            stream.write(file.read_rows("token_embd.weight", rows).data)
    _write_layers(file, directory, report)


def _write_layers(file: GgufFile, directory: Path, report: Callable[[int], None]) -> None:
    shape = file.shape
    fused = (shape.heads + 2 * shape.key_value_heads) * shape.head_width
    sizes = {
        "query_key_value": (shape.layers, shape.width, fused),
        "attention_output": (shape.layers, shape.width, shape.width),
        "gate_up": (shape.layers, shape.width, 2 * shape.feed_forward),
        "down": (shape.layers, shape.feed_forward, shape.width),
    }
    with ExitStack() as stack:
        streams = {name: stack.enter_context(_new_array(directory, name, sizes[name])) for name in sizes}
        for layer in range(shape.layers):
            for name, matrix in _fused_layer(file, layer).items():
                streams[name].write(np.ascontiguousarray(matrix.T).data)
            report(layer + 1)


def _fused_layer(file: GgufFile, layer: int) -> dict[str, NDArray[np.float32]]:
    block = f"blk.{layer}."
    scale = np.float32(file.shape.head_width**-0.5)
    query, key, value = (file.read(f"{block}attn_{part}.weight") for part in "qkv")
    gate, up = file.read(block + "ffn_gate.weight"), file.read(block + "ffn_up.weight")
    return {
        "query_key_value": np.concatenate([query * scale, key, value]) * file.read(block + "attn_norm.weight"),
        "attention_output": file.read(block + "attn_output.weight"),
        "gate_up": np.concatenate([gate, up]) * file.read(block + "ffn_norm.weight"),
        "down": file.read(block + "ffn_down.weight"),
    }


def _new_array(directory: Path, name: str, shape: tuple[int, ...]) -> BinaryIO:
    # Written as a stream, not through a memory map: a full disk is then an OSError, not a crash.
    stream = (directory / f"{name}.npy").open("wb")
    write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return stream


def read_weights(directory: Path) -> LlamaWeights:
    """Map the weights that `write_weights` wrote.

    Parameters
    ----------
    directory : Path
        Complete.

    Returns
    -------
    LlamaWeights
        Read-only arrays; their pages are loaded when first touched.

    Raises
    ------
    UnavailableError
        A file is missing or cut short.
    """
    try:
        shape = LlamaShape(**json.loads((directory / "shape.json").read_text(encoding="utf-8")))
        arrays = {name: np.load(directory / f"{name}.npy", mmap_mode="r") for name in _MATRICES}
    except (OSError, ValueError, TypeError) as error:
        raise UnavailableError(f"the weights in {directory} are incomplete", f"delete {directory}") from error
    # A plain view: indexing a memmap subclass costs microseconds per layer.
    return LlamaWeights(shape=shape, **{name: array.view(np.ndarray) for name, array in arrays.items()})


def read_tokenizer(directory: Path) -> Tokenizer:
    """Read the tokenizer that `write_weights` wrote.

    Parameters
    ----------
    directory : Path
        Complete.

    Returns
    -------
    Tokenizer
    """
    return Tokenizer.from_json((directory / "tokenizer.json").read_text(encoding="utf-8"))
