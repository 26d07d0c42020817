"""A small model behind the server's application, and clients of it."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from typing import Any

import httpx2
from tests.models_support import VOCAB, random_model, small_config
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from anira.models import AniraForCausalLM
from anira.models.tokenizer import TaskTokenizer
from anira.serving import Limits, Server, Service, make_app, open_socket

PATH = "/v1/completions"


@cache
def model() -> AniraForCausalLM:
    """Return a model that tests share: they must leave it as it is."""
    return random_model(small_config("anira-o"))


@cache
def tokenizer() -> TaskTokenizer:
    """Return words w0 to w19 as tokens."""
    backend = Tokenizer(WordLevel({f"w{i}": i for i in range(VOCAB)}))
    backend.pre_tokenizer = WhitespaceSplit()
    return TaskTokenizer(tokenizer_object=backend)


def make_service(*, max_slots: int = 1 << 18, **limits: Any) -> Service:
    return Service(model(), tokenizer(), name="small", limits=Limits(**limits), max_slots=max_slots)


Ask = Callable[..., Coroutine[Any, Any, httpx2.Response]]


def with_client(service: Service, act: Callable[[Ask], Coroutine[Any, Any, Any]], *, start: bool = True) -> Any:
    """Let `act` ask a service, all in one event loop; `start` says whether its engine works from the beginning."""

    async def run() -> Any:
        transport = httpx2.ASGITransport(make_app(service))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:

            async def ask(**fields: Any) -> httpx2.Response:
                return await client.post(PATH, json=fields, timeout=None)

            return await act(ask)

    if start:
        service.engine.start()
    try:
        return asyncio.run(run())
    finally:
        service.engine.close()


@contextlib.contextmanager
def running(service: Service) -> Iterator[tuple[Server, int]]:
    """Serve in a thread of its own; yield the server and its port."""
    with open_socket("127.0.0.1", 0) as listening:
        listening.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, 1
        )  # the least: a client that does not read is noticed
        server = Server(service, host="127.0.0.1")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        port = listening.getsockname()[1]
        try:
            until(lambda: server.started)
            yield server, port
        finally:
            server.should_exit = True
            thread.join(timeout=60)
            assert not thread.is_alive()


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that must come true."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.002)
