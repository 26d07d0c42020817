"""What a server counts, as Prometheus reads it."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

OUTCOMES: Final = ("answered", "invalid", "refused", "timeout", "disconnected", "failed")
"""How a request can end: invalid is the client's mistake, refused a matter of load or of the server's end."""
_WINDOW: Final = 10.0
"""Seconds that speed is a mean over."""


class Metrics:
    """Counters of a server; all of them are written by the thread of its event loop.

    >>> metrics = Metrics(clock=lambda: 100.0)
    >>> metrics.note_tokens([2, 4], prompt=3)
    >>> metrics.mean_depth, metrics.tokens_per_second
    (3.0, 0.2)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.outcomes: Counter[str] = Counter()
        self.tokens = self.prompt_tokens = self.depth_sum = 0
        self._clock = clock
        self._recent: deque[tuple[float, int]] = deque()

    def note_tokens(self, depths: Sequence[int], *, prompt: int = 0) -> None:
        """Count generated tokens with their depths, and those of a prompt that was read."""
        self.tokens += len(depths)
        self.depth_sum += sum(depths)
        self.prompt_tokens += prompt
        now = self._clock()
        if self._recent and now - self._recent[-1][0] < 0.1:  # a few entries per second are enough
            now, before = self._recent.pop()
            self._recent.append((now, before + len(depths)))
        else:
            self._recent.append((now, len(depths)))
            self._forget(now)

    @property
    def mean_depth(self) -> float:
        """Mean depth of generated tokens, 0 before the first."""
        return self.depth_sum / self.tokens if self.tokens else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Generated tokens per second, over the last ten."""
        self._forget(self._clock())
        return sum(count for _, count in self._recent) / _WINDOW

    def _forget(self, now: float) -> None:
        while self._recent and now - self._recent[0][0] > _WINDOW:
            self._recent.popleft()

    def text(self, engine: Mapping[str, int]) -> str:
        """Write everything, with how the engine stands."""
        gauges = {
            "requests_waiting": ("Prompts that wait for the engine", engine["waiting"]),
            "requests_running": ("Prompts that the engine runs", engine["running"]),
            "slots_used": ("Key-value slots of a core layer in use", engine["slots"]),
            "slots_held": ("Slots that running prompts may need", engine["reserved_slots"]),
            "slots_max": ("Slots that there are", engine["max_slots"]),
            "depth_mean": ("Mean depth of generated tokens", self.mean_depth),
            "tokens_per_second": (f"Generated tokens per second, over {_WINDOW:g} seconds", self.tokens_per_second),
        }
        totals = {
            "tokens_total": ("Generated tokens", self.tokens),
            "depth_sum_total": ("Depths of generated tokens, added", self.depth_sum),
            "prompt_tokens_total": ("Tokens of prompts that were read", self.prompt_tokens),
        }
        lines = [line for name, (what, value) in gauges.items() for line in _metric(name, what, "gauge", value)]
        lines += [line for name, (what, value) in totals.items() for line in _metric(name, what, "counter", value)]
        lines += _metric("requests_total", "Requests by how they ended", "counter")
        lines += [f'anira_requests_total{{outcome="{one}"}} {self.outcomes[one]}' for one in OUTCOMES]
        return "\n".join(lines) + "\n"


def _metric(name: str, what: str, kind: str, value: float | None = None) -> list[str]:
    head = [f"# HELP anira_{name} {what}.", f"# TYPE anira_{name} {kind}"]
    return head if value is None else [*head, f"anira_{name} {value:.6g}" if value % 1 else f"anira_{name} {value:.0f}"]
