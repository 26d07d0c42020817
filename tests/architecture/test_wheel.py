"""What is installed from a wheel is the whole package, templates and other files beside the code too, and no more."""

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

import anira

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


def test_a_wheel_has_every_file_of_the_package():
    assert Path(anira.__file__).parent == SOURCE / "anira"
    files = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    ours = {file for file in files if "__pycache__" not in file}
    assert {"anira/py.typed", "anira/site/templates/page.html", "anira/paper/policies/notes.md"} < ours
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert packed == ours
