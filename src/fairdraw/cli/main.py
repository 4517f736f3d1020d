"""``fairdraw``: the commands, and what becomes of an error.

Exit codes: 0 done, 1 a failure, 2 a usage error.  ``compare``: 0 same, 1 differ, 2 any failure, 3 could not tell.
"""

from __future__ import annotations

import os
import sys

from fairdraw.errors import FairdrawError, ParameterError, PlanError, UnavailableError

FAILURE, USAGE, INTERRUPTED = 1, 2, 130


def main() -> None:
    """Run a command of ``sys.argv`` and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return the exit code; every error becomes one sentence on stderr."""
    compares = arguments[:1] == ["compare"]
    try:
        try:
            from cyclopts import CycloptsError

            from fairdraw.cli.commands import app
        except ModuleNotFoundError as missing:
            package = (missing.name or "a package").partition(".")[0]
            hint = 'pip install "fairdraw[demo]"'
            raise UnavailableError(f"the command line needs {package}, which is not installed", hint) from None
        try:
            code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
            sys.stdout.flush()
        except CycloptsError as problem:
            return _say(str(problem).strip(), "fairdraw --help lists the commands", USAGE)
        return code if isinstance(code, int) else 0
    except (ParameterError, PlanError) as problem:
        return _say(str(problem), "", USAGE)
    except FairdrawError as problem:
        return _say(str(problem), "", USAGE if compares else FAILURE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away; nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _say(message: str, hint: str, code: int) -> int:
    text = f"fairdraw: {message}" + (f"\nhint: {hint}" if hint and "hint:" not in message else "")
    sys.stderr.write(text + "\n")
    return code
