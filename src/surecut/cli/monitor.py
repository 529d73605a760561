"""surecut monitor start, add, show, restart"""

from typing import TYPE_CHECKING, Annotated

import typer

from surecut.cli import options as o
from surecut.errors import InputError
from surecut.monitoring import DEFAULT_STORE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from surecut.candidates import Candidates
    from surecut.monitoring.feedback import Feedback
    from surecut.monitoring.monitor import Added

HELP = """Is a certificate still believed? Evidence from feedback of the traffic, kept in a database.

Example: surecut monitor show cert.json
"""

START = """Begin to watch a certificate; everything that is declared here is declared before any feedback is seen.

With the calibration data, traffic is compared with it; without, with earlier traffic.

Example: surecut monitor start cert.json --retriever bm25.run --store monitor.db
"""

ADD = """Count feedback: queries of run files or a score table, or records as lines of JSON.

A query counts once, by its id. A record is {"id": ...} with what is known of it, at once or later: "ids" and
"retriever" (the candidates and their scores), "reranker" (of all of them, also pruned ones), "judgements" ({document:
grade}), or figures of your own: "measured", "full", "overlap".

Example: surecut monitor add cert.json --feedback feedback.jsonl --store monitor.db
"""

SHOW = """Is the certificate still believed, on what evidence, and what to do if it is not.

Exit status: 0 believed, in doubt or not watched yet, 1 not believed any more.

Example: surecut monitor show cert.json --store monitor.db
"""

RESTART = """Begin a new period: evidence, alarms and looks start afresh; what is not declared anew stays.

After a change, only feedback that comes in from here on counts, and recalibrates.

Example: surecut monitor restart cert.json --store monitor.db
"""

_ALARMS = "Alarms"

FeedbackFile = Annotated[
    str | None,
    typer.Option("--feedback", metavar="JSONL", help="Records, one a line (- is stdin).", rich_help_panel=o.DATA),
]
AlarmAt = Annotated[
    float,
    typer.Option(
        "--alarm-at",
        metavar="E",
        help="Evidence that raises an alarm: at most one false alarm in E, ever.",
        rich_help_panel=_ALARMS,
    ),
]
RecentAt = Annotated[
    float,
    typer.Option(
        "--recent-alarm-at",
        metavar="E",
        help="Evidence of a recent change that does: at least E queries to a false alarm, on average.",
        rich_help_panel=_ALARMS,
    ),
]
Floor = Annotated[
    str | None,
    typer.Option(
        "--agreement",
        metavar="SHARE@K",
        help="The least agreement with the unpruned top k to expect of shadow reranking, like 0.9@10; without it there "
        "is no alarm.",
        rich_help_panel=_ALARMS,
    ),
]
FirstLook = Annotated[
    int | None,
    typer.Option(
        "--first-look",
        metavar="N",
        min=30,
        help="Complete queries of the first recalibration; each further look takes twice as many. As many as the "
        "certificate rests on, if not given.",
        rich_help_panel=o.METHOD,
    ),
]

BelieveAgain = Annotated[
    bool,
    typer.Option(
        "--believe-again",
        help="What made the claim false was mended: the certificate that was not believed is, until new evidence.",
        rich_help_panel=_ALARMS,
    ),
]


def start(
    certificate: o.CertificatePath,
    retriever: o.Retriever = None,
    table: o.Table = None,
    depth: o.Depth = None,
    store: o.StorePlace = DEFAULT_STORE,
    alarm_at: AlarmAt = 20.0,
    recent_alarm_at: RecentAt = 1000.0,
    agreement: Floor = None,
    first_look: FirstLook = None,
    tune_fraction: o.TuneFraction = 0.2,
    any_length: o.AnyLength = False,
) -> None:
    from surecut.cli.loading import load, refuse_two_pipes
    from surecut.cli.printing import err
    from surecut.cli.values import chosen_agreement
    from surecut.monitoring.monitor import Monitor
    from surecut.monitoring.streams import Levels

    refuse_two_pipes(certificate, retriever)
    levels = Levels(alarm_at, recent_alarm_at)
    floor = None if agreement is None else chosen_agreement(agreement)
    loaded = load(certificate)
    reference = _reference(retriever, table, depth)
    monitor = Monitor(loaded, store)
    monitor.start(
        reference,
        levels=levels,
        floor=floor,
        first_look=first_look,
        tune_fraction=tune_fraction,
        any_length=any_length,
    )
    beside = "earlier traffic" if reference is None else f"{len(reference):,} reference queries"
    err.print(f"watched in {monitor.store.name}; traffic is compared with {beside}", soft_wrap=True, markup=False)


