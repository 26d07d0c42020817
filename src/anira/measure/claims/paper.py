"""The paper's claims, each in one line, and how the verdicts of several settings become one."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from anira.measure.claims.verdict import SEEDS_NEEDED, Claim, Verdict, Word


class PaperClaim(NamedTuple):
    """A claim of the paper, and the rule by which one setting (a task and a variant, over seeds) judges it."""

    sentence: str
    rule: str
    smallest: float = 0.0
    """The smallest effect of interest."""


_ABOVE = "A seed whose accuracy is not above always giving the commonest answer is left out."

# For all of them seeds are the unit: the 95% t interval over at least three seeds must lie on one side of zero.
PAPER_CLAIMS: Final = {
    "follows-complexity": PaperClaim(
        "Depth follows the complexity of the task.",
        "Supported where depth rises with the knob by at least 0.05 iterations per unit over instances of seen sizes. "
        "A seed counts only where depth is needed: forced depth 1 must lose ten points at the hardest seen size. On "
        "LANO, the rank correlation of expected depth with the parser's multiplications among positions that read the "
        "same token, as far as it lies outside the range that untrained models have, at least 0.05; a run that writes "
        f"more other strings than sentences is left out. So is one whose null does not hold zero. {_ABOVE}",
        smallest=0.05,
    ),
    "no-generalisation": PaperClaim(
        "Adaptive depth does not bring algorithmic generalisation: accuracy drops at sizes that training has not "
        "shown.",
        "Supported where accuracy at seen sizes minus accuracy at unseen ones is at least 5 points in ANIRA-E and in "
        "ANIRA-O. On MANO the largest seen size against the first beyond it; on CLRS all seen sizes against the unseen "
        f"ones between them, and against those beyond them. {_ABOVE}",
        smallest=0.05,
    ),
    "easy-to-hard": PaperClaim(
        "Sizes are learned in the order from easy to hard.",
        "Supported where the step at which a size is learned rises with the size: Kendall's tau is at least 0.5, so "
        "that three of four pairs of sizes are in order. A seed is left out where chance would order the sizes as well "
        "in more than 37 % of cases (so two sizes never count), or where all sizes or none are learned at once. "
        f"{_ABOVE}",
        smallest=0.5,
    ),
    "two-phases": PaperClaim(
        "Training has two phases: depth rises while the task is learned, then falls while accuracy is kept.",
        "Supported where depth rises to its peak and falls from there to the end, each by at least 0.1 iterations; a "
        "fall counts as none where accuracy falls with it (the whole interval of its change lies below zero). A "
        "warm-up of gamma makes phases by itself: such a "
        f"run is left out. {_ABOVE}",
        smallest=0.1,
    ),
    "o-less-depth": PaperClaim(
        "ANIRA-O spends less depth than ANIRA-E for the same accuracy.",
        "Supported where the expected depth of answers of ANIRA-E minus that of ANIRA-O, with the same seed and on the "
        "same instances, is at least 0.05 iterations. A seed is left out where the two accuracies differ by 2 points "
        "or more, or where either is not above always giving the commonest answer.",
        smallest=0.05,
    ),
    "e-structure-o-state": PaperClaim(
        "ANIRA-E follows the structure of the problem, ANIRA-O the state of the algorithm.",
        "Supported where features of the search's state have a larger share of what state and structure add within "
        "instances in ANIRA-O than in ANIRA-E with the same seed, by at least ten points. A seed counts only where, in "
        "both models, depth is needed, as for the first claim, and one of the two groups adds more than shuffled depth "
        f"gives. {_ABOVE}",
        smallest=0.1,
    ),
    "reads-while-solving": PaperClaim(
        "Compute is spent on the problem while the question is being read.",
        "Supported where the depth of question tokens rises with the state of the parse by at least 0.05 iterations "
        "more than anywhere in the 95% range that depths shuffled within questions give. A seed counts only where "
        f"depth is needed, as for the first claim. {_ABOVE}",
        smallest=0.05,
    ),
    "o-degrades-gracefully": PaperClaim(
        "Beyond the training range online halting degrades more gracefully.",
        "Supported where the accuracy of ANIRA-O minus that of the other model, on the same instances beyond the seen "
        "sizes, is at least 2 points. A seed counts only where both are above always giving the commonest "
        "answer and less than 2 points apart at seen sizes, and one of them is above it beyond.",
        smallest=0.02,
    ),
}
"""By the key under which figures hand in what they found."""


def combine(claims: Sequence[Claim]) -> Verdict:
    """Return one verdict from those of several settings: all that can be judged must agree.

    A setting with fewer seeds than a verdict takes has no vote, and no veto.
    """
    if not claims:
        return Verdict("not testable", "no figure has looked at it")
    testable = [claim for claim in claims if claim.verdict.word != "not testable"]
    few = [claim for claim in testable if len(set(claim.seeds)) < SEEDS_NEEDED]
    words: list[Word] = [claim.verdict.word for claim in claims if claim not in few]
    counts = [f"{words.count(word)} {word}" for word in dict.fromkeys(words)]
    counts += [f"{len(few)} with fewer than {SEEDS_NEEDED} seeds"] if few else []
    votes = {word for word in words if word != "not testable"}
    if not votes:
        return Verdict("inconclusive" if few else "not testable", ", ".join(counts))
    return Verdict(votes.pop() if len(votes) == 1 else "inconclusive", ", ".join(counts))
