import shutil
import subprocess
import sys
from pathlib import Path

import anira as package
from benchmarks.options import BENCHMARKS

SOURCE = Path(package.__file__).parent


def test_without_a_name_the_benchmarks_are_listed(anira):
    result = anira("bench")
    assert (result.status, result.err) == (0, "")
    for name, (text, *_) in BENCHMARKS.items():
        assert name in result.out
        assert text in result.out


def test_an_installed_package_says_where_the_benchmarks_are(anira, tmp_path, monkeypatch):
    monkeypatch.setattr(package, "__file__", str(tmp_path / "lib" / "site-packages" / "anira" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    assert anira("bench") == (
        2,
        "",
        "anira: benchmarks are part of the repository, not of the installed package: go to the folder of a checkout of "
        "anira, and call anira bench there\n",
    )


def test_an_installed_package_runs_the_benchmarks_of_the_checkout_in_the_current_folder(tmp_path):
    installed = tmp_path / "site-packages"
    shutil.copytree(SOURCE, installed / "anira", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "anira.cli", "bench", "tasks", "--help"],
        cwd=SOURCE.parents[1],
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--rows" in done.stdout
