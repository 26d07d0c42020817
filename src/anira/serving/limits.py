"""What one client may ask of a server that others use too."""

from dataclasses import dataclass

from anira.config import UserError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of a request, and of how many may wait."""

    max_tokens: int = 1024
    """New tokens per prompt."""
    max_context: int | None = None
    """Tokens of a prompt and its answer together; None: as many as the model was made for."""
    max_body: int = 1 << 20
    """Bytes of a request."""
    timeout: float = 300.0
    """Seconds from the first byte of a request to the last one of its answer."""
    max_queue: int = 256
    """Prompts that wait for the engine; beyond that requests are refused with 429."""
    grace: float = 10.0
    """Seconds in which requests may finish after the server was asked to stop."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_body", "max_queue", "max_context"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0 < self.timeout <= 86_400:
            raise UserError(f"timeout must be more than 0 and at most 86,400 seconds, not {self.timeout}")
        if not 0 <= self.grace <= 3600:
            raise UserError(f"grace must lie between 0 and 3,600 seconds, not {self.grace}")
