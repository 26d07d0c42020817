"""A task that is several in one is evaluated part by part; one that is not, as if there were no parts."""

import json

import polars as pl
import pytest
from tests.training_support import assert_same_records, metrics, train_tiny
from tests.unit.evaluation.evaluation_support import SUBJECT, TASKS, evaluated, model_for, read

from anira.config import UserError
from anira.evaluation import EvaluationConfig, Overlap, evaluate, evaluated_cells, parse_subtasks
from anira.tasks.clrs import Clrs, ClrsConfig

# sort at 7 has rows of more than 100 tokens: seen sizes differ between the two
CLRS = Clrs(ClrsConfig(tasks=("sort", "minimum"), sizes=(3, 5, 7), max_length=100))
CELLS = [("sort", 3), ("sort", 5), ("minimum", 3), ("minimum", 5), ("minimum", 7)]
MANO = TASKS["mano"]


def names(folder):
    return {path.name for path in folder.iterdir()}


def files(cells):
    return {f"{kind}-{name}-k{knob:03d}.parquet" for kind in ("instances", "tokens") for name, knob in cells}


def asked(folder):
    return json.loads((folder / "evaluation.json").read_text())


def test_by_default_each_part_has_the_knobs_that_it_is_trained_on(tmp_path):
    figures = evaluate(model_for(CLRS), CLRS, EvaluationConfig(count=4), SUBJECT, tmp_path / "e")
    assert names(tmp_path / "e") == files(CELLS) | {"evaluation.json"}
    assert asked(tmp_path / "e")["knobs"] == {"sort": [3, 5], "minimum": [3, 5, 7]}
    assert [(figure["subtask"], figure["knob"]) for figure in figures] == CELLS
    instances, tokens = read(tmp_path / "e")
    assert instances["instance_id"].to_list() == list(range(4 * len(CELLS)))
    assert instances.select("subtask", "knob").rows()[::4] == CELLS
    assert set(tokens["instance_id"]) == set(instances["instance_id"])


def test_instances_are_the_rows_of_the_part(tmp_path):
    instances, _ = evaluated(model_for(CLRS), CLRS, tmp_path / "e", knobs={"minimum": (6, 3)}, count=5)
    part = CLRS.parts()[1]
    for place, (knob, split) in enumerate([(6, "interpolation"), (3, "seen")]):
        rows = part.rows(seed=0, stream="eval", start=0, count=5, knob=knob)
        for i in range(5):
            record = instances.row(5 * place + i, named=True)
            assert (record["question"], record["answer"]) == (
                part.instance(rows, i).question,
                part.instance(rows, i).answer,
            )
            assert (record["task"], record["subtask"], record["knob"], record["split"]) == (
                "clrs",
                "minimum",
                knob,
                split,
            )


def test_a_split_is_that_of_the_part(tmp_path):
    """7 is trained for the minimum and too long for sorting."""
    instances, _ = evaluated(model_for(CLRS), CLRS, tmp_path / "e", knobs=(7,), count=2)
    assert instances.select("subtask", "split").unique(maintain_order=True).rows() == [
        ("sort", "extrapolation"),
        ("minimum", "seen"),
    ]


def test_figures_are_those_of_the_records(tmp_path):
    figures = evaluate(model_for(CLRS), CLRS, EvaluationConfig(count=6), SUBJECT, tmp_path / "e")
    instances, tokens = read(tmp_path / "e")
    for figure in figures:
        own = instances.filter(subtask=figure["subtask"], knob=figure["knob"])
        answers = tokens.filter(pl.col("instance_id").is_in(own["instance_id"].to_list()), target_kind="answer")
        assert (figure["n"], figure["accuracy"]) == (6, own["correct"].mean())
        assert figure["depth_answer"] == answers["exit_depth"].mean()


class Stopped(Exception):
    pass


