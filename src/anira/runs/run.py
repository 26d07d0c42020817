"""One run, loaded: its model, task and configuration, and what it does with a text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import polars as pl

from anira.config import UserError
from anira.config.folder import inside
from anira.evaluation import EvaluationConfig, choose_knobs, evaluated_cells
from anira.measure import measure
from anira.measure.training.metrics import read_metrics
from anira.models import AniraForCausalLM
from anira.models.wrapped import policy_in_use
from anira.runs.comparing import Comparison, compare_runs
from anira.runs.looking import Rule, find_depths, find_predictions, write
from anira.runs.reading import Reader, TaskReader
from anira.runs.records import Records, evaluation_names, read_records
from anira.runs.tokens import Depths, Generation, Predictions
from anira.tasks import BlockTask
from anira.training.config import TrainConfig
from anira.training.evaluating import evaluate_loaded, evaluation_name
from anira.training.fitting import check_evaluation
from anira.training.run import RunFolder


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
        return self.source.name if self.config is None else run_name(self.config)

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

    def records(self, name: str | None = None) -> Records:
        """Return the records of an evaluation: `.instances` and `.tokens`, polars tables that have `.to_pandas()`.

        Without a name it is the run's main evaluation; `evaluations` lists the others.
        """
        return read_records(self._folder(), name)

    @property
    def evaluations(self) -> list[str]:
        """The names of the run's evaluations, the main one last."""
        return evaluation_names(self._folder())

    def evaluate(
        self,
        knobs: str | Sequence[int] | None = None,
        *,
        subtasks: str | None = None,
        count: int = 1000,
        select: str | None = None,
        threshold: float | None = None,
        exit_depth: int | None = None,
        generate: bool = False,
        name: str | None = None,
    ) -> Records:
        """Evaluate the model over a knob grid, write the records into the run's folder, and return them.

        Args:
            knobs: such as "3:16", "10,20" or [3, 4]; by default those of training.
            subtasks: such as "sort,bfs", for a task that is several in one.
            count: instances per knob.
            select, threshold, exit_depth: how depth is chosen.
            generate: decode freely instead of reading the true answer along.
            name: of the records' folder; made from the options by default. What is there already is not made again.
        """
        asked = knobs if knobs is None or isinstance(knobs, str) else ",".join(map(str, knobs))
        wanted = EvaluationConfig(
            knobs=choose_knobs(self.task, asked, subtasks),
            count=count,
            select=select,
            threshold=threshold,
            decode="generated" if generate else "parallel",
            override="" if exit_depth is None else f"depth-{exit_depth}",
        )
        folder, config, step = self._folder(), self.config, self.step
        assert config is not None and step is not None
        check_evaluation(evaluated_cells(self.task, wanted.knobs), count, self.model.config.max_depth)
        chosen = name or evaluation_name(step, wanted, knobs=asked or "", subtasks=subtasks or "")
        evaluate_loaded((config, self.model, step), wanted, inside(folder, "records", chosen))
        return self.records(chosen)

    def measure(self) -> pl.DataFrame:
        """Return the tidy table of all records of the run: one row per estimate, with its interval."""
        return measure(self._folder())

    def metrics(self) -> pl.DataFrame:
        """Return the lines of metrics.jsonl as a table: `kind` is train or eval; what a line does not say is null."""
        return pl.DataFrame(list(read_metrics(self._folder())), infer_schema_length=None)

    def compare(self, other: "Run | str | Path") -> Comparison:
        """Compare the records of this run and another one by knob; a notebook draws the two as charts.

        Where both evaluated the same instances, differences are paired.
        """
        second = Path(other) if isinstance(other, str | Path) else other._folder()
        name = other.name if isinstance(other, Run) else run_name(RunFolder(second).read_config())
        return compare_runs(self._folder(), second, (self.name, name), self.task.knob.name)

    def _folder(self) -> Path:
        if self.path is None:
            raise UserError(f"{self.source} is a model without a run: it has no records, metrics or evaluations")
        return self.path

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


def run_name(config: TrainConfig) -> str:
    """Return how tables and charts call a run."""
    return f"{config.variant}, seed {config.seed}"
