"""A rule on lists in memory, where many thresholds or many samples are to be tried."""

from dataclasses import dataclass

from surecut.arrays import Float64, Int64
from surecut.candidates import Candidates
from surecut.kernels import codes
from surecut.kernels.keys import fill_profiles, kept_by_profile, keys_by_profile
from surecut.measures import NO_CUTOFF
from surecut.reducing import CountKept
from surecut.rules import Rule


@dataclass(frozen=True, eq=False)
class Keyed:
    """What each list contributes to its keys, computed once: three numbers a query, and a key only when it is needed.

    Keys of `mass` are sums over the list, so for that rule nothing is known beforehand.
    """

    rule: Rule
    data: Candidates
    profiles: Float64

    @classmethod
    def of(cls, rule: Rule, data: Candidates) -> "Keyed":
        return cls(rule, data, fill_profiles(data.retriever, data.offsets, rule.code, rule.scale))

    def at(self, rows: Int64, row_offsets: Int64) -> Float64:
        """The keys of some candidates (as `Rule.keys_at`)."""
        rule, data = self.rule, self.data
        if rule.code == codes.MASS:
            return rule.keys_at(data, rows, row_offsets)
        keys: Float64 = keys_by_profile(
            data.retriever, data.offsets, rows, row_offsets, rule.code, rule.prior, self.profiles
        )
        return keys

    def kept(self, threshold: float, min_keep: int, max_keep: int | None) -> Int64:
        """How many candidates of each query survive."""
        rule, data = self.rule, self.data
        if rule.code == codes.MASS:
            return CountKept(rule, threshold, min_keep, max_keep)(data)
        longest = NO_CUTOFF if max_keep is None else max_keep
        kept: Int64 = kept_by_profile(
            data.retriever, data.offsets, rule.code, rule.prior, self.profiles, threshold, min_keep, longest
        )
        return kept
