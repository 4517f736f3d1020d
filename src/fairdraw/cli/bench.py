"""``fairdraw bench``: what a draw costs beside one read of its row, and beside other samplers, in the same run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter, Token
from numpy.typing import NDArray

from fairdraw.arrays import MOST_IDS, as_logits
from fairdraw.benchmarks.cases import ALL, FILE, SIZES, Case, cases_of
from fairdraw.benchmarks.machine import count_cores, this_machine
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.peers import PEERS
from fairdraw.benchmarks.results import findings, losses
from fairdraw.benchmarks.rows import KINDS
from fairdraw.benchmarks.running import Missing, find_missing, run_cases, wait_for_kernels
from fairdraw.benchmarks.timing import BUDGET_NS
from fairdraw.cli.bench_tables import print_findings, print_tables
from fairdraw.cli.flags import WHOLE
from fairdraw.cli.inputs import Source
from fairdraw.cli.output import print_json, words
from fairdraw.dialects.reading import did_you_mean
from fairdraw.domains import Whole, require
from fairdraw.errors import ParameterError, PlanError
from fairdraw.models.progress import progress

MOST_NUMBERS = 2**28
"""Of a batch: 1 GiB of float32."""
STDOUT = "-"
NO_PEERS = "none"


def _list(kind: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Words: one or several a place, with commas between."""
    return tuple(part.strip() for token in tokens for part in token.value.split(","))


