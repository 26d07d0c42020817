"""The page of BREVO's regression: which features of a node explain the depth that was spent on it."""

from collections.abc import Mapping, Sequence

import polars as pl

from anira.measure.brevo.contrast import Contrast
from anira.measure.brevo.regression import SHOWN, SMALLEST_DELTA, MainRow, RegressionFigures, Stage
from anira.measure.brevo.tokens import FEATURES, SIZE
from anira.measure.claims.knob import Claim
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null
from anira.paper.brevo_regression.tables import Paper, PaperVariant, RegressionRun, coefficient_table, labels
from anira.site.drawing.dots import dots_figure
from anira.site.drawing.style import Style, styles
from anira.site.plain import short
from anira.site.sheet.cells import null_text
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

__all__ = ["RegressionRun", "regression_sheet"]

PANELS = {
    "coefficient": "given graph size",
    "given_position": "given graph size and position",
    "within": "within instances",
}
"""Estimate of a row of the fixed model -> title of its drawing."""
_SHORT = {"out_degree_dep": "hub (out-degree)", "frontier_ready": "search frontier", "newly_enabled": "newly enabled"}

Runs = Mapping[str, RegressionRun]
"""Label -> run."""


def regression_sheet(
    runs: Sequence[RegressionRun], contrasts: Sequence[Contrast], claims: Sequence[Claim], paper: Paper
) -> Sheet:
    """Return the page about some runs, pairs of them, and the verdicts over seeds."""
    named = dict(zip(labels(runs), runs, strict=True))
    fitted = {label: run for label, run in named.items() if not run.figures.undefined}
    return Sheet(
        name="brevo-regression",
        title="BREVO: what explains the depth of an answer token?",
        runs=[_about(label, run) for label, run in named.items()],
        sections=[
            *_missing(named),
            *(_compared(fitted, runs, paper) if fitted else ()),
            _contrasts(contrasts),
            *(_explained(fitted, paper) if fitted else ()),
            *verdict_sections(claims),
        ],
    )


def _missing(named: Runs) -> list[Section]:
    """Say which runs have nothing to fit, and why."""
    lines = [f"{label}: {run.figures.undefined}." for label, run in named.items() if run.figures.undefined]
    return [Section(title="Runs without a fit", text=lines)] if lines else []


def _compared(fitted: Runs, runs: Sequence[RegressionRun], paper: Paper) -> list[Section]:
    """Return what is the same model in every run."""
    looks = styles({label: run.figures.labels.variant for label, run in fitted.items()})
    return [_coefficients(fitted, coefficient_table(runs, paper), looks, paper), _groups(fitted, looks)]


def _explained(fitted: Runs, paper: Paper) -> list[Section]:
    """Return what each run chose in the four stages."""
    found = [(label, run.figures) for label, run in fitted.items()]
    return [_fits(fitted, paper), *(_stages(label, one, paper.get(one.labels.variant)) for label, one in found)]


