"""Plans of many runs, and the queue that brings them to their end: here, on a Ray cluster, or on Slurm.

runs = planned_runs(read_plan(Path("plans/words.toml")))
work(runs, LocalExecutor(), out=Path("runs"), jobs=2)

Nothing is imported here: a worker of a cluster, which imports an executor only to start a process, needs no torch.
"""
