"""The command line: one module a verb, the same words as the Python API."""

import sys
from collections.abc import Sequence

from surecut.cli.interrupts import interrupt_cleanly, stopped_by

_TYPERS_INTERRUPTED = 130


def main() -> None:
    """Run a verb; every fault of the input is one line on stderr (and commands that mend it), and exit status 2."""
    interrupt_cleanly()
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        _stop(*stopped_by())


def _run() -> int:
    import typer

    from surecut.cli.app import app
    from surecut.cli.printing import forget
    from surecut.errors import EvaluatorsDisagree, InputError

    status = 0
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.Abort:
        _stop(*stopped_by())
    except typer.TyperException as error:
        if not error.format_message().strip():  # a group without a verb has shown its help
            return 2
        context = getattr(error, "ctx", None)
        _stop(f"{error.format_message()} (see '{context.command_path if context else 'surecut'} --help')", 2)
    except InputError as error:
        _stop(error.sentence, 2, error.commands)
    except EvaluatorsDisagree as error:
        _stop(str(error), 70)
    except MemoryError:
        _stop("out of memory: cut the lists with --depth, or use fewer queries", 2)
    except SystemExit:  # the reader of a help text went away; typer answers that by leaving
        forget(sys.stdout)
    except OSError as error:
        forget(sys.stdout)
        _stop(f"{error.filename or 'standard output'}: {error.strerror or error}", 2)
    if status == _TYPERS_INTERRUPTED:  # how typer reports Ctrl-C
        _stop(*stopped_by())
    return status if isinstance(status, int) else 0


def _stop(message: str, status: int, commands: Sequence[str] = ()) -> None:
    print(f"surecut: {' '.join(message.split())}", *commands, sep="\n  ", file=sys.stderr)
    sys.exit(status)