def _numbers(kind: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    parts = _list(kind, tokens)
    for part in parts:
        if not re.fullmatch(r"[0-9]{1,10}", part):
            raise ValueError(f"{part!r} is not a whole number, nor several with commas between")
    return tuple(int(part) for part in parts)


def _several(reading: Any) -> Parameter:
    return Parameter(converter=reading, consume_multiple=True, json_list=False, negative="", show_default=False)


Words = Annotated[tuple[str, ...], _several(_list)]
Numbers = Annotated[tuple[int, ...], _several(_numbers)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What to measure, as the flags say it; what is not said, the size says."""

    size: Literal["quick", "full"] = "quick"
    """quick: rows one by one in one thread, about a minute. full: every mode, kind and vocabulary, and batches."""
    modes: Words = ()
    """greedy temperature top_k top_k_top_p top_p min_p."""
    vocab: Numbers = ()
    """Widths of the synthetic rows: 49152 128256."""
    rows: Words = ()
    """peaky lm-like long-tail flat equal half-inf, and file for those of --rows-file."""
    rows_file: str | None = None
    """Rows of logits to draw from: .npy, .npz or .safetensors. Alone if --rows names no others."""
    tensor: str | None = None
    """Name of the array in a .npz or .safetensors file that has several."""
    batch: Numbers = ()
    """Rows in one call: 1 8 64 256."""
    threads: Words = ()
    """1, another number, or all."""
    peers: Words = ()
    """torch transformers vllm candle, or none. If not given: all that are installed."""
    repeats: Annotated[int | None, WHOLE] = None
    """Turns of every contender in every case. If not given: 15 or 31, fewer where one is slow."""


def bench_command(asked: Bench, *, to_json: str | None) -> int:
    """Measure and print; words go to stderr, and with ``--json -`` only JSON to stdout."""
    _check_target(to_json)
    machine = this_machine()
    asked, file_rows = _with_file(asked)
    cases = _cases(asked, file_rows)
    repeats = None if asked.repeats is None else int(require("--repeats", asked.repeats, Whole(1)))  # type: ignore[call-overload]
    names = _peers(asked.peers)
    missing = find_missing(names)
    able = [name for name in names if name not in missing]
    words("waiting for the kernels")
    kernels = wait_for_kernels(list(dict.fromkeys(case.mode for case in cases)))
    words(f"{len(cases)} case{'s' if len(cases) != 1 else ''}")
    with progress("Measuring", len(cases)) as show:
        results = list(
            run_cases(
                cases,
                able,
                repeats=repeats or SIZES[asked.size].repeats,
                budget_ns=BUDGET_NS if repeats is None else None,
                file_rows=file_rows,
                on_progress=show,
            )
        )
    found, lost = findings(results), losses(results, able)
    if to_json != STDOUT:
        print_tables(machine, kernels, names, missing, results)
        print_findings(found, lost)
    if to_json is not None:
        data = {
            "machine": machine.to_json(),
            "kernels": kernels,
            "size": asked.size,
            "peers": [_peer_json(name, missing.get(name)) for name in names],
            "cases": [result.to_json() for result in results],
            "findings": [finding.to_json() for finding in found],
            "losses": [loss.to_json() for loss in lost],
        }
        _write_json(data, to_json)
    return 0


def _check_target(to_json: str | None) -> None:
    """Say before a long run that its result has no place."""
    if to_json is None or to_json == STDOUT:
        return
    path = Path(to_json)
    if not to_json or path.is_dir() or not path.parent.is_dir():
        raise ParameterError("--json", to_json, "a file in a folder that exists, or - for standard output")


def _write_json(data: Mapping[str, Any], target: str) -> None:
    if target == STDOUT:
        print_json(data)
        return
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2)
    Path(target).write_text(text + "\n", encoding="utf-8")
    words(f"written to {target}")


def _with_file(asked: Bench) -> tuple[Bench, NDArray[np.float32] | None]:
    """The rows of ``--rows-file``, and what is asked with them."""
    if asked.rows_file is None:
        for flag, given in (("--tensor", asked.tensor is not None), (f"--rows {FILE}", FILE in asked.rows)):
            if given:
                raise PlanError(f"{flag} needs --rows-file", "it speaks of the rows of a file")
        return asked, None
    kinds = asked.rows or (FILE,)
    if FILE not in kinds:
        raise PlanError("--rows-file needs --rows file, or no --rows", "its rows would not be measured")
    if asked.vocab and set(kinds) == {FILE}:
        raise PlanError(
            "--vocab needs synthetic rows", "--rows file peaky measures both; a file has a width of its own"
        )
    try:
        rows = Source(logits=asked.rows_file, tensor=asked.tensor).rows(None)
    except ParameterError as problem:
        if problem.parameter != "--logits":
            raise
        raise ParameterError("--rows-file", problem.value, problem.domain, problem.hint) from None
    assert rows is not None
    checked = [as_logits(row, f"logits row {n}") for n, row in zip(rows.numbers, rows.logits, strict=True)]
    return replace(asked, rows=kinds), np.stack(checked)


def _cases(asked: Bench, file_rows: NDArray[np.float32] | None) -> tuple[Case, ...]:
    for flag, given, known in (("--modes", asked.modes, (*MODES,)), ("--rows", asked.rows, (*KINDS, FILE))):
        _require_known(flag, given, known)
    for number in asked.vocab:
        require("--vocab", number, Whole(1, MOST_IDS))
    for number in asked.batch:
        require("--batch", number, Whole(1, MOST_NUMBERS))
    cores = count_cores()
    axes = {
        "modes": asked.modes,
        "vocab": asked.vocab,
        "rows": asked.rows,
        "batch": asked.batch,
        "threads": [_threads(word, cores) for word in asked.threads],
    }
    width = None if file_rows is None else file_rows.shape[1]
    cases = cases_of(SIZES[asked.size], axes, cores=cores, file_vocab=width)
    for case in cases:
        if case.batch * case.vocab > MOST_NUMBERS:
            domain = f"at most {MOST_NUMBERS // case.vocab} where the vocabulary is {case.vocab}"
            raise ParameterError("--batch", case.batch, domain, "a batch holds at most 2^28 logits")
    return cases


def _threads(word: str, cores: int) -> int:
    if word == "all":
        return ALL
    if not re.fullmatch(r"[0-9]{1,6}", word) or not 1 <= int(word) <= cores:
        raise ParameterError("--threads", word, f"a whole number in 1..{cores}, or all")
    return int(word)


def _peers(given: tuple[str, ...]) -> tuple[str, ...]:
    if given == (NO_PEERS,):
        return ()
    _require_known("--peers", given, (*PEERS,), f"{NO_PEERS} stands alone" if NO_PEERS in given else "")
    return tuple(name for name in PEERS if name in given) or tuple(PEERS)


def _require_known(flag: str, given: Sequence[str], known: Sequence[str], hint: str = "") -> None:
    for name in given:
        if name not in known:
            raise ParameterError(flag, name, f"of {', '.join(known)}", hint or did_you_mean(name, known))


def _peer_json(name: str, missing: Missing | None) -> dict[str, object]:
    peer = PEERS[name]
    state = {"measured": True} if missing is None else {"measured": False, "why": missing.why, "hint": missing.hint}
    return {"name": name, "meaning": peer.meaning, "lacks": list(peer.lacks), **state}
