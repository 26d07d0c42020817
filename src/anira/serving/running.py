"""The application on a socket, until a signal asks it to stop."""

import asyncio
import ipaddress
import resource
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import uvicorn

from anira.config import SAME_SIGNAL, UserError
from anira.serving.app import LAST_WORD, make_app
from anira.serving.service import Service

_BACKLOG = 2048
_TICK: Final = 0.1
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach a server at this address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, False, True)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 is any that is free."""
    if not 0 <= port <= 65535:
        raise UserError(f"port must lie between 0 and 65535, not {port}")
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)  # whoever comes before the server is ready waits
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        raise UserError(f"cannot listen at {host}:{port}: {getattr(error, 'strerror', None) or error}") from None
    return listening


class Server(uvicorn.Server):
    """uvicorn, with an end that is no error: the first signal stops it in good order, a second one at once."""

    def __init__(self, service: Service, *, host: str, report: Callable[[str], None] = lambda line: None) -> None:
        app = make_app(service, hosts=_LOOPBACK | {host.lower()} if is_loopback(host) else None, report=report)
        self.service = service
        self._asked_to_stop = 0.0
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=round(service.limits.grace) + 5,  # our own grace is over by then
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._watching = asyncio.create_task(self._drop_unread())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; what is asked twice means it."""
        now = time.monotonic()
        if self.should_exit and now - self._asked_to_stop > SAME_SIGNAL:
            self.service.cancel()
        self.should_exit, self._asked_to_stop = True, now

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish within the time of grace, and end."""
        self.service.drain()
        try:
            await super().shutdown(sockets)
        finally:
            self._watching.cancel()

    async def _drop_unread(self) -> None:
        """Break connections that have come to their end, and whose client does not read what is left.

        Closed in good order, a connection stays for as long as there is something to send.
        """
        since: dict[Any, float] = {}
        while True:
            now = time.monotonic()
            ending = [one for one in self.server_state.connections if self._is_ending(one)]
            since = {one: since.get(one, now) for one in ending}
            for one in ending:
                if now - since[one] > LAST_WORD:
                    one.transport.abort()
            await asyncio.sleep(_TICK)

    def _is_ending(self, connection: Any) -> bool:
        return connection.transport.is_closing() or (self.service.over and connection.flow.write_paused)


def serve(service: Service, listening: socket.socket, *, host: str, report: Callable[[str], None]) -> None:
    """Answer requests until a signal comes."""
    _allow_many_connections()
    Server(service, host=host, report=report).run(sockets=[listening])


def _allow_many_connections() -> None:
    """Use as many files as the system lets us: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
