"""fairdraw: logits into tokens, exactly, reproducibly and provably."""
