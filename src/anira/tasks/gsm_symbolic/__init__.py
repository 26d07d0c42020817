"""GSM-Symbolic as its authors published it: questions from templates, the prompt, and how an answer is graded.

Main, P1 and P2 ask the same kind of question with 0, 1 and 2 more clauses: that number is the knob. The questions are
not ours to ship (CC-BY-NC-ND 4.0). The user names the folder where they lie.
"""

from anira.tasks.gsm_symbolic.answers import is_right, last_number
from anira.tasks.gsm_symbolic.prompt import STOP, Shot, make_prompt, make_shot, shots_text
from anira.tasks.gsm_symbolic.published import SPLITS, Problem, Problems, check_splits, parse_rows, read_folder

__all__ = [
    "SPLITS",
    "STOP",
    "Problem",
    "Problems",
    "Shot",
    "check_splits",
    "is_right",
    "last_number",
    "make_prompt",
    "make_shot",
    "parse_rows",
    "read_folder",
    "shots_text",
]
