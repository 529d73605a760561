"""Options that several verbs share, declared once."""

from pathlib import Path
from typing import Annotated

import typer

from surecut.bounds import TESTS
from surecut.errors import InputError
from surecut.measures import FAMILIES
from surecut.rules import RULES
from surecut.targets import Target, agreement, at_least, max_drop

DATA, CLAIM, METHOD, OUTPUT = "Data", "Claim", "Method", "Output"

Retriever = Annotated[
    str | None,
    typer.Option("--retriever", metavar="RUN", help="The retriever's TREC run (- is stdin).", rich_help_panel=DATA),
]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="RUN",
        help="The reranker's TREC run of the same candidates.",
        rich_help_panel=DATA,
    ),
]
Qrels = Annotated[
    str | None,
    typer.Option(
        "--qrels",
        metavar="QRELS",
        help="Judgements: TREC's four columns or BEIR's three.",
        rich_help_panel=DATA,
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="DIR",
        help="A score table instead of run files (example:NAME is one that ships).",
        rich_help_panel=DATA,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", metavar="N", help="Cut every retriever list here first.", rich_help_panel=DATA),
]
MissingReranker = Annotated[
    str,
    typer.Option(
        "--missing-reranker",
        metavar="error|lowest",
        help="What a candidate without a reranker score means.",
        rich_help_panel=DATA,
    ),
]
Absent = Annotated[
    str,
    typer.Option("--absent", metavar="skip|zero", help="Judged queries that are not in the run.", rich_help_panel=DATA),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="TSV",
        help="Lines 'query group': near-duplicates that count as one.",
        rich_help_panel=DATA,
    ),
]
AnySystem = Annotated[
    bool,
    typer.Option(
        "--any-system",
        help="Apply even if the data names another retriever or reranker.",
        rich_help_panel=DATA,
    ),
]
AnyLength = Annotated[
    bool,
    typer.Option("--any-length", help="Apply to lists longer or shorter than any calibrated on.", rich_help_panel=DATA),
]
MeasureName = Annotated[
    str,
    typer.Option(
        "--measure",
        metavar="NAME",
        help=f"{FAMILIES.help()}; with @k and (rel=2) as in ir-measures.",
        rich_help_panel=CLAIM,
    ),
]
AtLeastValue = Annotated[
    str | None,
    typer.Option("--at-least", metavar="VALUE", help="The mean is at least this.", rich_help_panel=CLAIM),
]
MaxDropValue = Annotated[
    str | None,
    typer.Option(
        "--max-drop",
        metavar="SHARE",
        help="At most this far below reranking everything: 1% or 0.01 (the default).",
        rich_help_panel=CLAIM,
    ),
]
MaxDropAbs = Annotated[
    str | None,
    typer.Option(
        "--max-drop-abs",
        metavar="POINTS",
        help="The same in points of the measure: 0.004.",
        rich_help_panel=CLAIM,
    ),
]
AgreementValue = Annotated[
    str | None,
    typer.Option(
        "--agreement",
        metavar="SHARE@K",
        help="Overlap with the unpruned top k, without judgements: 0.95@10.",
        rich_help_panel=CLAIM,
    ),
]
Confidence = Annotated[
    str,
    typer.Option(
        "--confidence",
        metavar="SHARE",
        help="Probability with which the claim is to hold.",
        rich_help_panel=CLAIM,
    ),
]
RuleName = Annotated[str, typer.Option("--rule", metavar="NAME", help=f"{RULES.help()}.", rich_help_panel=METHOD)]
TestName = Annotated[
    str,
    typer.Option(
        "--test",
        metavar="NAME",
        help=f"auto (binomial for 0/1 losses, else hedge); {TESTS.help()}.",
        rich_help_panel=METHOD,
    ),
]
TailName = Annotated[
    str,
    typer.Option(
        "--tail",
        metavar="drop|append",
        help="Pruned documents leave the list, or follow in retriever order.",
        rich_help_panel=METHOD,
    ),
]
MinKeep = Annotated[int, typer.Option("--min-keep", metavar="N", help="Keep at least so many.", rich_help_panel=METHOD)]
MaxKeep = Annotated[
    int | None, typer.Option("--max-keep", metavar="N", help="Keep at most so many.", rich_help_panel=METHOD)
]
Fusion = Annotated[
    str,
    typer.Option(
        "--fusion",
        metavar="BETA|fit",
        help="Weight of the retriever in the final score, or fit it.",
        rich_help_panel=METHOD,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]
RecipePath = Annotated[Path, typer.Argument(metavar="RECIPE.toml", help="The system: collection, retriever, reranker.")]
CertificatePath = Annotated[Path, typer.Argument(metavar="cert.json", help="A certificate (- is stdin).")]
MsPerPair = Annotated[
    float | None,
    typer.Option(
        "--ms-per-pair",
        metavar="MS",
        min=0.0,
        help="What reranking one candidate costs: shows the savings.",
        rich_help_panel=OUTPUT,
    ),
]


def chosen_target(
    at_least_value: str | None,
    max_drop_value: str | None,
    max_drop_abs: str | None,
    agreement_value: str | None,
) -> Target:
    """The one target that was asked for; a drop of 1% if none was."""
    given = {
        "--at-least": at_least_value,
        "--max-drop": max_drop_value,
        "--max-drop-abs": max_drop_abs,
        "--agreement": agreement_value,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: give one target; two claims need two certificates")
    if at_least_value is not None:
        return at_least(_number("--at-least", at_least_value))
    if max_drop_abs is not None:
        return max_drop(_number("--max-drop-abs", max_drop_abs), absolute=True)
    if agreement_value is not None:
        share, _, k = agreement_value.partition("@")
        if k and not (k.isascii() and k.isdecimal()):
            raise InputError(f"--agreement {agreement_value}: write it like 0.95@10")
        return agreement(_number("--agreement", share), int(k or 10))
    return max_drop(_share("--max-drop", "1%" if max_drop_value is None else max_drop_value))


def chosen_confidence(text: str) -> float:
    return _number("--confidence", text)


def chosen_fusion(text: str) -> float | str:
    return text if text == "fit" else _number("--fusion", text)


def _share(option: str, text: str) -> float:
    """1% or 0.01; a bare 1 is refused, because both 1% and 100% could be meant."""
    value = _number(option, text)
    if not text.strip().endswith("%") and value >= 1:
        raise InputError(f"{option} {text}: write {text}% for a share in percent, or a number below 1")
    return value


def _number(option: str, text: str) -> float:
    stripped = text.strip()
    try:
        return float(stripped[:-1]) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        raise InputError(f"{option} {text}: not a number") from None
