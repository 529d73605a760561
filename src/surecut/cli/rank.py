"""surecut rank"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from surecut.cli import options as o

if TYPE_CHECKING:
    from surecut.system.ranker import Ranking

HELP = """Search with a certificate in the middle: retrieve, prune, rerank the survivors only, fuse.

Example: surecut rank cert.json recipes/scifact/bm25-minilm.toml --query "vitamin D and immunity"
"""


def rank(
    certificate: o.CertificatePath,
    recipe: o.RecipePath,
    query: Annotated[
        list[str],
        typer.Option("--query", "-q", metavar="TEXT", help="What to search for; repeatable; - is stdin."),
    ],
    top: Annotated[int, typer.Option("--top", "-k", metavar="N", min=1, help="Documents to show.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Say how many were kept, and why.")] = False,
    any_system: o.AnySystem = False,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import load
    from surecut.cli.printing import err, print_json
    from surecut.cli.watching import watching
    from surecut.system.ranker import Ranker

    texts = _texts(query, str(certificate))
    with watching() as watch:
        ranker = Ranker(load(certificate), recipe, any_system=any_system, watch=watch)
    for note in ranker.notes:
        err.print(f"[yellow]warning:[/] {note}", soft_wrap=True)
    rankings = [(text, ranker.rank(text, top)) for text in texts]
    if json:
        print_json([_record(text, ranking) for text, ranking in rankings])
        return
    for text, ranking in rankings:
        _print(text, ranking, ranker.certificate.tail)
        if explain:
            _explain(ranker.certificate.statement, ranking)


def _texts(given: list[str], certificate: str) -> list[str]:
    """The queries, those on standard input in the place of a dash."""
    from surecut.errors import InputError
    from surecut.io.limits import LARGEST_LIST
    from surecut.io.piped import standard_text

    if [*given, certificate].count("-") > 1:
        raise InputError("standard input can be read once only")
    texts: list[str] = []
    for text in given:
        if text == "-":
            texts += [line.strip() for line in standard_text(LARGEST_LIST).split("\n") if line.strip()]
        else:
            texts.append(text)
    if not texts:
        raise InputError("no query on standard input: one a line is expected")
    return texts


def _record(text: str, ranking: "Ranking") -> dict[str, Any]:
    from dataclasses import asdict

    return {"query": text, **asdict(ranking)}


def _print(text: str, ranking: "Ranking", tail: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from surecut.cli.printing import out

    table = Table("", "document", "retriever", "reranker", "score", "", box=None, pad_edge=False)
    for place, found in enumerate(ranking.documents, start=1):
        second = "-" if found.reranker is None else f"{found.reranker:.4g}"
        score = "-" if found.score is None else f"{found.score:.4g}"
        start = " ".join(found.text.split())
        table.add_row(
            str(place),
            Text(found.doc_id),
            f"{found.retriever:.4g}",
            second,
            score,
            Text(start[:60] + ("..." if len(start) > 60 else "")),
        )
    pruned = {"drop": "the others are dropped", "append": "the others follow in retriever order"}[tail]
    others = f"; {pruned}" if ranking.kept < ranking.candidates else ""
    out.print(Text(text if len(text) <= 200 else f"{text[:200]}...", style="bold"))
    out.print(f"{ranking.kept:,} of {ranking.candidates:,} candidates reranked{others}", style="dim")
    if ranking.documents:
        out.print(table)


def _explain(statement: str, ranking: "Ranking") -> None:
    from surecut.cli.printing import out

    times = "   ".join(f"{step} {1000 * seconds:,.1f} ms" for step, seconds in ranking.seconds.items())
    out.print(f"kept   {ranking.kept:,} of {ranking.candidates:,}: {ranking.why}", soft_wrap=True)
    out.print(f"time   {times}")
    out.print(f"claim  {statement}", soft_wrap=True, markup=False)
