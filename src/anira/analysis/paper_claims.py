"""The paper's claims, each in one line, and how the verdicts of several settings become one."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from anira.analysis.verdict import Verdict, Word


class PaperClaim(NamedTuple):
    """A claim of the paper, and the rule by which one setting (a task and a variant, over seeds) judges it."""

    sentence: str
    rule: str


_ABOVE = "A seed whose accuracy is not above always giving the commonest answer cannot speak."

PAPER_CLAIMS: Final = {
    "follows-complexity": PaperClaim(
        "Depth follows the complexity of the task.",
        "Supported where depth rises with the knob: the interval of the least-squares slope over instances lies above "
        "zero in every seed. On LANO, the rank correlation of expected depth with the parser's multiplications among "
        "positions that read the same token; a run that writes more other strings than sentences cannot speak. "
        f"{_ABOVE}",
    ),
    "no-generalisation": PaperClaim(
        "Adaptive depth does not bring algorithmic generalisation: accuracy drops at sizes that training has not "
        "shown.",
        f"Supported where accuracy at seen sizes minus accuracy at unseen ones lies above zero in every seed. {_ABOVE}",
    ),
    "easy-to-hard": PaperClaim(
        "Sizes are learned in the order from easy to hard.",
        "Supported where the step at which a size is learned rises with the size in every seed.",
    ),
    "two-phases": PaperClaim(
        "Training has two phases: depth rises while the task is learned, then falls while accuracy is kept.",
        "Supported where depth falls from its peak to the end, and had risen to it, in every seed. A warm-up of gamma "
        "makes phases by itself: such a run cannot speak.",
    ),
    "o-less-depth": PaperClaim(
        "ANIRA-O spends less depth than ANIRA-E for the same accuracy.",
        "Supported where the mean depth of answers of ANIRA-E minus that of ANIRA-O, on the same instances, lies above "
        "zero in every seed. Where accuracies differ by 2 points or more the seed cannot speak.",
    ),
    "e-structure-o-state": PaperClaim(
        "ANIRA-E follows the structure of the problem, ANIRA-O the state of the algorithm.",
        "Supported where execution-state features, against structural ones, explain more of the depth of ANIRA-O than "
        f"of ANIRA-E in every seed. {_ABOVE}",
    ),
    "reads-while-solving": PaperClaim(
        "Compute is spent on the problem while the question is being read.",
        f"Supported where the depth of question tokens rises with the state of the parse in every seed. {_ABOVE}",
    ),
    "o-degrades-gracefully": PaperClaim(
        "Beyond the training range online halting degrades more gracefully.",
        "Supported where the accuracy of ANIRA-O minus that of the other model, on the same instances of unseen sizes, "
        "lies above zero in every seed.",
    ),
}
"""By the key under which experiments hand in what they found."""


def combine(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict from those of several settings: they must all agree, those that cannot speak aside.

    >>> combine([Verdict("supported", ""), Verdict("not testable", ""), Verdict("supported", "")])
    Verdict(word='supported', reason='2 supported, 1 not testable')
    >>> combine([Verdict("supported", ""), Verdict("inconclusive", "")]).word
    'inconclusive'
    """
    if not verdicts:
        return Verdict("not testable", "no experiment has looked at it")
    words: list[Word] = [verdict.word for verdict in verdicts]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    spoken = {word for word in words if word != "not testable"}
    if not spoken:
        return Verdict("not testable", counts)
    return Verdict(spoken.pop() if len(spoken) == 1 else "inconclusive", counts)
