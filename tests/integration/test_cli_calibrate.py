"""`anira calibrate` and `anira evaluate --policy`: rules that nobody trained, on a run as it is."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("runs"), "words-anira-o-smoke", steps=4)


def test_the_threshold_keeps_its_promise_and_the_next_command_works(anira, run):
    words = ("calibrate", run, "--policy", "confidence", "--tolerance", "0.3", "-n", "200")
    status, out, err = anira(*words)
    assert status == 0, err
    assert "at most 30.0% of answer tokens differ from full depth, with probability 95%" in out
    found = json.loads(anira(*words, "--json").out)
    assert (found["policy"], found["select"], found["rows"]) == ("confidence", "margin", 200)
    assert 1 <= found["iterations"] <= 3
    following = out.splitlines()[-1].removeprefix("next: anira ").split()
    assert anira(*following, "-n", "3").status == 0


def test_a_promise_that_cannot_be_kept_says_full_depth(anira, run):
    out = anira("calibrate", run, "--tolerance", "0.001", "-n", "20").out
    assert out == (
        "no threshold of rule 'quantile' keeps the promise that at most 0.1% of answer tokens differ from full depth: "
        "use full depth\n"
    )


@pytest.mark.parametrize("policy", ["confidence", "huginn"])
def test_another_policy_chooses_for_a_trained_run(anira, run, policy):
    status, out, err = anira("evaluate", run, "--policy", policy, "-n", "3")
    assert status == 0, err
    instances = pl.read_parquet(f"{out.strip()}/instances-*.parquet")
    assert set(instances["override"]) == {f"policy-{policy}"}
    assert set(instances["select"]) == {{"confidence": "margin", "huginn": "latent"}[policy]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("calibrate {run} --select mode", "has no rule 'mode' with a threshold: "),
        ("calibrate {run} --policy fixed", "no rule of policy 'fixed' takes a threshold"),
        ("calibrate {run} --tolerance 2", "tolerance must lie between 0 and 1, not 2"),
        ("calibrate {run} -n 0", "-n must lie between 1 and 1000000, not 0"),
        ("evaluate {run} --policy anira-e", "policy 'anira-e' has weights, which this model does not have: train it"),
        ("evaluate {run} --policy calmm", "unknown policy 'calmm'"),
        ("evaluate {run} --policy huginn --depth 1", "--policy and --depth do not go together"),
    ],
)
def test_mistakes_are_one_line(anira, run, words, message):
    status, out, err = anira(*words.format(run=run).split())
    assert (status, out) == (2, "")
    assert err.count("\n") == 1, err
    assert message in err
