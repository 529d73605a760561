"""The page's fixed words; what is in braces is filled in by the run."""

HEAD = """\
Made by `make reproduce`, not by hand: what is not called published comes from that run. The paper is "Certified
Error Control of Candidate Set Pruning for Two-Stage Relevance Ranking" (Li, Zhang, Xin, Zhang, Lin; EMNLP 2022);
CEC is its procedure, EST and ERT are its empirical baselines by score and by rank. MRR@10 there is mean RR@10 here.
"""

IN_SHORT = """\
**What was done again:** the paper's protocol ({trials} trials; 5,000 calibration queries and 6,980 test queries of
MS MARCO, or 10,000 of Quora; confidence 90%) with CEC, EST, ERT and surecut side by side on the same draws. It ran
on twelve *simulated* systems, each tuned to what the paper publishes of one of its own: RR@10 of the first stage,
RR@10 with everything reranked, and the mean size that EST needs. And it ran, in its proportions, on real score
tables that ship with surecut.

**What was not:** there is no MS MARCO here, no BEIR Quora and none of the paper's models. The published RR@10
values are not confirmed by this page, they are what the simulation was tuned to. What it can confirm is what the
procedures do on systems of that kind. For those who have the runs, the commands at the end of the page fill in the
rest.

**What came out:** {tuned}

How often the claim held, over all simulated systems, with 95% intervals. An abstention prunes nothing, claims
nothing and counts as covered:
"""

COMPARABLE = (
    ("RR@10 of the two stages", "no: tuned to the published values", "no: other collections, other models"),
    ("mean size of EST and ERT", "no: tuned to the published values, loosely for ERT", "no"),
    (
        "mean size of CEC, and of surecut beside it",
        "with care: the size curve was tuned at one point, so the relation of two methods says more than a number",
        "the relation of two methods, not the numbers",
    ),
    (
        "confidence and coverage",
        "yes: they hang on the procedure and on the number of queries",
        "yes, but with fewer queries",
    ),
    ("coverage of the truth", "not published; here the pool is the population", "the same"),
)

STAGES = """\
The simulated reranker's score stands for the paper's fused one: in the simulation there is nothing to fuse. The two
systems of a collection that share a retriever share its simulated first stage. A query has {marco} relevant
documents on average in MARCO's systems and {quora} in Quora's.
"""

TUNED = """\
Published / simulated, on the very queries that the trials draw from, and the parameters of the simulation that
`python -m benchmarks.reproduction.tuning` found: least squares with common random numbers. The size of ERT settled
only what the other numbers left open; recall was not tuned to. Where the best set lies far inside (see "The loss is
not monotone"), the numbers are met by a reranker that loses by deep candidates, and the real one need not be like
that.
"""

REAL_STAGES = """\
The real tables, for themselves: other collections (`quora-duplicates` is of the kind of BEIR Quora, not BEIR Quora
itself), other models, lists of at most 100. The fusion weight is fitted on a fifth of the queries; whatever this page
says of real tables is measured on the rest, with that weight.
"""

TABLE_3 = """\
Published figures beside ours. "surecut" is the default procedure with the same target. Its drop claims, which the
paper does not have, are the same loss relative to reranking everything (the target against the published RR@10 of
Table 2), and 2%. They are what surecut recommends: a target such as the paper's asks the sample to prove how good
the system is, a drop asks only what pruning costs. Confidence is the promised one, after the paper's corrections.
An abstention prunes nothing and counts as covered, in mean size with everything kept. CEC fits its temperature on
each calibration sample, as published; for EST, which has the same key, it is fitted once on the pool. With {trials}
trials a share of .90 has a standard error of {error_90:.2f}, one of .50 of {error_50:.2f}.
"""

REAL_TABLE_3 = """\
The same protocol in its proportions. Targets by a rule: the fused RR@10 less 3%, rounded down to two digits. It was
applied with the tables in sight, so the targets are an illustration, not claims.

The smallest, {few}, has {queries} queries for the trials, and {calibration} of them calibrate. The standard error of
a mean RR@10 over so many is about {error:.3f}, the room that the target leaves is {room:.3f}. surecut abstains there in
{abstained:.0%} of the trials with the target and in {abstained_drop:.0%} with the 2% drop.
"""

SMALLEST_BOUND = """\
The smallest bound is {here:.3f} here and about {published} in the paper. What its own tables let one expect: with
RR@10 {reranked} reranked the risk can be as low as {risk:.3f}, and in Table 3 CEC ends {room:.3f} above its target,
which is the room that its bound takes; together that is about {together:.3f}. Why its figure has another value is not
known here.
"""

WRONG = """\
Each by experiment, on populations that are known whole: the queries of a simulated system, or those of a real table
taken as all there are. **!** marks a rate that is above what was promised (in the first table: a gain that is above 0)
and would be seen by chance less than once in {chance:,} times.
"""

RUNS = """\
With run files of both stages and judgements: 11,980 queries in each for MS MARCO (6,980 is the size of `dev/small`;
the others must be judged queries too, none of them twice), 15,000 for BEIR Quora (dev and test). The paper's own
reranker runs are fused already: with those, `--fusion 0`. With `--fusion fit` a fifth of the calibration queries
fits the weight and the others certify; only CEC, as published, fits and certifies on all of them.
"""

RECIPES = """\
Without runs, from the collections and public checkpoints (what each needs is in [the recipes](recipes.md)). The
recipes are for the test queries; `awk` makes copies for as many as the protocol takes: judged dev queries of MS
MARCO, chosen by a hash of their ids, or the dev and test queries of BEIR Quora.
"""
