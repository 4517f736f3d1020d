"""Random streams: pure functions from a seed and counters to noise."""
