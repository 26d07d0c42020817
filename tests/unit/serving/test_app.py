"""The API: what is answered, what is refused, and that one request never spoils another."""

import asyncio
import json

import pytest
import torch
from starlette.testclient import TestClient
from tests.equivalence.test_engine import alone, prompts
from tests.serving_support import PATH, make_service, model, tokenizer, with_client

from anira.serving import make_app
from anira.serving.app import read_body

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client():
    with TestClient(make_app(make_service(max_body=5000, max_tokens=50)), base_url="http://localhost") as client:
        yield client


def error_of(response, status):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert "Traceback" not in response.text
    return error


def events(text):
    """Return the pieces of a stream, which must end as it should."""
    *pieces, done = [part.removeprefix("data: ") for part in text.strip().split("\n\n")]
    assert done == "[DONE]"
    return [json.loads(piece) for piece in pieces]


def joined(pieces, index=0):
    """Return a choice of a stream as it would have come whole."""
    parts = [one for piece in pieces for one in piece["choices"] if one["index"] == index]
    grown = {name: [i for one in parts for i in one[name]] for name in ("token_ids", "depth")}
    return {**parts[-1], **grown, "text": "".join(one["text"] for one in parts)}


def check_as_alone(choice, prompt, **rule):
    tokens, depths = alone(model(), prompt, len(choice["token_ids"]), **rule)
    assert choice["token_ids"] == tokens
    assert choice["prompt_depth"] + choice["depth"][1:] == depths
    assert choice["depth"][0] == choice["prompt_depth"][-1]
    assert choice["text"] == tokenizer().decode(tokens)
    assert choice["prompt_token_ids"] == prompt


def test_an_answer(client):
    answer = client.post(PATH, json={"prompt": "w1 w2 w3", "max_tokens": 6, "model": "small"}).json()
    (choice,) = answer["choices"]
    check_as_alone(choice, [1, 2, 3])
    assert choice["finish_reason"] == "length"
    mean = sum(choice["depth"]) / 6
    assert answer["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 6,
        "total_tokens": 9,
        "mean_depth": pytest.approx(mean, abs=1e-5),
    }
    assert (answer["object"], answer["model"]) == ("text_completion", "small")


