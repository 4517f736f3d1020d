"""Other samplers, one a file, each on the same rows and in the same run as fairdraw."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.benchmarks.contenders import Contender
from fairdraw.benchmarks.peers.candle import CANDLE
from fairdraw.benchmarks.peers.torch_multinomial import TORCH
from fairdraw.benchmarks.peers.transformers_chain import TRANSFORMERS
from fairdraw.benchmarks.peers.vllm_native import VLLM

PEERS: MappingProxyType[str, Contender] = MappingProxyType(
    {peer.name: peer for peer in (TORCH, TRANSFORMERS, VLLM, CANDLE)}
)
"""Name to peer, in the order of the tables."""
