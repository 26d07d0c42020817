"""Plans: which runs they stand for, and what is refused before anything starts."""

import pytest
from tests.training_support import tiny_config

from anira.config import UserError
from anira.config.strict import run_id, stored_values
from anira.sweeps.plan import Group, Plan, make_plan, parse_seeds, planned_runs, read_plan
from anira.training.presets import preset

PLAN = """
hours = 0.5

[[runs]]
name = "late"
presets = ["mano-fixed-smoke"]
after = ["first"]

[[runs]]
name = "first"
presets = ["mano-anira-o-smoke", "mano-anira-e-smoke"]
seeds = "0:1"
set.steps = 5
set.policy.base = 1.5
grid = { "policy.gamma" = [0.1, 0.3], "task.modulus" = [3, 5] }
"""


def runs(**group):
    return planned_runs(make_plan({"runs": [{"presets": ["mano-fixed-smoke"], **group}]}))


def test_a_plan_is_every_preset_with_every_seed_and_combination(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    plan = read_plan(file)
    assert (plan.hours, plan.threads) == (0.5, 1)
    made = planned_runs(plan)
    first = [run for run in made if run.config.variant != "fixed"]
    assert len(made) == 17 and len({run.id for run in made}) == 17
    got = {
        (run.config.variant, run.config.seed, run.config.model["policy"]["gamma"], run.config.task_config["modulus"])
        for run in first
    }
    assert got == {(v, s, g, m) for v in ("anira-e", "anira-o") for s in (0, 1) for g in (0.1, 0.3) for m in (3, 5)}
    assert {(run.config.steps, run.config.model["policy"]["base"]) for run in first} == {(5, 1.5)}
    (late,) = [run for run in made if run.config.variant == "fixed"]
    assert late.after == {run.id for run in first}


def test_a_run_of_a_plan_is_the_run_of_the_command_line():
    (run,) = runs(set={"steps": 7})
    assert run.config == preset("mano-fixed-smoke").resolved().__class__(
        **{**vars(preset("mano-fixed-smoke").resolved()), "steps": 7, "threads": 1}
    )
    assert run.id == run_id(stored_values(run.config))


def test_long_runs_are_compiled_as_anira_train_does_and_short_ones_are_not():
    assert [run.config.compile for run in runs(grid={"steps": [10, 5000]})] == [False, True]
    assert not runs(set={"steps": 5000, "compile": False})[0].config.compile


def test_a_run_that_is_planned_twice_is_run_once():
    group = Group(presets=("mano-fixed-smoke", "mano-fixed-smoke"))
    assert len(planned_runs(Plan(groups=(group, group)))) == 1


def test_runs_keep_the_order_of_the_plan_but_for_what_they_wait_for():
    def group(name: str, seed: int, *after: str) -> dict:
        return {"name": name, "presets": ["mano-fixed-smoke"], "seeds": [seed], "after": list(after)}

    groups = [group("late", 0, "middle"), group("first", 1), group("middle", 2, "first"), group("last", 3)]
    assert [run.config.seed for run in planned_runs(make_plan({"runs": groups}))] == [1, 2, 0, 3]


STAGE_1 = {"name": "one", "presets": ["words-ouro-smoke"], "seeds": [0, 1]}
FROM_1 = {"policy.stage": 2, "init_from": "one", "frozen": "backbone"}
STAGE_2 = {"presets": ["words-ouro-smoke"], "seeds": [0, 1], "set": {"policy.stage": 2}}


def test_a_second_stage_starts_from_the_run_of_its_seed():
    planned = planned_runs(make_plan({"runs": [{**STAGE_2, "set": FROM_1}, STAGE_1]}))
    first, second = planned[:2], planned[2:]
    assert [run.config.init_from for run in second] == [run.id for run in first]
    assert all(run.after == {other.id for other in first} for run in second)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({}, r"needs \[\[runs\]\]"),
        ({"run": []}, "unknown key 'run' in a plan: did you mean 'runs'"),
        ({"runs": [{"preset": ["x"]}]}, r"unknown key 'preset' in \[\[runs\]\]: did you mean 'presets'"),
        ({"runs": ["x"]}, "must be a table"),
        ({"runs": [{"presets": []}]}, "needs presets"),
        ({"runs": [{"presets": "mano-fixed-smoke"}]}, "list of names"),
        ({"runs": [{"presets": ["mano-fixd-smoke"]}]}, "fixd"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "grid": {"policy.gamma": [1]}}]}, "no option 'policy.gamma'"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "grid": {"stepz": [1]}}]}, "did you mean 'steps'"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "grid": {"steps": 5}}]}, "list of values for steps"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "grid": {"steps": [5, 5]}}]}, "twice"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "grid": {"steps": [5]}, "set": {"steps": 5}}]}, "leave one out"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "set": {"seed": 5}}]}, "use seeds"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "set": {"threads": 5}}]}, "use threads of the plan"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "seeds": "a"}]}, "seeds are written as"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "seeds": "4:0"}]}, "at least one"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "seeds": [1, 1]}]}, "distinct"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "after": ["x"]}]}, "names no group"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "name": "x", "after": ["x"]}]}, "wait for each other"),
        ({"runs": [{"presets": ["mano-fixed-smoke"], "name": "x"}] * 2}, "two groups"),
        ({"runs": [STAGE_2]}, "starts from a gate of stage 1: name that run with --init-from"),
        ({"runs": [STAGE_1, {**STAGE_2, "set": FROM_1, "seeds": [0, 7]}]}, "one run of seed 7, not 0"),
        ({"runs": [{"presets": ["mano-fixed-smoke"]}], "hours": 0}, "hours must be a positive"),
        ({"runs": [{"presets": ["mano-fixed-smoke"]}], "hours": "long"}, "hours must be a positive"),
        ({"runs": [{"presets": ["mano-fixed-smoke"]}], "threads": 0}, "threads must be a whole number"),
        ({"runs": [{"presets": ["mano-fixed-smoke"]}], "threads": True}, "threads must be a whole number"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan, message):
    with pytest.raises(UserError, match=message):
        planned_runs(make_plan(plan))


@pytest.mark.parametrize("text", ["runs = [", "\x00", "a" * 10])
def test_a_file_that_is_no_toml_is_one_error_with_its_name(tmp_path, text):
    file = tmp_path / "plan.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=r"cannot read the plan .*plan\.toml"):
        read_plan(file)


def test_a_plan_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        read_plan(tmp_path / "nothing.toml")


def test_seeds():
    assert parse_seeds("3") == parse_seeds(3) == parse_seeds([3]) == (3,)
    assert tiny_config().seed == runs()[0].config.seed == 0
