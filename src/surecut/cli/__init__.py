"""The command line: one module a verb, the same words as the Python API."""

import os
import sys


def main() -> None:
    """Run a verb; every fault of the input is one line on stderr and exit status 2."""
    import click

    from surecut.cli.app import app
    from surecut.errors import EvaluatorsDisagree, InputError

    try:
        status = app(standalone_mode=False)
    except click.exceptions.Abort:
        _stop("interrupted", 130)
    except KeyboardInterrupt:
        _stop("interrupted", 130)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "surecut"
        _stop(f"{error.format_message()} (see '{where} --help')", 2)
    except click.ClickException as error:
        _stop(error.format_message(), 2)
    except InputError as error:
        _stop(str(error), 2)
    except EvaluatorsDisagree as error:
        _stop(str(error), 70)
    except MemoryError:
        _stop("out of memory: cut the lists with --depth, or use fewer queries", 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)


def _stop(message: str, status: int) -> None:
    print(f"surecut: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(status)
