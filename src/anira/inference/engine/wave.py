"""Tokens that entered the core together: they are in the same iteration until they leave it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from anira.inference.engine.attention import Places
from anira.models.backbone import Backbone, Rope
from anira.models.host import Flags, Numbers, on_device
from anira.models.policies import ComputePolicy, Context, Route
from anira.models.slots import SlotStore


@dataclass(frozen=True)
class Exits:
    """Tokens that have left the core."""

    rows: Numbers
    columns: Numbers
    executed: int
    """Iterations that were over when they left."""
    h: Float[Tensor, "tokens dim"]
    state: Any

    def __len__(self) -> int:
        return len(self.rows)

    def without(self, row: int) -> "Exits":
        """Return the others, without the tokens of a row."""
        kept = np.flatnonzero(self.rows != row)
        index = on_device(kept, self.h.device)
        return replace(
            self, rows=self.rows[kept], columns=self.columns[kept], h=self.h[index], state=self.state.take(index)
        )


@dataclass(frozen=True)
class Kept:
    """States that stay behind, of which later tokens read keys and values (freeze = "state")."""

    places: Places
    x: Float[Tensor, "tokens dim"]
    """What the core would read."""
    rope: Rope


class Wave:
    """Some tokens of requests that decide by one rule, all in the same iteration."""

    def __init__(
        self,
        backbone: Backbone,
        policy: ComputePolicy,
        store: SlotStore,
        context: Context,
        places: Places,
        h0: Float[Tensor, "tokens dim"],
        rope: Rope,
        forced: int | None,
    ) -> None:
        self.backbone, self.policy, self.store, self.forced = backbone, policy, store, forced
        self.rows, self.columns, self.h0, self.rope = places.rows, places.columns, h0, rope
        self.state = policy.begin(h0, context)
        self.h = backbone.initial_state(h0, context.positions)
        self.max_depth = context.max_depth
        self.depth = 0  # iterations that are over
        self.route: Route | None = None  # the policy's answer about the next one
        self.skips = policy.timing == "route"
        self.hides = False
        self.run = np.ones(len(places), dtype=bool)
        self.stored = np.zeros(len(places), dtype=bool)  # whether the store holds keys and values of a present state

    def __len__(self) -> int:
        return len(self.rows)

    def _device(self, numbers: Numbers) -> Tensor:
        return on_device(numbers, self.h.device)

    def ask(self) -> Bool[Tensor, " tokens"]:
        """Ask the policy who runs the next iteration."""
        if self.depth == self.max_depth:
            self.route = None
            return torch.zeros(len(self), dtype=torch.bool, device=self.h.device)
        wanted = self.policy.route(self.depth + 1, self.h, self.state)
        if self.forced is not None:
            wanted = wanted.with_run(torch.full_like(wanted.run, self.forced > self.depth))
        self.route, self.hides = wanted, self.hides or wanted.see is not None
        return wanted.run

    def part(self, run: Flags) -> tuple[Exits | None, Kept | None]:
        """Take the tokens out that do not go on; return them, and the states that later tokens read of them."""
        if self.skips and self.route is not None:
            self.run = run
            kept = self._kept(np.flatnonzero(~run & ~self.stored))
            self.stored = np.where(run, False, True)
            return None, kept
        if run.all():
            return None, None
        leaving = np.flatnonzero(~run)
        kept = self._kept(leaving) if self.depth < self.max_depth else None
        index = self._device(leaving)
        gone = Exits(self.rows[leaving], self.columns[leaving], self.depth, self.h[index], self.state.take(index))
        self._take(np.flatnonzero(run))
        return gone, kept

    def drop(self, row: int) -> None:
        """Forget the tokens of a row."""
        if (self.rows == row).any():
            self._take(np.flatnonzero(self.rows != row))

    def _kept(self, which: Numbers) -> Kept | None:
        """Return the present states of some tokens, if later ones read their keys and values from here on."""
        if not len(which) or self.hides or self.backbone.freeze != "state" or self.store.overwrite:
            return None
        index = self._device(which)
        places = Places(self.rows[which], self.columns[which], np.full(len(which), self.depth + 1))
        x = self.backbone.inject(self.h[index], self.h0[index])
        return Kept(places, x, (self.rope[0][index], self.rope[1][index]))

    def _take(self, kept: Numbers) -> None:
        index = self._device(kept)
        self.rows, self.columns, self.run, self.stored = (
            one[kept] for one in (self.rows, self.columns, self.run, self.stored)
        )
        self.h, self.h0, self.state = self.h[index], self.h0[index], self.state.take(index)
        self.rope = (self.rope[0][index], self.rope[1][index])
        self.route = None if self.route is None else self.route.take(index)

    @property
    def running(self) -> Numbers:
        """Which of its tokens run the next iteration."""
        return np.flatnonzero(self.run)

    @property
    def writes(self) -> bool:
        """Whether the next iteration leaves keys and values."""
        return self.backbone.freeze != "first" or self.depth == 0

    def inputs(self) -> tuple[Places, Numbers | None, Float[Tensor, "tokens dim"], Rope]:
        """Return where the running tokens are, the slots of their keys and values, what the core reads, and phases."""
        which = self.running
        places = Places(self.rows[which], self.columns[which], np.full(len(which), self.depth + 1))
        slots = None
        if self.writes:
            slots = self.store.allocate(places.depths, places.rows, places.columns, onwards=not self.hides)
        index = self._device(which)
        rope = (self.rope[0][index], self.rope[1][index])
        return places, slots, self.backbone.inject(self.h[index], self.h0[index]), rope

    def update(self, candidate: Float[Tensor, "tokens dim"]) -> None:
        """Give the policy what the core has made of the running tokens."""
        assert self.route is not None
        self.depth += 1
        if not self.skips:
            route = replace(self.route, whole=True)
            self.h = self.policy.update(self.depth, self.h, candidate, route, self.state)
            return
        index = self._device(self.running)
        part, route = self.state.take(index), replace(self.route.take(index), whole=True)
        h = self.policy.update(self.depth, self.h[index], candidate, route, part)
        self.h = self.h.index_copy(0, index, h)
        self.state.put(index, part)