def add(
    certificate: o.CertificatePath,
    feedback: FeedbackFile = None,
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    depth: o.Depth = None,
    missing_reranker: o.MissingReranker = "error",
    store: o.StorePlace = DEFAULT_STORE,
    json: o.Json = False,
) -> None:
    from dataclasses import asdict

    from surecut.cli.loading import load, load_data, refuse_two_pipes, working
    from surecut.cli.printing import err, print_json
    from surecut.monitoring.monitor import Monitor

    refuse_two_pipes(certificate, feedback, retriever, reranker, qrels)
    if (feedback is None) == (retriever is None and table is None):
        raise InputError("give the feedback as --feedback JSONL, as --retriever RUN, or as --table DIR")
    monitor = Monitor(load(certificate), store)
    is_new = not monitor.standing().period
    if feedback is not None:
        with working("counting"):
            added = monitor.add(_records(feedback))
    else:
        data = load_data(retriever, reranker, qrels, table, depth=depth, missing_reranker=missing_reranker)
        with working("counting"):
            added = monitor.add_data(data)
    if json:
        print_json(asdict(added))
    else:
        err.print(_counted(added), style="dim", soft_wrap=True)
    if is_new and monitor.standing().period:
        others = "with others it begins by surecut monitor start, before any feedback"
        err.print(f"it is watched from here on, with the usual settings; {others}", style="dim", soft_wrap=True)


def show(certificate: o.CertificatePath, store: o.StorePlace = DEFAULT_STORE, json: o.Json = False) -> None:
    from surecut.cli.loading import load
    from surecut.cli.printing import print_json
    from surecut.cli.standing import print_standing
    from surecut.monitoring.monitor import Monitor
    from surecut.monitoring.store import Store
    from surecut.monitoring.streams import STREAMS

    loaded = load(certificate)
    monitor = Monitor(loaded, Store(store, create=False))
    standing = monitor.standing()
    if json:
        print_json(standing.to_dict())
    else:
        print_standing(standing, {name: monitor.history(name, points=15) for name in STREAMS})
    raise typer.Exit(1 if standing.alarmed else 0)


def restart(
    certificate: o.CertificatePath,
    retriever: o.Retriever = None,
    table: o.Table = None,
    depth: o.Depth = None,
    store: o.StorePlace = DEFAULT_STORE,
    agreement: Floor = None,
    first_look: FirstLook = None,
    believe_again: BelieveAgain = False,
) -> None:
    from surecut.cli.loading import load, refuse_two_pipes
    from surecut.cli.printing import err
    from surecut.cli.values import chosen_agreement
    from surecut.monitoring.monitor import Monitor
    from surecut.monitoring.store import Store

    refuse_two_pipes(certificate, retriever)
    loaded = load(certificate)
    reference = _reference(retriever, table, depth)
    monitor = Monitor(loaded, Store(store, create=False))
    floor = None if agreement is None else chosen_agreement(agreement)
    monitor.restart(reference, floor=floor, first_look=first_look, believe_again=believe_again)
    err.print(f"period {monitor.standing().period} begins: only what comes in from here on counts", style="dim")


def _reference(retriever: str | None, table: str | None, depth: int | None) -> "Candidates | None":
    """What traffic is compared with, if it was named."""
    from surecut.cli.loading import load_data

    return None if retriever is None and table is None else load_data(retriever, None, None, table, depth=depth)


def _records(path: str) -> "Iterator[Feedback]":
    from surecut.io.piped import standard_input
    from surecut.io.unpacking import DAMAGED, unpacked
    from surecut.monitoring.feedback import read_feedback

    if path == "-":
        with standard_input() as stream:
            yield from read_feedback(stream, "standard input")
        return
    try:
        with open(path, "rb") as file:
            yield from read_feedback(unpacked(file, path), path)
    except DAMAGED as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _counted(added: "Added") -> str:
    from surecut.monitoring.streams import TITLES

    streams = ", ".join(f"{count:,} for the {TITLES[name]}" for name, count in added.counted.items())
    known = f"; {added.known:,} said nothing new" if added.known else ""
    others = f"; {added.others:,} are about another certificate" if added.others else ""
    return f"{added.records:,} records: {streams}{known}{others}"
