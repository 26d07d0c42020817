"""The policy of docs/add-a-policy.md is run as it stands there, so that the page cannot rot."""

import re
from pathlib import Path

import pytest
from tests.training_support import Child

DOC = Path(__file__).parents[2] / "docs" / "add-a-policy.md"
CHECK = """
import ponder, torch
from anira.testing import policies as kit
kit.SEEDS = (0,)
"""
SPREAD = """
import ponder, torch
from anira.models import AniraConfig, AniraForCausalLM
config = AniraConfig(vocab_size=9, hidden_size=16, intermediate_size=32, num_attention_heads=2, initializer_range=0.4,
                     policy={"name": "ponder"})
model = AniraForCausalLM(config).double().eval()
ids = torch.randint(9, (2, 12), generator=torch.Generator().manual_seed(0))
whole, cached = model(ids), model(ids, use_cache=True)
assert len(whole.exit_depth.unique()) > 1, whole.exit_depth
assert torch.equal(whole.exit_depth, cached.exit_depth)
assert (whole.logits - cached.logits).abs().max() < 1e-9
"""


def run(folder: Path, program: str) -> str:
    """Run a program beside the page's module, in a process of its own, and return what it prints."""
    (folder / "ponder.py").write_text(blocks()[1])
    child = Child(folder, "--version", first=f"import sys; sys.path.insert(0, '')\n{program}")
    assert child.status() == 0, child.err
    return child.out


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", DOC.read_text(), flags=re.DOTALL)


def test_the_policy_is_short() -> None:
    code = [line for line in blocks()[1].splitlines() if line.strip() and not line.strip().startswith('"""')]
    assert len(code) <= 75


@pytest.mark.slow
def test_the_policy_passes_the_kit_and_runs_as_the_page_says(tmp_path: Path) -> None:
    assert "policy 'ponder': all 18 checks passed" in run(tmp_path, CHECK + blocks()[2])
    assert run(tmp_path, SPREAD + blocks()[3]).startswith("tensor([[")
