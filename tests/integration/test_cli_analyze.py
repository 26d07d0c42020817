"""`anira analyze`: from run folders to tables, sentences, JSON, and one line where something is wrong."""

import json

import pytest
from tests.sealing_support import edit_table, unlist
from tests.unit.measure.records_support import Plan, write_run, write_subtasks


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Three seeds with a planted rise and a fixed-depth run, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for seed in range(3):
        write_run(tmp_path / f"o-s{seed}", Plan(slope=0.6, n=60, seed=seed, draw=seed))
    write_run(tmp_path / "fixed", Plan(max_depth=1, variant="fixed", expected=False, n=60))
    return tmp_path


def test_tables_sentences_and_a_verdict(anira, runs):
    status, out, err = anira("analyze", "o-s0")
    assert (status, err) == (0, "")
    for title in (
        "Accuracy",
        "Mean depth",
        "Nulls",
        "Position control",
        "Spearman of depth",
        "Cost",
        "What this shows",
    ):
        assert f"\n{title}" in out
    assert "- Answer depth rises with the knob" in out
    assert "inconclusive, 1 seed, and 3 are needed" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 120


def test_several_runs_are_judged_together(anira, runs):
    out = anira("analyze", "o-s0", "o-s1", "o-s2", "fixed").out
    words = " ".join(out.split())
    assert words.count("What this shows") == 4
    assert "mano anira-o, select median: answer depth rises with the knob (slope): supported" in words
    assert "mano fixed, select median: answer depth rises with the knob (slope): not testable" in words


def test_json_is_one_object(anira, runs):
    data = json.loads(anira("analyze", "o-s0", "fixed", "--json").out)
    assert [one["labels"]["variant"] for one in data["evaluations"]] == ["anira-o", "fixed"]
    assert data["evaluations"][0]["alignment"][0]["slope"]["low"] > 0
    assert {claim["verdict"]["word"] for claim in data["claims"]} == {"inconclusive", "not testable"}


def test_an_evaluation_by_path_or_by_name(anira, runs):
    write_run(runs / "o-s0", Plan(slope=-0.5, n=60, step=100, max_depth=9), name="step-000100")
    by_default = json.loads(anira("analyze", "o-s0", "--json").out)
    by_name = json.loads(anira("analyze", "o-s0", "--evaluation", "step-000100", "--json").out)
    by_path = json.loads(anira("analyze", "o-s0/records/step-000100", "--json").out)
    assert by_default["evaluations"][0]["labels"]["step"] == 4000
    assert by_name == by_path
    assert by_name["evaluations"][0]["labels"]["step"] == 100


def test_the_evaluations_that_are_not_shown_are_named(anira, runs):
    for step in range(100, 800, 100):
        write_run(runs / "o-s0", Plan(n=9, step=step), name=f"step-{step:06d}")
    first = ", ".join(f"step-{step:06d}" for step in range(700, 200, -100))
    said = f"o-s0: other evaluations (--evaluation NAME): {first} and 2 more\n"
    assert anira("analyze", "o-s0").err == said
    assert anira("analyze", "o-s0/records/final").err == ""
    assert anira("analyze", "o-s0", "--evaluation", "step-000100").err == ""


def test_subtasks_stand_side_by_side_or_alone(anira, runs):
    write_subtasks(runs / "clrs", {"sort": Plan(slope=0.6, n=60), "bfs": Plan(n=60, draw=1)})
    status, out, err = anira("analyze", "clrs", "o-s0")
    assert (status, err) == (0, "")
    assert "clrs anira-o, select median, seed 0, step 4000" in out
    assert "2 subtasks, each on its own" in out
    assert out.count("Verdicts") == 1
    assert "\nNulls:" not in anira("analyze", "clrs").out
    alone = anira("analyze", "clrs", "--subtask", "sort").out
    assert "clrs sort anira-o, select median: answer depth rises with the knob" in " ".join(alone.split())
    data = json.loads(anira("analyze", "clrs", "--json").out)
    assert [one["subtask"] for one in data["overviews"][0]["subtasks"]] == ["sort", "bfs"]
    assert (data["evaluations"], data["claims"]) == ([], [])


def test_the_seed_of_resampling_moves_intervals_only(anira, runs):
    def slope(*words):
        return json.loads(anira("analyze", "o-s0", "--json", *words).out)["evaluations"][0]["alignment"][0]["slope"]

    assert slope() == slope("--seed", "0")
    assert slope()["value"] == slope("--seed", "1")["value"]
    assert slope()["low"] != slope("--seed", "1")["low"]


def test_an_incomplete_evaluation_is_shown_with_a_warning(anira, runs):
    unlist(runs / "o-s0" / "records" / "final", "instances-k004.parquet", "tokens-k004.parquet")
    status, out, _ = anira("analyze", "o-s0")
    assert status == 0
    assert "warning: no records of knob 4: the evaluation was interrupted" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "name at least one run folder"),
        ("nowhere", "nowhere is no folder"),
        (".", "holds 5 runs: give one of them, or ./*"),
        ("o-s0 --evaluation finl", "did you mean 'final'?"),
        ("o-s0 o-s0/records/final", "is given twice"),
        ("o-s0/records/final --evaluation final", "leave out --evaluation"),
        ("o-s0 --subtask sort", "has no subtask 'sort': its task has none"),
        ("o-s0 --seed -1", "--seed must not be negative"),
        ("o-s0 --sed 1", "perhaps you meant --seed"),
        ("o-s0 broken", "has no column 'exit_depth'"),
    ],
)
def test_a_mistake_is_one_line_before_any_work(anira, runs, words, complaint):
    run = write_run(runs / "broken", Plan(n=10))
    edit_table(run / "records" / "final" / "tokens-k002.parquet", lambda table: table.drop("exit_depth"))
    status, out, err = anira("analyze", *words.split())
    assert (status, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_no_model_is_loaded(anira_child, runs):
    """Analysis needs the records and nothing else: not the task, not the model that made them."""
    import subprocess
    import sys

    program = (
        "import sys; from anira.cli import main; status = main(['analyze', 'o-s0', '--json']);"
        "print(status, sorted({'torch', 'transformers'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=runs, capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
