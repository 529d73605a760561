"""The verbs, each with an example in its help."""

from pathlib import Path
from typing import Annotated, Any

import typer

from surecut.cli import (
    assess,
    calibrate,
    check,
    demo,
    diff,
    export,
    loading,
    monitor,
    plan,
    prune,
    rank,
    recalibrate,
    report,
    score,
    serve,
    show,
    sign,
    speedup,
    trials,
    verify,
)
from surecut.version import __version__

app = typer.Typer(
    name="surecut",
    help=(
        "How few candidates does your reranker have to see, with a guarantee?\n\n"
        "Start with: surecut demo\n\n"
        "Then: surecut calibrate --retriever bm25.run --reranker mono.run --qrels qrels.txt -o cert.json"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"surecut {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    trusted_keys: Annotated[
        Path | None,
        typer.Option(
            "--trusted-keys",
            metavar="FILE",
            help="Take only certificates that are signed with one of these public keys (or set SURECUT_TRUSTED_KEYS).",
        ),
    ] = None,
) -> None:
    """The verbs below share their options; each shows an example in its --help."""
    loading.trusted_keys.set(trusted_keys)


app.command("demo", help=demo.HELP)(demo.demo)
app.command("calibrate", help=calibrate.HELP)(calibrate.calibrate)
app.command("assess", help=assess.HELP)(assess.assess)
app.command("prune", help=prune.HELP)(prune.prune)
app.command("check", help=check.HELP)(check.check)
app.command("verify", help=verify.HELP)(verify.verify)
app.command("sign", help=sign.HELP)(sign.sign)
app.command("show", help=show.HELP)(show.show)
app.command("diff", help=diff.HELP)(diff.diff)
app.command("plan", help=plan.HELP)(plan.plan)
app.command("report", help=report.HELP)(report.report)
app.command("trials", help=trials.HELP)(trials.trials)
app.command("score", help=score.HELP)(score.score)
app.command("rank", help=rank.HELP)(rank.rank)
app.command("export", help=export.HELP)(export.export)
app.command("speedup", help=speedup.HELP)(speedup.speedup)
app.command("serve", help=serve.HELP)(serve.serve)
app.command("recalibrate", help=recalibrate.HELP)(recalibrate.recalibrate)

watched = typer.Typer(help=monitor.HELP, no_args_is_help=True, rich_markup_mode="markdown")
watched.command("start", help=monitor.START)(monitor.start)
watched.command("add", help=monitor.ADD)(monitor.add)
watched.command("show", help=monitor.SHOW)(monitor.show)
watched.command("restart", help=monitor.RESTART)(monitor.restart)
app.add_typer(watched, name="monitor")


def verbs() -> dict[str, Any]:
    """Every command by the words that are typed, those of a group as "monitor show"."""
    named: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inside = getattr(command, "commands", None)
        named |= {name: command} if inside is None else {f"{name} {inner}": each for inner, each in inside.items()}
    return named
