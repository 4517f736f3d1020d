"""Kernels for the CPU, compiled by Numba on first use.  Nothing outside `fairdraw.kernels` imports this."""
