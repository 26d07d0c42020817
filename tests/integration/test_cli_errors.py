"""Every mistake that a user can make: one line on stderr, status 2, nothing on stdout, no file made."""

import pytest

EXPORT = "--split eval -n 10 --out rows.jsonl"

MISTAKES = {
    "unknown command": ("smaple mano", "did you mean 'sample'?"),
    "option before the command": ("--json tasks", "the command comes before --json"),
    "unknown task": ("sample man", "did you mean 'mano'?"),
    "unknown task, nothing near": ("sample xyz", "known: brevo, clrs, depo, lano, mano"),
    "no task": ("sample", "the task comes first"),
    "task after an option": (f"export {EXPORT} mano", "the task comes first"),
    "knob too small": (f"export mano --knob 0 {EXPORT}", "from 1 to 200"),
    "knob too large": ("sample brevo --knob 31", "from 2 to 30"),
    "hops beyond the vocabulary": (f"export depo --knob 5 {EXPORT}", "from 1 to 4"),
    "evaluation cycle that wraps around": (f"export depo --eval-sizes 4 10 {EXPORT}", "wraps around"),
    "sizes in the wrong order": (f"export mano --min-size 9 --max-size 4 {EXPORT}", "min_size <= max_size"),
    "question and knob": ("sample mano --question 1 --knob 3", "leave out --knob"),
    "question and count": ("sample mano --question 1 -n 1", "leave out -n"),
    "question and seed": ("sample mano --question 1 --seed 0", "leave out --seed"),
    "question and split": ("sample mano --question 1 --split train", "leave out --split"),
    "unknown option": (f"export mano --modulo 7 {EXPORT}", "perhaps you meant --modulus"),
    "option of another task": ("sample mano --max-hops 3", "unknown option: --max-hops"),
    "unknown option of tasks": ("tasks --jsn", "perhaps you meant --json"),
    "word for a number": (f"export mano --knob many {EXPORT}", "--knob must be INT, not 'many'"),
    "value missing": ("sample mano --knob", "--knob needs a value"),
    "unknown split": ("export mano --split test -n 1 --out rows.jsonl", "must be one of 'train', 'valid', 'eval'"),
    "required options missing": ("export mano", "missing: --split {train,valid,eval}, -n N, --count N, --out FILE"),
    "no rows": ("export mano --split eval -n 0 --out rows.jsonl", "-n must be at least 1"),
    "negative seed": (f"export mano --seed -1 {EXPORT}", "seed"),
    "unknown format": ("export mano --split eval -n 10 --out rows.csv", "must end in .jsonl or .parquet"),
    "no such folder": ("export mano --split eval -n 10 --out no/rows.jsonl", "does not exist: no"),
    "a folder of that name": ("export mano --split eval -n 10 --force --out folder.jsonl", "is a folder"),
    "a file of that name": ("export mano --split eval -n 10 --out there.parquet", "--force"),
    "a folder that takes no files": ("export mano --split eval -n 10 --out /proc/rows.parquet", "the disk has 0 bytes"),
    "unknown benchmark": ("bench task", "did you mean 'tasks'?"),
    "too few rows to measure": ("bench tasks --rows 100", "multiple of 4096"),
    "no repeats": ("bench tasks --repeats 0", "at least 1"),
    "plugin without a name": ("tasks --plugin", "needs the name of a module"),
    "plugin that is not there": ("tasks --plugin not_there", "No module named 'not_there'"),
    "plugin by its path": ("tasks --plugin toys/task.py", "not a path"),
    "option of a command that has none": ("demo --fast", "unknown option: --fast"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "there.parquet").write_text("old")
    return tmp_path


@pytest.mark.parametrize(("words", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_clear_line(anira, folder, words, expected):
    before = sorted(folder.rglob("*"))
    status, out, err = anira(*words.split())
    assert status == 2
    assert out == ""
    assert err.startswith("anira: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert expected in err
    assert sorted(folder.rglob("*")) == before
    assert (folder / "there.parquet").read_text() == "old"


@pytest.mark.parametrize("name", ["unknown command", "unknown task", "unknown option", "required options missing"])
def test_so_it_is_in_a_process_of_its_own(anira_child, name):
    words, expected = MISTAKES[name]
    status, out, err = anira_child(*words.split())
    assert (status, out) == (2, "")
    assert expected in err
    assert err.count("\n") == 1
