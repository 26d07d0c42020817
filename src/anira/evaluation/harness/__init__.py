"""lm-evaluation-harness with our models: GSM-Symbolic as tasks, and the model `anira`, which records depth.

The harness finds tasks by a folder (`--include_path`), and models only where they are registered before it starts:
`anira lm-eval` does both. In Python:

    from anira.evaluation.harness import TASKS
    from anira.evaluation.harness.model import AniraLM          # registers itself as "anira"
    manager = lm_eval.tasks.TaskManager(include_path=str(TASKS), metadata={"data": "gsm-symbolic"})
    lm_eval.simple_evaluate(model=AniraLM("model"), tasks=["gsm_symbolic_main"], task_manager=manager)

This module imports nothing of the harness, which is an optional extra.
"""

from pathlib import Path
from typing import Final

TASKS: Final = Path(__file__).parent / "tasks"
"""Folder of the task definitions, for --include_path."""
