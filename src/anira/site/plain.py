"""A summary as tables of plain text, aligned."""

from collections.abc import Iterator

from anira.measure.claims.knob import experiment
from anira.measure.position import PositionControl
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null
from anira.measure.subtasks import SPLITS, Overview
from anira.measure.summary import Summary
from anira.site.values import layout


def tables(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield a title and a table for every part of a summary that has rows."""
    yield "Accuracy", layout(*_accuracy(summary))
    yield "Mean depth", layout(*_depth(summary))
    yield "Depth of answers against the knob", layout(*_alignment(summary))
    yield "Nulls: the same, shuffled across instances", layout(*_nulls(summary))
    yield "Position control: share of the variance of depth explained by", layout(*_position(summary))
    if summary.probes:
        yield "Spearman of depth with the reference solver's probes", layout(*_probes(summary))
    yield "Cost against the same model at full depth", layout(*_cost(summary))


def title(summary: Summary) -> str:
    """Name the evaluation and its size."""
    labels = summary.labels
    knobs = [row.knob for row in summary.accuracy if row.knob is not None]
    lines = (
        f"{experiment(labels)}, seed {labels.seed}, step {labels.step}, max_depth {labels.max_depth}",
        f"{summary.instances:,} instances, {len(knobs)} knobs; 95% intervals, clustered by instance",
        labels.evaluation,
    )
    return "\n".join(lines)


Table = tuple[list[str], list[list[str]]]


def _accuracy(summary: Summary) -> Table:
    head = ["knob", "split", "n", "accuracy", "lenient", "majority", "seen in training"]
    held_out = any(row.held_out is not None for row in summary.accuracy)
    rows = [
        [
            _knob(row.knob),
            row.split,
            str(row.instances),
            short(row.exact, 3),
            short(row.lenient, 3),
            f"{row.majority:.3f}",
            "-" if row.seen_in_training is None else f"{row.seen_in_training:.1%}",
            *["-" if row.held_out is None else short(row.held_out, 3)] * held_out,
        ]
        for row in summary.accuracy
    ]
    return [*head, *["held out of training"] * held_out], rows


def _depth(summary: Summary) -> Table:
    head = ["knob", "answers", "correct answers", "expected, answers", "prompt"]
    rows = [
        [_knob(row.knob), *map(short, (row.answer, row.answer_correct, row.expected, row.prompt))]
        for row in summary.depth
    ]
    return head, rows


def _alignment(summary: Summary) -> Table:
    head = ["measure", "instances", "n", "slope (iterations a knob)", "Spearman"]
    rows = [
        [row.measure.replace("_", " "), row.subset, str(row.instances), short(row.slope, 3), short(row.spearman, 3)]
        for row in summary.alignment
    ]
    return head, rows


def _nulls(summary: Summary) -> Table:
    head = ["measure", "instances", "slope", "Spearman", "cover zero"]
    rows = [
        [
            row.measure.replace("_", " "),
            row.subset,
            _null(row.null_slope),
            _null(row.null_spearman),
            _covers(row.null_slope, row.null_spearman),
        ]
        for row in summary.alignment
    ]
    return head, rows


def _position(summary: Summary) -> Table:
    head = ["depth at", "tokens", "position", "knob", "both", ""]
    rows = [
        [
            row.kind,
            str(row.tokens),
            *map(_share, (row.by_position, row.by_knob, row.by_both)),
            _separable(row),
        ]
        for row in summary.position
    ]
    return head, rows


def _separable(control: PositionControl) -> str:
    if control.knobs == 1:
        return "there is one knob only"
    return "" if control.separable else "not separable: position determines the knob"


def _probes(summary: Summary) -> Table:
    head = ["probe", "measure", "tokens", "within instances", "its null", "pooled", "its null"]
    rows = [
        [
            row.probe,
            row.measure.removesuffix("_depth"),
            str(row.tokens),
            short(row.within),
            _null(row.null_within),
            short(row.pooled),
            _null(row.null_pooled),
        ]
        for row in summary.probes
    ]
    return head, rows


def _cost(summary: Summary) -> Table:
    head = ["knob", "depth, all tokens", "iterations", "FLOPs", "KV slots", "decisions/token", "unread"]
    rows = [
        [
            _knob(row.knob),
            short(row.mean_depth),
            *(short(share) for share in (row.iterations_share, row.flops_share, row.kv_share)),
            _value(row.decisions_per_token),
            _value(row.unread_share),
        ]
        for row in summary.cost
    ]
    return head, rows


def _knob(knob: int | None) -> str:
    return "all" if knob is None else str(knob)


def short(estimate: Estimate, digits: int = 2) -> str:
    """Write an estimate shortly: why it is undefined is said in words below the tables."""
    if estimate.value is None:
        return "undefined"
    return estimate.text(digits) if estimate.low is not None else f"{estimate.value:z.{digits}f} [no interval]"


def _value(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.2f}"


def _share(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _null(null: Null | None) -> str:
    return "undefined" if null is None else null.text()


def _covers(*nulls: Null | None) -> str:
    known = [null for null in nulls if null is not None]
    return ("yes" if all(null.covers_zero for null in known) else "NO") if known else "undefined"


def overview_tables(shown: Overview) -> list[tuple[str, str]]:
    """Return titles and tables of plain text: one line a subtask, then one a subtask and knob."""
    return [("By subtask", _by_subtask(shown)), ("By subtask and knob", _by_knob(shown))]


def _by_subtask(shown: Overview) -> str:
    head = ["subtask", *SPLITS, "majority, seen", "answer depth", "slope (iterations a knob)", "Spearman"]
    rows = []
    for one in shown.subtasks:
        splits, seen = [one.over(split) for split in SPLITS], one.over("seen")
        accuracies = ["-" if row is None else row.exact.text(3) for row in splits]
        aligned = one.aligned()
        estimates = [short(one.depth[-1].answer), short(aligned.slope, 3), short(aligned.spearman, 3)]
        rows.append([one.subtask, *accuracies, "-" if seen is None else f"{seen.majority:.3f}", *estimates])
    return layout(head, rows)


def _by_knob(shown: Overview) -> str:
    head = ["subtask", "knob", "split", "n", "accuracy", "majority", "answer depth", "prompt depth"]
    rows = []
    for one in shown.subtasks:
        for row, depth in zip(one.accuracy, one.depth, strict=False):  # the last row of depth is that over all knobs
            figures = [short(row.exact, 3), f"{row.majority:.3f}", short(depth.answer), short(depth.prompt)]
            rows.append([one.subtask, str(row.knob), row.split, str(row.instances), *figures])
    return layout(head, rows)
