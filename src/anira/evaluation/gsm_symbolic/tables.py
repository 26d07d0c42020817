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
import torch

from anira.evaluation.gsm_symbolic.decoding import Array, Written, max_depth
from anira.evaluation.records import INSTANCE_SCHEMA, TOKEN_SCHEMA
from anira.evaluation.tables import Labels, decision_margin
from anira.inference import row_costs
from anira.models import AniraForCausalLM
from anira.models.wrapped import policy_in_use
from anira.tasks.gsm_symbolic import Problem, is_right

TASK = "gsm-symbolic"
_COSTS = ("iterations", "decisions", "flops", "kv_slots")


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
    parts = []
    for i, (problem, one, head) in enumerate(zip(problems, written, heads, strict=True)):
        row = _token_columns(tokenizer, one, labels, head)
        parts.append(row.with_columns(instance_id=pl.lit(first + i), knob=pl.lit(problem.knob)))
    table = pl.concat(parts).with_columns(run_id=pl.lit(labels.run_id), step=pl.lit(labels.step, pl.Int64))
    return table.select(*TOKEN_SCHEMA).cast(pl.Schema(TOKEN_SCHEMA))


def _token_columns(tokenizer: Any, one: Written, labels: Labels, head: int) -> pl.DataFrame:
    count = len(one.tokens["exit_depth"])
    ids = np.array([*one.prompt, *one.ids])
    following = [int(token) for token in ids[head + 1 : count + 1]]
    missing = count - head - len(following)  # where nothing was written, the last token of the prompt predicts nothing
    kinds = np.where(np.arange(head, count) < len(one.prompt) - 1, "prompt", "answer")
    kinds = np.where(np.arange(count - head) < len(following), kinds, "none")
    depth, probs = one.tokens["exit_depth"][head:], _own(one, "exit_probs", head)
    written = pl.Series([*following, *[None] * missing], dtype=pl.Int32)
    return pl.DataFrame(
        {
            "position": np.arange(count - head),
            "input_id": ids[head:count],
            "input_text": tokenizer.convert_ids_to_tokens(ids[head:count].tolist()),
            "target_id": written,
            "target_kind": kinds,
            "predicted_id": written,
            "correct": _empty(pl.Boolean, len(depth)),
            "exit_depth": depth,
            "executed": one.tokens["executed"][head:],
            "expected_depth": _series(None if probs is None else probs @ np.arange(1, probs.shape[1] + 1), len(depth)),
            "exit_probs": _empty(pl.List(pl.Float32), len(depth)) if probs is None else pl.Series(probs).arr.to_list(),
            "margin": _series(decision_margin(probs, labels), len(depth)),
            "ce": _empty(pl.Float32, len(depth)),
            "change": _empty(pl.Float32, len(depth)),
        }
    )


def _own(one: Written, name: str, head: int) -> Array | None:
    return one.tokens[name][head:].astype(np.float32) if name in one.tokens else None


def _series(values: Array | None, count: int) -> pl.Series:
    return _empty(pl.Float32, count) if values is None else pl.Series(values.astype(np.float32))


def _empty(kind: Any, count: int) -> pl.Series:
    return pl.Series([None], dtype=kind).new_from_index(0, count)


def _cost_columns(model: Any, written: Sequence[Written], heads: Sequence[int], labels: Labels) -> dict[str, Array]:
    """Return what each row has cost from its question on, and what it would at full depth."""
    lengths = torch.tensor([len(one.tokens["executed"]) for one in written])
    most = max_depth(model)
    columns: dict[str, Array] = {}
    for prefix, full in (("", False), ("full_", True)):
        # What the examples cost does not depend on what follows them: the model is causal.
        whole, head = (_costs(model, written, size, labels, full=full) for size in (lengths, torch.tensor(heads)))
        columns |= {f"{prefix}{name}": whole[name] - head[name] for name in _COSTS}
    assert (columns["full_iterations"] == most * (lengths.numpy() - np.array(heads))).all()
    return {name: values for name, values in columns.items() if name in INSTANCE_SCHEMA}


def _costs(
    model: Any, written: Sequence[Written], lengths: torch.Tensor, labels: Labels, *, full: bool
) -> dict[str, Array]:
    if not isinstance(model, AniraForCausalLM):
        tokens = lengths.numpy().astype(np.int64)
        flops = 2 * model.num_parameters() * tokens  # a multiply-add per parameter and token, attention left out
        return {"iterations": tokens, "decisions": 0 * tokens, "flops": flops, "kv_slots": tokens}
    most = max_depth(model)
    width = max(int(lengths.max()), 1)
    valid = torch.arange(width) < lengths[:, None]
    depths = torch.full(valid.shape, most) if full else torch.from_numpy(_padded(written, "executed", width))
    skips = not full and "ran" in written[0].tokens
    cost = row_costs(
        model.config,
        policy_in_use(model.policy).for_rule(labels.select),
        depths,
        valid=valid,
        max_depth=most,
        ran=torch.from_numpy(_padded(written, "ran", width)) if skips else None,
        hides=skips and any(one.hides for one in written),
    )
    cost["flops"] = cost["core_flops"] + cost["decision_flops"] + cost["other_flops"]
    return {name: cost[name].numpy() for name in _COSTS}


def _padded(written: Sequence[Written], name: str, width: int) -> Array:
    """Return what is known of each row's tokens as one array, cut or filled to a width."""
    values = [one.tokens[name][:width] for one in written]
    pads = [[(0, width - len(value)), *[(0, 0)] * (value.ndim - 1)] for value in values]
    whole = np.stack([np.pad(value, pad) for value, pad in zip(values, pads, strict=True)])
    return whole if whole.dtype == bool else whole.astype(np.int64)
