"""Think-at-Hard (arXiv 2511.08577): iterate a token only where its first pass is wrong, as an imitating head guesses.

What was decided. The oracle is the model's own prediction (the paper takes a separately trained reference model's, made
beforehand). The paper has two iterations; with more, `decide` = "every" asks after each one whether its prediction is
right, and "first" asks after the first only and runs the rest for who goes on: with max_depth 2 both are the paper's.
The paper trains in two stages, the model with the oracle's depths, then the decider alone; here all depths are trained
for everyone and the decider learns beside them, from states without gradient. Its decider reads several layers and the
largest logits; ours is the one of the other policies. Its code goes on where the probability of "wrong" exceeds 0.8 and
weighs wrong tokens by 5.4 in the loss, which moves one half to 0.84: without the weight the threshold is one half.
Adapters per iteration and attention across iterations are parts of a backbone, and not here.
"""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool
from torch import Tensor

from anira.models.policies.imitation import Imitation, ImitationOptions
from anira.models.policies.task_loss import TaskLoss


@dataclass(frozen=True, kw_only=True)
class ThinkAtHardOptions(ImitationOptions):
    """Options of Think-at-Hard."""

    decide: Literal["every", "first"] = "every"
    """After which iterations the head decides: each from the floor on, or the floor's alone."""


class ThinkAtHard(Imitation):
    """Halts where the head takes the present prediction for right."""

    name = "think-at-hard"
    Options = ThinkAtHardOptions

    def decides(self, depth: int) -> bool:
        """Say whether anything is decided after an iteration."""
        floor: int = self.options.floor
        return depth == floor if self.options.decide == "first" else depth >= floor

    def halts(self, task: TaskLoss) -> Bool[Tensor, "depths *tokens"]:
        """Halt where the prediction is right."""
        assert task.targets is not None
        return task.predicted() == task.targets
