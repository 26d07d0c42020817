"""One run, loaded: its model, task and configuration, and what it does with a text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.wrapped import policy_in_use
from anira.runs.looking import Rule, find_depths, find_predictions, write
from anira.runs.reading import Reader, TaskReader
from anira.runs.tokens import Depths, Generation, Predictions
from anira.tasks import BlockTask
from anira.training.config import TrainConfig


@final
class Run:
    """What `anira.load` and `anira.train` return.

    A text is a question of the run's task as `anira sample` prints it; for a run on text, or a model without a run, it
    is any text. `select` and `threshold` are a rule of the policy, as in `select="quantile", threshold=0.9`;
    `exit_depth` forces every token to one depth.
    """

    def __init__(
        self,
        *,
        model: AniraForCausalLM,
        reader: Reader,
        source: Path,
        path: Path | None = None,
        config: TrainConfig | None = None,
        step: int | None = None,
    ) -> None:
        self.model = model
        self.config = config
        """The run's resolved configuration; None for a model without a run."""
        self.step = step
        """Optimizer steps behind the model; None for a model without a run."""
        self.path = path
        """The run's folder, with metrics and records; None for a model without a run."""
        self.source = source
        """The folder that was loaded."""
        self.reader = reader

    @property
    def task(self) -> BlockTask:
        """The task that the run was trained on."""
        if not isinstance(self.reader, TaskReader):
            raise UserError(f"{self.source} has no task: it is a model of text")
        return self.reader.task

    @property
    def name(self) -> str:
        """How tables and charts call it: <variant>, seed <seed>; or the name of the model's folder."""
        return self.source.name if self.config is None else f"{self.config.variant}, seed {self.config.seed}"

    def depths(
        self,
        text: str,
        *,
        answer: bool = True,
        select: str | None = None,
        threshold: float | None = None,
        exit_depth: int | None = None,
    ) -> Depths:
        """Return every token of a text with its depth and exit distribution; a notebook draws it as a strip.

        With `answer`, the model reads the true answer of a question along, as evaluations do: all but its last token.
        """
        rule = Rule(select=select, threshold=threshold, exit_depth=exit_depth)
        return find_depths(self.model, self.reader, self.reader.read(text, answer=answer), rule)

    def lens(
        self,
        text: str,
        *,
        top: int = 5,
        answer: bool = True,
        select: str | None = None,
        threshold: float | None = None,
        exit_depth: int | None = None,
    ) -> Predictions:
        """Return the `top` likeliest next tokens after each iteration that a token executes: the logit lens.

        It is exact: all tokens stop after that iteration, and coda and head read what they have then.
        """
        rule = Rule(select=select, threshold=threshold, exit_depth=exit_depth)
        return find_predictions(self.model, self.reader, self.reader.read(text, answer=answer), rule, top)

    def generate(
        self,
        question: str,
        *,
        max_new_tokens: int | None = None,
        select: str | None = None,
        threshold: float | None = None,
        exit_depth: int | None = None,
    ) -> Generation:
        """Write what comes after a text, greedily, and keep the depth of every token.

        Of a task's question, as many tokens are written as the true answer has; `max_new_tokens` asks for another
        number, and ends at <eos>.
        """
        rule = Rule(select=select, threshold=threshold, exit_depth=exit_depth)
        return write(self.model, self.reader, question, rule, max_new_tokens)

    def __repr__(self) -> str:
        return "\n".join(f"{name:10}  {value}" for name, value in self._facts().items())

    def _facts(self) -> Mapping[str, Any]:
        model, config = self.model.config, self.config
        shape = (
            f"{model.num_prelude_layers}, {model.num_core_layers} x {model.max_depth}, {model.num_coda_layers} layers"
        )
        facts: dict[str, Any] = {"folder": self.source, "policy": policy_in_use(self.model.policy).name}
        facts |= {"model": f"{self.model.num_parameters():,} parameters; prelude, core and coda have {shape}"}
        if config is not None:
            facts |= {"run": f"{config.preset}, seed {config.seed}, step {self.step} of {config.steps}"}
        if isinstance(self.reader, TaskReader):
            knob = self.task.knob
            facts |= {"task": f"{self.task.name}, trained at {knob.name} = {knob.seen[0]} to {knob.seen[-1]}"}
        return facts
