"""What a certificate promises and what it does not, by status; never more than the theory allows."""

from dataclasses import dataclass, replace

from surecut.certificate import Certificate
from surecut.report.quantities import confidence_shown
from surecut.targets import Target, target_from_json


@dataclass(frozen=True)
class Standing:
    """A status as the report shows it."""

    badge: str
    sign: str  # so that it does not hang on colour alone
    tone: str  # good, caution, bad
    sentence: str


STANDINGS = {
    "certified": Standing("certified", "✓", "good", "The claim that was asked for is certified."),
    "relaxed-target": Standing(
        "target relaxed", "!", "caution", "The claim that was asked for is not certified; a weaker one is."
    ),
    "relaxed-confidence": Standing(
        "confidence relaxed",
        "!",
        "caution",
        "The claim that was asked for is not certified at the confidence asked for.",
    ),
    "uncertified": Standing("not certified", "✗", "bad", "Nothing here is guaranteed."),
    "abstained": Standing("abstained", "✗", "bad", "Nothing is certified, and nothing is pruned."),
}

GRID_CAVEAT = (
    "Every cell that certifies is a valid certificate by itself, for whoever fixed that target and that confidence "
    "before looking. Choosing among many after looking costs validity: the error probability must be divided by the "
    "number of targets one chooses from. The figures headed “chosen” do that: whoever takes the target from them after "
    "looking, whatever the others say, is covered, on condition that the confidence was fixed before."
)
BOUND_NOTE = "The bound inverts the test at that threshold taken by itself: it is for reading, and no claim of its own."


@dataclass(frozen=True)
class Caveat:
    """A warning, and how loud it is."""

    tone: str  # caution, bad
    text: str


@dataclass(frozen=True)
class Promise:
    """Three short lists."""

    promises: tuple[str, ...]
    does_not: tuple[str, ...]
    voids: tuple[str, ...]


def standing_of(certificate: Certificate) -> Standing:
    if certificate.certified and certificate.procedure == "assess":
        return replace(
            STANDINGS["certified"], sentence="The strongest claim that could be made for this cut is certified."
        )
    return STANDINGS[certificate.status]


def promise_of(certificate: Certificate) -> Promise:
    """What holds, what does not follow from it, and what it hangs on."""
    return Promise(_promises(certificate), _does_not(certificate), _voids(certificate))


def explorer_caveat(certificate: Certificate) -> Caveat:
    """What to know before looking at other targets."""
    nothing = _nothing_certifies(certificate)
    return Caveat("caution", GRID_CAVEAT) if nothing is None else Caveat("bad", f"{nothing} They are for comparison.")


def _nothing_certifies(certificate: Certificate) -> str | None:
    """Why no cell of the explorer is a certificate, where none is."""
    if certificate.procedure in ("est", "ert"):
        name = certificate.procedure.upper()
        return f"{name} certifies nothing: no cell is a certificate, and the confidence changes nothing."
    if certificate.procedure == "paper":
        return "The published procedure does not keep its promise: no cell is a certificate."
    if certificate.test == "clt":
        return "The clt test is asymptotic: no cell that prunes is a certificate."
    if certificate.status == "uncertified":
        return "Something was fitted on the calibration queries: no cell that prunes is a certificate."
    return None


def claim_of(certificate: Certificate, value: float | None = None) -> str:
    """The claim as a clause, with another value if one is given."""
    if certificate.target["kind"] == "risk":
        return f"mean {certificate.measure} is at most {certificate.target['value'] if value is None else value:.10g}"
    target: Target = target_from_json(dict(certificate.target))
    return (target if value is None else target.with_value(value)).words(certificate.measure)


def _promises(certificate: Certificate) -> tuple[str, ...]:
    confidence, claim = confidence_shown(certificate.confidence), claim_of(certificate)
    over_draws = "over the draw of the calibration queries"
    proved = (
        "That is proved for samples of this size: no approximation, and no assumption that quality falls "
        "steadily as more is pruned."
    )
    if certificate.status == "certified":
        holds = f"With a probability of at least {confidence} {over_draws}, {claim}, for the population they come from."
        return (holds, proved)
    relaxed = certificate.relaxed or {}
    if certificate.status == "relaxed-target":
        weaker = claim_of(certificate, float(relaxed["value"]))
        return (
            f"Not what was asked for ({claim}).",
            f"With a probability of at least {confidence} {over_draws}, {weaker}, for the population they come from. "
            "Nothing is pruned beyond the list this was tested on.",
            "The ladder of weaker claims was chosen before the run and shares its error probability.",
        )
    if certificate.status == "relaxed-confidence":
        return (
            f"Not what was asked for: {confidence} confidence that {claim}.",
            f"The evidence factor is {relaxed['evidence_factor']:.3g}: were the claim false, a factor of at least t "
            "would have a probability of at most 1/t.",
            f"{confidence_shown(float(relaxed['confidence']))} is a level chosen after seeing the data. "
            "It is no confidence level.",
        )
    if certificate.status == "uncertified":
        return ("Nothing. The threshold, the sizes and the measured values describe the calibration queries only.",)
    return ("Nothing. Every candidate is kept, so nothing can be lost by it either.",)


def _does_not(certificate: Certificate) -> tuple[str, ...]:
    if certificate.status in ("uncertified", "abstained"):
        return (
            f"It does not show that {claim_of(certificate)}.",
            "Nor that this is false: the data at hand, with this procedure, do not decide it.",
        )
    lines = [
        "Anything about a single query: a mean can hide losses that gains make up for.",
        "Anything about one batch of queries: a finite batch has noise of its own and can fall short of a true claim.",
        "Sizes and speed: mean kept, percentiles and speed-up describe the calibration queries, and count candidates, "
        "not time.",
    ]
    if certificate.target["kind"] == "agreement":
        lines.append("A bound on the drop of a graded measure: overlap is about the same documents, not their worth.")
    else:
        lines.append("More than the judgements can see: documents that nobody judged count as not relevant.")
    return tuple(lines)


def _voids(certificate: Certificate) -> tuple[str, ...]:
    if certificate.status in ("uncertified", "abstained"):
        return ("There is no guarantee to void. One that certifies would need:", *certificate.assumptions)
    return (
        "Queries of another kind than those calibrated on, or a sample that was not drawn at random.",
        "Near-duplicate queries that were counted as independent (use groups).",
        "Another retriever, reranker, list depth or fusion weight; or a reranker whose score for a document depends on "
        "the other documents.",
        "A measure, target, rule or confidence chosen by looking at these queries' labels, or the best of several "
        "certificates kept.",
        "A sample that was grown until it passed: certify on fresh queries.",
    )
