"""What a conformance kit found: one line per check, with the reason where one failed."""

from collections.abc import Callable
from dataclasses import dataclass, field

from anira.config import UserError


@dataclass(frozen=True)
class Check:
    """One check: what must hold, and why it does not, if so."""

    name: str
    problem: str = ""

    def __str__(self) -> str:
        return f"failed  {self.name}: {self.problem}" if self.problem else f"ok      {self.name}"


@dataclass
class Report:
    """All checks of one policy or task.

    >>> report = Report("mine")
    >>> report.add("adds up", lambda: "")
    >>> report.add("is fast", lambda: "it is not")
    >>> print(report)
    mine: 1 of 2 checks failed
      ok      adds up
      failed  is fast: it is not
    """

    subject: str
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return not any(check.problem for check in self.checks)

    @property
    def failed(self) -> list[str]:
        """The names of the checks that failed."""
        return [check.name for check in self.checks if check.problem]

    def add(self, name: str, check: Callable[[], str]) -> None:
        """Run a check, which returns what is wrong, or nothing; an exception is wrong too."""
        try:
            problem = check()
        except Exception as error:  # whatever a policy from outside raises belongs into the report
            said = " ".join(str(error).split()) or "no message"
            problem = f"{type(error).__name__}: {said[:300]}"
        self.checks.append(Check(name, problem))

    def require(self) -> None:
        """Raise a UserError that names the checks that failed; printing the report says why."""
        if not self.ok:
            names = ", ".join(self.failed)
            raise UserError(f"{self.subject}: {len(self.failed)} of {len(self.checks)} checks failed: {names}")

    def __str__(self) -> str:
        number = len(self.failed)
        head = f"{number} of {len(self.checks)} checks failed" if number else f"all {len(self.checks)} checks passed"
        return "\n".join([f"{self.subject}: {head}", *(f"  {check}" for check in self.checks)])
