"""Options that several verbs share, declared once."""

from pathlib import Path
from typing import Annotated

import typer

from surecut.bounds import TESTS
from surecut.choices import GRIDS, IF_UNREACHABLE, PROCEDURES
from surecut.measures import FAMILIES
from surecut.rules import RULES

DATA, CLAIM, METHOD, OUTPUT, COMPUTE = "Data", "Claim", "Method", "Output", "Compute"

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
        help="A score table instead of run files (example:NAME is one that ships): a folder of "
        "candidates/part-*.parquet (query_id, doc_id, retriever, reranker) and qrels.parquet (query_id, doc_id, "
        "relevance). Or a folder with retriever.run, reranker.run and qrels.txt.",
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
Cap = Annotated[
    int | None,
    typer.Option(
        "--max-keep",
        metavar="N",
        help="The cap it was calibrated with; needed only where it abstained.",
        rich_help_panel=METHOD,
    ),
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
CertificateOutput = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="cert.json",
        help="Where to write the certificate.",
        rich_help_panel=OUTPUT,
    ),
]
TuneFraction = Annotated[
    float,
    typer.Option(
        "--tune-fraction",
        metavar="SHARE",
        help="Queries set aside when something is fitted.",
        rich_help_panel=METHOD,
    ),
]
TuneTable = Annotated[
    str | None,
    typer.Option("--tune-table", metavar="DIR", help="Fit on this score table instead.", rich_help_panel=METHOD),
]
FitOnCalibration = Annotated[
    bool,
    typer.Option(
        "--fit-on-calibration",
        help="Fit on the calibration queries, as the paper did: not certified.",
        rich_help_panel=METHOD,
    ),
]
ProcedureName = Annotated[
    str,
    typer.Option(
        "--procedure",
        metavar="|".join(PROCEDURES),
        help="walk: certified; paper: as published; est, ert: empirical baselines.",
        rich_help_panel=METHOD,
    ),
]
GridName = Annotated[
    str,
    typer.Option(
        "--grid",
        metavar="|".join(GRIDS),
        help="All breakpoints, or a grid fixed without the data (automatic past 20,000 queries).",
        rich_help_panel=METHOD,
    ),
]
IfUnreachable = Annotated[
    str,
    typer.Option(
        "--if-unreachable",
        metavar="|".join(IF_UNREACHABLE),
        help="What to do when the target cannot be certified.",
        rich_help_panel=CLAIM,
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
StorePlace = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        envvar="SURECUT_MONITOR",
        help="The monitor's database: an SQLite file, or postgresql://user@host/name.",
        rich_help_panel=DATA,
    ),
]
RunnerName = Annotated[
    str,
    typer.Option(
        "--runner",
        metavar="local|ray",
        help="Who computes: this machine, or the nodes of a Ray cluster (surecut[ray]), which need the same files; "
        "calibrate and check then need --table.",
        rich_help_panel=COMPUTE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="The Ray cluster's head, or auto for the one that this machine is a node of; without it Ray is started "
        "here, whatever RAY_ADDRESS says.",
        rich_help_panel=COMPUTE,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="With ray: workers that hold the models, at most (as many as the cluster has room for).",
        rich_help_panel=COMPUTE,
    ),
]
Cpus = Annotated[
    float,
    typer.Option("--cpus", metavar="N", help="With ray: processors of each worker.", rich_help_panel=COMPUTE),
]
Gpus = Annotated[
    float,
    typer.Option("--gpus", metavar="N", help="With ray: GPUs of each worker.", rich_help_panel=COMPUTE),
]
