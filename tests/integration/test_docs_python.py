"""The Python of README and guide is run as it stands there, block after block."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def program(page: str) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("README.md", r"tensor\(\[\[\d"),
        ("docs/released-models.md", r"tensor\(\[\[4, 4, 4, 4, 4\]\]\) tensor\(\[\[[1-4], "),
        ("docs/serving.md", r"(\d+ [1-6]\n){5}Generated\(tokens=\(\d+, \d+, \d+\), exit_depth=\("),
        pytest.param(
            "docs/python.md", r"(?s)n02 n01 n03 <eos> True .*True\nAniraForCausalLM\n$", marks=pytest.mark.slow
        ),
        pytest.param("docs/guide.md", r"<ans> 2\n(.|\n)*trainable params: [\d,]+ ", marks=pytest.mark.slow),
    ],
)
def test_the_python_of_a_page_runs(page, printed, tmp_path, monkeypatch, capsys):
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    # The page names a model on the hub; a tiny one of the same layout stands for it.
    text = program(page).replace("ByteDance/Ouro-1.4B", str(ROOT / "tests/golden/data/looped/ouro"))
    exec(compile(text, page, "exec"), {})
    assert re.search(printed, capsys.readouterr().out)
