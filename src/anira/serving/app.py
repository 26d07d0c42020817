"""The routes, and how a request is read and answered within its limits; an error of a request ends here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from anira.config import json_text
from anira.serving.answering import Answer, Piece
from anira.serving.asking import read_asked
from anira.serving.errors import EngineError, Refused, json_response
from anira.serving.service import Service

Report = Callable[[str], None]
LAST_WORD: Final = 1.0
"""Seconds that a client has to take the news that its answer has broken off."""


def make_app(service: Service, *, hosts: frozenset[str] | None = None, report: Report = lambda line: None) -> Starlette:
    """Return the server's application.

    `hosts` are the names by which it may be called; None: any. `report` is told in a line what went wrong inside.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: report(str(what["message"])))
        with service.engine:
            yield

    return Starlette(
        routes=[
            Route("/v1/completions", Completions(service, report), methods=["POST"]),
            Route("/v1/models", _page(service, _models), methods=["GET"]),
            Route("/health", _page(service, _health), methods=["GET"]),
            Route("/metrics", _page(service, _metrics), methods=["GET"]),
        ],
        middleware=[Middleware(HostCheck, hosts=hosts)],
        exception_handlers={HTTPException: _no_such_route},
        lifespan=lifespan,
    )


class Completions:
    """POST /v1/completions."""

    def __init__(self, service: Service, report: Report) -> None:
        self.service, self.report = service, report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens on the way."""
        reply = Reply(scope, receive, send)
        try:
            async with asyncio.timeout(self.service.limits.timeout):
                await self._answer(Request(scope, receive), reply)
            outcome = "answered"
        except ClientDisconnect:
            outcome = "disconnected"
        except TimeoutError:
            seconds = f"{self.service.limits.timeout:g} seconds"
            outcome = "timeout"
            await reply.refuse(Refused(408, f"the answer was not finished within {seconds}", code="timeout"))
        except Refused as refused:
            outcome = "refused" if refused.status in (429, 503) else "invalid"
            await reply.refuse(refused)
        except Exception as error:
            outcome = "failed"
            self.report(f"a request failed: {type(error).__name__}: {error}")
            inside = str(error) if isinstance(error, EngineError) else type(error).__name__
            await reply.refuse(Refused(500, f"the server failed on this request: {inside}", code="internal_error"))
        self.service.metrics.outcomes[outcome] += 1

    async def _answer(self, request: Request, reply: "Reply") -> None:
        body = await read_body(request, self.service.limits.max_body)
        asked = read_asked(body)
        work = self._events if asked.stream else self._whole
        await unless_gone(request.receive, work(Answer(self.service, asked, await self.service.prepare(asked)), reply))

    async def _whole(self, answer: Answer, reply: "Reply") -> None:
        await reply.respond(json_response(await answer.whole()))

    async def _events(self, answer: Answer, reply: "Reply") -> None:
        await answer.pieces(reply.event)
        await reply.event(answer.last_piece)
        await reply.end()


class Reply:
    """What goes to the client: one response, or a stream of events that begins with its first piece."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._streams = self._ended = False
        self._sending = asyncio.Lock()

    async def respond(self, response: Response) -> None:
        """Send a whole response."""
        self._ended = True
        await response(self._scope, self._receive, self._send)

    async def event(self, piece: Piece | str) -> None:
        """Send one event; a client that does not read keeps us waiting here."""
        data = piece if isinstance(piece, str) else json_text(piece)
        async with self._sending:
            if not self._streams:
                self._streams = True
                headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": f"data: {data}\n\n".encode(), "more_body": True})

    async def end(self) -> None:
        """Send the last event."""
        await self.event("[DONE]")
        await self._close()

    async def refuse(self, refused: Refused) -> None:
        """Say why there is no answer, or why it has broken off, to a client that may not listen any more."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(LAST_WORD):
                if self._streams:
                    await self.event(refused.body)
                    await self._close()
                elif not self._ended:
                    await self.respond(refused.response())

    async def _close(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def read_body(request: Request, most: int) -> bytes:
    """Return a request's body, of which never more than `most` bytes are kept."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a page of another site can send unasked has another type
        raise Refused(415, "the body must be JSON: content-type: application/json", code="unsupported_media_type")
    too_large = Refused(413, f"the body must have at most {most} bytes", code="body_too_large")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared[:20]) > most:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise too_large
    return bytes(body)


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do some work, or end it when the client goes away."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class HostCheck:
    """Refuses requests by a name that is not ours.

    A page of another site can let its own name point to this machine (DNS rebinding), and the browser would let it read
    our answers; but the name is in the request.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what calls us by our name."""
        if scope["type"] == "http" and self.hosts is not None:
            headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if len(headers) != 1 or _name(headers[0]) not in self.hosts:
                refused = Refused(403, "the Host header does not name this server", code="wrong_host")
                await refused.response()(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _name(host: str) -> str:
    """Return the name in a Host header, without the port.

    >>> _name("localhost:8000"), _name("[::1]:8000"), _name("[")
    ('localhost', '::1', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    message = f"{path} does not take {request.method}" if error.status_code == 405 else f"there is no {path} here"
    refused = Refused(error.status_code, message, code="not_found" if error.status_code == 404 else None)
    return json_response(refused.body, error.status_code, error.headers)


def _page(service: Service, make: Callable[[Service], Response]) -> Callable[[Request], Awaitable[Response]]:
    async def page(request: Request) -> Response:
        return make(service)

    return page


def _models(service: Service) -> Response:
    policy, config = service.engine.stages.policy, service.config
    model = {
        "id": service.name,
        "object": "model",
        "created": 0,
        "owned_by": "anira",
        "context_length": service.max_context,
        "max_depth": config.max_depth,
        "policy": policy.name,
        "select": sorted(policy.rules),
    }
    return json_response({"object": "list", "data": [model]})


def _health(service: Service) -> Response:
    if service.draining:
        return json_response({"status": "stopping"}, 503)
    if not service.engine.working:
        return json_response({"status": "failed"}, 503)
    return json_response({"status": "ok", "model": service.name})


def _metrics(service: Service) -> Response:
    stats = {**service.engine.stats, "waiting": service.waiting}
    return PlainTextResponse(service.metrics.text(stats), media_type="text/plain; version=0.0.4")
