"""The tables behind the figures: what the page draws, and what `--csv` writes."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from anira.measure.statistics.estimates import Estimate
from anira.site.report.runs import Run


def accuracy_table(runs: Sequence[Run]) -> pl.DataFrame:
    """Return accuracy by knob: one row a run and knob."""
    return pl.DataFrame(
        [
            {
                **_who(run),
                "knob": row.knob,
                "split": row.split,
                "instances": row.instances,
                "accuracy": row.exact.value,
                "low": row.exact.low,
                "high": row.exact.high,
                "lenient": row.lenient.value,
                "majority": row.majority,
            }
            for run in runs
            for row in run.summary.accuracy
            if row.knob is not None
        ]
    )


def depth_table(runs: Sequence[Run]) -> pl.DataFrame:
    """Return mean depth by knob: one row a run and knob, `depth` that of answer tokens."""
    rows = []
    for run in runs:
        splits = {row.knob: row.split for row in run.summary.accuracy}
        for row in run.summary.depth:
            if row.knob is not None:
                head = {**_who(run), "knob": row.knob, "split": splits[row.knob]}
                more = {**_interval("correct", row.answer_correct), **_interval("prompt", row.prompt)}
                rows.append({**head, **_interval("", row.answer), **more, **_interval("expected", row.expected)})
    return pl.DataFrame(rows, infer_schema_length=None)


def forced_table(runs: Sequence[Run]) -> pl.DataFrame:
    """Return accuracy by knob with all tokens forced to a depth, and with the policy's own depths (depth null)."""
    rows = [
        {
            **_who(run),
            "depth": depth,
            "knob": row.knob,
            "accuracy": row.exact.value,
            "low": row.exact.low,
            "high": row.exact.high,
        }
        for run in runs
        if run.forced
        for depth, accuracies in [(None, run.summary.accuracy), *run.forced.items()]
        for row in accuracies
        if row.knob is not None
    ]
    values = {"depth": pl.Int64, "knob": pl.Int64, "accuracy": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**_WHO, **values})


def dynamics_table(runs: Sequence[Run]) -> pl.DataFrame:
    """Return the evaluations during training: one row a run, step and knob."""
    columns = {"step": "step", "knob": "knob", "n": "instances", "accuracy": "accuracy", "depth_answer": "depth"}
    return _lines(runs, "eval", {**columns, "depth_prompt": "prompt_depth", "expected_depth_answer": "expected_depth"})


def gamma_table(runs: Sequence[Run]) -> pl.DataFrame:
    """Return the weight of the compute loss: one row a run and logged step; none for a policy without it."""
    return _lines(runs, "train", {"step": "step", "gamma": "gamma"}).drop_nulls("gamma")


def _lines(runs: Sequence[Run], kind: str, columns: dict[str, str]) -> pl.DataFrame:
    """Return chosen keys of the metrics of one kind, under the names that tables have; a missing key is null."""
    rows = [
        {**_who(run), **{name: line.get(key) for key, name in columns.items()}}
        for run in runs
        for line in run.metrics
        if line.get("kind") == kind
    ]
    values = {name: pl.Int64 if name in _INTEGERS else pl.Float64 for name in columns.values()}
    return pl.DataFrame(rows, schema={**_WHO, **values})


_WHO = {"task": pl.String, "label": pl.String, "variant": pl.String, "seed": pl.Int64}
_INTEGERS = ("step", "knob", "instances")


def _who(run: Run) -> dict[str, Any]:
    return {"task": run.task, "label": run.label, "variant": run.config["variant"], "seed": run.config["seed"]}


def _interval(name: str, estimate: Estimate) -> dict[str, float | None]:
    head = f"{name}_" if name else ""
    return {f"{head}depth": estimate.value, f"{head}low": estimate.low, f"{head}high": estimate.high}
