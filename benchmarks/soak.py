"""Mixed load on a server over loopback: clients that join, leave, read slowly or talk nonsense; is anything lost?

The server is a process of its own with a small model. Each client does one thing after the other, drawn at random from
`KINDS`, until the time is over. Every request that was sent must end as it should, or it counts as lost.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import torch

from anira.config.machine import machine
from anira.models import AniraConfig, AniraForCausalLM
from anira.text import load_tokenizer
from anira.training.checkpoint import without_bars
from benchmarks.soak_clients import KINDS, Client

_LIMITS: Final = {"max-slots": 8000, "max-queue": 6, "max-tokens": 64, "max-body": 20_000, "timeout": 300}


def bench(*, minutes: int, clients: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Start a server, load it, and return what became of all requests and of its memory."""
    with tempfile.TemporaryDirectory(prefix="anira-soak-") as folder:
        _make_model(Path(folder))
        report("a server: starting it")
        with _server(Path(folder)) as (process, port):
            work = load(port, process.pid, seconds=60.0 * minutes, clients=clients, report=report)
            found = asyncio.run(work)
            process.terminate()
            found["exit_status"] = process.wait(timeout=60)
    return {"machine": machine(), "minutes": minutes, "clients": clients, **found}


async def load(
    port: int, pid: int, *, seconds: float, clients: int, report: Callable[[str], None], parts: int = 10
) -> dict[str, Any]:
    """Load a server that listens at a port of this machine; return the account, with its memory after each part."""
    answers: dict[Any, Any] = {}
    everyone = [Client(port, Random(number), answers) for number in range(clients)]
    await asyncio.gather(*(one.act(time.monotonic() + min(5.0, seconds / 4)) for one in everyone))  # pools grow
    memory = [_memory(pid)]
    for part in range(parts):
        end = time.monotonic() + seconds / parts
        await asyncio.gather(*(one.act(end) for one in everyone))
        memory.append(_memory(pid))
        report(f"part {part + 1} of {parts}: {memory[-1] >> 20} MB")
    counts = sum((one.counts for one in everyone), Counter[str]())
    return {
        "sent": sum(counts.values()),
        **{name: counts[name] for name in ("answered", "refused", "late", "rejected", "left", "lost")},
        "differing": sum(one.differing for one in everyone),
        "losses": "; ".join(sorted({loss for one in everyone for loss in one.losses}))[:500],
        "memory_start_mb": memory[0] / 2**20,
        "memory_end_mb": memory[-1] / 2**20,
        "memory_most_mb": max(memory) / 2**20,
        "left_behind": await _left_behind(everyone[0]),
        "kinds": [{"what": kind, "done": sum(one.kinds[kind] for one in everyone)} for kind in KINDS],
    }


async def _left_behind(client: Client) -> int:
    """Return how many requests and slots the server still holds once nobody asks for anything."""
    held = 1
    for _ in range(200):
        text = await client.page("/metrics")
        values = re.findall(r"^anira_(?:requests_waiting|requests_running|slots_used|slots_held) (\d+)$", text, re.M)
        held = sum(map(int, values))
        if not held:
            break
        await asyncio.sleep(0.05)
    return held


def _memory(pid: int) -> int:
    """Return the bytes that a process holds in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    limits = [word for name, value in _LIMITS.items() for word in (f"--{name}", str(value))]
    words = [sys.executable, "-m", "anira.cli", "serve", str(folder), "--port", "0", "--threads", "1", *limits]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            port = re.search(r"http://127.0.0.1:(\d+)/", line)
            if port is None:
                raise RuntimeError(f"the server did not start: {line}")
            yield process, int(port[1])
        finally:
            process.kill()


def _make_model(folder: Path) -> None:
    """Write a small model whose tokens go to many depths, with bytes as tokens."""
    tokenizer = load_tokenizer("bytes")
    config = AniraConfig(
        vocab_size=tokenizer.size,
        hidden_size=32,
        intermediate_size=64,
        num_attention_heads=2,
        max_depth=4,
        policy={"name": "anira-o"},
        eos_token_id=tokenizer.eos,
    )
    model = AniraForCausalLM(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 1.5 / parameter.shape[1] ** 0.5, generator=generator)
    with without_bars():
        model.save_pretrained(folder)
    tokenizer.save(folder)
