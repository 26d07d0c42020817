"""Plans of many runs, and the queue that brings them to their end: here, on a Ray cluster, or on Slurm.

runs = planned_runs(read_plan(Path("plans/words.toml")))
work(runs, LocalExecutor(), out=Path("runs"), jobs=2)
"""

from anira.sweeps.plan import Group, Plan, PlannedRun, planned_runs, read_plan

__all__ = ["Group", "Plan", "PlannedRun", "planned_runs", "read_plan"]
