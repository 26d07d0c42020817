"""Pictures of committed runs: who runs which iteration under each policy, the token view, the headline chart."""

import json
from pathlib import Path
from typing import Final

import numpy as np
import torch

from anira import make_task
from anira.training import load_run
from docs.scripts import charts, drawing
from docs.scripts.numbers import RESULTS, policy_name, run_label

ROW: Final = 3
"""A row of ten letters of words over S3, stream eval: the same word for all runs."""
_CELL: Final = 30


def newest_run(label: str, seed: int = 0) -> Path:
    """Return the folder of a run on words over S3, by its label (`run_label`)."""
    paths = [path for path in RESULTS.glob(f"words-*-cpu/*-s{seed}/config.json") if run_label(path.parent) == label]
    return max(paths, key=lambda path: json.loads(path.read_text())["date"]).parent


def _word() -> tuple[list[str], torch.Tensor, np.ndarray]:
    """Return the texts of a row's tokens, its ids, and its labels."""
    task = make_task("words")
    rows = task.rows(seed=0, stream="eval", start=ROW, count=1, knob=10)
    ids = rows.input_ids[0, : rows.lengths[0] - 1]
    return [task.vocab.tokens[i] for i in ids], torch.from_numpy(ids).long()[None], rows.labels[0, 1 : len(ids) + 1]


def mechanism(label: str) -> str:
    """Return the tokens of a word from left to right and iterations upwards: filled where the token ran one."""
    texts, ids, _ = _word()
    config, model, _ = load_run(newest_run(label))
    with torch.no_grad():
        out = model.eval()(ids)
    deepest = config.model["max_depth"]
    ran = out.ran[0] if out.ran is not None else torch.arange(deepest) < out.executed[0, :, None]
    parts = []
    for i, word in enumerate(texts):
        x = 64 + _CELL * (i + 0.5)
        parts.append(drawing.text(x, 14 + _CELL * deepest + 14, word, size=11 if len(word) < 3 else 9))
        for depth in range(1, deepest + 1):
            y = 14 + _CELL * (deepest - depth + 0.5)
            fill = drawing.SHADES[4] if ran[i, depth - 1] else drawing.PAPER
            parts.append(drawing.box(x, y, _CELL - 4, _CELL - 4, fill=fill, stroke="#c5ccd8"))
            if out.ran is None and out.exit_depth[0, i] == depth:  # who skips is read out at the end
                parts.append(f"<circle cx='{x:g}' cy='{y:g}' r='4' fill='{drawing.STRONG}'/>")
    rows = [drawing.text(56, 14 + _CELL * (deepest - d + 0.5), str(d), anchor="end") for d in range(1, deepest + 1)]
    size = (76 + _CELL * len(texts), 44 + _CELL * deepest)
    title = f"{policy_name(label)}: iterations that each token of a word over S3 runs"
    return drawing.document([*parts, *rows], size, title.replace("`", ""))


def tokens() -> str:
    """Return a word over S3 as two trained models read it: each token shaded by its depth, answers below."""
    texts, ids, _ = _word()
    parts = []
    for place, label in enumerate(("anira-e", "anira-o")):
        config, model, _ = load_run(newest_run(label))
        with torch.no_grad():
            out = model.eval()(ids)
        names = make_task("words").vocab.tokens
        said = [names[i] for i in out.logits[0].argmax(-1)]
        top = 30 + 104 * place
        parts.append(drawing.text(14, top + 20, policy_name(label), anchor="start"))
        for i, word in enumerate(texts):
            parts += _token(118 + 50 * (i + 0.5), top, word, said[i] if i else "", int(out.exit_depth[0, i]))
        parts.append(drawing.text(14, top + 58, "product", anchor="start", size=11, fill="#5b6472"))
    deepest = config.model["max_depth"]
    for depth in range(1, deepest + 1):
        x = 118 + 50 * (depth - 0.5)
        parts.append(drawing.box(x, 244, 46, 14, fill=drawing.shade(depth, deepest)[0]))
        parts.append(drawing.text(x, 262, str(depth), size=11))
    parts.append(drawing.text(14, 244, "depth", anchor="start", size=11, fill="#5b6472"))
    title = "Ten letters over S3 as two trained models read them: later letters get more iterations"
    return drawing.document(parts, (136 + 50 * len(texts), 276), title)


def _token(x: float, top: float, word: str, said: str, depth: int) -> list[str]:
    fill, ink = drawing.shade(depth, 5)
    return [
        drawing.box(x, top + 20, 46, 40, fill=fill),
        drawing.text(x, top + 14, word, size=13 if len(word) < 3 else 10, fill=ink),
        drawing.text(x, top + 30, f"depth {depth}", size=9, fill=ink),
        drawing.text(x, top + 58, said, size=12),
    ]


def headline() -> str:
    """Return accuracy against depth of all policies, on white paper."""
    made = charts.svg(charts.policies_chart(drawing.INK), ink=drawing.INK)
    start = made.index(">") + 1
    return f"{made[:start]}<rect width='100%' height='100%' fill='{drawing.PAPER}'/>{made[start:]}\n"
