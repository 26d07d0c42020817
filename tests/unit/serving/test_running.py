"""The server on a real socket: streams, clients that leave or read slowly, and the end."""

import contextlib
import http.client
import json
import socket

import pytest
from tests.equivalence.test_engine import alone
from tests.serving_support import PATH, make_service, model, running, until

from anira.config import UserError
from anira.serving import is_loopback, open_socket


def ask(port, **fields):
    """Send a request, and return its response, which may still be coming."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", PATH, json.dumps(fields), {"content-type": "application/json"})
    return connection, connection.getresponse()


def pieces(response):
    for line in response:
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))


def test_streams_over_a_socket_and_clients_that_leave():
    service = make_service(max_tokens=2000, max_context=4000)
    engine = service.engine
    with running(service) as (_, port):
        connection, response = ask(port, prompt=[1, 2, 3], max_tokens=6, stream=True)
        found = [one for piece in pieces(response) for choice in piece["choices"] for one in choice["token_ids"]]
        assert found == alone(model(), [1, 2, 3], 6)[0]
        connection.close()

        leaving = [ask(port, prompt=[1, i], max_tokens=2000, stream=True) for i in range(3)]
        for _, response in leaving:
            assert next(pieces(response))["choices"][0]["token_ids"]
        assert engine.stats["running"] == 3 and engine.stats["reserved_slots"] > 0
        silent = socket.create_connection(("127.0.0.1", port))
        body = json.dumps({"prompt": [5], "max_tokens": 2000}).encode()
        head = f"POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        silent.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: engine.stats["running"] == 4)
        for connection, response in leaving:
            response.close()
            connection.close()
        silent.close()
        until(lambda: engine.idle)
        assert engine.stats["slots"] == engine.stats["reserved_slots"] == 0
        until(lambda: service.metrics.outcomes["disconnected"] == 4)

        connection, response = ask(port, prompt=[1], max_tokens=1)
        assert response.status == 200
        connection.close()


def test_a_large_body_hears_why():
    with running(make_service(max_body=1000)) as (_, port):
        connection, response = ask(port, prompt=[1] * 100_000)
        assert response.status == 413
        assert json.load(response)["error"]["code"] == "body_too_large"
        connection.close()


def test_it_ends_in_good_order():
    """What runs is finished, and nothing new is taken."""
    service = make_service(grace=30.0)
    with running(service) as (server, port):
        connection, response = ask(port, prompt=[1, 2, 3], max_tokens=40, stream=True)
        parts = pieces(response)
        next(parts)
        server.handle_exit(15, None)
        until(lambda: service.draining)
        assert sum(len(choice["token_ids"]) for part in parts for choice in part["choices"]) >= 39 - 1
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        ask(port, prompt=[1])
    assert not service.engine.working


def test_a_second_signal_ends_it_at_once(monkeypatch):
    service = make_service(grace=3000.0, max_tokens=3000, max_context=4000)
    with running(service) as (server, port):
        connection, response = ask(port, prompt=[1], max_tokens=3000, stream=True)
        next(pieces(response))
        server.handle_exit(2, None)
        server.handle_exit(2, None)  # still the same: `timeout` sends two
        until(lambda: service.draining)
        assert service.engine.stats["running"] == 1
        server._asked_to_stop -= 1
        server.handle_exit(2, None)
        assert b"shutting down" in response.read()
        connection.close()


@contextlib.contextmanager
def deaf(server, port):
    """A client that asks for a long answer, more than the server can send unread, and reads none of it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.connect(("127.0.0.1", port))
        body = json.dumps({"prompt": [1], "max_tokens": 3000, "stream": True}).encode()
        head = f"POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: server.server_state.connections)
        yield


@pytest.mark.parametrize("end", ["timeout", "second signal"])
def test_a_client_that_does_not_read_loses_its_connection(end, monkeypatch):
    """uvicorn closes a connection once all is sent, which may be never."""
    monkeypatch.setattr("anira.serving.running.LAST_WORD", 0.2)
    service = make_service(timeout=2.0 if end == "timeout" else 3000.0, grace=3000.0, max_tokens=3000, max_context=4000)
    with running(service) as (server, port), deaf(server, port):
        if end == "second signal":
            until(lambda: any(one.flow.write_paused for one in server.server_state.connections))
            server.handle_exit(2, None)
            server._asked_to_stop -= 1
            server.handle_exit(2, None)
        until(lambda: not server.server_state.connections)
    assert service.engine.stats["reserved_slots"] == 0
    assert service.metrics.outcomes["timeout"] == (end == "timeout")


def test_addresses():
    with open_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(UserError, match=rf"cannot listen at 127.0.0.1:{port}: "):
            open_socket("127.0.0.1", port)
    with pytest.raises(UserError, match="port must lie between 0 and 65535"):
        open_socket("127.0.0.1", 70_000)
    assert is_loopback("127.3.4.5") and is_loopback("::1")
    assert not is_loopback("0.0.0.0") and not is_loopback("::") and not is_loopback("example.org")
