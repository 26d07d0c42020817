"""`anira.train` returns its run, tells callbacks, and does nothing twice."""

import pytest
from tests.training_support import TINY_MODEL, TINY_RUN, assert_same_run, metrics

import anira
from anira.config import UserError
from anira.runs.training import make_config

CHANGES = {**TINY_RUN, **{f"model.{name}": value for name, value in TINY_MODEL.items()}}


class Stop(Exception):
    """Raised by a callback."""


def test_a_run_is_trained_once(tmp_path):
    steps, lines = [], []
    options = {"changes": CHANGES, "out": str(tmp_path / "one"), "seed": 3}
    run = anira.train("mano-anira-o-smoke", on_step=steps.append, on_metrics=lines.append, **options)
    assert (run.step, run.config.seed, steps) == (8, 3, list(range(1, 9)))
    kept = metrics(run.path)
    assert [line["step"] for line in lines] == [line["step"] for line in kept]
    again = anira.train("mano-anira-o-smoke", on_step=steps.append, **options)
    assert (again.path, len(steps)) == (run.path, 8)

    def stop(step):
        if step == 5:
            raise Stop

    options["out"] = tmp_path / "two"
    with pytest.raises(Stop):
        anira.train("mano-anira-o-smoke", on_step=stop, **options)
    resumed = anira.train("mano-anira-o-smoke", **options)
    assert_same_run(run.path, resumed.path)


def test_the_run_is_the_one_of_the_command_line():
    from anira.cli.train import _parse_preset

    config, _ = _parse_preset("mano-anira-o-cpu", ["--seed", "2", "--steps", "1500", "--task.modulus", "7"])
    assert make_config("mano-anira-o-cpu", 2, {"steps": 1500, "task.modulus": 7}) == config


def test_a_configuration_is_taken_as_it_is():
    config = make_config("mano-anira-o-smoke", None, {"threads": 1})
    assert make_config(config, None, {}) == config
    assert make_config(config, 4, {}).seed == 4


def test_an_option_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="did you mean 'steps'"):
        anira.train("mano-anira-o-smoke", changes={"step": 3})