def test_a_stopped_evaluation_goes_on_where_it_was(tmp_path):
    model, config = model_for(CLRS), EvaluationConfig(count=3)

    def stop(instances):
        if instances == 9:
            raise Stopped

    with pytest.raises(Stopped):
        evaluate(model, CLRS, config, SUBJECT, tmp_path / "e", progress=stop)
    assert names(tmp_path / "e") == files(CELLS[:3]) | {"evaluation.json"}
    told = []
    figures = evaluate(model, CLRS, config, SUBJECT, tmp_path / "e", progress=told.append)
    assert told == [3, 6, 9, 12, 15]
    assert figures == evaluate(model, CLRS, config, SUBJECT, tmp_path / "whole")
    assert_same_records(tmp_path / "whole", tmp_path / "e")


def test_other_subtasks_in_the_folder_are_refused(tmp_path):
    model = model_for(CLRS)
    evaluate(model, CLRS, EvaluationConfig(knobs={"sort": (3,)}, count=2), SUBJECT, tmp_path / "e")
    with pytest.raises(UserError, match="holds another evaluation"):
        evaluate(model, CLRS, EvaluationConfig(knobs={"minimum": (3,)}, count=2), SUBJECT, tmp_path / "e")


def test_one_subtask_alone_still_has_its_name(tmp_path):
    alone = Clrs(ClrsConfig(tasks=("minimum",), sizes=(3,)))
    instances, _ = evaluated(model_for(alone), alone, tmp_path / "e", knobs=None, count=2)
    assert names(tmp_path / "e") == files([("minimum", 3)]) | {"evaluation.json"}
    assert set(instances["subtask"]) == {"minimum"}


def test_a_task_that_is_only_one_has_no_subtask_anywhere(tmp_path):
    figures = evaluate(model_for(MANO), MANO, EvaluationConfig(count=2), SUBJECT, tmp_path / "e")
    assert not any("subtask" in figure for figure in figures)
    assert asked(tmp_path / "e")["knobs"] == list(MANO.knob.seen)
    given = {"knobs": MANO.knob.seen, "count": 2}
    evaluate(model_for(MANO), MANO, EvaluationConfig(**given), SUBJECT, tmp_path / "given")
    assert_same_records(tmp_path / "given", tmp_path / "e")


def test_what_training_has_seen_is_looked_up_in_the_whole_mixture(tmp_path):
    overlap = Overlap(CLRS, seed=0, rows=64)
    train = CLRS.rows(seed=0, stream="train", start=0, count=64)
    questions = {CLRS.instance(train, i).question for i in range(64)}
    config = EvaluationConfig(count=4)
    evaluate(model_for(CLRS), CLRS, config, SUBJECT, tmp_path / "e", overlap=overlap)
    instances, _ = read(tmp_path / "e")
    assert instances["seen_in_training"].to_list() == [question in questions for question in instances["question"]]


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [({"srt": (3,)}, "did you mean 'sort'"), ({"sort": (1,)}, "out of range"), ((300,), "out of range")],
)
def test_what_does_not_exist_is_refused_before_any_work(tmp_path, knobs, expected):
    with pytest.raises(UserError, match=expected):
        evaluate(model_for(CLRS), CLRS, EvaluationConfig(knobs=knobs, count=1), SUBJECT, tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_cells_of_a_task_that_is_only_one():
    assert [(part is MANO, knob) for part, knob in evaluated_cells(MANO, (2, 4))] == [(True, 2), (True, 4)]


@pytest.mark.parametrize(
    ("text", "task", "expected"),
    [
        ("sort,srt", CLRS, "did you mean 'sort'"),
        ("bfs", CLRS, "known: minimum, sort|known: sort, minimum"),
        ("sort,sort", CLRS, "distinct"),
        ("", CLRS, "no subtask ''"),
        ("sort", MANO, "has no subtasks: leave out --subtasks"),
    ],
)
def test_other_texts_are_refused(text, task, expected):
    with pytest.raises(UserError, match=expected):
        parse_subtasks(text, task)


def test_training_logs_every_part(tmp_path):
    task = {"tasks": ["sort", "minimum"], "sizes": [3, 4]}
    path = train_tiny(tmp_path, "clrs-anira-o-smoke", task_config=task, steps=2, eval_every=1)
    lines = metrics(path, "eval")
    cells = [("sort", 3), ("sort", 4), ("minimum", 3), ("minimum", 4)]
    assert [(line["subtask"], line["knob"]) for line in lines] == cells * 2
    assert [line["step"] for line in lines] == [1] * 4 + [2] * 4
