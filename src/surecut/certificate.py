"""The certificate: a plain record of what was claimed, on which data, with which threshold."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surecut.arrays import Int64
from surecut.errors import InputError
from surecut.files import write_atomically
from surecut.io.limits import LARGEST_DOCUMENT, read_document
from surecut.io.plain_json import parse_json
from surecut.signing import Signature, Trusted, refuse_untrusted
from surecut.structure import refuse_other_structure
from surecut.version import __version__

if TYPE_CHECKING:
    from surecut.checking import Check
    from surecut.export.engine import Snippet
    from surecut.lists import Lists
    from surecut.measures import OwnFunction
    from surecut.pruner import Pruner

SCHEMA = 1
STATUSES = ("certified", "relaxed-target", "relaxed-confidence", "uncertified", "abstained")

_HINT = "make it again with `surecut calibrate`"


@dataclass(frozen=True)
class Certificate:
    """Says which candidates survive and what is claimed of it. Made by `calibrate`, kept as JSON.

    `status` is certified, relaxed-target, relaxed-confidence, uncertified or abstained; `statement` is the claim in
    words; `threshold` is what a candidate's key must reach (-inf keeps everything). The other fields are those of the
    JSON file. A `signature` is no part of what the certificate says.
    """

    status: str
    statement: str
    measure: str
    target: Mapping[str, Any]
    confidence: float
    rule: Mapping[str, Any]
    threshold: float
    tail: str
    min_keep: int
    max_keep: int | None
    depth: int
    fusion: Mapping[str, Any]
    test: str
    procedure: str
    grid: Mapping[str, Any]
    tune: Mapping[str, Any] | None
    assumptions: Sequence[str]
    calibration: Mapping[str, Any]
    system: Mapping[str, str] = field(default_factory=dict)
    relaxed: Mapping[str, Any] | None = None
    advice: Mapping[str, Any] | None = None
    surecut: str = __version__
    schema: int = SCHEMA
    signature: Signature | None = field(default=None, compare=False)

    @property
    def certified(self) -> bool:
        """Is the claim that was asked for certified?"""
        return self.status == "certified"

    @property
    def mean_kept(self) -> float:
        """Mean candidates that survive, on the calibration queries."""
        return float(self.calibration["mean_kept"])

    @property
    def speedup(self) -> float:
        """Mean candidates over mean survivors, which is what the reranker is spared and not time on a clock."""
        return float(self.calibration["mean_candidates"]) / max(self.mean_kept, 1e-12)

    @cached_property
    def most_kept(self) -> int:
        """How many candidates of a query can survive: a rank cut's window, `max_keep`, or as many as the depth."""
        most = self.depth if self.max_keep is None else min(self.depth, self.max_keep)
        if self._looks_at_scores or self.threshold == -math.inf:
            return most
        reached = 0 if self.threshold == math.inf else math.floor(-self.threshold)  # keys are minus the rank
        return min(max(reached, self.min_keep), most)

    @property
    def prunes(self) -> bool:
        """Can it prune anything at all?"""
        return self._looks_at_scores or self.most_kept < self.depth

    @property
    def _looks_at_scores(self) -> bool:
        """An infinite threshold keeps all or `min_keep`, and a rank cut its window, whatever the scores."""
        return math.isfinite(self.threshold) and self.rule["name"] != "rank"

    @cached_property
    def pruner(self) -> "Pruner":
        """What applies it, the rule with its threshold and nothing that only calibration needs."""
        from surecut.pruner import Pruner
        from surecut.rules import RULES
        from surecut.scale import Scale

        rule = RULES[self.rule["name"]].with_parameters(self.rule["parameters"])
        return Pruner(
            rule,
            self.threshold,
            self.min_keep,
            self.max_keep,
            self.depth,
            int(self.calibration["shortest_list"]),
            Scale.from_json(self.calibration.get("scores")),
        )

    def keep(self, scores: Any, offsets: Any = None, *, any_length: bool = False, any_system: bool = False) -> Any:
        """How many of one query's descending scores to keep (with `offsets`: of each query's).

        Lists longer than those calibrated on are refused, and shorter ones too where the rule looks at the whole list,
        unless `any_length` allows them. So are scores that cannot be the retriever's, unless `any_system` allows them,
        and scores that are unsorted or not finite.
        """
        return self.pruner.keep(scores, offsets, any_length=any_length, any_system=any_system)

    def survivors(
        self, scores: Any, ids: Sequence[str] | None = None, *, any_length: bool = False, any_system: bool = False
    ) -> Int64:
        """Which of one query's scores, in any order, survive: their positions, best first.

        `ids` are the documents' and break ties as they did in calibration; give them whenever there are any.
        """
        return self.pruner.survivors(scores, ids, any_length=any_length, any_system=any_system)

    def check(self, data: "Lists", loss: "OwnFunction | None" = None, **options: Any) -> "Check":
        """The claim on other data: prune it as certified, and look for evidence against the claim.

        A loss or measure of your own is given again, as `loss` or in `options` as `measure`; `any_system` and
        `any_length` allow data that would be refused.
        """
        from surecut.checking import check

        return check(self, data, loss=loss, **options)

    def export(self, to: str, *, metric: str | None = None, shards: int | None = None) -> "Snippet":
        """The setting of a search engine that executes it: `text` to paste, `settings` for programs.

        Engines are vespa, elasticsearch, opensearch, opensearch-rescore, qdrant, solr and pgvector; what one of them
        does not execute exactly is refused. `metric` says how vectors are compared (cosine, dot, euclid), `shards` how
        many the index has; an engine asks for them where they matter.
        """
        from surecut.export import ENGINES

        return ENGINES[to].export(self, metric, shards)

    def to_dict(self) -> dict[str, Any]:
        """What the JSON holds, without its digest and signature."""
        record = {name: _plain(getattr(self, name)) for name in _said()}
        record["threshold"] = threshold_to_json(self.threshold)
        return record

    def canonical(self) -> bytes:
        """Everything the certificate says, as the one sequence of bytes that digest and signature are over."""
        return _canonical(self.to_dict())

    @property
    def digest(self) -> str:
        """A hash over everything the certificate says."""
        return _digest(self.to_dict())

    def to_json(self) -> str:
        """The file's content: the same certificate gives the same bytes."""
        record = self.to_dict()
        ordered = {"schema": record.pop("schema"), "surecut": record.pop("surecut"), **record}
        signed = {} if self.signature is None else {"signature": self.signature.to_json()}
        return json.dumps({**ordered, "digest": self.digest, **signed}, indent=2, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the JSON, whole or not at all."""
        write_atomically(path, self.to_json())


def load_certificate(path: str | Path, *, trusted: Trusted = None) -> Certificate:
    """Read a certificate; refuse one from a newer schema, one edited by hand, one cut short.

    With `trusted`, a PEM file of Ed25519 public keys (or such keys), one that is not signed with one of them is refused
    too. None, the default, is the file that the environment names as SURECUT_TRUSTED_KEYS, if it names one; False asks
    for no signature, whatever the environment says.
    """
    return parse_certificate(read_document(path, LARGEST_DOCUMENT), str(path), trusted=trusted)


def parse_certificate(text: str, source: str = "certificate", *, trusted: Trusted = None) -> Certificate:
    """A certificate from its JSON text; `trusted` is as in `load_certificate`."""
    record = parse_json(text, source)
    if not isinstance(record, dict) or "schema" not in record or "digest" not in record:
        raise InputError(f"{source}: not a surecut certificate")
    if not isinstance(record["schema"], int):
        raise InputError(f"{source}: not a surecut certificate")
    if record["schema"] > SCHEMA:
        raise InputError(
            f"{source}: certificate schema {record['schema']} is newer than this surecut reads ({SCHEMA}): "
            "upgrade surecut"
        )
    signature = Signature.from_json(record.pop("signature"), source) if "signature" in record else None
    digest = record.pop("digest")
    if digest != _digest(record):
        raise InputError(f"{source}: the digest does not match: the certificate was changed after it was made; {_HINT}")
    refuse_other_structure({**record, "digest": digest}, source, _HINT)
    record["threshold"] = _threshold_from_json(record["threshold"])
    certificate = Certificate(**record, signature=signature)
    refuse_untrusted(certificate, trusted, source)
    return certificate


def refuse_other_system(certificate: Certificate, system: Mapping[str, str], any_system: bool = False) -> None:
    """A certificate is about one retriever and one reranker; where both sides know theirs, they must agree."""
    for part in ("retriever", "reranker"):
        known, found = certificate.system.get(part), system.get(part)
        if known is not None and found is not None and found != known and not any_system:
            raise InputError(
                f"the {part} of this data is not the certificate's (fingerprint {found}, certified {known}): "
                "calibrate for it, or allow another system on your own responsibility (--any-system, any_system=True)"
            )


def same_retriever(certificate: Certificate, system: Mapping[str, str]) -> bool:
    """Do both sides know the retriever, and is it one? Then its scores need no further proof."""
    return "retriever" in system and system["retriever"] == certificate.system.get("retriever")


def _said() -> list[str]:
    """The fields that make up what a certificate says."""
    return [each.name for each in fields(Certificate) if each.compare]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _canonical(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.blake2b(_canonical(record), digest_size=16).hexdigest()


def threshold_to_json(threshold: float) -> float | str | None:
    """null keeps everything; "inf" keeps only `min_keep`."""
    if threshold == -math.inf:
        return None
    return "inf" if threshold == math.inf else threshold


def _threshold_from_json(threshold: float | str | None) -> float:
    return -math.inf if threshold is None else float(threshold)
