"""From written answers to record tables: the same columns as every other task's.

A row of the records begins where the question does: the eight examples before it are the same for all questions, and
their tokens have the same depths each time. What the examples cost is left out as well; attention to them is not.

    input        Q:      How     many    ...    step.   There    are      5
    target       How     many    ...     step.  There   are      5        <eos>
    target_kind  prompt  prompt          prompt answer  answer   answer   answer
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from anira.evaluation.gsm_symbolic.decoding import Array, Written
from anira.evaluation.port import COSTS, depth_model
from anira.evaluation.records import INSTANCE_SCHEMA, TOKEN_SCHEMA
from anira.evaluation.tables import Labels, decision_margin
from anira.tasks.gsm_symbolic import Problem, is_right

TASK = "gsm-symbolic"


def instance_table(
    model: Any,
    problems: Sequence[Problem],
    written: Sequence[Written],
    labels: Labels,
    *,
    first: int,
    heads: Sequence[int],
    shared: frozenset[int] | None,
) -> pl.DataFrame:
    """Return one record per question; ids count from `first`, `heads` are the tokens of the examples."""
    rows = []
    for i, (problem, one, head) in enumerate(zip(problems, written, heads, strict=True)):
        right = is_right(one.text, problem.gold)
        rows.append(
            {
                **asdict(labels),
                "instance_id": first + i,
                "task": TASK,
                "subtask": "",
                "knob": problem.knob,
                # No knob was trained on more than another, so all of them count.
                "split": "seen",
                "correct": right,
                "lenient_correct": right,
                "question": problem.question,
                "answer": f"{problem.gold:.12g}",
                "predicted": one.text,
                "seen_in_training": None,
                "num_tokens": len(one.tokens["exit_depth"]) - head,
                "meta_id": problem.id,
                "meta_instance": problem.instance,
                "meta_template": problem.template,
                "meta_shared": None if shared is None else int(problem.template in shared),
                "meta_ended": int(one.ended),
                "meta_example_tokens": head,
            }
        )
    kinds = {**INSTANCE_SCHEMA, "meta_shared": pl.Int64}
    table = pl.DataFrame(rows, schema_overrides=kinds).with_columns(**_cost_columns(model, written, heads, labels))
    return table.select(*INSTANCE_SCHEMA, pl.col("^meta_.*$"))


def token_table(
    tokenizer: Any,
    problems: Sequence[Problem],
    written: Sequence[Written],
    labels: Labels,
    *,
    first: int,
    heads: Sequence[int],
) -> pl.DataFrame:
    """Return one record per token that was read, from the question on."""
    rows = [_token_arrays(one, head) for one, head in zip(written, heads, strict=True)]
    sizes = [len(row["exit_depth"]) for row in rows]
    values = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    probs = values["exit_probs"].astype(np.float32) if "exit_probs" in values else None
    target = pl.Series(values["target"]).set(pl.Series(values["target"] < 0), None)
    table = pl.DataFrame(
        {
            "run_id": pl.Series([labels.run_id]).new_from_index(0, sum(sizes)),
            "step": np.full(sum(sizes), labels.step),
            "instance_id": np.repeat(np.arange(first, first + len(rows)), sizes),
            "knob": np.repeat([problem.knob for problem in problems], sizes),
            "position": np.concatenate([np.arange(size) for size in sizes]),
            "input_id": values["input"],
            "input_text": tokenizer.convert_ids_to_tokens(values["input"].tolist()),
            "target_id": target,
            "target_kind": np.where(values["target"] < 0, "none", np.where(values["answer"], "answer", "prompt")),
            "predicted_id": target,
            "correct": _empty(pl.Boolean, sum(sizes)),
            "exit_depth": values["exit_depth"],
            "executed": values["executed"],
            "expected_depth": _series(None if probs is None else probs @ np.arange(1, probs.shape[1] + 1), sum(sizes)),
            "exit_probs": _empty(pl.List(pl.Float32), sum(sizes)) if probs is None else pl.Series(probs).arr.to_list(),
            "margin": _series(decision_margin(probs, labels), sum(sizes)),
            "ce": _empty(pl.Float32, sum(sizes)),
            "change": _empty(pl.Float32, sum(sizes)),
            "lens": None,
        }
    )
    return table.select(*TOKEN_SCHEMA).cast(pl.Schema(TOKEN_SCHEMA))


def _token_arrays(one: Written, head: int) -> dict[str, Array]:
    """Return what is known of a row's tokens from its question on; the target is -1 where nothing was written."""
    count = len(one.tokens["exit_depth"])
    ids = np.array([*one.prompt, *one.ids, -1])
    known = {name: one.tokens[name][head:] for name in ("exit_depth", "executed", "exit_probs") if name in one.tokens}
    answer = np.arange(head, count) >= len(one.prompt) - 1
    return {"input": ids[head:count], "target": ids[head + 1 : count + 1], "answer": answer, **known}


def _series(values: Array | None, count: int) -> pl.Series:
    return _empty(pl.Float32, count) if values is None else pl.Series(values.astype(np.float32))


def _empty(kind: Any, count: int) -> pl.Series:
    return pl.Series([None], dtype=kind).new_from_index(0, count)


def _cost_columns(model: Any, written: Sequence[Written], heads: Sequence[int], labels: Labels) -> dict[str, Array]:
    """Return what each row has cost from its question on, and what it would at full depth."""
    lengths = np.array([len(one.tokens["executed"]) for one in written])
    columns: dict[str, Array] = {}
    for prefix, full in (("", False), ("full_", True)):
        # What the examples cost does not depend on what follows them: the model is causal.
        whole, head = (_costs(model, written, size, labels, full=full) for size in (lengths, np.array(heads)))
        columns |= {f"{prefix}{name}": whole[name] - head[name] for name in COSTS}
    return {name: values for name, values in columns.items() if name in INSTANCE_SCHEMA}


def _costs(model: Any, written: Sequence[Written], lengths: Array, labels: Labels, *, full: bool) -> dict[str, Array]:
    """Return what the first tokens of each row have cost, or would at full depth."""
    known = depth_model(model)
    width = max(int(lengths.max()), 1)
    valid = np.arange(width) < lengths[:, None]
    skips = not full and "ran" in written[0].tokens
    return known.costs(
        np.full(valid.shape, known.max_depth) if full else _padded(written, "executed", width),
        valid,
        labels.select,
        max_depth=known.max_depth,
        ran=_padded(written, "ran", width) if skips else None,
        hides=skips and any(one.hides for one in written),
    )


def _padded(written: Sequence[Written], name: str, width: int) -> Array:
    """Return what is known of each row's tokens as one array, cut or filled to a width."""
    values = [one.tokens[name][:width] for one in written]
    pads = [[(0, width - len(value)), *[(0, 0)] * (value.ndim - 1)] for value in values]
    whole = np.stack([np.pad(value, pad) for value, pad in zip(values, pads, strict=True)])
    return whole if whole.dtype == bool else whole.astype(np.int64)
