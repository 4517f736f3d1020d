"""Kernels against NumPy on many random calls: python benches/same_token.py [PAIRS] [SEED]

Rows of every form, masks, histories and plans as in tests/kernels/random_pairs.py; prints how many tokens differ.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

import fairdraw as fd
from fairdraw.kernels import backends
from fairdraw.kernels.drawing import program_of

# In place of this folder, whose kernels.py would hide the tests of that name.
sys.path[0] = str(Path(__file__).parents[1] / "tests")
from kernels.random_pairs import (  # noqa: E402
    random_edits,
    random_form,
    random_history,
    random_mask,
    random_plan,
    random_row,
)


def said(backend: str, plan: fd.Plan, row: np.ndarray, arguments: dict[str, object]) -> object:
    """A token, or the words of an error."""
    backends.chosen = lambda: backend
    try:
        return fd.sample(plan, row, **arguments).token  # type: ignore[arg-type]
    except fd.FairdrawError as problem:
        return str(problem)


def main(pairs: int, seed: int) -> None:
    rng, modes, differ = np.random.default_rng(seed), Counter(), 0
    while modes.total() < pairs:
        row, base = random_row(rng), random_plan(rng)
        stages = [*random_edits(rng, row.size), *(stage for stage in base.stages if stage.name != "mask")]
        plan = fd.Plan.of(*stages, draw=base.draw)
        program = program_of(plan)
        if program is None:
            continue
        form = random_form(rng, row)
        arguments = {
            "seed": int(rng.integers(0, 2**64, dtype=np.uint64)),
            "position": int(rng.integers(0, 2**32)),
            "sample_index": int(rng.integers(0, 2**32)),
            "history": random_history(rng, row.size),
            "mask": random_mask(rng, row.size),
        }
        kernel, plain = (said(backend, plan, form, arguments) for backend in ("numba", "numpy"))
        modes["error" if isinstance(plain, str) else program.mode] += 1
        if kernel != plain:
            differ += 1
            print("differs:", plan, form.dtype, form.size, kernel, plain, flush=True)
    print(f"{pairs} calls, {differ} differ; {dict(modes)}")


if __name__ == "__main__":
    main(*(int(text) for text in (*sys.argv[1:], *("20000", "1")[len(sys.argv) - 1 :])))
