"""Kernels: plans that people use, the same tokens, faster.  `shapes` says which plans; `backends` who runs them."""
