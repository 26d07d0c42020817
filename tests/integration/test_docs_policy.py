"""The policy of docs/add-a-policy.md is run as it stands there, so that the page cannot rot."""

import re
import subprocess
import sys
from pathlib import Path

DOC = Path(__file__).parents[2] / "docs" / "add-a-policy.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", DOC.read_text(), flags=re.DOTALL)


def test_the_example_runs_as_the_page_says(tmp_path: Path) -> None:
    _, module, use = blocks()
    (tmp_path / "settle.py").write_text(module)
    (tmp_path / "use.py").write_text(use)
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tensor([[")


def test_the_example_decodes_exactly(tmp_path: Path) -> None:
    _, module, _ = blocks()
    (tmp_path / "settle.py").write_text(module)
    check = """
import settle, torch
from anira.models import AniraConfig, AniraForCausalLM
config = AniraConfig(vocab_size=9, hidden_size=16, intermediate_size=32, num_attention_heads=2, initializer_range=0.4,
                     policy={"name": "settle", "cosine": 0.97})
model = AniraForCausalLM(config).double().eval()
ids = torch.randint(9, (2, 12), generator=torch.Generator().manual_seed(0))
whole, cached = model(ids), model(ids, use_cache=True)
assert len(whole.exit_depth.unique()) > 2, whole.exit_depth
assert torch.equal(whole.exit_depth, cached.exit_depth)
assert (whole.logits - cached.logits).abs().max() < 1e-9
"""
    done = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
