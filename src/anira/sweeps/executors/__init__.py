"""Where runs are executed: on this machine, on a Ray cluster, or on Slurm. All do the same with a job."""

from anira.sweeps.executors.base import Ending, Executor, Handle, Job, make_executor

__all__ = ["Ending", "Executor", "Handle", "Job", "make_executor"]
