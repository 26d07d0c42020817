"""The answer tokens of right answers on BREVO: their depth, and what the reference solver knows about each.

The features are the probes of the token, and two that READ (the reader of what was written before) would look at: how
deep the nodes were that this one depends on, at the positions that predicted them. A node without dependencies has to
wait for nothing, and has 0 there.

    answer               8    19    5    18        5 depends on 8 and 19
    expected depth      2.1  1.9   3.0   2.4
    read_mean           0    0     2.0   2.1
    read_max            0    0     2.1   2.1
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from anira.config import UserError
from anira.measure.records.loading import Evaluation
from anira.measure.records.reading import Records
from anira.measure.splits import widest
from anira.measure.statistics.estimates import Floats, Ints
from anira.measure.tidy import Labels

SIZE: Final = "num_nodes"
STRUCTURE: Final = ("out_degree_dep", "out_degree_with_query", "in_degree", "remaining")
STATE: Final = ("dfs_depth", "frontier_ready", "frontier_stack", "newly_enabled", "distance_to_query")
READ: Final = ("read_mean", "read_max")
FEATURES: Final = {
    SIZE: "graph size N",
    "out_degree_dep": "hub structure (out-degree)",
    "out_degree_with_query": "out-degree, query counted",
    "in_degree": "in-degree",
    "remaining": "remaining nodes (subtree size)",
    "dfs_depth": "DFS traversal depth",
    "frontier_ready": "frontier: nodes that are ready",
    "frontier_stack": "frontier: nodes that were met",
    "newly_enabled": "newly enabled nodes",
    "distance_to_query": "distance to the query",
    "read_mean": "mean depth of predecessors",
    "read_max": "largest depth of predecessors",
}
"""Feature -> words. The paper calls the first row and STRUCTURE structural, STATE the state of the algorithm."""
FEWEST: Final = 50
"""Right answers that a fit needs: of fewer, a dozen features explain anything."""


@dataclass(frozen=True, kw_only=True)
class AnswerTokens:
    """One row per node of a right answer, in the order of instances and positions."""

    labels: Labels
    split: str
    """Over which sizes they go."""
    instances: int
    """Right answers."""
    instance: Ints
    """Which of them a token belongs to, from 0."""
    size: Ints
    position: Ints
    """Number of the node in its answer, from 0."""
    features: Mapping[str, Floats]
    expected_depth: Floats
    argmax_depth: Floats
    """The most probable depth."""

    @property
    def undefined(self) -> str:
        """Why there is nothing to fit, or an empty string."""
        if self.instances < FEWEST:
            found = f"only {self.instances} instances were" if self.instances else "no instance was"
            return f"{found} answered right, and {FEWEST} are needed"
        return "the expected depth is constant" if self.expected_depth.std() < 1e-6 else ""


def read_answer_tokens(one: Records) -> AnswerTokens:
    """Read what the regression needs from the records of one evaluation."""
    if one.labels.task != "brevo":
        raise UserError(f"{one.evaluation.folder} has records of task {one.labels.task!r}, not of brevo")
    right = one.instances.filter("correct")
    tokens = _with_read(_answer_rows(one.evaluation, right))
    return AnswerTokens(
        labels=one.labels,
        split=widest(one.instances),
        instances=len(right),
        instance=tokens["instance"].cast(pl.Int64).to_numpy(),
        size=tokens[SIZE].cast(pl.Int64).to_numpy(),
        position=tokens["place"].cast(pl.Int64).to_numpy(),
        features={name: tokens[name].cast(pl.Float64).to_numpy() for name in FEATURES},
        expected_depth=tokens["depth"].to_numpy(),
        argmax_depth=tokens["argmax"].cast(pl.Float64).to_numpy(),
    )


def _answer_rows(evaluation: Evaluation, right: pl.DataFrame) -> pl.DataFrame:
    """Return the positions that predict nodes of right answers, `<eos>` left out: it has no probes."""
    probes = [name for name in FEATURES if name not in READ]
    known = evaluation.tokens.collect_schema().names()
    needed = [*(f"probe_{name}" for name in probes), "predecessor_positions", "exit_probs"]
    if missing := [name for name in needed if name not in known]:
        raise UserError(f"{evaluation.folder} has no {', '.join(missing)}: evaluate the run again")
    rows = right.select("instance_id").with_row_index("instance").lazy()
    frame = evaluation.collect(
        evaluation.tokens.filter((pl.col("target_kind") == "answer") & pl.col(f"probe_{SIZE}").is_not_null())
        .select(
            "instance_id",
            "position",
            "predecessor_positions",
            *(pl.col(f"probe_{name}").alias(name) for name in probes),
            depth=pl.col("expected_depth").cast(pl.Float64),
            argmax=pl.col("exit_probs").list.arg_max() + 1,
        )
        .join(rows, on="instance_id")
        .sort("instance", "position")
        .with_columns(place=pl.col("position") - pl.col("position").min().over("instance"))
    )
    if frame["depth"].null_count():
        raise UserError(f"{evaluation.folder} has no expected depth: its policy has no distribution over depths")
    if frame["instance"].n_unique() < len(right):
        raise UserError(f"{evaluation.folder} has right answers without a node or a probe: evaluate the run again")
    return frame


def _with_read(tokens: pl.DataFrame) -> pl.DataFrame:
    """Add the mean and the largest expected depth where a token's predecessors were predicted, 0 without any."""
    tokens = tokens.with_row_index("row")
    depths = tokens.select("instance", pl.col("position").alias("predecessor_positions"), pl.col("depth"))
    read = (
        tokens.select("row", "instance", "predecessor_positions")
        .explode("predecessor_positions", empty_as_null=True)
        .join(depths, on=["instance", "predecessor_positions"])
        .group_by("row")
        .agg(read_mean=pl.col("depth").mean(), read_max=pl.col("depth").max())
    )
    return tokens.join(read, on="row", how="left").sort("row").with_columns(pl.col(READ).fill_null(0.0))
