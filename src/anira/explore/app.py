"""The explorer as a web application for this machine alone.

Whoever can reach the port could ask, and so could any web page that a browser on this machine shows. So only requests
that name a loopback host are heard (a name that an attacker points at 127.0.0.1 is another one), and only those that
no page of another origin has sent.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anira.config import UserError, json_text, printable
from anira.explore.explorer import Explorer
from anira.explore.page import content_policy, render
from anira.explore.requests import LARGEST_BODY, ExportRequest, ProblemRequest, ReadRequest, parse_request
from anira.explore.runs import BusyError

HOSTS: Final = ("127.0.0.1", "localhost")
_LONGEST_MESSAGE: Final = 400
_HEADERS: Final = {
    "Content-Security-Policy": f"{content_policy(live=True)}; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

R = TypeVar("R")


def make_app(explorer: Explorer, first: dict[str, Any]) -> Starlette:
    """Return the application; its page begins with the problem `first`."""

    def page() -> Response:
        return HTMLResponse(render({**explorer.facts, "problem": first}, live=True))

    def problem(wanted: ProblemRequest) -> Response:
        if wanted.row is not None:
            return _json(explorer.pick(wanted.row))
        return _json(explorer.problem(wanted.question or ""))

    def read(wanted: ReadRequest) -> Response:
        return _json(explorer.read(wanted.run, wanted.question, wanted.choice))

    def export(wanted: ExportRequest) -> Response:
        picked = None if wanted.row is None else explorer.pick(wanted.row)
        shown = picked if picked and picked["question"] == wanted.question else explorer.problem(wanted.question)
        return HTMLResponse(render(explorer.state(shown, wanted.choices)))

    async def index(request: Request) -> Response:
        return await run_in_threadpool(page)

    return Starlette(
        routes=[
            Route("/", index, methods=["GET"]),
            Route("/problem", _answering(ProblemRequest, problem), methods=["POST"]),
            Route("/read", _answering(ReadRequest, read), methods=["POST"]),
            Route("/export", _answering(ExportRequest, export), methods=["POST"]),
        ],
        middleware=[
            Middleware(_Guard),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False),
        ],
        exception_handlers={UserError: _refuse, HTTPException: _refuse},
    )


def _answering(kind: type[R], act: Callable[[R], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that reads a request of this kind and answers it in a thread of its own."""

    async def endpoint(request: Request) -> Response:
        wanted = parse_request(kind, await _body(request))
        return await run_in_threadpool(act, wanted)

    return endpoint


async def _body(request: Request) -> bytes:
    """Return what was sent; no more of it than allowed is ever held."""
    # A form of another page can send text, but no JSON.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "a request is JSON")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise HTTPException(413, f"a request has at most {LARGEST_BODY} bytes")
    return body


async def _refuse(request: Request, error: Exception) -> Response:
    """Say in one line why a request is not answered."""
    status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (400, str(error))
    line = " ".join(printable(message).split())
    short = line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]} ..."
    return _json({"error": short}, 503 if isinstance(error, BusyError) else status)


def _json(value: dict[str, Any], status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")


class _Guard:
    """Refuses what a page of another origin sends, and says with every answer what browsers may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["method"] not in ("GET", "HEAD") and _is_foreign(Headers(scope=scope)):
            refusal = _json({"error": "requests of other pages are refused"}, 403)
            await refusal(scope, receive, guarded)
        else:
            await self.app(scope, receive, guarded)


def _is_foreign(headers: Headers) -> bool:
    """Say whether a browser tells that a page of another origin has sent a request; other programs say neither."""
    origin = headers.get("origin")
    elsewhere = origin is not None and urlsplit(origin).netloc != headers.get("host")
    return elsewhere or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
