"""`anira evaluate`, as somebody types it."""

import json
import re
import shutil

import polars as pl
import pytest
from tests.training_support import assert_same_records, begin, tiny_config, train_tiny

from anira.training.checkpoint import latest_checkpoint
from anira.training.presets import preset


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("run"), "mano-anira-o-smoke", steps=4)


@pytest.fixture
def copy(run, tmp_path):
    """A run without records of its own."""
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("records"))
    return tmp_path / "run"


def asked(folder):
    return json.loads((folder / "evaluation.json").read_text())


def test_it_writes_records_and_says_where(anira, run, copy):
    result = anira("evaluate", copy, "-n", "6")
    folder = copy / "records" / "step-000004-n6"
    assert (result.status, result.out) == (0, f"{folder}\n")
    first, head, *rows, last = result.err.splitlines()
    assert first == "wrote 18 instances"
    assert last == f"next: anira analyze {copy} --evaluation {folder.name}"
    instances = pl.read_parquet(folder / "instances-*.parquet")
    tokens = pl.read_parquet(folder / "tokens-*.parquet").filter(target_kind="answer")
    assert head.split() == ["knob", "split", "accuracy", "answer", "depth"]
    assert [row.split() for row in rows] == [
        [
            str(knob),
            "seen",
            f"{instances.filter(knob=knob)['correct'].mean():.3f}",
            f"{tokens.filter(knob=knob)['exit_depth'].mean():.2f}",
        ]
        for knob in (1, 2, 3)
    ]
    assert sorted(instances["knob"].to_list()) == [1] * 6 + [2] * 6 + [3] * 6
    assert set(instances["run_id"]) == {asked(folder)["run_id"]} == {f"mano-anira-o-smoke/{run.name}"}
    assert set(instances["variant"]) == {"anira-o"}
    assert instances["seen_in_training"].null_count() == 0
    assert asked(folder)["complete"]


@pytest.fixture(scope="module")
def clrs(tmp_path_factory):
    task = {"tasks": ["sort", "minimum"], "sizes": [3, 4]}
    return train_tiny(tmp_path_factory.mktemp("run"), "clrs-anira-o-smoke", steps=2, task_config=task)


@pytest.mark.parametrize(
    ("words", "name", "knobs"),
    [
        ("", "step-000002-n5", {"sort": [3, 4], "minimum": [3, 4]}),
        ("--knobs 4:6", "step-000002-n5-4-6", {"sort": [4, 5, 6], "minimum": [4, 5, 6]}),
        ("--subtasks minimum", "step-000002-n5-minimum", {"minimum": [3, 4]}),
        ("--subtasks minimum,sort --knobs 5", "step-000002-n5-minimum_sort-5", {"minimum": [5], "sort": [5]}),
        ("--knobs 3 --generate", "step-000002-n5-3-generated", {"sort": [3], "minimum": [3]}),
    ],
)
def test_a_task_with_subtasks_is_evaluated_part_by_part(anira, clrs, words, name, knobs):
    cells = sum(map(len, knobs.values()))
    folder = clrs / "records" / name
    result = anira("evaluate", clrs, "-n", "5", *words.split())
    assert (result.status, result.out) == (0, f"{folder}\n")
    assert result.err.startswith(f"wrote {5 * cells} instances\n")
    assert asked(folder)["knobs"] == knobs
    assert len(pl.read_parquet(folder / "instances-*.parquet")) == 5 * cells


def test_a_subtask_that_is_not_there_is_refused(anira, clrs, copy):
    assert anira("evaluate", clrs, "--subtasks", "srt").err.endswith(
        "has no subtask 'srt' here: did you mean 'sort'?\n"
    )
    assert "task 'mano' has no subtasks" in anira("evaluate", copy, "--subtasks", "sort").err


def test_its_final_records_are_those_of_training(anira, run, copy):
    """But for what training does not know: whether it has seen an instance."""
    anira("evaluate", copy, "-n", "6", "--name", "again")
    for knob in (1, 2, 3):
        for kind in ("tokens", "instances"):
            name = f"{kind}-k00{knob}.parquet"
            ours, theirs = (pl.read_parquet(path / name) for path in (copy / "records/again", run / "records/final"))
            assert ours.drop("seen_in_training", strict=False).equals(theirs.drop("seen_in_training", strict=False))


@pytest.mark.parametrize(
    ("words", "name", "facts"),
    [
        ("--knobs 2:3", "step-000004-n5-2-3", {"knobs": [2, 3]}),
        ("--knobs 1,7", "step-000004-n5-1_7", {"knobs": [1, 7]}),
        ("--step 2", "step-000002-n5", {"step": 2}),
        ("--select mean", "step-000004-n5-mean", {"select": "mean", "threshold": None}),
        ("--threshold 0.75", "step-000004-n5-t0.75", {"select": "quantile", "threshold": 0.75}),
        ("--generate", "step-000004-n5-generated", {"decode": "generated"}),
        ("--override permuted", "step-000004-n5-permuted", {"override": "permuted"}),
        ("--depth 2", "step-000004-n5-depth-2", {"override": "depth-2"}),
        ("--exits virtual", "step-000004-n5-virtual", {"override": "virtual"}),
        ("--max-depth 5", "step-000004-n5-max-depth-5", {"override": "max-depth-5"}),
        ("--name mine", "mine", {"n": 5}),
    ],
)
def test_options_are_honoured_and_name_the_folder(anira, copy, words, name, facts):
    result = anira("evaluate", copy, "-n", "5", *words.split())
    folder = copy / "records" / name
    assert (result.status, result.out) == (0, f"{folder}\n"), result.err
    assert facts.items() <= asked(folder).items()
    instances = pl.read_parquet(folder / "instances-*.parquet")
    assert len(instances) == 5 * len(asked(folder)["knobs"])
    for column in ("step", "select", "threshold", "decode", "override"):
        assert instances[column].unique().to_list() == [asked(folder)[column]]


