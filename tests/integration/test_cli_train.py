"""`anira train`, as somebody types it."""

import errno
import json
import re
import subprocess
import sys

import pytest
import torch
from tests.training_support import (
    TINY_WORDS,
    Child,
    assert_same_run,
    begin,
    metrics,
    spoil_losses,
    tiny_config,
    train_tiny,
)

import anira.training.checkpoint as checkpoints
from anira.training import RunFolder
from anira.training.checkpoint import latest_checkpoint

PRESET = "mano-anira-o-smoke"
TINY = [*TINY_WORDS, "--compile", "off"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_trains_and_says_where(anira, here):
    result = anira("train", PRESET, *TINY)
    assert result.status == 0
    path = here / result.out.strip()
    assert path.parent == here / "runs" / PRESET
    lines = result.err.splitlines()
    assert lines[0] == f"{PRESET}, seed 0, 8 steps, in {result.out.strip()}"
    assert re.search(r"step +8 of 8  loss \d+\.\d+  accuracy \d\.\d\d  depth", result.err)
    assert lines[-5:-3] == ["evaluation at step 8", "  knob               1      2      3"]
    assert lines[-1] == f"next: anira report {result.out.strip()} --out {path.name}.html"
    assert_same_run(train_tiny(here / "again", PRESET), path)


def test_what_is_too_long_to_be_trained_is_said(anira, here):
    words = ["--task.tasks", "minimum", "sort", "--task.sizes", "3", "4", "9", "--task.max-length", "80"]
    result = anira("train", "clrs-fixed-smoke", *TINY, *words)
    assert result.status == 0, result.err
    assert "not trained, too long for --task.max-length: minimum 9; sort 9\n" in result.err
    assert "not trained" not in anira("train", PRESET, *TINY).err


def test_options_reach_task_model_and_policy(anira, here):
    words = ["--task.modulus", "3", "--model.injection", "add", "--policy.gamma", "0.25", "--seed", "5"]
    path = here / anira("train", PRESET, *TINY, *words, "--out", "elsewhere").out.strip()
    assert path.parts[-3] == "elsewhere"
    assert path.name.endswith("-s5")
    config = RunFolder(path).read_config()
    assert config.task_config["modulus"] == 3
    assert (config.model["injection"], config.model["policy"]["gamma"]) == ("add", 0.25)
    assert config.seed == 5
    model = json.loads((latest_checkpoint(path) / "config.json").read_text())
    assert (model["injection"], model["policy"]["gamma"]) == ("add", 0.25)
    assert metrics(path, "train")[0]["gamma"] == 0.25


def test_what_follows_from_other_options_is_not_fixed_by_the_preset(anira, here):
    words = ["--model.num-core-layers", "2", "--model.num-attention-heads", "4", "--steps", "1"]
    path = here / anira("train", PRESET, *TINY, *words).out.strip()
    model = RunFolder(path).read_config().model
    assert (model["freeze"], model["num_key_value_heads"]) == ("kv", 4)


def test_the_number_of_threads_is_part_of_the_run(anira, here):
    position = TINY.index("--threads")
    words = [*TINY[:position], *TINY[position + 2 :], "--steps", "1"]
    path = here / anira("train", PRESET, *words).out.strip()
    assert RunFolder(path).read_config().threads == torch.get_num_threads()


def test_the_same_again_is_refused_and_resuming_is_harmless(anira, here):
    path = here / anira("train", PRESET, *TINY).out.strip()
    before = (path / "metrics.jsonl").read_bytes()
    again = anira("train", PRESET, *TINY)
    assert (again.status, again.out) == (2, "")
    relative = path.relative_to(here)
    hint = f"{relative} holds this very run: anira train --resume {relative}, or another --seed"
    assert again.err == f"anira: {hint}\n"
    resumed = anira("train", "--resume", str(relative))
    assert resumed.status == 0
    assert resumed.err.startswith("this run was finished already: ")
    assert (path / "metrics.jsonl").read_bytes() == before


MISTAKES = {
    "unknown preset": ("mano-anira-o-tiny", "presets of mano are mano-<anira-e|"),
    "unknown task": ("mino-fixed-cpu", "did you mean 'mano'?"),
    "unknown variant": ("mano-anira-u-cpu", "did you mean 'anira-"),
    "preset after an option": ("--steps 3 mano-fixed-smoke", "the preset comes first"),
    "unknown option": (f"{PRESET} --step 3", "--steps INT"),
    "unknown option of the task": (f"{PRESET} --task.modulo 3", "perhaps you meant --task.modulus"),
    "unknown option of the policy": ("mano-fixed-smoke --policy.gamma 3", "unknown option: --policy.gamma"),
    "word for a number": (f"{PRESET} --steps many", "--steps must be INT, not 'many'"),
    "no steps": (f"{PRESET} --steps 0", "steps must be at least 1, not 0"),
    "batch that cannot be split": (f"{PRESET} --batch-size 5 --accumulation 2", "multiple of accumulation 2"),
    "negative gamma": (f"{PRESET} --policy.gamma -1", "gamma must be at least 0"),
    "sizes of the task": (f"{PRESET} --task.min-size 9", "min_size <= max_size"),
    "heads that do not fit": (f"{PRESET} --model.num-attention-heads 3", "multiple of num_attention_heads 3"),
    "unshared with a policy": (f"{PRESET} --model.no-shared-core --model.freeze kv", "takes the fixed policy only"),
    "unknown injection": (f"{PRESET} --model.injection mul", "injection must be one of none, add, concat-linear"),
    "rows that do not fit": (
        f"{PRESET} --task.max-size 20",
        "a row of 45 tokens does not fit max_length 11: give --max-length 45",
    ),
    "a rate that is no number": (f"{PRESET} --learning-rate nan", "learning_rate must be a finite number, not nan"),
    "an infinite option of the policy": (f"{PRESET} --policy.gamma inf", "--policy.gamma must be a finite number"),
    "an infinite option of the model": (f"{PRESET} --model.initializer-range 1e999", "--model.initializer-range"),
    "decay below zero": (f"{PRESET} --weight-decay -1", "weight_decay must not be negative"),
    "betas of one": (f"{PRESET} --betas 1 1", "betas must lie in [0, 1), not (1.0, 1.0)"),
    "more threads than torch survives": (f"{PRESET} --threads 100000", "threads must be at most 1024, not 100000"),
    "a seed that no generator takes": (f"{PRESET} --seed {2**63}", f"seed must be at most {2**63 - 1}, not {2**63}"),
    "a model without width": (f"{PRESET} --model.hidden-size 0", "hidden_size must be at least 1, not 0"),
    "heads below zero": (f"{PRESET} --model.num-attention-heads -1", "num_attention_heads must be at least 1, not -1"),
    "deviation below zero": (f"{PRESET} --model.initializer-range -1", "initializer_range must be at least 0"),
    "a batch beyond memory": (f"{PRESET} --batch-size {10**9}", "and this machine's memory has"),
    "a width beyond memory": (f"{PRESET} --model.hidden-size {10**12}", "EB, and this machine's memory has"),
    "a depth beyond memory": (f"{PRESET} --model.max-depth {10**12}", "and max_depth 1000000000000 takes about"),
    "more layers than anybody has": (f"{PRESET} --model.num-coda-layers {10**12}", "can have 1000 layers of its own"),
    "an evaluation beyond memory": (f"{PRESET} --final-count {10**12}", "an evaluation of 1000000000000 instances of"),
    "unknown tracker": (f"{PRESET} --tracker nothing", "'tensorboard', 'trackio', 'wandb'"),
    "nothing to resume": ("--resume nowhere", "nowhere is not a run"),
    "a file to resume": ("--resume file", "file is not a run"),
    "preset and resume": (f"{PRESET} --resume nowhere", f"unknown option: {PRESET}"),
    "options and resume": ("--resume nowhere --steps 3", "unknown option: --steps"),
}


@pytest.mark.parametrize(("words", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line_and_makes_no_folder(anira, here, words, expected):
    (here / "file").write_text("")
    status, out, err = anira("train", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith("anira: ")
    assert err.count("\n") == 1, err
    assert expected in err
    assert [path.name for path in here.iterdir()] == ["file"]


def test_a_loss_that_is_not_finite_is_one_line(anira, here, monkeypatch):
    """What there is to show for it is kept; the run goes on without such steps if that is wanted."""
    spoil_losses(monkeypatch, [5, 5 + 3])
    status, out, err = anira("train", PRESET, *TINY, "--log-every", "1")
    (path,) = (here / "runs").glob("*/*")
    last = f"the last good checkpoint is {path.relative_to(here)}/checkpoints/step-4"
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith(
        f"anira: the loss of step 5 is not finite, and {last}: lower --learning-rate"
    )
    assert [line["step"] for line in metrics(path, "train")] == [1, 2, 3, 4]
    status, out, err = anira("train", "--resume", path, "--non-finite", "skip")
    assert (status, out) == (0, f"{path}\n")
    assert "steps left out: 1" in err
    assert [line.get("skipped_steps") for line in metrics(path, "train")] == [None] * 4 + [0, 0, 1, 1]


def test_a_run_that_fails_before_its_first_result_leaves_nothing(anira, here):
    status, _, err = anira("train", PRESET, *TINY, "--learning-rate", "1e30")
    assert status == 2
    assert "the loss of step 2 is not finite, and there is no checkpoint before it" in err
    assert list(here.iterdir()) == []


def test_a_run_that_failed_before_its_first_result_is_started_over(anira, here):
    begun = begin(here / "runs", tiny_config(PRESET, steps=1))
    result = anira("train", PRESET, *TINY, "--steps", "1")
    assert result.status == 0, result.err
    assert here / result.out.strip() == begun
    assert result.err.startswith(f"{PRESET}, seed 0, 1 step, in ")


def test_without_a_compiler_it_says_so(anira, here, monkeypatch):
    monkeypatch.setenv("PATH", str(here))
    words = [*TINY_WORDS, "--steps", "1"]
    assert "needs a C++ compiler" in anira("train", PRESET, *words, "--compile", "on").err
    result = anira("train", PRESET, *words)
    assert result.status == 0
    assert "no C++ compiler found" in result.err
    assert RunFolder(here / result.out.strip()).read_config().compile is False


def test_a_tracker_that_is_not_installed_is_one_line_and_makes_no_folder(anira, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    status, out, err = anira("train", PRESET, *TINY, "--tracker", "wandb")
    assert (status, out) == (2, "")
    assert err.startswith("anira: tracker 'wandb' is not installed: pip install wandb")
    assert list(here.iterdir()) == []


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(anira, here, monkeypatch):
    """First as the system reports it to Python, then for real: no file may grow beyond a few bytes."""
    times = 0

    def full_the_second_time(*words, **options):
        nonlocal times
        times += 1
        if times == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return save_file(*words, **options)

    save_file = checkpoints.save_file
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_file", full_the_second_time)
        status, _, err = anira("train", PRESET, *TINY)
    (path,) = (here / "runs").glob("*/*")
    assert status == 2
    assert err.splitlines()[-1].startswith("anira: cannot write ")
    assert err.splitlines()[-1].endswith("checkpoints/step-4: No space left on device")
    assert [folder.name for folder in (path / "checkpoints").iterdir()] == ["step-2"]

    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))"
    child = Child(here / "child", "train", "--resume", path, first=limit)
    assert child.status() == 2
    assert "Traceback" not in child.err
    assert re.fullmatch(r"anira: cannot write .*step-4: .*File too large.*", child.err.splitlines()[-1])
    assert [folder.name for folder in (path / "checkpoints").iterdir()] == ["step-2"]

    assert anira("train", "--resume", path).status == 0
    assert_same_run(train_tiny(here / "whole", PRESET), path)


def test_a_full_disk_at_an_evaluation_is_one_line(here):
    words = [*TINY, "--eval-every", "1", "--checkpoint-every", "100"]
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))"
    child = Child(here / "child", "train", PRESET, *words, first=limit)
    assert child.status() == 2
    assert "Traceback" not in child.err
    assert re.fullmatch(r"anira: cannot write .*records.*parquet: File too large", child.err.splitlines()[-1])


def test_help_shows_presets_and_the_options_of_one(anira):
    overview = anira("train", "--help").out
    for word in ("PRESET", "--resume RUN", "anira-e", "unshared", "smoke", "paper", "mano-anira-o-cpu --help"):
        assert word in overview
    assert max(map(len, overview.splitlines())) <= 120
    options = anira("train", PRESET, "--help").out
    for word in ("--steps INT", "--gamma-warmup-steps", "--task.modulus", "--model.max-depth", "--policy.gamma"):
        assert word in options


def test_help_explains_every_option(anira):
    options = anira("train", PRESET, "--help").out
    entries = re.findall(r"(--[a-z][\w.-]*)(.*?)\(default", re.sub(r"[\s|\u2500-\u257f]+", " ", options))
    assert {"--seed", "--model.injection", "--policy.gamma"} <= {name for name, _ in entries}
    assert [name for name, text in entries if not re.search("[a-z]+ [a-z]+", text)] == []


@pytest.mark.parametrize("command", ["train", "evaluate", "generate"])
def test_help_loads_nothing_heavy(command):
    program = (
        "import sys; from anira.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    words = [sys.executable, "-c", program, command, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("usage: anira")
    assert "'anira'" in done.stderr
    for name in ("torch", "transformers", "accelerate", "polars"):
        assert f"'{name}'" not in done.stderr
