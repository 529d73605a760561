"""The command line: one module a verb, the same words as the Python API."""

import os
import sys
from contextlib import suppress

INTERRUPTED = 130


def main() -> None:
    """Run a verb; every fault of the input is one line on stderr and exit status 2."""
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        _stop("interrupted", INTERRUPTED)


def _run() -> int:
    import typer

    from surecut.cli.app import app
    from surecut.errors import EvaluatorsDisagree, InputError

    status = 0
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()  # here, where a reader who went away is seen
    except typer.Abort:
        _stop("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        _stop(f"{error.format_message()} (see '{context.command_path if context else 'surecut'} --help')", 2)
    except InputError as error:
        _stop(str(error), 2)
    except EvaluatorsDisagree as error:
        _stop(str(error), 70)
    except MemoryError:
        _stop("out of memory: cut the lists with --depth, or use fewer queries", 2)
    except (BrokenPipeError, SystemExit):  # the reader of our output went away; typer answers that by leaving
        _forget_output()
    except OSError as error:
        _forget_output()
        _stop(f"{error.filename or 'standard output'}: {error.strerror or error}", 2)
    if status == INTERRUPTED:  # how typer reports Ctrl-C
        _stop("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _forget_output() -> None:
    """What is still in the buffer of standard output cannot be written, and need not be."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(message: str, status: int) -> None:
    print(f"surecut: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(status)