def test_knobs_beyond_training_are_extrapolation(anira, copy):
    folder = copy / "records" / "wide"
    anira("evaluate", copy, "-n", "2", "--knobs", "3:5", "--name", "wide")
    instances = pl.read_parquet(folder / "instances-*.parquet").sort("instance_id")
    assert instances["split"].to_list() == ["seen"] * 2 + ["extrapolation"] * 4


def test_the_same_again_changes_nothing_and_another_is_refused(anira, copy, tmp_path):
    words = ("evaluate", copy, "-n", "4", "--name", "mine")
    assert anira(*words).status == 0
    shutil.copytree(copy / "records", tmp_path / "before")
    assert anira(*words).status == 0
    assert_same_records(tmp_path / "before", copy / "records")
    status, out, err = anira("evaluate", copy, "-n", "5", "--name", "mine")
    assert (status, out) == (2, "")
    assert err == f"anira: {copy}/records/mine holds another evaluation: remove it, or choose another --name\n"
    assert_same_records(tmp_path / "before", copy / "records")


MISTAKES = {
    "no run": ("nowhere", "nowhere is not a run"),
    "no checkpoint": ("{bare}", "has no checkpoint; kept: none"),
    "wrong step": ("{run} --step 3", r"has no checkpoint of step 3; kept: [2, 4]"),
    "no run named": ("", "missing: RUN"),
    "no instances": ("{run} -n 0", "-n must be at least 1, not 0"),
    "knobs that are none": ("{run} --knobs few", "knobs are written as 3:16 or 10,20,50, not 'few'"),
    "knob out of range": ("{run} --knobs 1:300", "knob L = 300 is out of range: it goes from 1 to 200"),
    "knobs twice": ("{run} --knobs 3,3", "must be distinct"),
    "threshold without quantile": (
        "{run} --select mode --threshold 0.5",
        "rule 'mode' of policy 'anira-o' takes no threshold",
    ),
    "quantile without threshold": (
        "{run} --select quantile",
        "rule 'quantile' of policy 'anira-o' needs a threshold in (0, 1]",
    ),
    "threshold of nothing": ("{run} --threshold 0", "the threshold of rule 'quantile' must lie in (0, 1], not 0"),
    "unknown rule": ("{run} --select best", "policy 'anira-o' has no rule 'best'"),
    "unknown override": ("{run} --override none", "--override must be"),
    "generate and override": ("{run} --generate --override permuted", "leave out --generate"),
    "depth of nothing": ("{run} --depth 0", "--depth must be at least 1, not 0"),
    "too deep": ("{run} --depth 4", "the model has at most depth 3: 4 cannot be forced"),
    "depth and rule": ("{run} --depth 1 --select mode", "leave out --override, --select and --threshold"),
    "depth and override": ("{run} --depth 1 --override permuted", "--override and --depth do not go together"),
    "unknown option": ("{run} --knob 3", "perhaps you meant --knobs"),
}


@pytest.mark.parametrize(("words", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line_and_leaves_no_records(anira, copy, tmp_path, words, expected):
    bare = begin(tmp_path / "bare", tiny_config())
    status, out, err = anira("evaluate", *words.format(run=copy, bare=bare).split())
    assert (status, out) == (2, "")
    assert err.startswith("anira: ")
    assert err.count("\n") == 1, err
    assert expected in err
    assert not (copy / "records").exists()


def test_several_answers_a_row_cannot_be_written_freely(anira, tmp_path):
    name = "depo-fixed-smoke"
    run = train_tiny(tmp_path, name, task_config={**preset(name).task_config, "eval_queries": 2}, steps=2)
    status, out, err = anira("evaluate", run, "-n", "2", "--generate", "--name", "free")
    assert (status, out) == (2, "")
    assert err == "anira: --generate needs one answer a row: task 'depo' has several here\n"
    assert not (run / "records" / "free").exists()


def test_a_damaged_checkpoint_is_refused_by_name(anira, copy):
    file = latest_checkpoint(copy) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    status, out, err = anira("evaluate", copy)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"anira: \S*/step-4 is damaged: .* model.safetensors .*; step 2 is whole: --step 2\n", err)


def test_help_is_readable(anira):
    text = anira("evaluate", "--help").out
    for word in ("RUN", "--step S", "--knobs K", "-n N", "--threshold T", "--generate", "--override", "3:16"):
        assert word in text
