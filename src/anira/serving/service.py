"""The engine as a server uses it: prompts in, tokens out as they come, for as long as somebody wants them."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from anira.config import UserError
from anira.inference import Engine
from anira.inference.engine import Handle, Token
from anira.models import AniraForCausalLM
from anira.serving.asking import Asked, Prompt
from anira.serving.errors import EngineError, Refused
from anira.serving.limits import Limits
from anira.serving.metrics import Metrics
from anira.serving.turns import Leave, Turns

Put = Callable[[Handle, list[Token]], Awaitable[bool]]
"""Takes new tokens of a request, and says whether more are wanted."""


class Service:
    """One model for many clients."""

    def __init__(
        self,
        model: AniraForCausalLM,
        tokenizer: Any,
        *,
        name: str,
        limits: Limits,
        max_slots: int = 1 << 20,
        select: str | None = None,
        threshold: float | None = None,
    ) -> None:
        self.engine = Engine(model, max_slots=max_slots)
        model.policy.rule(select, threshold)  # refuses what it cannot do
        self.config, self.tokenizer, self.name, self.limits = model.config, tokenizer, name, limits
        self.max_context = limits.max_context or model.config.max_position_embeddings
        self.select, self.threshold = select, threshold
        self.metrics = Metrics()
        self.draining = self.over = False
        self._turns = Turns()
        self._open: set[Handle] = set()
        self._encoding = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many prompts wait for their turn."""
        return self.engine.stats["waiting"] + self._turns.waiting

    def drain(self) -> None:
        """Take no new requests, and cancel those that are not finished after the time of grace."""
        if not self.draining:
            self.draining = True
            asyncio.get_running_loop().call_later(self.limits.grace, self.cancel)

    def cancel(self) -> None:
        """End all requests that there are, also those that the engine has not got yet."""
        self.over = True
        for handle in self._open:
            handle.cancel()

    async def prepare(self, asked: Asked) -> list[list[int]]:
        """Return the tokens of the prompts, or refuse what cannot be answered, or not now."""
        if asked.model not in (None, self.name):
            raise Refused(404, f"there is no model {asked.model!r} here, but {self.name!r}", code="model_not_found")
        if len(asked.prompts) > self.limits.max_queue:
            raise Refused(400, f"prompt has more than {self.limits.max_queue} prompts in it", param="prompt")
        self._check_room(len(asked.prompts))
        found = [await self._tokens(prompt) for prompt in asked.prompts]
        for prompt in found:
            self._check_length(prompt, asked)
        return found

    def _check_room(self, count: int) -> None:
        if self.draining:
            raise _shutting_down()
        if self.waiting + count > self.limits.max_queue:
            raise Refused(429, f"{self.waiting} prompts wait already: try again later", code="queue_full", retry=1)

    async def _tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of one prompt; a long text must not hold up the others."""
        return await asyncio.to_thread(self._encode, prompt) if isinstance(prompt, str) else prompt

    def _encode(self, text: str) -> list[int]:
        try:
            with self._encoding:
                return list(map(int, self.tokenizer(text)["input_ids"]))
        except Exception as error:  # the tokenizers library raises nothing more specific
            raise Refused(400, f"prompt cannot be read: {error}", param="prompt") from None

    def _check_length(self, prompt: list[int], asked: Asked) -> None:
        new, context = self._max_tokens(prompt, asked), self.max_context
        if len(prompt) + new > context:
            raise Refused(
                400,
                f"prompt has {len(prompt)} tokens, and with max_tokens = {new} that is more than {context}",
                param="prompt",
                code="context_length_exceeded",
            )

    def _max_tokens(self, prompt: Sequence[int], asked: Asked) -> int:
        """Return how many tokens may be written: OpenAI's 16 where nothing is said, or what there is room for."""
        if asked.max_tokens is None:
            return min(16, self.limits.max_tokens, max(1, self.max_context - len(prompt)))
        if asked.max_tokens > self.limits.max_tokens:
            raise Refused(400, f"max_tokens must be at most {self.limits.max_tokens} here", param="max_tokens")
        return asked.max_tokens

    async def generate(self, prompt: list[int], asked: Asked, put: Put) -> Handle:
        """Hand the tokens of an answer to `put` as they come; return the handle of the whole.

        After an error of the engine the prompt is tried again, alone; tokens that are out already are not put again.
        """
        self._check_room(1)  # nothing is awaited from here to the engine's own queue: nobody gets in between
        out: list[Token] = []
        try:
            async with self._turns.together() as leave:
                return await self._attempt(prompt, asked, put, out, leave)
        except EngineError:
            pass
        async with self._turns.alone() as leave:
            return await self._attempt(prompt, asked, put, out, leave)

    async def _attempt(self, prompt: list[int], asked: Asked, put: Put, out: list[Token], leave: Leave) -> Handle:
        news = asyncio.Event()
        handle: Handle | None = None

        def hear() -> None:
            news.set()
            if handle is not None and handle.done:
                leave()

        handle = self._submit(prompt, asked, hear)
        self._open.add(handle)
        try:
            await self._follow(handle, news, put, out)
        finally:
            handle.cancel()  # nobody is left to read more
            self._open.discard(handle)
        return handle

    async def _follow(self, handle: Handle, news: asyncio.Event, put: Put, out: list[Token]) -> None:
        """Hand on what comes, until it ends or is enough; `out` is what an attempt before this one has handed on."""
        tokens, number, done = iter(handle), 0, False
        while not done:
            await news.wait()
            news.clear()
            done = handle.done  # asked before the tokens are: all of them are there then
            fresh = [next(tokens) for _ in range(len(handle.tokens) - number)]
            again, number = out[number : number + len(fresh)], number + len(fresh)
            if fresh[: len(again)] != again:
                raise EngineError("after an error the same prompt has got another answer")
            out += fresh[len(again) :]
            if len(fresh) > len(again) and not await put(handle, fresh[len(again) :]):
                return
        if handle.reason == "failed":
            raise EngineError(f"{type(handle.error).__name__}: {handle.error}") from handle.error
        if handle.reason == "cancelled":
            raise _shutting_down()

    def _submit(self, prompt: list[int], asked: Asked, hear: Callable[[], None]) -> Handle:
        loop = asyncio.get_running_loop()

        def listen() -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody listens
                loop.call_soon_threadsafe(hear)

        if self.over:
            raise _shutting_down()
        rule = asked if asked.has_rule else self
        try:
            return self.engine.submit(
                prompt,
                max_new_tokens=self._max_tokens(prompt, asked),
                select=rule.select,
                threshold=rule.threshold,
                exit_depth=asked.exit_depth,
                temperature=asked.temperature,
                top_k=None if asked.top_k is None else min(asked.top_k, self.config.vocab_size),
                top_p=asked.top_p,
                seed=asked.seed,
                listener=listen,
            )
        except UserError as error:
            raise Refused(400, str(error)) from None


def _shutting_down() -> Refused:
    return Refused(503, "the server is shutting down", code="shutting_down")
