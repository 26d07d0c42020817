"""The notebook runs from top to bottom, and what a cell ends with is drawn."""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "start.ipynb"


def cells():
    found = json.loads(NOTEBOOK.read_text())
    assert found["nbformat"] == 4
    return [cell for cell in found["cells"] if cell["cell_type"] == "code"]


def displayed(source, names):
    """Run a cell as Jupyter does: return what its last expression shows, as HTML if it can."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What each code cell shows; the notebook lies where it does in the repository, and may write beside itself."""
    root = tmp_path_factory.mktemp("repository")
    (root / "results").symlink_to(ROOT / "results")
    folder = root / "docs" / "notebooks"
    folder.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names = {}
        return [displayed("".join(cell["source"]), names) for cell in cells()]


def test_depth_strips_tables_and_charts_are_drawn(shown):
    assert "anira-e" in shown[1]
    strips = [html for html in shown if html.count('class="token') > 3]
    assert len(strips) == 4
    assert all("--share" in html for html in strips)
    assert sum('class="lens"' in html and "after iteration 1" in html for html in shown) == 1
    assert sum(html.count("<svg") for html in shown) == 2
    assert any("instance_id" in html for html in shown)


def test_nothing_in_it_needs_a_network_or_a_script(shown):
    for html in shown:
        assert "<script" not in html
        assert not any(f'{attribute}="http' in html for attribute in ("src", "href"))


def test_outputs_are_not_stored():
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells())