def test_a_stream_has_the_same_in_pieces(client):
    asked = {"prompt": ["w1 w2", [3, 4, 5]], "max_tokens": 5}
    whole = client.post(PATH, json=asked).json()
    response = client.post(PATH, json={**asked, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    pieces = events(response.text)
    assert [joined(pieces, index) for index in (0, 1)] == whole["choices"]
    assert pieces[-1]["usage"] == whole["usage"]
    assert len({piece["id"] for piece in pieces}) == 1
    assert sum(bool(one["token_ids"]) for piece in pieces for one in piece["choices"]) > 2, "they come one by one"


def test_sixteen_tokens_unless_something_is_said(client):
    assert client.post(PATH, json={"prompt": [1]}).json()["usage"]["completion_tokens"] == 16


def test_sampling_is_reproducible(client):
    asked = {"prompt": [1, 2], "max_tokens": 5, "temperature": 1.5, "top_k": 10**9, "top_p": 0.95}

    def tokens(**more):
        return client.post(PATH, json={**asked, **more}).json()["choices"][0]["token_ids"]

    assert tokens(seed=3) == tokens(seed=3)
    assert len({tuple(tokens(seed=seed)) for seed in (0, 1, 2, (1 << 63) - 1)}) > 1
    assert tokens(top_k=1) == alone(model(), [1, 2], 5)[0]


def test_rules_of_depth_are_those_of_the_request(client):
    for rule in ({"select": "mode"}, {"select": "quantile", "threshold": 0.9}, {"exit_depth": 2}):
        (choice,) = client.post(PATH, json={"prompt": [1, 2, 3], "max_tokens": 4, **rule}).json()["choices"]
        check_as_alone(choice, [1, 2, 3], **rule)


def test_a_stop_string_ends_the_text_before_it(client):
    whole = client.post(PATH, json={"prompt": [1, 2, 3], "max_tokens": 12}).json()["choices"][0]
    word = whole["text"].split()[5]
    first = whole["text"].split().index(word)
    for stream in (False, True):
        response = client.post(PATH, json={"prompt": [1, 2, 3], "max_tokens": 12, "stop": [word], "stream": stream})
        cut = joined(events(response.text)) if stream else response.json()["choices"][0]
        assert cut["text"] == whole["text"][: whole["text"].index(word)]
        assert cut["token_ids"] == whole["token_ids"][: first + 1]
        assert cut["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ({"prompt": [20]}, 400, "tokens must lie between 0 and 19"),
        ({"prompt": [-1]}, 400, "tokens must lie between 0 and 19"),
        ({"prompt": [1, 10**20]}, 400, "tokens must lie between 0 and 19"),
        ({"prompt": "w1 nonsense"}, 400, "unknown token 'nonsense'"),
        ({"prompt": "   "}, 400, "at least one token"),
        ({"prompt": [1], "max_tokens": 51}, 400, "max_tokens must be at most 50 here"),
        ({"prompt": [1], "select": "nonsense"}, 400, "nonsense"),
        ({"prompt": [1], "threshold": 7}, 400, "threshold"),
        ({"prompt": [1], "exit_depth": 6}, 400, "exit_depth must lie between 1 and 5"),
        ({"prompt": [1], "exit_depth": 2, "select": "mode"}, 400, "mean nothing to forced depths"),
        ({"prompt": [1], "model": "gpt-4"}, 404, "there is no model 'gpt-4' here"),
        ({"prompt": [1], "n": 2}, 400, "n must be 1"),
        ({"prompt": [1], "logprobs": 3}, 400, "unknown field 'logprobs'"),
        ({"prompt": [[1]] * 257}, 400, "more than 256 prompts"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_answered_is_refused(client, asked, status, message, stream):
    assert message in error_of(client.post(PATH, json={**asked, "stream": stream}), status)["message"]


def test_prompts_that_are_too_long_are_refused():
    service = make_service(max_context=20, max_slots=60)
    with TestClient(make_app(service)) as client:
        error = error_of(client.post(PATH, json={"prompt": [1] * 19, "max_tokens": 2}), 400)
        assert error["code"] == "context_length_exceeded"
        error = error_of(client.post(PATH, json={"prompt": [1] * 10, "max_tokens": 4}), 400)
        assert "may need 65 slots, and the engine has 60" in error["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[[[[", b'{"prompt": NaN}', b"\x00\xff", b"[" * 4000, b'"text"'])
def test_a_body_that_is_not_json_is_refused(client, body):
    assert error_of(client.post(PATH, content=body, headers=JSON), 400)["code"] == "invalid_json"


def test_a_body_of_another_type_is_refused(client):
    assert error_of(client.post(PATH, content=b'{"prompt": "w1"}', headers={"content-type": "text/plain"}), 415)


def test_a_large_body_is_refused_before_it_is_read(client):
    assert error_of(client.post(PATH, json={"prompt": [1] * 5000}), 413)["code"] == "body_too_large"


def test_a_body_without_a_length_is_read_no_further_than_allowed():
    from starlette.requests import Request

    read = 0

    async def receive():
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    scope = {"type": "http", "headers": [(b"content-type", b"application/json")]}
    with pytest.raises(Exception, match="at most 1000 bytes"):
        asyncio.run(read_body(Request(scope, receive), 1000))
    assert read == 11


def test_other_pages(client):
    assert client.get("/health").json() == {"status": "ok", "model": "small"}
    (found,) = client.get("/v1/models").json()["data"]
    assert (found["id"], found["max_depth"], found["policy"]) == ("small", 5, "anira-o")
    assert "anira_requests_total" in client.get("/metrics").text
    assert error_of(client.get("/v1/chat/completions"), 404)["message"] == "there is no /v1/chat/completions here"
    response = client.get(PATH)
    assert error_of(response, 405) and response.headers["allow"] == "POST"


def test_another_host_is_refused_where_only_ours_are_meant():
    app = make_app(make_service(), hosts=frozenset({"localhost", "127.0.0.1", "::1"}))
    with TestClient(app, base_url="http://localhost:8000") as client:
        for host in ("localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"):
            assert client.get("/health", headers={"host": host}).status_code == 200
        for host in ("evil.example", "localhost.evil.example:8000", "", "[", "127.0.0.1@evil.example:1"):
            assert error_of(client.get("/health", headers={"host": host}), 403)["code"] == "wrong_host"


def test_many_at_once_get_what_each_gets_alone():
    rules = [{}, {"select": "mode"}, {"exit_depth": 3}, {"select": "quantile", "threshold": 0.3}]
    jobs = [(prompt, 1 + i % 5, rules[i % 4], bool(i % 3)) for i, prompt in enumerate(prompts(16))]

    async def act(ask):
        asked = [ask(prompt=p, max_tokens=count, stream=s, **rule) for p, count, rule, s in jobs]
        return await asyncio.gather(*asked)

    service = make_service(max_slots=400)
    for response, (prompt, count, rule, stream) in zip(with_client(service, act), jobs, strict=True):
        choice = joined(events(response.text)) if stream else response.json()["choices"][0]
        assert len(choice["token_ids"]) == count
        check_as_alone(choice, prompt, **rule)
    assert service.engine.stats["slots"] == service.engine.stats["reserved_slots"] == 0


def test_a_full_queue_refuses_and_those_who_wait_are_answered():
    service = make_service(max_queue=5)

    async def act(ask):
        waiting = [asyncio.create_task(ask(prompt=[1, i], max_tokens=2)) for i in range(1, 6)]
        while service.waiting < 5:
            await asyncio.sleep(0.001)
        for prompt in ([1], [[1], [2], [3]]):
            response = await ask(prompt=prompt)
            assert error_of(response, 429)["code"] == "queue_full"
            assert response.headers["retry-after"] == "1"
        service.engine.start()
        return await asyncio.gather(*waiting)

    for i, response in enumerate(with_client(service, act, start=False), 1):
        check_as_alone(response.json()["choices"][0], [1, i])


def load(count, at_once):
    """Send many requests against a small cap, and account for each of them."""
    service = make_service(max_queue=8, max_slots=200)
    found, refused = {}, []

    async def client(ask, number, turn):
        async with turn:
            response = await ask(prompt=[1 + number % 11, 1 + number % 2], max_tokens=1 + number % 3)
        if response.status_code == 429:
            refused.append(error_of(response, 429)["message"])
            assert response.headers["retry-after"] == "1"
        else:
            found[number] = response.json()

    async def act(ask):
        turn = asyncio.Semaphore(at_once)
        await asyncio.gather(*(client(ask, number, turn) for number in range(count)))

    with_client(service, act)
    expected = {
        tuple(prompt): alone(model(), prompt, 3)[0] for prompt in ([i, j] for i in range(1, 12) for j in (1, 2))
    }
    for number, answer in found.items():
        tokens = expected[1 + number % 11, 1 + number % 2]
        assert answer["choices"][0]["token_ids"] == tokens[: 1 + number % 3]
    assert len({answer["id"] for answer in found.values()}) == len(found) == count - len(refused)
    assert service.metrics.outcomes == {"answered": len(found), "refused": len(refused)}
    assert len(found) >= 18 and refused, "some are served and some are not, or the test says nothing"
    assert service.engine.idle and service.engine.stats["reserved_slots"] == 0


def test_many_requests_against_a_small_cap():
    load(300, at_once=40)


@pytest.mark.slow
def test_ten_thousand_requests_against_a_small_cap():
    load(10_000, at_once=200)


def test_time_is_bounded():
    async def act(ask):
        return await asyncio.gather(ask(prompt=[1]), ask(prompt=[1], stream=True))

    service = make_service(timeout=0.05)  # and an engine that does nothing
    for response in with_client(service, act, start=False):
        assert error_of(response, 408)["message"] == "the answer was not finished within 0.05 seconds"
    assert service.metrics.outcomes["timeout"] == 2


async def unread(service, sent, prompt):
    """Ask for a stream and take none of its tokens until the event is set; return once the first are there."""
    body = json.dumps({"prompt": prompt, "max_tokens": 12, "stream": True}).encode()
    reads, asked = asyncio.Event(), [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        return asked.pop() if asked else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)
        if message.get("body"):
            await reads.wait()

    scope = {"type": "http", "method": "POST", "path": PATH, "headers": [(b"content-type", b"application/json")]}
    slow = asyncio.create_task(make_app(service)(scope, receive, send))
    while len(sent) < 2:  # a head, and the first tokens
        await asyncio.sleep(0.001)
    return slow, reads


@pytest.mark.parametrize("returns", [True, False])
def test_a_client_that_does_not_read_holds_up_nobody_and_not_for_ever(returns, monkeypatch):
    monkeypatch.setattr("anira.serving.app.LAST_WORD", 0.01)
    service = make_service(timeout=300.0 if returns else 0.5)
    service.engine.max_rows = 1
    sent = []

    async def act(ask):
        slow, reads = await unread(service, sent, [1, 2])
        if returns:
            assert (await ask(prompt=[2], max_tokens=9)).status_code == 200
            assert not slow.done()
            reads.set()
        await slow

    with_client(service, act)
    if returns:
        check_as_alone(joined(events(b"".join(one.get("body", b"") for one in sent).decode())), [1, 2])
    assert service.metrics.outcomes["timeout"] == (not returns)
    assert service.engine.stats["reserved_slots"] == 0


def test_after_an_error_a_client_that_does_not_read_holds_up_nobody(monkeypatch):
    """Its request is tried again alone, and the engine is done with it long before the client is."""
    service = make_service()
    enter, failures = service.engine.stages.enter, []

    def fail_once(ids, *words):
        if 13 in ids[:-1] and not failures:
            failures.append(13)
            raise RuntimeError("once is enough")
        return enter(ids, *words)

    monkeypatch.setattr(service.engine.stages, "enter", fail_once)
    sent = []

    async def act(ask):
        slow, reads = await unread(service, sent, [4, 13, 5])
        assert (await asyncio.wait_for(ask(prompt=[1, 2], max_tokens=1), 60)).status_code == 200
        assert not slow.done()
        reads.set()
        await slow

    with_client(service, act)
    assert failures == [13]
    check_as_alone(joined(events(b"".join(one.get("body", b"") for one in sent).decode())), [4, 13, 5])


def test_a_request_on_which_the_engine_fails_leaves_the_others_alone(monkeypatch):
    """Even those whose tokens it was running at that moment."""
    service = make_service()
    enter = service.engine.stages.enter

    def fail_on_13(ids, *words):
        if 13 in ids[:-1]:
            raise RuntimeError("13 is not a good number")
        return enter(ids, *words)

    monkeypatch.setattr(service.engine.stages, "enter", fail_on_13)

    async def act(ask):
        good = [asyncio.create_task(ask(prompt=[1, i], max_tokens=8, stream=i % 2 == 0)) for i in range(2, 6)]
        while not any(handle.tokens for handle in service._open):
            await asyncio.sleep(0.001)
        return await ask(prompt=[4, 13, 5]), await asyncio.gather(*good), await ask(prompt=[1, 2], max_tokens=1)

    bad, good, later = with_client(service, act)
    assert "RuntimeError: 13 is not a good number" in error_of(bad, 500)["message"]
    for i, response in enumerate(good, 2):
        choice = response.json()["choices"][0] if i % 2 else joined(events(response.text))
        assert len(choice["token_ids"]) == 8
        check_as_alone(choice, [1, i])
    assert later.status_code == 200
    assert service.metrics.outcomes == {"answered": 5, "failed": 1}
    assert service.engine.stats["reserved_slots"] == 0


def test_after_the_time_of_grace_what_runs_is_ended():
    service = make_service(grace=0.02)

    async def act(ask):
        running = [asyncio.create_task(ask(prompt=[1], max_tokens=1000, stream=stream)) for stream in (True, False)]
        while service.engine.stats["running"] < 2:
            await asyncio.sleep(0.001)
        service.drain()
        late = await ask(prompt=[2])
        return late, await asyncio.gather(*running)

    late, (streamed, whole) = with_client(service, act)
    for response in (late, whole):
        assert error_of(response, 503)["message"] == "the server is shutting down"
    last = json.loads(streamed.text.strip().split("\n\n")[-1].removeprefix("data: "))
    assert last["error"]["code"] == "shutting_down"


def test_the_end_reaches_those_who_are_not_in_the_engine_yet():
    service = make_service()

    async def act(ask):
        async with service._turns.alone():  # as after an error
            waiting = asyncio.create_task(ask(prompt=[1]))
            while not service.waiting:
                await asyncio.sleep(0.001)
            service.cancel()
        return await waiting

    assert error_of(with_client(service, act), 503)["code"] == "shutting_down"


def test_a_default_rule_is_that_of_requests_without_one():
    from anira.serving import Limits, Service

    service = Service(model(), tokenizer(), name="small", limits=Limits(), select="quantile", threshold=0.9)
    with TestClient(make_app(service)) as client:
        for asked, rule in (
            ({}, {"select": "quantile", "threshold": 0.9}),
            ({"select": "mode"}, {"select": "mode"}),
            ({"exit_depth": 2}, {"exit_depth": 2}),
        ):
            (choice,) = client.post(PATH, json={"prompt": [1, 2], "max_tokens": 4, **asked}).json()["choices"]
            check_as_alone(choice, [1, 2], **rule)


def test_torch_is_left_as_it_was(client):
    """A request computes without gradients, in another thread."""
    client.post(PATH, json={"prompt": [1], "max_tokens": 1})
    assert torch.is_grad_enabled()
