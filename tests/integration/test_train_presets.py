"""Training learns, in every precision, and what comes from outside the package trains too."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from tests.training_support import TINY_WORDS, Child, metrics, train_tiny

DOCS = Path(__file__).parents[2] / "docs"


def test_training_learns(tmp_path):
    """Two operators on two values are learned within a second, or something is badly wrong."""
    task = {"modulus": 2, "min_size": 1, "max_size": 1, "operators": ["+"]}
    sizes = {"steps": 150, "batch_size": 32, "learning_rate": 0.01, "eval_every": 1000, "checkpoint_every": 1000}
    path = train_tiny(tmp_path, "mano-anira-o-smoke", task_config=task, final_count=32, **sizes)
    assert metrics(path, "train")[0]["ce"] > 0.3
    assert metrics(path, "eval")[-1]["accuracy"] == 1.0


@pytest.fixture
def outside(tmp_path):
    """A folder with the task of docs/add-a-task.md and the policy of docs/add-a-policy.md."""
    for name, document in (("parity", "add-a-task.md"), ("ponder", "add-a-policy.md")):
        blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / document).read_text(), re.MULTILINE | re.DOTALL)
        program = next(block for block in blocks if f'name = "{name}"' in block)
        (tmp_path / f"{name}.py").write_text(program)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["parity-anira-e-smoke", "mano-ponder-smoke", "parity-ponder-smoke", "parity-unshared-smoke"]
)
def test_a_task_and_a_policy_from_outside_train_evaluate_and_answer(outside, name):
    plugins = ("--plugin", "parity", "--plugin", "ponder")

    def anira(*words):
        child = Child(outside, *words, *plugins)
        assert child.status() == 0, child.err
        return child.out.strip()

    path = outside / anira("train", name, *TINY_WORDS, "--compile", "off")
    records = outside / anira("evaluate", path, "-n", "5")
    knobs = pl.read_parquet(records / "instances-*.parquet")["knob"].unique()
    assert len(knobs) > 1
    question = "1 0 1 1" if name.startswith("parity") else "+ 1 2"
    said = json.loads(anira("generate", path, question, "--json"))
    assert said["tokens"][:-1] == ["<bos>", *question.split()]
    assert set(said["depths"]) <= {1, 2, 3}


def test_without_its_plugin_a_run_from_outside_is_one_line(outside):
    child = Child(outside, "train", "parity-fixed-smoke", *TINY_WORDS, "--plugin", "parity", "--compile", "off")
    assert child.status() == 0, child.err
    again = Child(outside / "again", "evaluate", outside / child.out.strip())
    assert again.status() == 2
    assert again.err.count("\n") == 1
    assert again.err.endswith("was made with the plug-in 'parity': add --plugin parity\n")


@pytest.mark.slow
def test_bfloat16_where_the_machine_can(tmp_path):
    words = [*TINY_WORDS, "--compile", "off", "--precision", "bfloat16"]
    child = Child(tmp_path, "train", "mano-anira-o-smoke", *words)
    if child.status() == 2 and "cannot compute in bfloat16" in child.err:
        pytest.skip("this CPU cannot compute in bfloat16")
    assert child.status() == 0, child.err
    (path,) = tmp_path.glob("runs/*/*")
    exact = metrics(train_tiny(tmp_path, "mano-anira-o-smoke"), "train")[0]
    rough = metrics(path, "train")[0]
    assert rough["ce"] != exact["ce"]
    assert rough["ce"] == pytest.approx(exact["ce"], rel=0.1)
    # A process that has trained in one precision can train in another.
    assert metrics(train_tiny(tmp_path, "mano-anira-o-smoke", precision="bfloat16"), "train")[0] == rough
