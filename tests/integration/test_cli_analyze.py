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


def slope(rows, **labels):
    (row,) = [
        row
        for row in rows
        if (row["quantity"], row["subset"]) == ("slope", "all") and all(row[name] == labels[name] for name in labels)
    ]
    return row


def test_the_answer_first_then_tables_and_a_verdict(anira, runs):
    status, out, err = anira("analyze", "o-s0")
    assert (status, err) == (0, "")
    assert out.startswith("Does depth follow difficulty? MANO")
    assert out.splitlines()[1] == "Not testable here."
    assert "MANO, anira-o: answer depth rises by 0." in out.splitlines()[2]
    for title in ("does depth follow the knob?", "does depth only count positions?", "in numbers", "cost", "probes"):
        assert title in out
    assert "not testable: Slope of answer depth over the knob" in out, "need is unknown"


def test_several_runs_are_judged_together(anira, runs):
    words = " ".join(anira("analyze", "o-s0", "o-s1", "o-s2", "fixed").out.split())
    assert "MANO, anira-o: answer depth rises by" in words
    assert "(mean of 3 seeds)" in words
    assert "MANO fixed depth: not testable" in words


def test_runs_that_differ_in_more_than_the_seed_are_no_seeds_of_one_thing(anira, runs):
    out = anira("analyze", "o-s0", "o-s1").out
    assert "(mean of 2 seeds)" in out
    write_run(runs / "again", Plan(slope=0.2, n=60, seed=0))
    apart = anira("analyze", "o-s0", "again").out
    assert "(mean of 2 seeds)" not in apart


def test_json_is_one_object(anira, runs):
    data = json.loads(anira("analyze", "o-s0", "fixed", "--json").out)
    assert {row["variant"] for row in data["rows"]} == {"anira-o", "fixed"}
    assert slope(data["rows"], variant="anira-o")["low"] > 0
    assert {claim["verdict"]["word"] for claim in data["claims"]} == {"not testable"}


def test_an_evaluation_by_path_or_by_name(anira, runs):
    write_run(runs / "o-s0", Plan(slope=-0.5, n=60, step=100, max_depth=9), name="step-000100")
    by_default = json.loads(anira("analyze", "o-s0", "--json").out)
    by_name = json.loads(anira("analyze", "o-s0", "--evaluation", "step-000100", "--json").out)
    by_path = json.loads(anira("analyze", "o-s0/records/step-000100", "--json").out)
    assert {row["step"] for row in by_default["rows"]} == {4000}
    assert by_name == by_path
    assert {row["step"] for row in by_name["rows"]} == {100}


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
    assert out.startswith("Does depth follow difficulty? CLRS: sort, CLRS: bfs, MANO")
    alone = anira("analyze", "clrs", "--subtask", "sort").out
    assert "CLRS: sort, anira-o: answer depth rises" in alone
    assert "bfs" not in alone
    data = json.loads(anira("analyze", "clrs", "--json").out)
    assert {row["subtask"] for row in data["rows"]} == {"sort", "bfs"}


def test_the_seed_of_resampling_moves_intervals_only(anira, runs):
    def found(*words):
        return slope(json.loads(anira("analyze", "o-s0", "--json", *words).out)["rows"])

    assert found() == found("--seed", "0")
    assert found()["value"] == found("--seed", "1")["value"]
    assert found()["low"] != found("--seed", "1")["low"]


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
