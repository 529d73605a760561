"""The commands that fill the rest, for those who have the collections, the models or the runs."""

from benchmarks.reproduction.published import CALIBRATION, ROWS, TEST, TRIALS, Row
from benchmarks.reproduction.systems import pool_size

FOLDERS = {"MARCO": "msmarco", "Quora": "quora"}
_METHODS = (
    "--method CEC=cec",
    "--method EST=est:rule=softmax-fitted",
    "--method ERT=ert",
    "--method surecut",
    "--method drop=surecut:max-drop=2%",
)
_BEIR = r"beir = \"${SURECUT_DATA}/quora.zip\"\nsplit = [\"dev\", \"test\"]"
_QUERIES = {
    "MARCO": rf"ir_datasets = \"msmarco-passage/dev/judged\"\nsample = {CALIBRATION + TEST['MARCO']}",
    "Quora": _BEIR,
}


def recipe_name(row: Row) -> str:
    """As in recipes/: folder and file."""
    return f"{row.retriever}-{row.reranker}".lower()


def from_runs(row: Row) -> str:
    """Trials on two runs and judgements."""
    folder = f"runs/{FOLDERS[row.collection]}"
    given = (
        f"--retriever {folder}-{row.retriever.lower()}.run",
        f"--reranker {folder}-{recipe_name(row)}.run",
        f"--qrels {folder}-qrels.txt",
    )
    return _trials(row, *given)


def larger_recipe(row: Row) -> str:
    """A recipe's copy for all the queries of the paper's protocol."""
    name = recipe_name(row)
    program = f'/^ir_datasets/ {{print "{_QUERIES[row.collection]}"; next}} {{print}}'
    folder = FOLDERS[row.collection]
    return f"awk '{program}' recipes/{folder}/{name}.toml > {folder}-{name}.toml"


def from_recipe(row: Row) -> list[str]:
    """Score the queries of the protocol with a recipe, then trials on the table."""
    name = f"{FOLDERS[row.collection]}-{recipe_name(row)}"
    scored = f"surecut score {name}.toml -o scores/{name}"
    return [larger_recipe(row), scored, _trials(row, f"--table scores/{name}")]


def run_commands(collection: str) -> list[str]:
    return [from_runs(row) for row in ROWS if row.collection == collection]


def recipe_commands(collection: str) -> list[str]:
    return [line for row in ROWS if row.collection == collection for line in from_recipe(row)]


def _trials(row: Row, *given: str) -> str:
    test = pool_size(row) - CALIBRATION
    protocol = f"--fusion fit --at-least {row.target:.2f} --calibration {CALIBRATION} --test {test} --trials {TRIALS}"
    out = f"--format md -o {FOLDERS[row.collection]}-{recipe_name(row)}.md"
    return " \\\n    ".join(("surecut trials " + " ".join(given), protocol, " ".join(_METHODS), out))
