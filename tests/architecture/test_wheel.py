"""What is installed from a wheel is the whole package, templates and other files beside the code too, and no more."""

import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import anira

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def ours():
    """The files of the package in this checkout."""
    assert Path(anira.__file__).parent == SOURCE / "anira"
    files = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    found = {file for file in files if "__pycache__" not in file}
    assert {"anira/py.typed", "anira/site/templates/page.html", "anira/paper/policies/notes.md"} < found
    return found


def test_a_wheel_has_every_file_of_the_package(ours, tmp_path):
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path))
    assert Path(built).name == f"anira-{anira.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(built) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        about = wheel.read(f"anira-{anira.__version__}.dist-info/METADATA").decode()
    assert packed == ours
    assert f"\nVersion: {anira.__version__}\n" in about
    assert "\nClassifier: Typing :: Typed\n" in about


def test_a_source_distribution_has_the_package_and_no_runs(ours, tmp_path):
    (built,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(built) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.removeprefix("src/") for name in packed if name.startswith("src/")} == ours
    assert {"pyproject.toml", "README.md", "LICENSE", "constraints.txt"} < packed
    assert not [name for name in packed if name.startswith(("results", "tests", "docs"))]
