"""Reading what the data options name, with a sign of life while it takes long."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surecut.candidates import Candidates
from surecut.certificate import Certificate, load_certificate, parse_certificate
from surecut.errors import InputError
from surecut.runners import LOCAL, Runner
from surecut.signing import Trusted, asks_for_signatures
from surecut.watching import SILENT, Watch

if TYPE_CHECKING:
    from surecut.io.score_table import ScoreTable

trusted_keys: ContextVar[Path | None] = ContextVar("trusted_keys", default=None)
"""The file that --trusted-keys names; None leaves it to the environment."""


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the time so far, on stderr, when a person is looking."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from surecut.cli.printing import own_stderr

    with own_stderr() as console:
        if not console.is_terminal:
            yield
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            progress.add_task(what)
            yield


def load_data(
    retriever: str | None,
    reranker: str | None,
    qrels: str | None,
    table: str | None,
    *,
    depth: int | None = None,
    missing_reranker: str = "error",
    absent: str = "skip",
    groups: Mapping[str, str] | None = None,
) -> Candidates:
    """All that run files or a score table hold, in memory."""
    from surecut.cli.watching import watching

    reading: dict[str, Any] = {"missing_reranker": missing_reranker, "absent": absent, "groups": groups}
    with watching() as watch:
        data = open_data(retriever, reranker, qrels, table, depth=depth, watch=watch, **reading)
        return data if isinstance(data, Candidates) else data.collect()


def open_data(
    retriever: str | None,
    reranker: str | None,
    qrels: str | None,
    table: str | None,
    *,
    depth: int | None = None,
    missing_reranker: str = "error",
    absent: str = "skip",
    groups: Mapping[str, str] | None = None,
    runner: Runner = LOCAL,
    watch: Watch = SILENT,
) -> "Candidates | ScoreTable":
    """What run files hold; or a score table, which may be larger than memory."""
    options: dict[str, Any] = {"depth": depth, "missing_reranker": missing_reranker, "absent": absent}
    if table is not None and retriever is not None:
        raise InputError("--retriever and --table are both given: the data comes from one of them")
    if table is None and retriever is None:
        raise InputError("give the data as --retriever RUN (with --reranker and --qrels), or as --table DIR")
    if runner is not LOCAL and (table is None or run_in(table) is not None):
        what = "run files" if table is None else f"{table}, which holds run files"
        raise InputError(f"--runner ray works on score tables, piece by piece, and not on {what}: see surecut score")
    data: Candidates | ScoreTable
    if table is not None:
        if reranker or qrels:
            raise InputError(
                "--table brings its own reranker scores (the column 'reranker') and judgements (qrels.parquet in its "
                "folder, with query_id, doc_id and relevance): put them there"
            )
        data = _open_folder(table, options, runner, watch)
    else:
        refuse_two_pipes(retriever, reranker, qrels)
        from surecut.io.trec import read_trec

        watch.stage("reading")
        data = read_trec(str(retriever), reranker, qrels, **options)
    if groups is None:
        return data
    _refuse_two_groupings(data, table)
    if not any(query in groups for query in data.query_ids):
        raise InputError(
            f"--groups names none of the queries of {table or retriever}; lines are 'query group', with the ids of "
            "the run, and one file is for all data that are read"
        )
    return data.with_groups(groups)


def open_tuning(
    table: str | None, *, groups: Mapping[str, str] | None = None, **options: Any
) -> "Candidates | ScoreTable | None":
    """The table of other queries to tune on; none of them need be in a group."""
    if table is None:
        return None
    data = open_data(None, None, None, table, **options)
    if groups is None:
        return data
    _refuse_two_groupings(data, table)
    return data.with_groups(groups)


def _refuse_two_groupings(data: "Candidates | ScoreTable", table: str | None) -> None:
    """Queries that share a group by the one may not by the other."""
    if data.groups is not None:
        raise InputError(f"{table}: has a column 'group', and --groups is given too: give one of them")


def groups_in(path: str | None) -> Mapping[str, str] | None:
    """What the file that --groups names says, read once for all data."""
    from surecut.io.groups import read_groups

    return None if path is None else read_groups(path)


def run_in(folder: str) -> Path | None:
    """The retriever's run in a folder of run files, under the names that `surecut demo --files` gives them."""
    run = Path(folder) / "retriever.run"
    return run if run.exists() else None


def _open_folder(folder: str, options: dict[str, Any], runner: Runner, watch: Watch) -> "Candidates | ScoreTable":
    """A score table, or a folder of run files."""
    from surecut.io.table import scan_table
    from surecut.io.trec import read_trec

    run = run_in(folder)
    if run is None:
        return scan_table(folder, runner=runner, watch=watch, **options)
    watch.stage("reading")
    others = (run.with_name(name) for name in ("reranker.run", "qrels.txt"))
    return read_trec(str(run), *(str(path) if path.exists() else None for path in others), **options)


def refuse_two_pipes(*sources: Any) -> None:
    """Only one of the inputs can be standard input."""
    if [str(each) for each in sources].count("-") > 1:
        raise InputError("standard input can be read once only: name a file for the others")


def load(path: Any) -> Certificate:
    """A certificate from a file, or from standard input, signed with a trusted key if there are any."""
    return _load(path, trusted_keys.get())


def load_to_sign(path: Any) -> Certificate:
    """The same, but whoever signs need not trust who signed before."""
    return _load(path, False)


def _load(path: Any, trusted: Trusted) -> Certificate:
    if str(path) == "-":
        from surecut.io.limits import LARGEST_DOCUMENT
        from surecut.io.piped import standard_text

        return parse_certificate(standard_text(LARGEST_DOCUMENT), "standard input", trusted=trusted)
    return load_certificate(path, trusted=trusted)


def signer_in_words(certificate: Certificate) -> str:
    """Who signed it, and what that is worth here."""
    if certificate.signature is None:
        return "none"
    worth = "trusted" if asks_for_signatures(trusted_keys.get()) else "not checked: no keys are trusted here"
    return f"key {certificate.signature.key.fingerprint} ({worth})"
