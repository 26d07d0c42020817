"""Serving an explorer on loopback until somebody stops it."""

import errno
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from starlette.applications import Starlette

from anira.config import UserError

_LOOPBACK: Final = "127.0.0.1"
_LEAVE: Final = 2  # seconds that a request may still take when the server is asked to stop


def serve(app: Starlette, port: int, ready: Callable[[str], None]) -> None:
    """Serve until the process is interrupted; `ready` is told the address as soon as it answers.

    Port 0 is any that is free.
    """
    with _listening(port) as listener:
        ready(f"http://{_LOOPBACK}:{listener.getsockname()[1]}/")
        # Without a configuration of their own, its messages go where Python's warnings go: errors alone.
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=_LEAVE, ws="none")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    """Return a socket that takes connections of this machine."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
    except (OSError, OverflowError) as error:
        listener.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken" if taken else f"cannot be used ({error})"
        raise UserError(f"port {port} {why}: give another --port, or --port 0 for any that is free") from error
    listener.listen()
    return listener
