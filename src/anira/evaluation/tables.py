"""From rows and what the model said about them to record tables."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from anira.evaluation.port import COSTS, DepthModel
from anira.evaluation.predict import Array, Prediction
from anira.evaluation.records import INSTANCE_SCHEMA, TOKEN_SCHEMA
from anira.records.overrides import offered_depth
from anira.tasks import IGNORE, Rows, Task
from anira.tasks.wrapped import WrappedTask


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What is the same for all records of an evaluation."""

    run_id: str
    step: int
    variant: str
    seed: int
    select: str
    threshold: float | None
    decode: str
    override: str


def instance_table(
    task: Task,
    model: DepthModel,
    truth: Rows,
    rows: Rows,
    prediction: Prediction,
    labels: Labels,
    first: int,
    seen: list[bool] | None,
) -> pl.DataFrame:
    """Return one record an instance; ids count from `first`. `rows` are what the model read, `truth` the true ones."""
    records, same = [], asdict(labels)
    held_out = task.held_out(truth) if isinstance(task, WrappedTask) else None
    for i in range(len(rows)):
        instance = task.instance(truth, i)
        # Under greedy decoding an answer is right exactly when every token is, given the true ones before it.
        given = [int(prediction.predicted[i, position - 1]) for position in rows.answer_positions(i)]
        grade = task.grade(truth, i, given)
        records.append(
            {
                **same,
                "instance_id": first + i,
                "task": task.name,
                "subtask": task.subtask,
                "knob": int(truth.knob[i]),
                "split": task.knob.split(int(truth.knob[i])),
                "correct": grade.exact,
                "lenient_correct": grade.lenient,
                "question": instance.question,
                "answer": instance.answer,
                "predicted": task.vocab.decode(given),
                "seen_in_training": None if seen is None else seen[i],
                "num_tokens": int(rows.lengths[i]),
                **{f"meta_{name}": value for name, value in instance.meta.items()},
                **({} if held_out is None else {"meta_held_out": int(held_out[i])}),
            }
        )
    table = pl.DataFrame(records, schema_overrides=INSTANCE_SCHEMA)
    table = table.with_columns(**_cost_columns(model, rows, prediction, labels))
    return table.select(*INSTANCE_SCHEMA, pl.col("^meta_.*$"))


def _cost_columns(model: DepthModel, rows: Rows, said: Prediction, labels: Labels) -> dict[str, Array]:
    """Return what each row has cost, and what it would at full depth."""
    valid = np.arange(said.executed.shape[1]) < rows.lengths[:, None]
    most = offered_depth(labels.override) or model.max_depth
    own = model.costs(said.executed, valid, labels.select, max_depth=most, ran=said.ran, hides=said.hides)
    whole = np.full_like(said.executed, most)
    full = model.costs(whole, valid, labels.select, max_depth=most, ran=None, hides=False)
    columns = {f"{prefix}{name}": cost[name] for prefix, cost in (("", own), ("full_", full)) for name in COSTS}
    return {name: values for name, values in columns.items() if name in INSTANCE_SCHEMA}


def token_table(
    task: Task, truth: Rows, rows: Rows, prediction: Prediction, labels: Labels, first: int
) -> pl.DataFrame:
    """Return one record an input position."""
    valid = np.arange(rows.input_ids.shape[1]) < rows.lengths[:, None]
    row, position = np.nonzero(valid)

    def following(values: Array, fill: int) -> Array:
        """The value of the next token."""
        return np.pad(values[:, 1:], ((0, 0), (0, 1)), constant_values=fill)[row, position]

    target, predicted = following(truth.targets, 0), prediction.predicted[row, position]
    last = position == rows.lengths[row] - 1
    answer = following(rows.labels, IGNORE) != IGNORE
    text = np.array(task.vocab.tokens)
    table = pl.DataFrame(
        {
            "run_id": pl.Series([labels.run_id]).new_from_index(0, len(row)),
            "step": np.full(len(row), labels.step),
            "instance_id": first + row,
            "knob": truth.knob[row],
            "position": position,
            "input_id": rows.input_ids[row, position],
            "input_text": text[rows.input_ids[row, position]],
            "target_id": pl.Series(target).set(pl.Series(last), None),
            "target_kind": np.where(last, "none", np.where(answer, "answer", "prompt")),
            "predicted_id": predicted,
            "correct": pl.Series(predicted == target).set(pl.Series(~answer | last), None),
            "exit_depth": prediction.exit_depth[row, position],
            "executed": prediction.executed[row, position],
            "expected_depth": _optional(prediction.expected_depth, row, position, pl.Float32),
            "exit_probs": _optional(prediction.exit_probs, row, position, pl.List(pl.Float32)),
            "margin": _optional(decision_margin(prediction.exit_probs, labels), row, position, pl.Float32),
            "ce": _optional(prediction.ce, row, position, pl.Float32).set(pl.Series(last), None),
            "change": _optional(prediction.change, row, position, pl.Float32),
            "lens": None,
        }
    )
    table = table.cast(pl.Schema(TOKEN_SCHEMA)).select(*TOKEN_SCHEMA)
    same = (rows.input_ids == truth.input_ids).all(axis=1)
    return pl.concat([table, _probe_table(task, truth, valid, same)], how="horizontal")


def _probe_table(task: Task, rows: Rows, valid: Array, same: Array) -> pl.DataFrame:
    """Return the probes, each at the position whose depth it is compared with; none where the model wrote otherwise."""
    whole: dict[str, Array] = {}
    for i in range(len(rows)):
        values = task.probes(rows, i)
        for spec in task.probe_specs:
            value = values[spec.name]
            shift = _shift(spec.anchor)
            if spec.name not in whole:
                whole[spec.name] = np.full((*valid.shape, *value.shape[1:]), np.nan, dtype=np.float32)
            if same[i]:
                whole[spec.name][i, : len(value) - shift] = value[shift:]
    columns = {}
    for spec in task.probe_specs:
        flat = whole[spec.name][valid]
        if flat.ndim == 1:
            columns[f"probe_{spec.name}"] = pl.Series(flat).fill_nan(None)
        else:  # vectors are positions in the row; they move with the probe to where those tokens were predicted
            lists = [[int(p) - _shift(spec.anchor) for p in vector if not np.isnan(p)] for vector in flat]
            columns[spec.name] = pl.Series(lists, dtype=pl.List(pl.Int32))
    return pl.DataFrame(columns)


def _shift(anchor: str) -> int:
    return 1 if anchor == "target" else 0


def decision_margin(probs: Array | None, labels: Labels) -> Array | None:
    """Return how far each decision was from another one: in probability for the mode, in F for a quantile.

    Not defined for the mean, whose threshold is a rounding, nor for a policy's own rules.
    """
    if probs is None or labels.select not in ("mode", "median", "quantile") or probs.shape[-1] == 1:
        return None
    if labels.select == "mode":
        best = np.sort(probs, axis=-1)
        margin: Array = best[..., -1] - best[..., -2]
        return margin
    level = 0.5 if labels.threshold is None else labels.threshold
    nearest: Array = np.abs(probs.cumsum(-1)[..., :-1] - level).min(-1)
    return nearest


def _optional(values: Array | None, row: Array, position: Array, dtype: Any) -> pl.Series:
    if values is None:
        return pl.Series([None], dtype=dtype).new_from_index(0, len(row))
    picked = values[row, position]
    if picked.ndim > 1:
        return pl.Series(picked.astype(np.float32)).arr.to_list()
    return pl.Series(picked).cast(dtype)
