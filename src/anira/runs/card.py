"""The model card of a published run: what it was trained on, how right and how deep it is, how to load it."""

from typing import Final

import polars as pl

from anira.config import UserError
from anira.measure import quantity
from anira.measure.tidy import find
from anira.models.wrapped import policy_in_use
from anira.runs.reading import TaskReader
from anira.runs.run import Run
from anira.site.tables import estimate_cell
from anira.training.config import TrainConfig

_CARD: Final = """---
library_name: transformers
tags:
- anira
- adaptive-computation
---

# {title}

A transformer of {parameters:,} parameters that runs a core up to {max_depth} times per token.
The policy `{policy}` chooses how often. {trained}

{results}

## How to load it

The package `anira` has its classes.

```python
import anira

run = anira.load("{place}")
{example}
```

As a model of transformers:

```python
import anira.models  # registers the model type "anira"
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("{place}")
tokenizer = AutoTokenizer.from_pretrained("{place}")
```

## How it was made

`anira train {preset}` with the options in `run/config.json`.
`run/metrics.jsonl` has its losses and evaluations{records}.
`manifest.json` lists size and SHA-256 of the files beside it.
"""


def model_card(run: Run, place: str, *, records: bool) -> str:
    """Return README.md; `place` is where readers will find the model: a hub id, or the folder's name."""
    config = run.config
    assert config is not None
    return _CARD.format(
        title=f"{config.preset}, seed {config.seed}",
        max_depth=run.model.config.max_depth,
        policy=policy_in_use(run.model.policy).name,
        trained=_trained(run, config),
        parameters=run.model.num_parameters(),
        results=_results(run),
        place=place,
        example=_example(run),
        preset=config.preset,
        records=", and `run/records` the tables behind the numbers above" if records else "",
    )


def _trained(run: Run, config: TrainConfig) -> str:
    steps = f"for {run.step:,} of {config.steps:,} steps" if run.step != config.steps else f"for {config.steps:,} steps"
    if not isinstance(run.reader, TaskReader):
        return f"It was trained on text {steps}."
    task = run.task
    knob = f"{task.knob.name} ({task.knob.meaning}) from {task.knob.seen[0]} to {task.knob.seen[-1]}"
    return f"It was trained {steps} on the task `{task.name}` ({task.summary}) at {knob}, and knows nothing else."


def _example(run: Run) -> str:
    if not isinstance(run.reader, TaskReader):
        return 'run.depths("any text")'
    rows = run.task.rows(seed=0, stream="eval", start=0, count=1, knob=run.task.parts()[0].knob.seen[0])
    question = run.task.instance(rows, 0).question
    return f"run.generate({question!r})  # tokens, their depths, and whether the answer is right"


def _results(run: Run) -> str:
    """Return accuracy, depth and need, from the run's records."""
    if not isinstance(run.reader, TaskReader):
        return "Its losses are in `run/metrics.jsonl`."
    try:
        table = run.measure().filter(step=run.step)  # the records may be another checkpoint's
    except UserError:
        table = pl.DataFrame()
    if table.is_empty():
        return "It has not been evaluated: `anira.load(...).evaluate()` does that."
    return f"{_by_knob(table, run.task.knob.name)}\n\n{_need(table)}"


def _by_knob(table: pl.DataFrame, knob: str) -> str:
    """Return a Markdown table with 95% intervals over instances."""
    places = table.filter(quantity="accuracy").drop_nulls("knob").select("subtask", "knob", "split").unique()
    several = places["subtask"].n_unique() > 1
    head = [*["subtask"] * several, knob, "split", "accuracy", "mean answer depth"]
    lines = [head, ["---"] * len(head)]
    for subtask, value, split in places.sort("subtask", "knob").iter_rows():
        cells = [
            estimate_cell(find(table, name, knob=value, subset=subset, subtask=subtask))
            for name, subset in (("accuracy", "all"), ("depth", "answer"))
        ]
        shown = [f"{cell.text} {cell.small}".strip() for cell in cells]
        lines.append([*[subtask] * several, str(value), split, *shown])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"Accuracy and depth by knob, with 95% intervals over instances of this one seed:\n\n{rows}"


def _need(table: pl.DataFrame) -> str:
    rows = table.filter(quantity="need").drop_nulls("value")
    if rows.is_empty():
        return "Whether these depths are needed was not measured: no evaluation forces every token to depth 1."
    shown = "; ".join(_points(row) for row in rows.iter_rows(named=True))
    return f"Need, the accuracy that forcing every token to depth 1 loses at the hardest knob of training: {shown}."


def _points(row: dict[str, object]) -> str:
    cell = estimate_cell(row)
    of = f"{row['subtask']} " if row["subtask"] else ""
    return f"{of}{cell.text} {quantity('need').unit} {cell.small}".strip()
