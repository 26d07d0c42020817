"""Many requests, one batch of the core: tokens of any request and any depth share every iteration.

    engine = Engine(model, max_slots=100_000)
    handles = [engine.submit(prompt, max_new_tokens=64) for prompt in prompts]
    print([handle.result().tokens for handle in handles])

One tick asks the policy about every token in the core, takes out those that stop, and runs one iteration of the core
for all others: legal, because the core is shared. Once most requests wait outside, it also reads out what has stopped,
draws successors, and lets these and the next parts of prompts in. A request gets the tokens and depths that `generate`
gives it alone, whatever else runs.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from anira.config import UserError
from anira.inference.engine.attention import Places
from anira.inference.engine.requests import Chunk, Handle, Lane, Options, Reason, Token
from anira.inference.engine.sampling import Sampling, choose
from anira.inference.engine.stages import Stages
from anira.inference.engine.turns import is_time
from anira.inference.engine.wave import Exits, Wave
from anira.models import AniraForCausalLM
from anira.models.cache import KeyValueRule
from anira.models.host import Numbers, on_device
from anira.models.readout import chosen_of
from anira.models.wrapped import policy_in_use

Ready = list[tuple[Handle, Chunk]]


class Engine:
    """Generation for many requests that join and leave at any time.

    `max_slots` bounds the memory: key-value slots of a core layer, of which a token takes one per iteration at most.
    A request that cannot fit is refused; one that does not fit now waits its turn, first come, first served. `max_rows`
    requests run at a time, and up to `prompt_tokens` tokens of prompts enter in one tick, in equal parts.
    `kv="overwrite"` keeps one slot per token, and gives other answers (see `DepthCache`).
    """

    def __init__(
        self,
        model: AniraForCausalLM,
        *,
        max_slots: int = 1 << 20,
        max_rows: int = 64,
        prompt_tokens: int = 512,
        kv: KeyValueRule = "exact",
    ) -> None:
        _check_model(model)
        for name, value in (("max_slots", max_slots), ("max_rows", max_rows), ("prompt_tokens", prompt_tokens)):
            if value < 1:
                raise UserError(f"{name} must be at least 1, not {value}")
        self.stages = Stages(model, max_rows, kv)
        self.max_slots, self.max_rows, self.prompt_tokens = max_slots, max_rows, prompt_tokens
        self._waiting: deque[Handle] = deque()
        self._running: dict[int, Handle] = {}
        self._reserved = 0
        self._waves: list[Wave] = []
        self._exits: list[Exits] = []  # what has left the core and is not read out yet
        self._ticking = threading.Lock()
        self._thread: threading.Thread | None = None
        self._work = threading.Condition()
        self._closing = False

    def submit(  # noqa: PLR0913 (what can be asked for)
        self,
        prompt: Sequence[int] | Int[Tensor, "..."],
        *,
        max_new_tokens: int,
        select: str | None = None,
        threshold: float | None = None,
        exit_depth: int | None = None,
        stop: Iterable[int] | None = None,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        seed: int = 0,
        buffer: int | None = None,
        listener: Callable[[], None] | None = None,
    ) -> Handle:
        """Ask for the continuation of a prompt; what can never be answered is refused at once.

        `stop` are the tokens that end it, by default those of the model's generation settings. `buffer`: the request
        pauses while so many of its tokens have not been read. `listener` is called, from the thread that ticks, when
        there is a new token and at the end.
        """
        options = Options(
            max_new_tokens=max_new_tokens,
            lane=Lane(select, threshold, exit_depth),
            stop=frozenset(_ends(self.stages.model) if stop is None else stop),
            sampling=Sampling(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed),
            buffer=buffer,
        )
        ids = [int(one) for one in (prompt.flatten().tolist() if isinstance(prompt, Tensor) else prompt)]
        self._check(ids, options)
        handle = Handle(ids, options, self._drive, listener)
        with self._work:
            if self._closing:
                raise UserError("the engine is closed")
            self._waiting.append(handle)
            self._work.notify()
        return handle

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._waiting and not self._running

    @property
    def working(self) -> bool:
        """Whether a thread of its own brings requests on."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def stats(self) -> dict[str, int]:
        """How many requests wait and run, and how many slots of the core are in use and promised."""
        return {
            "waiting": len(self._waiting),
            "running": len(self._running),
            "slots": self.stages.core.used,
            "reserved_slots": self._reserved,
            "max_slots": self.max_slots,
        }

    @torch.no_grad()
    def tick(self) -> None:
        """Do one step of the work for everybody."""
        with self._ticking:
            self._forget_cancelled()
            self._admit()
            self._exits += self._decide()
            if is_time(self._running, {row for wave in self._waves for row in wave.rows.tolist()}):
                self._finish()
                self.stages.settle(self._read_out_before())
                self._arrive()
            self.stages.iterate(self._waves)

    def run(self) -> None:
        """Answer all requests that there are."""
        while not self.idle:
            self._tick_here()

    def start(self) -> "Engine":
        """Work in a thread of its own from now on, until `close`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work_on, daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Cancel what is left and end the thread."""
        with self._work:
            self._closing = True
            self._work.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for handle in self._all():
            handle.cancel()
        with self._ticking:
            self._forget_cancelled()

    def __enter__(self) -> "Engine":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self) -> list[Handle]:
        return [*self._waiting, *self._running.values()]

    def _work_on(self) -> None:
        while not self._closing:
            with self._work:
                # A reader that has caught up does not say so: look again from time to time.
                self._work.wait_for(lambda: self._closing or not self._stuck(), timeout=0.01)
            if not self._closing and not self._stuck():
                self._tick_or_fail()

    def _tick_or_fail(self) -> None:
        """Tick; an error ends the requests that run, whose readers see it, and those that wait have their turn."""
        try:
            self.tick()
        except Exception as error:
            self._waves.clear()
            self._exits.clear()
            # With nobody running, the next in line is what it fails on: it must not be tried for ever.
            for handle in list(self._running.values()) or [self._waiting.popleft() for _ in list(self._waiting)[:1]]:
                handle.error = error
                self._end(handle, "failed")

    def _stuck(self) -> bool:
        """Whether nothing can go on: there are no requests, or those that run wait for their readers."""
        paused = all(handle.paused and not handle.cancelled for handle in self._running.values())
        enters = self._next_fits() or any(handle.cancelled for handle in self._waiting)
        return not self._waves and not enters and paused

    def _tick_here(self) -> None:
        """Tick without a thread, where waiting for a reader would be waiting for ever."""
        if self._stuck():
            raise UserError("nothing can go on: requests with a buffer wait for their readers")
        self.tick()

    def _drive(self, handle: Handle) -> None:
        """Bring a request on: tick, or wait for the thread that does."""
        if self._thread is None:
            self._tick_here()
            return
        with handle.changed:
            handle.changed.wait(timeout=0.05)

    def _check(self, ids: list[int], options: Options) -> None:
        config, lane = self.stages.model.config, options.lane
        if not ids:
            raise UserError("a prompt needs at least one token")
        if min(ids) < 0 or max(ids) >= config.vocab_size:
            raise UserError(f"tokens must lie between 0 and {config.vocab_size - 1}")
        for name in ("max_new_tokens", "buffer"):
            value = getattr(options, name)
            if value is not None and value < 1:
                raise UserError(f"{name} must be at least 1, not {value}")
        if lane.exit_depth is None:
            self.stages.policy.rule(lane.select, lane.threshold)
        elif lane.select is not None or lane.threshold is not None:
            raise UserError("select and threshold mean nothing to forced depths")
        elif not 1 <= lane.exit_depth <= config.max_depth or self.stages.policy.timing == "route":
            raise UserError(f"exit_depth must lie between 1 and {config.max_depth}, for policies with exits")
        need = self._need(len(ids), options)
        if need > self.max_slots:
            raise UserError(
                f"{len(ids)} tokens and {options.max_new_tokens} new ones may need {need} slots, and the engine has "
                f"{self.max_slots}: ask for fewer, or raise max_slots"
            )

    def _need(self, length: int, options: Options) -> int:
        """Return the most slots that a request can take; its last token is never read."""
        config = self.stages.model.config
        once = config.freeze == "first" or self.stages.core.overwrite
        return (length + options.max_new_tokens - 1) * (1 if once else config.max_depth)

    def _admit(self) -> None:
        """Give rows to requests that fit, first come, first served."""
        while self._next_fits():
            handle = self._waiting.popleft()
            handle.row = next(row for row in range(self.max_rows) if row not in self._running)
            self._running[handle.row] = handle
            self._reserved += self._need(len(handle.prompt), handle.options)

    def _next_fits(self) -> bool:
        """Whether there is a row and room for the next in line."""
        if not self._waiting or len(self._running) >= self.max_rows:
            return False
        head = self._waiting[0]
        return self._reserved + self._need(len(head.prompt), head.options) <= self.max_slots

    def _forget_cancelled(self) -> None:
        for handle in [one for one in self._all() if one.cancelled]:
            if handle.row < 0:
                self._waiting.remove(handle)
            for wave in self._waves:
                wave.drop(handle.row)
            self._exits = [rest for gone in self._exits if len(rest := gone.without(handle.row))]
            self._end(handle, "cancelled")
        self._waves = [wave for wave in self._waves if len(wave)]

    def _end(self, handle: Handle, reason: Reason) -> None:
        if handle.row >= 0:
            self.stages.release(handle.row)
            del self._running[handle.row]
            self._reserved -= self._need(len(handle.prompt), handle.options)
            handle.row = -1
        handle.reason = reason
        handle.announce()

    def _decide(self) -> list[Exits]:
        """Ask the policy about all tokens in the core, and take those out that stop."""
        if not self._waves:
            return []
        runs = torch.cat([wave.ask() for wave in self._waves]).cpu().numpy()
        parts = np.split(runs, np.cumsum([len(wave) for wave in self._waves])[:-1])
        parted = [wave.part(run) for wave, run in zip(self._waves, parts, strict=True)]
        self.stages.keep([kept for _, kept in parted if kept is not None])
        self._waves = [wave for wave in self._waves if len(wave)]
        return [gone for gone, _ in parted if gone is not None]

    def _finish(self) -> None:
        """Read out tokens that have stopped, as soon as all before them in their row have, and draw what follows."""
        exits, self._exits = self._exits, []
        if not exits:
            return
        depths, owners, through = self._note(exits)
        ready = [(handle, chunk) for handle in self._running.values() for chunk in handle.complete()]
        ids = self._draw(ready, through)
        known = torch.cat([ids, depths]).cpu().numpy()  # what was drawn and how deep all went, at once
        for chunk, places, which in owners:
            chunk.depths[places] = known[len(ids) + which]
        tokens = iter(known[: len(ids)].tolist())
        for handle, chunk in ready:
            if chunk.first < len(handle.prompt):
                handle.prompt_depth += chunk.depths.tolist()
            if chunk.answers:
                self._deliver(handle, Token(next(tokens), int(chunk.depths[-1])))

    def _note(self, exits: list[Exits]) -> tuple[Tensor, list[tuple[Chunk, Numbers, Numbers]], str]:
        """Give the states of tokens to their chunks; return depths, whose they are, and how they are read out."""
        depths, owners, through, first = [], [], "coda", 0
        for gone in exits:
            readout = self.stages.policy.readout(gone.h, gone.state)
            z, through = chosen_of(readout.states, readout.chosen), readout.through
            # Tokens of one row that leave a wave are of one chunk: they entered together.
            for which in np.split(np.arange(len(gone.rows)), np.flatnonzero(np.diff(gone.rows)) + 1):
                chunk = self._running[int(gone.rows[which[0]])].chunk_at(int(gone.columns[which[0]]))
                places = gone.columns[which] - chunk.first
                chunk.add(places, z[on_device(which, z.device)])
                owners.append((chunk, places, first + which))
            forced = self._running[int(gone.rows[0])].options.lane.exit_depth
            depth = self.stages.policy.allocation(gone.state).exit_depth.long()
            depths.append(depth if forced is None else torch.full_like(depth, gone.executed))
            first += len(gone.rows)
        return torch.cat(depths), owners, through

    def _draw(self, ready: Ready, through: str) -> Int[Tensor, " requests"]:
        """Read out chunks, and choose a token where one is wanted."""
        asking = [handle for handle, chunk in ready if chunk.answers]
        if not ready:
            return torch.zeros(0, dtype=torch.long, device=self.stages.model.device)
        z = torch.cat([chunk.assembled() for _, chunk in ready])
        z = self.stages.read_out(z, _places(ready), through)
        last = np.cumsum([chunk.size for _, chunk in ready]) - 1
        wanted = last[np.array([chunk.answers for _, chunk in ready])]
        logits = self.stages.model.head_logits(z[on_device(wanted, z.device)])
        return choose(logits, [one.options.sampling for one in asking], [len(one.tokens) for one in asking])

    def _deliver(self, handle: Handle, token: Token) -> None:
        handle.tokens.append(token)
        handle.announce()
        if token.id in handle.options.stop:
            self._end(handle, "stop")
        elif len(handle.tokens) == handle.options.max_new_tokens:
            self._end(handle, "length")

    def _read_out_before(self) -> Numbers:
        """Return of each row the column before which all tokens have been read out."""
        ends = np.zeros(self.max_rows, dtype=np.int64)
        for row, handle in self._running.items():
            ends[row] = handle.chunks[0].first if handle.chunks else handle.fed
        return ends

    def _arrive(self) -> None:
        """Let generated tokens and the next parts of prompts in; prompts share what may enter."""
        prompts = sum(handle.fed < len(handle.prompt) for handle in self._running.values())
        share = max(1, self.prompt_tokens // max(1, prompts))
        found = [(handle, handle.next_chunk(share)) for handle in self._running.values()]
        arriving: Ready = [(handle, chunk) for handle, chunk in found if chunk is not None]
        if not arriving:
            return
        lanes: dict[Lane, list[Numbers]] = {}
        ids: list[int] = []
        for handle, chunk in arriving:
            lanes.setdefault(handle.options.lane, []).append(np.arange(len(ids), len(ids) + chunk.size))
            ids += handle.enter(chunk)
        own = {lane: np.concatenate(parts) for lane, parts in lanes.items()}
        self._waves += self.stages.enter(ids, _places(arriving), own)


def _check_model(model: AniraForCausalLM) -> None:
    policy = policy_in_use(model.policy)
    if not model.config.shared_core:
        raise UserError("the engine needs a shared core: tokens at different depths run the same layers")
    if policy.causal == "probe" and len(model.model.coda):
        raise UserError(f"policy {policy.name!r} looks through the coda, which is exact without coda layers only")


def _ends(model: AniraForCausalLM) -> list[int]:
    ends: Any = getattr(model.generation_config, "eos_token_id", None)
    return [] if ends is None else list(ends) if isinstance(ends, list | tuple) else [ends]


def _places(chunks: Ready) -> Places:
    rows = np.concatenate([np.full(chunk.size, handle.row) for handle, chunk in chunks])
    columns = np.concatenate([np.arange(chunk.first, chunk.first + chunk.size) for _, chunk in chunks])
    return Places(rows, columns, np.ones_like(rows))
