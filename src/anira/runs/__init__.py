"""A run as one Python object: `anira.load` and `anira.train` return a `Run`, and it shows what is inside.

run = anira.load("results/mano-anira-o-cpu/02c76274-s1")
run.depths("+ 1 * 2 3")        # every token with its depth, drawn in a notebook
run.lens("+ 1 * 2 3")          # what the model would say after each iteration
"""

from anira.runs.loading import load
from anira.runs.publishing import publish
from anira.runs.run import Run
from anira.runs.training import train

__all__ = ["Run", "load", "publish", "train"]
