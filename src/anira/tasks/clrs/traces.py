"""Taking the trace of an algorithm out of a row of CLRS-Text, so that only question and answer are left.

    minimum:                                              minimum:
    key: [0.25 0.566 0.056], initial_trace: 0             key: [0.25 0.566 0.056]
    trace | min:                                          min:
    0, 2 | 2                                              2

Some algorithms name their outputs otherwise when there is a trace; they get back the names they have without one.
"""

from typing import Final

from anira.config import UserError
from anira.tasks.clrs.algorithms import find_algorithm
from anira.tasks.clrs.text import output_names, question_lines

_START: Final = ", initial_trace:"
_MARK: Final = "trace | "
_RENAMED: Final = {
    "binary_search": "(low, high)",
    "find_maximum_subarray_kadane": "(best_low, best_high)",
    "quickselect": "pivot",
    "naive_string_matcher": "s",
    "kmp_matcher": "s",
}
"""Algorithm -> its output names in rows with a trace, where they are others."""


def has_trace(question: str) -> bool:
    """Say whether a question belongs to a row with a trace."""
    return _START in question or f"\n{_MARK}" in question


def strip_trace(question: str, answer: str) -> tuple[str, str]:
    r"""Return a row without its trace; one that has none stays as it is. Answers lose the newlines at their end.

    >>> strip_trace("quickselect:\nkey: [0.2 0.1], initial_trace: 1\ntrace | pivot:\n", "1, 1 | 0\n\n")
    ('quickselect:\nkey: [0.2 0.1]\nmedian:\n', '0')
    """
    if not has_trace(question):
        return question, answer.strip()
    header, inputs, names = question_lines(question)
    inputs = inputs.partition(_START)[0]
    names = names.removeprefix(_MARK)
    _, bar, final = answer.rpartition("|")
    if not bar:
        raise UserError("the question has a trace, but the answer has no '|' between the trace and the result")
    final = final.strip()
    if _RENAMED.get(header) == names:
        names = output_names(find_algorithm(header))
        final = _without_parentheses(header, final)
    return f"{header}:\n{inputs}\n{names}:\n", final


def _without_parentheses(header: str, final: str) -> str:
    """Turn `(0, 3)` into `0, 3`, and the two equal ends of a finished binary search into one."""
    if not (final.startswith("(") and final.endswith(")")):
        return final
    low, _, high = final[1:-1].partition(", ")
    return high if header == "binary_search" else f"{low}, {high}"
