"""`anira runs`: what is a run, and what only looks like one."""

import shutil
from pathlib import Path

RUN = Path(__file__).parents[3] / "results" / "mano-anira-o-cpu" / "02c76274-s1"


def test_records_of_a_published_run_are_no_run(anira, tmp_path):
    beside = tmp_path / "mano-anira-o-cpu" / RUN.name
    (beside / "records").mkdir(parents=True)
    shutil.copy(RUN / "config.json", beside)
    result = anira("runs", tmp_path)
    assert (result.status, result.err) == (2, f"anira: {tmp_path} holds no runs\n")
    shutil.copytree(RUN, tmp_path / "mano-anira-o-cpu" / "whole", ignore=shutil.ignore_patterns("records"))
    listed = anira("runs", tmp_path)
    assert listed.status == 0 and listed.out.count("finished") == 1 and "not begun" not in listed.out
