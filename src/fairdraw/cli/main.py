"""``fairdraw``: the commands, and what becomes of an error.

Exit codes: 0 done, 1 a failure, 2 a usage error.  ``compare``: 0 same, 1 differ, 2 any failure, 3 could not tell.
``translate``: 0 exact, 1 row-dependent, 2 any failure, 3 impossible.  ``redraw``: 0 the same tokens, 1 not, 2 any
failure.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

from fairdraw.errors import FairdrawError, UnavailableError

if TYPE_CHECKING:
    from cyclopts import CycloptsError

FAILURE, USAGE, INTERRUPTED = 1, 2, 130
COMMANDS = ("generate", "explain", "compare", "translate", "redraw", "score", "bench", "dialects", "warmup")


def main() -> None:
    """Run a command of ``sys.argv`` and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or file that cannot write a character gets a "?", not an error halfway.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return the exit code; every error becomes one sentence on stderr."""
    failure = USAGE if arguments[:1] in (["compare"], ["translate"], ["redraw"]) else FAILURE
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except FairdrawError as problem:
        # Those that are also ValueErrors are mistakes of the caller: a flag, a plan, a row.
        return _say(str(problem), USAGE if isinstance(problem, ValueError) else failure)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away; nothing is left to say, not even at exit.
        with contextlib.suppress(OSError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return failure
    except OSError as problem:
        return _say(f"cannot read or write: {problem.strerror or problem}", failure)
    except Exception as problem:
        return _unforeseen(problem, failure)
    return code


def _run(arguments: list[str]) -> int:
    try:
        from cyclopts import CycloptsError

        from fairdraw.cli.commands import app
    except ModuleNotFoundError as missing:
        package = (missing.name or "a package").partition(".")[0]
        hint = 'pip install "fairdraw[demo]"'
        raise UnavailableError(f"the command line needs {package}, which is not installed", hint) from None
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as problem:
        return _say(_usage(problem, arguments), USAGE)
    return code if isinstance(code, int) else 0


def _usage(problem: CycloptsError, arguments: list[str]) -> str:
    """What is wrong with the arguments, with a hint."""
    from cyclopts import UnusedCliTokensError

    command = f"fairdraw {arguments[0]}" if arguments[0] in COMMANDS else "fairdraw"
    if isinstance(problem, UnusedCliTokensError):
        extra = " ".join(problem.unused_tokens or ())
        return f"{command} does not know what to do with {extra!r}\nhint: a prompt or a plan stands in quotes"
    lists = "flags" if arguments[0] in COMMANDS else "commands"
    said = " ".join(str(problem).split()).removeprefix(f'Command "{arguments[0]}" parameter ')
    said = re.sub(r"unable to convert (.*) into float\b.*", r"\1 is not a number", said)
    said = re.sub(r"unable to convert (.*) into dict\b.*", r"\1 is no JSON object of ids and numbers", said)
    return f"{said}\nhint: {_joined_value(said, arguments) or f'{command} --help lists the {lists}'}"


def _joined_value(said: str, arguments: list[str]) -> str:
    """How a value that looks like a flag is given; "" where that is not the trouble."""
    flag = re.match(r"(--[\w-]+) requires an argument", said)
    after = arguments[arguments.index(flag[1]) + 1 :] if flag and flag[1] in arguments else []
    if flag is None or not after or " " not in after[0]:
        return ""
    return f"a value that begins with a dash stands after '=': {flag[1]}={shlex.quote(after[0])}"


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"fairdraw: {message}\n")
    return code


def _unforeseen(problem: Exception, code: int) -> int:
    """A fault of fairdraw itself: never a traceback unasked, and never the exit code of a verdict."""
    if os.environ.get("FAIRDRAW_TRACEBACK"):
        raise problem
    kind = type(problem).__name__
    return _say(f"an unforeseen {kind}: {problem}\nhint: FAIRDRAW_TRACEBACK=1 shows where; please report it", code)
