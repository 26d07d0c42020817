"""The soak's account of a short load: every request ends as it should, and the server is empty at the end."""

import asyncio
import os
import time

from tests.serving_support import running

from anira.cli.serve import load_served
from anira.serving import Limits, Service
from benchmarks import soak
from benchmarks.tables import result_text


def served(folder, **limits):
    soak._make_model(folder)
    model, tokenizer, name = load_served(str(folder))
    return Service(model, tokenizer, name=name, limits=Limits(max_tokens=64, max_body=20_000, **limits), max_slots=4000)


def test_nothing_is_lost(tmp_path):
    service = served(tmp_path, max_queue=6)
    with running(service) as (_, port):
        found = asyncio.run(soak.load(port, os.getpid(), seconds=1.0, clients=5, report=lambda line: None, parts=1))
    assert (found["lost"], found["losses"], found["left_behind"]) == (0, "", 0)
    ends = ("answered", "refused", "late", "rejected", "left")
    assert found["sent"] == sum(found[name] for name in ends) == sum(kind["done"] for kind in found["kinds"])
    assert found["answered"] and found["rejected"]
    assert "lost" in result_text(found)


def test_what_is_lost_is_noticed(tmp_path, monkeypatch):
    service = served(tmp_path)
    monkeypatch.setattr(service.engine, "submit", lambda *words, **options: 1 / 0)
    with running(service) as (_, port):
        found = asyncio.run(soak.load(port, os.getpid(), seconds=0.4, clients=6, report=lambda line: None, parts=1))
    assert found["lost"] > 0 and "500" in found["losses"]


def test_a_time_limit_is_counted_by_itself(tmp_path, monkeypatch):
    service = served(tmp_path, timeout=0.05)
    monkeypatch.setattr(service.engine, "tick", lambda: time.sleep(0.01))  # it never gets on
    with running(service) as (_, port):
        found = asyncio.run(soak.load(port, os.getpid(), seconds=0.4, clients=6, report=lambda line: None, parts=1))
    assert (found["lost"], found["losses"]) == (0, "") and found["late"] > 0 and not found["answered"]
