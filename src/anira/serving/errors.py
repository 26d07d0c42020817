"""What a client is told when it gets no answer, in the shape that clients of OpenAI's API read."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from anira.config import json_text, printable

_LONGEST = 1000


class Refused(Exception):  # noqa: N818 (the client's error, or a matter of time)
    """A request that is not answered, with the status and the reason.

    >>> refused = Refused(400, "max_tokens must be at least 1, not 0", param="max_tokens")
    >>> refused.body["error"]["type"], refused.body["error"]["param"]
    ('invalid_request_error', 'max_tokens')
    """

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None, retry: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self.headers: Mapping[str, str] = {} if retry is None else {"retry-after": str(retry)}

    @property
    def kind(self) -> str:
        """OpenAI's word for it."""
        if self.status == 429:
            return "rate_limit_error"
        if self.status == 408:
            return "timeout_error"
        return "invalid_request_error" if self.status < 500 else "server_error"

    @property
    def body(self) -> dict[str, Any]:
        """What the client reads; a value that somebody wrote a book into is cut."""
        short = self.message if len(self.message) <= _LONGEST else f"{self.message[:_LONGEST]} ..."
        error = {"message": printable(short), "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def response(self) -> Response:
        """Return it as an answer."""
        return json_response(self.body, self.status, self.headers)


class EngineError(Exception):
    """The engine failed while it ran a request, perhaps because of another one."""


def json_response(values: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return values as JSON."""
    return Response(json_text(values) + "\n", status, headers, media_type="application/json")
