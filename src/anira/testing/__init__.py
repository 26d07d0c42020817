"""What the author of a task or a policy imports to check it: `check_policy`, `check_task`."""

from anira.testing.policies import check_policy
from anira.testing.report import Report
from anira.testing.tasks import check_task

__all__ = ["Report", "check_policy", "check_task"]
