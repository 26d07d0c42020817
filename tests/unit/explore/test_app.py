"""The application: what it answers, and whom and what it refuses."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.explore_support import QUESTION, mano_explorer

from anira.explore import Choice, Explorer, RowAddress, render
from anira.explore.app import make_app
from anira.explore.requests import LARGEST_BODY

HERE = "http://127.0.0.1:8420"
OWN = {"select": None, "threshold": None, "depth": None}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    return mano_explorer(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def client(explorer):
    app = make_app(explorer, explorer.problem(QUESTION))
    with TestClient(app, base_url=HERE) as client:
        yield client


def ask(client, path, **body):
    return client.post(path, json=body)


def state_of(page):
    """The data that stands in a page."""
    (text,) = re.findall(r'<script type="application/json" id="state">(.*)</script>', page)
    return json.loads(text)


def test_the_page_brings_everything_with_it_and_may_run_its_own_script_only(client):
    answer = client.get("/")
    assert answer.status_code == 200
    policy, page = answer.headers["content-security-policy"], answer.text
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert not re.findall(r'(?:src|href)="(?!data:,)', page)
    assert state_of(page)["problem"]["question"] == QUESTION


def test_rows_are_picked_and_questions_read(client):
    picked = ask(client, "/problem", question=None, row={"subtask": "", "knob": 3, "row": 5}).json()
    again = ask(client, "/problem", question=picked["question"], row=None).json()
    assert again == {**picked, "row": None}


def test_every_run_answers_by_its_own_choice(client, explorer):
    sliding = [{**OWN, "select": "quantile", "threshold": t} for t in (0.1, 0.9)]
    depths = [
        ask(client, "/read", run=0, question=QUESTION, choice=choice).json()["mean_depth"] for choice in (*sliding, OWN)
    ]
    assert depths[0] < depths[1]
    forced = ask(client, "/read", run=1, question=QUESTION, choice={**OWN, "depth": 1}).json()
    assert forced == explorer.read(1, QUESTION, Choice(depth=1))


def test_the_exported_page_holds_the_state_and_asks_nobody(client, explorer):
    address = {"subtask": "", "knob": 3, "row": 5}
    picked = explorer.pick(RowAddress(**address))
    choices = [{**OWN, "select": "quantile", "threshold": 0.3}, {**OWN, "depth": 2}]
    page = ask(client, "/export", question=picked["question"], row=address, choices=choices).text
    expected = explorer.state(picked, [Choice(select="quantile", threshold=0.3), Choice(depth=2)])
    assert page == render(expected)
    state = state_of(page)
    assert not state["live"]
    assert state["problem"]["row"] == address
    assert [view["predicted"] for view in state["views"]] == [view["predicted"] for view in expected["views"]]
    assert "connect-src" not in page
    assert "<textarea" not in page


def test_a_question_that_is_not_that_of_the_row_counts_as_typed(client):
    row = {"subtask": "", "knob": 3, "row": 5}
    page = ask(client, "/export", question=QUESTION, row=row, choices=[OWN, OWN]).text
    assert state_of(page)["problem"]["row"] is None


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8420", "", "0.0.0.0:8420", "127.0.0.2", "[::1]"]
)
@pytest.mark.parametrize("path", ["/", "/read"])
def test_another_host_is_refused(client, host, path):
    body = {"run": 0, "question": QUESTION, "choice": OWN}
    answer = client.request("GET" if path == "/" else "POST", path, headers={"host": host}, json=body)
    assert answer.status_code == 400
    assert "tokens" not in answer.text


def test_localhost_is_this_host(client):
    assert client.get("/", headers={"host": "localhost:8420"}).status_code == 200


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"origin": "http://localhost:8420"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
@pytest.mark.parametrize("path", ["/problem", "/read", "/export"])
def test_pages_of_other_origins_are_refused(client, headers, path):
    answer = client.post(path, json={}, headers=headers)
    assert (answer.status_code, answer.json()) == (403, {"error": "requests of other pages are refused"})
    assert "access-control-allow-origin" not in answer.headers


def test_its_own_page_is_heard(client):
    headers = {"origin": HERE, "sec-fetch-site": "same-origin"}
    answer = client.post("/problem", json={"question": QUESTION, "row": None}, headers=headers)
    assert answer.status_code == 200


READ = {"run": 0, "question": QUESTION, "choice": OWN}
BAD_BODIES = {
    "no JSON": (b"{", "the request is not JSON"),
    "too deep": (b"[" * 50_000, "the request is not JSON"),
    "no table": (b"[1]", "must be a table"),
    "nothing": (b"", "the request is not JSON"),
    "unknown key": (json.dumps({**READ, "path": "/etc/passwd"}).encode(), "unknown key 'path'"),
    "missing key": (b'{"run": 0}', "missing key 'question'"),
    "wrong type": (json.dumps({**READ, "run": "0"}).encode(), "must be int"),
    "no number": (json.dumps({**READ, "choice": {**OWN, "threshold": float("nan")}}).encode(), "finite"),
    "half a character": (b'{"run": 0, "question": "\\ud800", "choice": ' + json.dumps(OWN).encode() + b"}", "ud800"),
    "two choices": (json.dumps({**READ, "choice": {**OWN, "depth": 1, "select": "mode"}}).encode(), "leave out"),
    "no depth": (json.dumps({**READ, "choice": {**OWN, "depth": 0}}).encode(), "at least 1"),
    "a novel": (json.dumps({**READ, "question": "x" * 50_000}).encode(), "at most 20000 characters"),
}


@pytest.mark.parametrize(("body", "expected"), BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_what_is_not_a_request_is_refused_in_one_line(client, body, expected):
    answer = client.post("/read", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert expected in error
    assert "\n" not in error
    assert len(error) < 500


def test_a_request_has_a_size_and_a_kind(client):
    kind = {"content-type": "application/json"}
    assert client.post("/read", content=b" " * (LARGEST_BODY + 1), headers=kind).status_code == 413
    assert client.post("/read", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415


@pytest.mark.parametrize(
    "path",
    ["/config.json", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2fconfig.json", "/static/../app.py"],
)
def test_no_file_can_be_reached(client, path):
    for answer in (client.get(path), client.post(path, json={})):
        assert answer.status_code in (404, 405)
        assert "root:" not in answer.text


@pytest.mark.parametrize("path", ["/problem", "/read", "/export"])
def test_a_link_makes_nothing_happen(client, path):
    assert client.get(path).status_code == 405


MARKUP = "</script><img src=x onerror=alert(1)>"


def test_markup_in_a_question_is_text(client):
    answer = ask(client, "/problem", question=MARKUP, row=None)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_markup_and_marks_that_turn_writing_are_text_in_a_page(explorer):
    odd = Explorer([replace(explorer.runs[0], label=f"{MARKUP}\u202e")])
    page = render(odd.state(odd.problem(QUESTION), [Choice()]))
    assert "<img" not in page
    assert "<ans>" not in page  # as a question has it
    assert "\u202e" not in page
    assert state_of(page)["runs"][0]["label"] == f"{MARKUP}\\u202e"
    assert page.count("</script>") == 2


def test_a_busy_model_says_so(explorer):
    run = replace(explorer.runs[0], patience=0.0)
    one = Explorer([run])
    with run.lock, TestClient(make_app(one, one.problem(QUESTION)), base_url=HERE) as client:
        answer = ask(client, "/read", run=0, question=QUESTION, choice=OWN)
    assert answer.status_code == 503
    assert "busy" in answer.json()["error"]