def _about(label: str, run: RegressionRun) -> dict[str, str]:
    figures = run.figures
    return {
        "label": label,
        "right answers": f"{figures.instances:,}",
        "their tokens": f"{figures.tokens:,}",
        "accuracy, seen sizes": figures.accuracy.exact.text(3),
        "the commonest answer": f"{figures.accuracy.majority:.3f}",
        "step": f"{figures.labels.step:,}",
        "run": f"{figures.labels.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }


def _coefficients(fitted: Runs, table: pl.DataFrame, looks: Mapping[str, Style], paper: Paper) -> Section:
    words = {name: _SHORT.get(name, FEATURES[name]) for name in SHOWN}
    panels = []
    for value, title in PANELS.items():
        part = table.select(
            "label",
            pl.col("feature").alias("key"),
            pl.col(value).alias("value"),
            pl.col(f"{value}_low").alias("low"),
            pl.col(f"{value}_high").alias("high"),
            paper=pl.col("paper") if value == "coefficient" else pl.lit(None, dtype=pl.Float64),
        )
        below = "iterations for one more of the feature"
        panels.append(dots_figure(part, words, looks, name=f"brevo-{value}", title=title, below=below))
    rows = [
        _main_cells(label, run.figures.main[i], paper.get(run.figures.labels.variant))
        for i in range(len(SHOWN))
        for label, run in fitted.items()
    ]
    return Section(
        title="The paper's four features",
        looks=looks,
        panels=panels,
        tables=[Table("coefficients", rows)],
        below="Bars are 95% intervals, clustered by instance. Hollow markers: the paper's figures.",
    )


def _main_cells(label: str, row: MainRow, paper: PaperVariant | None) -> dict[str, str]:
    value = paper.coefficients.get(row.feature) if paper else None
    return {
        "feature": FEATURES[row.feature],
        "run": label,
        "paper": "-" if value is None else f"{value:+.3f}",
        "given size": short(row.coefficient, 3),
        "p (Holm)": _p(row.p_value),
        "given size and position": short(row.given_position, 3),
        "within instances": short(row.within, 3),
        "null, given size": null_text(row.null),
        "null, within": null_text(row.null_within),
    }


def _stages(label: str, figures: RegressionFigures, paper: PaperVariant | None) -> Section:
    chosen = [FEATURES[row.feature] for row in figures.final if row.feature != SIZE]
    words = f"The final model has N and {', '.join(chosen)}." if chosen else "Nothing but N is left in the final model."
    final = [_final_cells(row, paper) for row in figures.final]
    if figures.intercept and final:
        final.append(
            {**dict.fromkeys(final[0], "-"), "feature": "intercept", "coefficient": short(figures.intercept, 3)}
        )
    return Section(
        title=f"The four stages: {label}",
        text=[words],
        tables=[
            Table(f"{label}: stages 1 and 2", [_stage_cells(row) for row in figures.stages]),
            Table(f"{label}: final model", final),
        ],
        below=f"Features with a \u0394R\u00b2 above {SMALLEST_DELTA:.1%} go into the final model; N always does.",
    )


def _stage_cells(row: Stage) -> dict[str, str]:
    return {
        "feature": FEATURES[row.feature],
        "group": row.group,
        "r with depth": "undefined" if row.correlation is None else f"{row.correlation:+z.3f}",
        "stage 1": _dropped(row.dropped) if row.dropped else "kept",
        "VIF": "-" if row.vif is None else f"{row.vif:.1f}",
        "\u0394R\u00b2, %": _percent(row.delta),
    }


def _final_cells(row: Stage, paper: PaperVariant | None) -> dict[str, str]:
    def known(name: str, form: str, scale: float = 1.0) -> str:
        value = getattr(paper, name).get(row.feature) if paper else None
        return "-" if value is None else format(scale * value, form)

    return {
        "feature": FEATURES[row.feature],
        "coefficient": _shown(row.coefficient, 3),
        "paper's": known("final", "+.3f"),
        "\u0394R\u00b2, N a number, %": _percent(row.delta_linear),
        "paper's, number": known("delta_linear", ".2f", 100),
        "\u0394R\u00b2, N a category, %": _percent(row.delta_categorical),
        "paper's, category": known("delta_categorical", ".2f", 100),
        "retention": _shown(row.retention, 2),
        "paper's, retention": known("retention", ".2f"),
    }


def _fits(fitted: Runs, paper: Paper) -> Section:
    found = [(label, run.figures, paper.get(run.figures.labels.variant)) for label, run in fitted.items()]
    fits = [
        {
            "run": label,
            "N a number": _percent(figures.fits.linear),
            "paper's, number": f"{100 * known.r2_linear:.2f}" if known else "-",
            "N a category": _percent(figures.fits.categorical),
            "paper's, category": f"{100 * known.r2_categorical:.2f}" if known else "-",
            "more by category": _percent(figures.fits.improvement),
            "most probable depth": _percent(figures.fits.argmax),
            "more by expected depth": _percent(figures.fits.expected_gain),
            "paper's, expected": f"{100 * known.expected_gain:.0f}" if known else "-",
        }
        for label, figures, known in found
        if figures.fits
    ]
    control = [
        {
            "run": label,
            "position": f"{100 * figures.position.by_position:.1f}",
            "N": f"{100 * figures.position.by_size:.1f}",
            "N and position": f"{100 * figures.position.by_both:.1f}",
            "N and the four features": f"{100 * figures.position.model:.1f}",
            "N, position and the four features": f"{100 * figures.position.model_and_position:.1f}",
            "r of mean and largest depth of predecessors": _number(figures.read_correlation),
            "these two add": _percent(figures.fits.read if figures.fits else None),
        }
        for label, figures, _ in found
        if figures.position
    ]
    return Section(
        title="How much is explained, in %",
        text=["R\u00b2 of the final model, for expected and for most probable depth; then what position alone gives."],
        tables=[Table("R2 of the final model", fits), Table("position control and READ", control)],
    )


def _groups(fitted: Runs, looks: Mapping[str, Style]) -> Section:
    rows, drawn = [], []
    for label, run in fitted.items():
        groups = run.figures.groups
        if groups is None:
            continue
        for key, one in (("structure", groups.structure), ("state", groups.state)):
            drawn.append({"label": label, "key": key, "value": one.value, "low": one.low, "high": one.high})
        rows.append(
            {
                "run": label,
                "structure adds, %": _percent(groups.structure),
                "state adds, %": _percent(groups.state),
                "state's share": short(groups.share, 3),
                "given position": short(groups.share_given_position, 3),
                "remaining counted as state": short(groups.share_moved, 3),
                "over all tokens, given size": short(groups.share_pooled, 3),
                "null, structure, %": _null_percent(groups.null_structure),
                "null, state, %": _null_percent(groups.null_state),
            }
        )
    table = pl.DataFrame(drawn, infer_schema_length=None).with_columns(
        pl.col("value", "low", "high").cast(pl.Float64) * 100, paper=pl.lit(None, dtype=pl.Float64)
    )
    words = {"structure": "structural features", "state": "execution state"}
    figure = dots_figure(
        table,
        words,
        looks,
        name="brevo-groups",
        title="what one adds to the other",
        below="% of the variance within instances",
    )
    return Section(
        title="Structure or state?", looks=looks, panels=[figure], tables=[Table("structure and state", rows)]
    )


def _contrasts(contrasts: Sequence[Contrast]) -> Section:
    rows = [
        {
            "seed": str(one.seed),
            "runs": one.runs,
            "O less E": short(one.difference, 3),
            "given position": short(one.given_position, 3),
            "null": null_text(one.null),
            "obstacle": one.obstacle or "none",
        }
        for one in contrasts
    ]
    return Section(
        title="ANIRA-O beside ANIRA-E",
        text=() if rows else ["No run of ANIRA-O has the seed of a run of ANIRA-E: there is nothing to compare."],
        tables=[Table("state's share in ANIRA-O less that in ANIRA-E", rows)],
    )


def _percent(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    value, low, high = (None if one is None else 100 * one for one in (estimate.value, estimate.low, estimate.high))
    return short(Estimate(value, low, high, estimate.reason), 2)


def _null_percent(null: Null | None) -> str:
    """Write a null of a share of variance in percent."""
    return "-" if null is None else f"{100 * null.mean:.2f} [{100 * null.low:.2f}, {100 * null.high:.2f}]"


def _dropped(reason: str) -> str:
    """Write why a feature went; another feature in the reason gets its words."""
    why, _, name = reason.partition(" with ")
    return f"dropped: {why} with {FEATURES[name]}" if name else f"dropped: {why}"


def _shown(estimate: Estimate | None, digits: int) -> str:
    return "-" if estimate is None else short(estimate, digits)


def _p(value: float | None) -> str:
    return "undefined" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
